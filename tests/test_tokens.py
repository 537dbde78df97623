"""Tokens as a reader sees them: every byte accounted for, nothing invisible, nothing executed."""

import random
from functools import cache
from html.parser import HTMLParser

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

from helpers.characters import show_bytes
from helpers.errors import ReaderError
from helpers.tokens import group_characters, special_positions, token_bytes, token_chips, token_labels

TYPED = 'a<b & "c"\n\t<|im_end|>'
FAMILY = "👨\u200d👩\u200d👧\u200d👦"
SCRIPTS = [
    "the ",
    "ok\n",
    "\t",
    "  ",
    "2026",
    "天气",
    "我想吃苹果，",
    "日本語",
    "한국어",
    "שלום",
    "مرحبا",
    "हिन्दी",
    "ไทย",
    "é",
    "e\u0301",
    "\u0301",
    "🌧️",
    FAMILY,
    "🇫🇷",
    "\u200b",
    "\ufffd",
    "\x00",
    "<b>",
    "&lt;",
    "𝛼",
    "a" * 9,
]


@pytest.fixture(scope="module")
def smollm(lm):
    return lm.tokenizer


@pytest.fixture(scope="module")
def gemma_like():
    """SentencePiece spelling: ▁ for a space, <0xE5> for a byte, pieces of several spaces as added tokens."""
    pieces = [
        "<unk>",
        "<bos>",
        "<eos>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        "▁▁",
        "▁",
        "a",
        "b",
        "▁a",
        "果",
        "\n",
    ]
    core = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, [("▁", "a")], byte_fallback=True))
    core.normalizer = normalizers.Replace(" ", "▁")
    core.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    core.add_tokens([AddedToken("▁▁", normalized=True)])
    core.add_special_tokens(["<bos>", "<eos>"])
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<bos>", eos_token="<eos>")


def joined(tokenizer, text):
    return b"".join(spelled(tokenizer, i) for i in tokenizer.encode(text))


@cache
def spelled(tokenizer, token_id):
    return token_bytes(tokenizer, token_id)


def varied_texts(n=200):
    choose = random.Random(0)
    return ["".join(choose.choices(SCRIPTS, k=choose.randint(1, 12))) for _ in range(n)]


def test_weather_is_ten_tokens_of_known_bytes(smollm):
    ids = smollm.encode("天气🌧️ ok")
    assert "|".join(token_bytes(smollm, i).hex(" ") for i in ids) == "e5 a4|a9|e6|b0|94|f0 9f|8c|a7|ef b8 8f|20 6f 6b"
    assert token_labels(smollm, ids) == [
        "e5 a4",
        "a9",
        "e6",
        "b0",
        "94",
        "f0 9f",
        "8c",
        "a7",
        "U+FE0F",
        "␣ok",
    ]
    assert group_characters(smollm, ids) == [
        ("天", [0, 1]),
        ("气", [2, 3, 4]),
        ("🌧️", [5, 6, 7, 8]),
        ("␣ok", [9]),
    ]


def test_joined_bytes_are_the_text(smollm):
    for text in varied_texts():
        assert joined(smollm, text) == text.encode(), text


def test_joined_bytes_are_the_text_for_sentencepiece(gemma_like):
    for text in ["a b", "  a", " 苹果\n", "b a", FAMILY, "▁"]:
        expected = text.replace("▁", " ").encode()  # SentencePiece itself cannot tell the two apart
        assert joined(gemma_like, text) == expected, text


def test_groups_hold_every_token_once_and_end_where_characters_end(smollm):
    for text in varied_texts(60):
        ids = smollm.encode(text)
        groups = group_characters(smollm, ids)
        assert [i for _, positions in groups for i in positions] == list(range(len(ids)))
        for _, positions in groups:
            b"".join(spelled(smollm, ids[i]) for i in positions).decode()


def test_no_label_is_empty_invisible_or_a_replacement_character(smollm):
    labels = token_labels(smollm, range(len(smollm)))
    assert all(label.strip() and label.isprintable() and "\ufffd" not in label for label in labels)


def test_an_emoji_family_is_one_character(smollm):
    ids = smollm.encode(f"{FAMILY} x")
    assert group_characters(smollm, ids)[0] == (FAMILY, list(range(len(ids) - 1)))


def test_a_letter_and_its_accent_are_one_character_a_lone_accent_gets_a_circle(smollm):
    assert [text for text, _ in group_characters(smollm, smollm.encode("e\u0301"))] == ["e\u0301"]
    assert group_characters(smollm, smollm.encode("\u0301"))[0][0] == "◌\u0301"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("\u200b", "U+200B"),
        ("\u202e", "U+202E"),
        ("\u00a0", "U+00A0"),
        ("\r\n", "U+000D↵"),
        ("a\u200d", "aU+200D"),
        ("\t", "→"),
        ("\x00", "U+0000"),
        ("\ufffd", "U+FFFD"),
        ("a\U000e0041", "aU+E0041"),
        ("1\ufe0f\u20e3", "1\ufe0f\u20e3"),
    ],
)
def test_what_cannot_be_seen_is_named(text, label, smollm):
    assert "".join(group for group, _ in group_characters(smollm, smollm.encode(text))) == label


