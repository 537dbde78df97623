"""Right answers of the tokenizer exercises, and the slips readers make, each with the hint that helps."""

from collections.abc import Callable

Pair = tuple[bytes, bytes]


def apply_merges(words: list[bytes], merges: list[Pair], overlap=False, times=None, pick=min) -> list[bytes]:
    """The pieces of all words: in each, the earliest-learned pair is merged until none is left.

    The keywords plant a slip: `times` merges a word at most, `pick` another pair than the earliest.
    """
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
    pieces = []
    for word in words:
        parts, done = [word[i : i + 1] for i in range(len(word))], 0
        while done != times and (found := [pair for pair in zip(parts, parts[1:], strict=False) if pair in ranks]):
            parts, done = joined(parts, pick(found, key=ranks.get), overlap), done + 1
        pieces += parts
    return pieces


def joined(parts: list[bytes], pair: Pair, overlap=False) -> list[bytes]:
    """`parts` with `pair` merged from the left; with `overlap`, a piece may serve two pairs."""
    made, i = [], 0
    while i < len(parts):
        match = tuple(parts[i : i + 2]) == pair
        made.append(pair[0] + pair[1] if match else parts[i])
        last = i + 2 == len(parts)
        i += 2 if match and (not overlap or last) else 1
    return made


def first_in_text(found: list[Pair], key) -> Pair:
    return found[0]


def longest_first(words: list[bytes], merges: list[Pair]) -> list[bytes]:
    """From the left always the longest piece that some merge makes."""
    known, pieces = {left + right for left, right in merges}, []
    for word in words:
        while word:
            size = next((n for n in range(len(word), 1, -1) if word[:n] in known), 1)
            pieces, word = [*pieces, word[:size]], word[size:]
    return pieces


def by_word(words: list[bytes], merges: list[Pair]) -> list[list[bytes]]:
    return [apply_merges([word], merges) for word in words]


def tokens_per_byte(text: str, cut: Callable) -> float:
    return len(cut(text)) / len(text.encode())


def decode(pieces: list[bytes]) -> str:
    return b"".join(pieces).decode(errors="replace")


APPLY_MISTAKES = [
    (
        "a piece takes part in two pairs: in b'aaa' only the first two can be merged, then go on behind them.",
        lambda words, merges: apply_merges(words, merges, overlap=True),
    ),
    (
        "a merge crossed from one word into the next: treat each word on its own.",
        lambda words, merges: apply_merges([b"".join(words)], merges),
    ),
    (
        "that takes the longest known piece from the left: BPE merges pairs in the order they were learned.",
        longest_first,
    ),
    (
        "that takes the first pair in the text: of all pairs in the word, the one learned earliest comes first.",
        lambda words, merges: apply_merges(words, merges, pick=first_in_text),
    ),
    (
        "that takes the pair learned last: the one learned earliest comes first.",
        lambda words, merges: apply_merges(words, merges, pick=max),
    ),
    (
        "one merge a word is not enough: go on until no pair of the word is among the merges.",
        lambda words, merges: apply_merges(words, merges, times=1),
    ),
    ("these are the bytes: nothing was merged.", lambda words, merges: apply_merges(words, merges, times=0)),
    ("return one flat list of pieces, not a list for each word.", by_word),
]

PER_BYTE_MISTAKES = [
    (
        "that is tokens per character: a Chinese character has three bytes, so count text.encode().",
        lambda text, cut: len(cut(text)) / len(text),
    ),
    ("that is bytes per token: turn the fraction over.", lambda text, cut: len(text.encode()) / len(cut(text))),
    ("that is characters per token: turn it over, and count bytes.", lambda text, cut: len(text) / len(cut(text))),
    ("that is the number of tokens: divide by the number of bytes.", lambda text, cut: float(len(cut(text)))),
]

DECODE_MISTAKES = [
    (
        "you decode piece by piece, and a piece that holds part of a character becomes �: join the bytes first.",
        lambda pieces: "".join(piece.decode(errors="replace") for piece in pieces),
    ),
    (
        "errors='ignore' piece by piece loses every character that was cut: join the bytes first.",
        lambda pieces: "".join(piece.decode(errors="ignore") for piece in pieces),
    ),
    (
        "the bytes were read one by one as Latin-1: they are UTF-8, up to four for a character.",
        lambda pieces: b"".join(pieces).decode("latin-1"),
    ),
    ("these are still bytes: decode them.", lambda pieces: b"".join(pieces)),
    ("that is how Python prints bytes, not their text: use .decode().", lambda pieces: "".join(map(str, pieces))),
    (
        "there is a space between the pieces; they carry their own spaces.",
        lambda pieces: b" ".join(pieces).decode(errors="replace"),
    ),
]
