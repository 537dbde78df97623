"""Right answers of merge and tiles_to_load, and the slips readers make, each with the hint that helps."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

Part = tuple[Tensor, Tensor, Tensor]  # what is remembered of some keys: maximum, total (rows,), mixed (rows, d_head)


def shrink(own: Tensor, other: Tensor, maximum: Tensor) -> Tensor:
    """What a part's sums are multiplied by, so that they are measured from `maximum`: (rows,)."""
    return (own - maximum.masked_fill(maximum == -torch.inf, 0.0)).exp()  # -inf - -inf is no number


def merge(a: Part, b: Part, total="ab", mixed="ab", new=torch.maximum, factor=shrink) -> Part:
    """What is remembered of both sets of keys; the keywords plant a slip.

    `total`, `mixed`: the parts whose sums are multiplied; `new`: the maximum; `factor`: by what, in place of `shrink`.
    """
    maximum = new(a[0], b[0])
    by_a, by_b = factor(a[0], b[0], maximum), factor(b[0], a[0], maximum)
    both = (by_a if "a" in total else 1.0) * a[1] + (by_b if "b" in total else 1.0) * b[1]
    by_a, by_b = by_a[:, None], by_b[:, None]
    return maximum, both, (by_a if "a" in mixed else 1.0) * a[2] + (by_b if "b" in mixed else 1.0) * b[2]


def one_maximum(x: Tensor, y: Tensor) -> Tensor:
    return torch.maximum(x, y).max().expand_as(x)


def from_one(which: int, a: Part, b: Part) -> Part:
    """The sums measured from one part's maximum, the larger maximum returned."""
    return torch.maximum(a[0], b[0]), *merge(a, b, new=lambda x, y: (x, y)[which])[1:]


def with_total(how: Callable) -> Callable:
    """A slip: the right answer, but its total is `how(a, b, right)`."""
    return lambda a, b: (merge(a, b)[0], how(a, b, merge(a, b)), merge(a, b)[2])


def with_mixed(how: Callable) -> Callable:
    return lambda a, b: (*merge(a, b)[:2], how(a, b, merge(a, b)))


def weighted(a: Part, b: Part, right: Part) -> Tensor:
    """As if each part's mixed were divided by its total."""
    return sum((shrink(part[0], part[0], right[0]) * part[1])[:, None] * part[2] for part in (a, b))


ANEW = "multiply a part's sums by exp(its own maximum - the new maximum), so that both are measured from the same."
FORGOTTEN = (
    "you multiply the sums of {} and leave those of {} as they are, but in other rows its maximum is the smaller: "
)
SINGLE = "you took one maximum for all rows: each row has its own (torch.maximum compares them pair by pair)."
KEPT = "you keep the maximum of {}: take the larger one in each row, whichever part it is in."
MIXTURE = "the sums are measured from the maximum of {}, but the larger one is returned: "
LATER = "mixed is not yet divided by the total: that comes once, after the last part. "
SUM = "a total is a sum, not the logarithm of one: multiply each by its factor and add."
MERGE_MISTAKES = [
    ("the sums are added as they are, but each is measured from its part's own maximum: " + ANEW,
     partial(merge, total="", mixed="")),
    (FORGOTTEN.format("a", "b") + ANEW, partial(merge, total="a", mixed="a")),
    (FORGOTTEN.format("b", "a") + ANEW, partial(merge, total="b", mixed="b")),
    ("the total is right, mixed is not: it sums the same shares, so it takes the same two factors.",
     partial(merge, mixed="")),
    ("mixed is right, the total is not: it sums the same shares, so it takes the same two factors.",
     partial(merge, total="")),
    ("your factors are upside down: exp(its own maximum - the new maximum) is at most 1, yours is at least 1.",
     partial(merge, factor=lambda own, other, maximum: (maximum - own).exp())),
    ("your factors are exchanged: the sums of a take exp(the maximum of a - the new maximum).",
     partial(merge, factor=lambda own, other, maximum: (other - maximum).exp())),
    ("your factors lack the exp: " + ANEW, partial(merge, factor=lambda own, other, maximum: own - maximum)),
    (SINGLE, partial(merge, new=one_maximum)),
    (SINGLE, lambda a, b: (one_maximum(a[0], b[0])[0], *merge(a, b, new=one_maximum)[1:])),
    (KEPT.format("a"), partial(merge, new=lambda x, y: x)),
    (KEPT.format("b"), partial(merge, new=lambda x, y: y)),
    ("you took the smaller maximum, so a factor can overflow: take the larger one in each row.",
     partial(merge, new=torch.minimum)),
    (MIXTURE.format("a") + ANEW, partial(from_one, 0)),
    (MIXTURE.format("b") + ANEW, partial(from_one, 1)),
    (LATER + "You took the average of the two.", with_mixed(lambda a, b, right: (a[2] + b[2]) / 2)),
    (LATER + "You took the average of the two.", with_mixed(lambda a, b, right: right[2] / 2)),
    (LATER + "You divided already.", with_mixed(lambda a, b, right: right[2] / right[1][:, None])),
    (LATER + "You weighted the parts with their totals.", with_mixed(weighted)),
    (LATER + "You weighted the parts with their totals.",
     with_mixed(lambda a, b, right: weighted(a, b, right) / right[1][:, None])),
    (SUM, with_total(lambda a, b, right: right[1].log())),
    (SUM, with_total(lambda a, b, right: right[0] + right[1].log())),
    (SUM, with_total(lambda a, b, right: torch.logaddexp(a[1], b[1]))),
]  # fmt: skip
NOTHING_SEEN = (
    "a part that has seen nothing of a row (maximum -inf, total 0, mixed 0) must leave the other part as it is; "
    "and two such parts make a third. Mind that -inf - -inf is not a number."
)
FAR = "exp overflows or underflows: take exp only of a part's maximum minus the new maximum."
MERGE_ADVICE = {
    "ambiguous": "Python's max compares two tensors as wholes; torch.maximum takes the larger of each pair.",
    "must match the size": "One factor a row times (rows, d_head) needs an axis more: factor[:, None].",
    "(NaN)": "An exp that is infinite leads there: its argument, a maximum minus the new one, is at most 0.",
}


