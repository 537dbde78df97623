"""The checks of notebook 01: merges applied to words, tokens per byte, pieces back to text."""

from collections.abc import Callable

from helpers.exercises import tokenize_answers as answers
from helpers.exercises.exact import check_exact

MADE_UP = [  # words, merges in the order they were learned
    ([b"aaa", b"aaaa"], [(b"a", b"a")]),
    ([b"ab", b"ba"], [(b"b", b"b"), (b"a", b"b")]),
    ([b"abc"], [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")]),
    ([b"abcd"], [(b"c", b"d"), (b"b", b"cd"), (b"a", b"b"), (b"a", b"bcd")]),
    ([b"banana"], [(b"a", b"n"), (b"an", b"an"), (b"b", b"anan"), (b"n", b"a")]),
    ([b"x", b""], []),
]
TEXTS = ("apples", "我想吃苹果", "🍎 naïve", "  ")
CUT_CHARACTERS = "我想吃苹果 🍎 ok"


def check_apply_merges(fn, words: list[bytes], merges: list[tuple[bytes, bytes]]) -> None:
    """Check `fn(words, merges)`, the pieces of all words as one list, on the page's merges and made-up ones."""
    cases = [*MADE_UP, (list(words), list(merges))]
    check_exact("apply_merges(words, merges)", fn, answers.apply_merges, answers.APPLY_MISTAKES, cases)


def check_tokens_per_byte(fn, cut: Callable[[str], list]) -> None:
    """Check `fn(text, cut)`, where `cut(text)` gives the tokens of a text."""
    cases = [(text, way) for text in TEXTS for way in (cut, str.split, list) if way(text)]
    name = "tokens_per_byte(text, cut)"
    check_exact(name, fn, answers.tokens_per_byte, answers.PER_BYTE_MISTAKES, cases)


def check_decode(fn, pieces: list[bytes]) -> None:
    """Check `fn(pieces)`, the text that the pieces (bytes) make together."""
    raw = CUT_CHARACTERS.encode()
    by_two = [raw[i : i + 2] for i in range(0, len(raw), 2)]
    cases = [(by_two,), ([raw],), ([bytes([byte]) for byte in raw],), ([],), (list(pieces),)]
    check_exact("decode(pieces)", fn, answers.decode, answers.DECODE_MISTAKES, cases)
