"""The right answer of attend_block, and the slips readers make, each with the hint that helps."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from helpers.exercises.flash_answers import Part, merge


def later(position: Tensor, column: Tensor, left: int, n_k: int) -> Tensor:
    """True where a causal mask hides a column (columns,) from a row, by its position (rows, 1).

    `left` is the tile's first column, `n_k` the number of keys: what some slips look at.
    """
    return column > position


def attend_block(
    q: Tensor, k: Tensor, v: Tensor, first_row: int, block_k: int, root=0.5, hides=later, fill=-torch.inf,
    last=True, first_values=False, add=merge, divide=True,
) -> Tensor:  # fmt: skip
    """One block of queries (rows, d_head), causal, tile by tile over the keys; the keywords plant a slip.

    `root`: the power of d_head that divides the scores; `hides`: the mask; `fill`: a hidden score; `last`: is the
    last, smaller tile taken; `first_values`: each tile mixes the first values; `add`: how a tile joins those before.
    """
    position = first_row + torch.arange(len(q), device=q.device)[:, None]
    so_far = q.new_full((len(q),), -torch.inf), q.new_zeros(len(q)), torch.zeros_like(q)
    for left in range(0, len(k) if last else len(k) // block_k * block_k, block_k):
        column = torch.arange(left, min(left + block_k, len(k)), device=q.device)
        scores = q @ k[column].T / q.shape[-1] ** root
        hidden = hides(position, column, left, len(k))
        so_far = add(so_far, remember(scores.masked_fill(hidden, fill), v[column - left if first_values else column]))
    return so_far[2] / so_far[1][:, None] if divide else so_far[2]


def remember(scores: Tensor, values: Tensor) -> Part:
    """What is remembered of one tile; scores (rows, columns), values (columns, d_head)."""
    maximum = scores.amax(dim=1)
    shares = (scores - maximum.masked_fill(maximum == -torch.inf, 0.0)[:, None]).exp()
    return maximum, shares.sum(dim=1), shares @ values


def divided(add: Callable) -> Callable:
    """As `add`, each tile's mixed divided by the tile's own total."""

    def added(so_far: Part, tile: Part) -> Part:
        return add(so_far, (*tile[:2], tile[2] / tile[1].where(tile[1] > 0, 1.0)[:, None]))

    return added


def upside_down(so_far: Part, tile: Part) -> Part:
    """What was summed grows with the maximum; from the first tile on."""
    new = torch.maximum(so_far[0], tile[0])
    grown = (new - so_far[0]).exp().where(so_far[1] > 0, 0.0)
    return merge((new, grown * so_far[1], grown[:, None] * so_far[2]), tile)


def averaged(q, k, v, first_row: int, block_k: int) -> Tensor:
    n_tiles = -(-len(k) // block_k)
    return attend_block(q, k, v, first_row, block_k, add=divided(plainly), divide=False) / n_tiles


def by_tile(corner: int, row: slice) -> Callable:
    """A mask that hides a tile whole, where its first (0) or last (-1) column is later than these of its rows."""
    return lambda position, column, left, n_k: (column < 0) | (column[corner] > position[row])


ANY_ROW = slice(-1, None), slice(0, 1), slice(None)  # the last row of the block decides, the first, each for itself
plainly = partial(merge, total="", mixed="")  # nothing measured anew
slip = partial(partial, attend_block)
BY_ELEMENT = (
    "the mask goes by element, not by tile: the tile on the diagonal is {}, and each row sees its own part of it."
)
CORNER = "your mask counts {}: row i stands at first_row + i, column j of a tile at the tile's first column + j."
TOTAL = "divide by the total once, at the end: a tile knows only its own total, which is not the row's. "
GROWS = (
    "the maximum grows from tile to tile: multiply what is summed so far by exp(old maximum - new maximum), so that it "
    "is measured from the new one as well."
)
BLOCK_MISTAKES = [
    ("later keys are not hidden: row i stands at first_row + i and sees no key behind that.",
     slip(hides=lambda p, c, left, n_k: c < 0)),
    *((BY_ELEMENT.format("taken whole"), slip(hides=by_tile(0, row))) for row in ANY_ROW),
    *((BY_ELEMENT.format("left out"), slip(hides=by_tile(-1, row))) for row in ANY_ROW),
    (CORNER.format("from the tile's own corner"), slip(hides=lambda p, c, left, n_k: c - left > p - p[0])),
    (CORNER.format("rows from 0"), slip(hides=lambda p, c, left, n_k: c > p - p[0])),
    (CORNER.format("each tile's columns from 0"), slip(hides=lambda p, c, left, n_k: c - left > p)),
    (CORNER.format("rows as if they were the last ones"),
     slip(hides=lambda p, c, left, n_k: c > p - p[0] + n_k - len(p))),
    ("your mask is off by one: each row must see itself.", slip(hides=lambda p, c, left, n_k: c >= p)),
    ("your mask is off by one: each row still sees the next key.", slip(hides=lambda p, c, left, n_k: c > p + 1)),
    ("your mask is the wrong way round: it hides the past.", slip(hides=lambda p, c, left, n_k: c < p)),
    ("a hidden score of 0 still gets a share, since exp(0) is 1: it must be minus infinity.", slip(fill=0.0)),
    ("the scores are not divided by the square root of d_head.", slip(root=0.0)),
    ("you divided the scores by d_head, it takes the square root of d_head.", slip(root=1.0)),
    ("the last tile may be smaller than block_k, and belongs to it as well.", slip(last=False)),
    ("each tile mixes the first values: it takes the rows of v that its columns are.", slip(first_values=True)),
    (GROWS, slip(add=plainly)),
    (GROWS, slip(add=partial(merge, total="b", mixed="b"))),
    ("the total is measured anew when the maximum grows, mixed is not: both take the same factor.",
     slip(add=partial(merge, mixed="b"))),
    ("mixed is measured anew when the maximum grows, the total is not: both take the same factor.",
     slip(add=partial(merge, total="b"))),
    ("your factor is upside down: exp(old maximum - new maximum) is at most 1, yours is at least 1.",
     slip(add=upside_down)),
    (TOTAL + "You added the tiles' own results.", slip(add=divided(plainly), divide=False)),
    (TOTAL + "You averaged the tiles' own results.", averaged),
    (TOTAL + "You divided inside each tile as well.", slip(add=divided(merge))),
    (TOTAL + "You divided inside each tile instead.", slip(add=divided(merge), divide=False)),
    ("the total is missing: divide mixed by it once, after the last tile.", slip(divide=False)),
]  # fmt: skip
HIGH = "exp overflows: take exp only of a score minus the row's running maximum."
LOW = (
    "exp underflows to 0 where all scores are far below 0: the first maximum is minus infinity (a 0 would stay), and "
    "exp is taken only of a score minus the maximum."
)
FALLING = "the running maximum never falls: it is the larger of the old one and the tile's."
RISING = "the first tile's maximum is not the largest: after each tile, take the larger of the old one and the tile's."
HIDE_FIRST = (
    "hide scores before you take the maximum: measured from a hidden one, the exp of all others underflows to 0."
)
APART = "each row has a maximum of its own: with one for all rows, the exp of the others underflows to 0."
FUSED = "this is torch's own attention: the exercise is to write it, from q @ k.T of one tile at a time."
ASKED = "for {rows} rows, {n_k} keys and block_k {block_k} "
TOO_LONG = ASKED + (
    "you made scores {made} at once, a tile has at most ({rows}, {block_k}): go through the keys in steps of block_k, "
    "and keep of each tile only what the maximum, the total and mixed need."
)
KEPT = ASKED + (
    "you keep {most} numbers made from q and k at one time, no fewer than all scores ({rows} x {n_k}): add each tile "
    "to the maximum, the total and mixed, then forget it."
)
BLOCK_ADVICE = {
    "must match the size": "One factor a row times (rows, d_head) needs an axis more: factor[:, None].",
    "(NaN)": (
        "Two ways lead there: a factor exp(old maximum - new maximum) that is infinite (is it this way round, and the "
        "new one the larger of the two?), and -inf - -inf, where the mask hides a tile wholly from a row."
    ),
}
