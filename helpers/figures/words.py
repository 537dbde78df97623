"""The words of a figure: escaped and wrapped for plotly, which knows no wrapping."""

import unicodedata
from collections.abc import Sequence

from helpers import language
from helpers.figures.figure_words import STRINGS

language.STRINGS.update(STRINGS)

# plotly reads tags and entities everywhere, $…$ as TeX, %{…} as a template where a figure has `meta`
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "{": "&#123;"})


def escape(text: str) -> str:
    """Text that plotly's pseudo-HTML shows as it stands."""
    return text.translate(ENTITIES)


def text_width(text: str) -> int:
    """Columns the text takes in a monospaced face: 2 for a Chinese character, 0 for a combining accent."""
    return sum(_columns(character) for character in text)


def shorten(text: str, limit: int = 16) -> str:
    """At most `limit` columns, with "…" for what was left out."""
    if text_width(text) <= limit:
        return text
    kept = ""
    for character in text:
        if text_width(kept + character) >= limit:
            break
        kept += character
    return f"{kept}…"


def wrap(text: str, columns: int) -> list[str]:
    """Lines of at most `columns` columns, broken at spaces, inside a word only where it alone is too long."""
    lines, line = [], ""
    for word in text.split():
        while text_width(word) > columns:
            head = _fitting(word, columns - text_width(line) - bool(line))
            lines, line, word = [*lines, f"{line} {head}".strip()], "", word[len(head) :]
        if line and text_width(line) + 1 + text_width(word) > columns:
            lines, line = [*lines, line], ""
        line = f"{line} {word}".strip()
    return [*lines, line] if line else lines


def wrapped(text: str, columns: int) -> tuple[str, int]:
    """(the text for plotly, its number of lines)."""
    lines = wrap(text, columns)
    return "<br>".join(map(escape, lines)), len(lines)


def said(key: str, **values) -> str:
    """The string `figure.key` in the reader's language, with `values` filled in."""
    return language.text(f"figure.{key}", **values)


def listed(parts: Sequence[str], limit: int = 12) -> str:
    """ "a 0.5, b 0.2, and 3 more": the part of an alternative text that lists values."""
    more = [said("more", n=len(parts) - limit)] if len(parts) > limit else []
    return said("comma").join([*parts[:limit], *more])


def named(row: str, labels: Sequence[str], written: Sequence[str]) -> str:
    """ "row: a 0.5, b 0.2": every value of one row, for an alternative text."""
    values = said("comma").join(f"{label} {value}" for label, value in zip(labels, written, strict=True))
    return said("row", row=row, rest=values)


def listed_ends(parts: Sequence[str], limit: int = 12) -> str:
    """ "a 0.5, 3 more, y 0.2, z 0.1": the same where the last one is what the reader looks for."""
    if len(parts) <= limit:
        return listed(parts, limit)
    return said("comma").join([parts[0], said("between", n=len(parts) - limit), *parts[1 - limit :]])


def _fitting(word: str, columns: int) -> str:
    head = ""
    for character in word:
        if text_width(head + character) > columns:
            break
        head += character
    return head


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
