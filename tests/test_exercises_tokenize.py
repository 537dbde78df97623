"""The checks of notebook 01 accept right answers and name each typical slip."""

import pytest

from helpers.errors import CheckFailed
from helpers.exercises.tokenize import check_apply_merges, check_decode, check_tokens_per_byte

WORDS = [b"the", b" then", b" other"]
MERGES = [(b"t", b"h"), (b"th", b"e"), (b" ", b"the"), (b"e", b"r"), (b" ", b"o")]
PIECES = ["苹".encode()[:2], "苹".encode()[2:], b" ok"]


def cut(text):
    return [bytes([byte]) for byte in text.encode()[::2]]


def merged(word, pair):
    pieces = []
    for piece in word:
        if pieces and (pieces[-1], piece) == pair:
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def by_order(words, merges):
    """Every merge once, in order: another way to the same pieces."""
    pieces = []
    for word in words:
        parts = [bytes([byte]) for byte in word]
        for pair in merges:
            parts = merged(parts, pair)
        pieces += parts
    return pieces


def overlapping(words, merges):
    pieces = []
    for word in words:
        parts = [bytes([byte]) for byte in word]
        for left, right in merges:
            made, i = [], 0
            while i < len(parts):
                if parts[i : i + 2] == [left, right]:
                    made.append(left + right)
                    i += 2 if i + 2 == len(parts) else 1
                else:
                    made.append(parts[i])
                    i += 1
            parts = made
        pieces += parts
    return pieces


def greedy(words, merges):
    known, pieces = {left + right for left, right in merges}, []
    for word in words:
        start = 0
        while start < len(word):
            stop = max((e for e in range(start + 1, len(word) + 1) if word[start:e] in known), default=start + 1)
            pieces.append(word[start:stop])
            start = stop
    return pieces


def test_right_answers(capsys):
    check_apply_merges(by_order, WORDS, MERGES)
    check_apply_merges(lambda words, merges: tuple(by_order(words, merges)), WORDS, MERGES)
    check_tokens_per_byte(lambda text, cut: len(cut(text)) / len(text.encode("utf-8")), cut)
    check_decode(lambda pieces: str(b"".join(pieces), "utf-8", "replace"), PIECES)
    assert capsys.readouterr().out.count("Right: ") == 4


def test_stubs_are_not_done_yet(capsys):
    check_apply_merges(lambda words, merges: ..., WORDS, MERGES)
    check_tokens_per_byte(lambda text, cut: ..., cut)
    check_decode(lambda pieces: ..., PIECES)
    assert capsys.readouterr().out.count("Not done yet") == 3


def test_a_forgotten_return_is_named():
    missing = "returns nothing: is `return` missing"
    with pytest.raises(CheckFailed, match=missing):
        check_apply_merges(lambda words, merges: None, WORDS, MERGES)
    with pytest.raises(CheckFailed, match=missing):
        check_tokens_per_byte(lambda text, cut: None, cut)
    with pytest.raises(CheckFailed, match=missing):
        check_decode(lambda pieces: None, PIECES)


@pytest.mark.parametrize("wrong, hint", [
    (overlapping, "takes part in two pairs"),
    (lambda words, merges: by_order([b"".join(words)], merges), "crossed from one word"),
    (greedy, "longest known piece from the left"),
    (lambda words, merges: [bytes([b]) for word in words for b in word], "nothing was merged"),
    (lambda words, merges: [by_order([word], merges) for word in words], "one flat list"),
    (lambda words, merges: words, "for .* it returns"),
    (lambda words, merges: words[99], "stopped with IndexError"),
])  # fmt: skip
def test_merge_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_apply_merges(wrong, WORDS, MERGES)


def test_a_wrong_order_is_named():
    def leftmost(words, merges):
        pieces = []
        for word in words:
            parts = [bytes([byte]) for byte in word]
            while any(pair in merges for pair in zip(parts, parts[1:], strict=False)):
                pair = next(pair for pair in zip(parts, parts[1:], strict=False) if pair in merges)
                parts = merged(parts, pair)
            pieces += parts
        return pieces

    with pytest.raises(CheckFailed, match="the first pair in the text"):
        check_apply_merges(leftmost, WORDS, MERGES)


@pytest.mark.parametrize("wrong, hint", [
    (lambda text, cut: len(cut(text)) / len(text), "tokens per character"),
    (lambda text, cut: len(text.encode()) / len(cut(text)), "bytes per token"),
    (lambda text, cut: len(text) / len(cut(text)), "characters per token"),
    (lambda text, cut: len(cut(text)), "number of tokens"),
    (lambda text, cut: "many", "expected"),
])  # fmt: skip
def test_tokens_per_byte_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_tokens_per_byte(wrong, cut)


@pytest.mark.parametrize("wrong, hint", [
    (lambda pieces: "".join(p.decode(errors="replace") for p in pieces), "becomes �"),
    (lambda pieces: "".join(p.decode(errors="ignore") for p in pieces), "loses every character"),
    (lambda pieces: b"".join(pieces).decode("latin-1"), "Latin-1"),
    (lambda pieces: b"".join(pieces), "still bytes"),
    (lambda pieces: "".join(p.decode() for p in pieces), "stopped with UnicodeDecodeError"),
    (lambda pieces: " ".join(p.decode(errors="replace") for p in pieces), "expected|space between"),
    (lambda pieces: b"".join(pieces).decode() + "!", "expected"),
])  # fmt: skip
def test_decode_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_decode(wrong, PIECES)