def test_bytes_that_are_not_utf8_stay_hex_and_do_not_swallow_their_neighbours(smollm):
    ok, a4, x = (smollm.convert_tokens_to_ids(piece) for piece in ("ok", "¤", "x"))
    assert group_characters(smollm, [a4, a4, ok, a4, x]) == [
        ("a4 a4", [0, 1]),
        ("ok", [2]),
        ("a4", [3]),
        ("x", [4]),
    ]


def test_a_token_with_a_space_and_a_broken_character_shows_both(smollm):
    ids = smollm.encode(" ש")
    assert token_labels(smollm, ids) == ["␣ d7", "a9"]


def test_special_text_is_flagged_even_when_a_user_typed_it(smollm):
    ids = smollm.encode(TYPED)
    assert special_positions(smollm, ids) == [len(ids) - 1]
    assert token_labels(smollm, ids)[-1] == "<|im_end|>"
    assert token_bytes(smollm, ids[-1]) == b"<|im_end|>"
    assert "[<|im_end|> 2 special]" in repr(token_chips(smollm, ids))


def test_a_control_token_never_joins_its_neighbours(smollm):
    end = smollm.convert_tokens_to_ids("<|im_end|>")
    half, other = smollm.encode("天")
    assert group_characters(smollm, [half, end, other]) == [("e5 a4", [0]), ("<|im_end|>", [1]), ("a9", [2])]


def test_sentencepiece_pieces_bytes_and_control_tokens(gemma_like):
    ids = [gemma_like.bos_token_id, *gemma_like.encode(" a天")]
    assert token_labels(gemma_like, ids) == ["<bos>", "␣a", "e5", "a4", "a9"]
    assert group_characters(gemma_like, ids) == [("<bos>", [0]), ("␣a", [1]), ("天", [2, 3, 4])]
    assert special_positions(gemma_like, ids) == [0]
    assert token_labels(gemma_like, gemma_like.encode("  a")) == ["␣␣", "a"]


@pytest.mark.parametrize("token_id", [-1, 10_000_000])
def test_an_id_without_a_token(token_id, smollm):
    with pytest.raises(ReaderError, match=f"no token {token_id}: this tokenizer has ids from 0 to 49151"):
        token_bytes(smollm, token_id)
    assert token_labels(smollm, [token_id]) == [f"no token {token_id}"]


def test_ids_may_be_a_tensor(smollm):
    ids = smollm.encode("The capital")
    assert token_labels(smollm, torch.tensor(ids)) == ["The", "␣capital"]
    assert repr(token_chips(smollm, torch.tensor(ids))) == f"[The {ids[0]}] [␣capital {ids[1]}]"


class Reader(HTMLParser):
    """The text of a page, the tags and the attributes it uses."""

    def __init__(self, html):
        super().__init__()
        self.text, self.tags, self.attributes = "", [], set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("text", [TYPED, "<script>alert(1)</script>", "&lt;b&gt; <img src=x onerror=1>", "'\" ]]> -->"])
def test_chips_show_markup_literally(text, smollm):
    ids = smollm.encode(text)
    page = Reader(token_chips(smollm, ids)._repr_html_())
    assert set(page.tags) <= {"div", "span", "br"} and page.attributes == {"style"}
    shown = page.text.replace(" ", "")
    for label, token_id in zip(token_labels(smollm, ids), ids, strict=True):
        assert f"{label}{token_id}".replace(" ", "") in shown


def test_chips_join_what_shares_a_character(smollm):
    page = Reader(token_chips(smollm, smollm.encode("天 ok"))._repr_html_())
    assert page.text.split() == ["e5", "a4", "18614", "a9", "119", "=", "天", "␣ok", "10907"]


def test_chips_name_no_fixed_text_colour(smollm):
    html = token_chips(smollm, smollm.encode("The <|im_end|>"))._repr_html_()
    assert "color:var(--jp-content-font-color1, currentColor)" in html
    assert "#" not in html


def test_no_tokens_are_said_to_be_none(smollm):
    chips = token_chips(smollm, [])
    assert repr(chips) == "no tokens" and "no tokens" in chips._repr_html_()
    assert token_labels(smollm, []) == group_characters(smollm, []) == []


def test_an_accent_on_a_blank_that_is_spelt_out_stands_on_a_circle():
    assert show_bytes("\xa0\u0301".encode()) == "U+00A0◌\u0301"
