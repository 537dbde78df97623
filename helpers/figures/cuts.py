"""Which rows, columns or bars a figure shows when there are more than can be read, and what it says of the others."""

from helpers.figures.words import said

MAX_TOKENS = 48  # rows or columns of one figure: beyond that labels cannot be read


def ends(n: int, most: int = MAX_TOKENS) -> list[int]:
    """Places shown of n tokens in the order of the text: all, or the first, where attention rests, and the last ones.

    The last token is the one from which the next is predicted. At least two are shown, whatever `most` says.
    """
    return [0, *range(max(1, n - max(most, 2) + 1), n)]


def ends_note(*axes: int, most: int = MAX_TOKENS) -> str:
    """What `ends` left out of axes with so many places, with a space in front; "" where all are shown."""
    cut = [n for n in dict.fromkeys(axes) if len(ends(n, most)) < n]
    return "".join(f" {said('cut_ends', last=len(ends(n, most)) - 1, hidden=n - len(ends(n, most)))}" for n in cut)


def first_note(shown: int, n: int) -> str:
    """The same for a ranking, of which the first are shown."""
    return f" {said('cut_first', shown=shown, n=n)}" if shown < n else ""


def last_note(shown: int, n: int) -> str:
    """The same where the last are shown."""
    return f" {said('cut_last', shown=shown, n=n)}" if shown < n else ""