def tiles_to_load(n_tokens: int, block: int, window: int | None, future=False, inside=0) -> int:
    """Tiles with a visible pair, pair by pair; the keywords plant a slip.

    `future`: later keys are visible too; `inside`: how many keys more than `window` a row sees.
    """
    reach = n_tokens if window is None else window + inside
    return len({
        (row // block, column // block)
        for row in range(n_tokens)
        for column in range(max(0, row - reach + 1), n_tokens if future else row + 1)
    })  # fmt: skip


def in_bands(n_tokens: int, block: int, window: int | None, tiles_a_row: Callable, diagonal=1) -> int:
    """Tiles where each row of tiles loads at most `tiles_a_row(block, window)`, from the diagonal to the left."""
    n_rows = -(-n_tokens // block)
    most = n_rows if window is None else tiles_a_row(block, window)
    return sum(min(i + diagonal, most) for i in range(n_rows))


def n_blocks(n_tokens: int, block: int) -> int:
    return -(-n_tokens // block)


def whole_blocks(n_tokens: int, block: int, window: int | None) -> int:
    return tiles_to_load(n_tokens // block * block, block, window)


PAIRS = "count tiles, not pairs: a tile of block x block pairs is loaded at once."
EVERY = "these are all tiles: a tile in which every key is later than every query is not loaded."
HALF = "half of all tiles is too few: the mask cuts the tiles on the diagonal, and they are loaded as well."
UP = "round up: the last block of rows is smaller where block does not divide n_tokens, and is loaded as well."
PARTLY = (
    "the oldest key that a block of rows sees may stand in the middle of a tile: that tile is loaded as well. "
    "For the first row of the block it stands window - 1 keys back."
)
TOO_MANY = "one tile too many in a row of tiles, for some windows: a row's own key is one of the `window` keys."
WHOLE_NUMBER = "right as a number; return it as an int: int(…)."
TILES_MISTAKES = [
    (EVERY, lambda n, block, window: n_blocks(n, block) ** 2),
    (EVERY, partial(tiles_to_load, future=True)),
    (HALF, lambda n, block, window: n_blocks(n, block) ** 2 // 2),
    (HALF, lambda n, block, window: n_blocks(n, block) ** 2 / 2),
    (HALF, lambda n, block, window: tiles_to_load(n, block, window) - n_blocks(n, block)),
    (HALF, lambda n, block, window: tiles_to_load(n, block, None) - n_blocks(n, block)),
    (HALF, partial(in_bands, tiles_a_row=lambda block, window: n_blocks(window, block), diagonal=0)),
    (UP, whole_blocks),
    (UP, lambda n, block, window: whole_blocks(n, block, None)),
    ("the window is ignored: a row sees at most the last `window` keys, and older tiles are not loaded.",
     lambda n, block, window: tiles_to_load(n, block, None)),
    (PARTLY, partial(in_bands, tiles_a_row=lambda block, window: window // block)),
    (PARTLY, partial(in_bands, tiles_a_row=lambda block, window: max(1, window // block))),
    (PARTLY, partial(in_bands, tiles_a_row=lambda block, window: n_blocks(window, block))),
    (PARTLY, partial(in_bands, tiles_a_row=lambda block, window: (window - 1) // block + 1)),
    (PARTLY, partial(in_bands, tiles_a_row=lambda block, window: window // block + 1)),
    (TOO_MANY, partial(tiles_to_load, inside=1)),
    (TOO_MANY, partial(in_bands, tiles_a_row=lambda block, window: n_blocks(window, block) + 1)),
    ("the window has `window` keys, the row's own among them: you left one out.", partial(tiles_to_load, inside=-1)),
    (PAIRS, lambda n, block, window: tiles_to_load(n, 1, window)),
    (WHOLE_NUMBER, lambda *case: float(tiles_to_load(*case))),
    (WHOLE_NUMBER, lambda *case: torch.tensor(tiles_to_load(*case))),
]  # fmt: skip
