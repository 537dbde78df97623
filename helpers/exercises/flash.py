"""The checks of notebook 08: two parts merged, a block of queries tile by tile, how many tiles are loaded."""

from collections.abc import Mapping

import torch
from torch import Tensor

from helpers.errors import CheckFailed
from helpers.exercises import flash_answers as answers
from helpers.exercises import flash_block_answers as block
from helpers.exercises.engine import call
from helpers.exercises.exact import check_exact
from helpers.exercises.flash_inputs import EXTREME, cut_in_two, far_block, heads, random_block, random_parts
from helpers.exercises.judge import Case, Exercise, judge
from helpers.exercises.score_watch import ScoreWatch

PART_SIZES = ((5, 7, 3, 4), (1, 2, 6, 16), (9, 3, 4, 12))  # rows, keys of a and of b, d_head
BLOCK_WORDS = "{} rows, {} keys, d_head {}, first_row {}, block_k {}"
MERGE = Exercise(
    "merge(a, b)", ("maximum", "total", "mixed"), answers.merge, answers.MERGE_MISTAKES, answers.MERGE_ADVICE
)
BLOCK = Exercise(
    "attend_block(q, k, v, first_row, block_k)",
    ("mixed",),
    block.attend_block,
    block.BLOCK_MISTAKES,
    block.BLOCK_ADVICE,
)
BLOCK_SIZES = (  # rows, n_k, d_head, first_row, block_k
    (4, 23, 8, 9, 5), (5, 5, 16, 0, 2), (1, 17, 8, 16, 4), (6, 20, 4, 8, 32), (5, 12, 8, 0, 3), (4, 15, 8, 2, 1),
)  # fmt: skip
WATCHED = (3, 397, 2, 394, 16)  # a tile, its products, the states of all tiles: each far smaller than all scores
EXTREMES = (  # levels of the rows, levels of the keys, first_row, in words, hint
    ((1, 1, 1), (1,) * 12, 9, f"scores near {EXTREME:g}", block.HIGH),
    ((1, 1, 1), (-1,) * 12, 9, f"scores near {-EXTREME:g}", block.LOW),
    ((1, 1, 1), (1,) * 4 + (0,) * 4 + (-1,) * 4, 9, "scores that fall from tile to tile", block.FALLING),
    ((1, 1, 1), (-1,) * 4 + (0,) * 4 + (1,) * 4, 9, "scores that rise from tile to tile", block.RISING),
    ((1, -1, 1), (1,) * 12, 9, "rows with scores far apart", block.APART),
    ((1, 1, 1), (0,) * 7 + (1,) * 5, 4, "hidden scores far above the others", block.HIDE_FIRST),
)
TILES_CASES = [
    (12, 4, None), (13, 4, None), (13, 4, 6), (13, 4, 4), (13, 4, 3), (13, 4, 5), (13, 4, 1), (13, 4, 2), (7, 1, None),
    (7, 1, 3), (7, 1, 1), (5, 8, None), (5, 8, 2), (1, 1, None), (1, 4, 1), (30, 7, 20), (30, 7, 21), (30, 7, 22),
    (16, 4, 100), (40, 8, 8), (40, 8, 9), (40, 8, 10), (64, 16, 31), (64, 16, 33), (64, 16, 64),
]  # fmt: skip


def check_merge(fn, seen: Mapping[str, Tensor], layer: int = 0) -> None:
    """Check `fn(a, b)`: maximum, total (rows,) and mixed (rows, d_head) of both sets of keys.

    a and b are (maximum, total, mixed) of disjoint keys. Tried on the prompt cut in two, every head, and on other
    sizes: maxima equal, apart, so large that exp overflows, and parts that have seen nothing.
    """
    q, k, v = heads(seen, layer)
    half = len(q) // 2
    first = cut_in_two(q[half:], k, v, half, half)
    cases = [Case(first, "the second half of the prompt", edge="" if half else answers.NOTHING_SEEN)]
    cases += [Case(random_parts(q, *sizes), f"{sizes[0]} rows, d_head {sizes[3]}") for sizes in PART_SIZES]
    cases += [Case(random_parts(q, 8, 4, 4, 8, top=9.0), "parts with equal maxima")]
    cases += [
        Case(random_parts(q, 6, 5, 5, 8, level), f"scores near {level:g}", answers.FAR) for level in (EXTREME, -EXTREME)
    ]
    hidden = torch.tensor([[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]], dtype=torch.bool)  # rows, parts
    cases += [
        Case(
            cut_in_two(q, k, v, 0, half),
            "the whole prompt, its first half unable to see the second",
            answers.NOTHING_SEEN,
        ),
        Case(
            random_parts(q, 5, 4, 6, 8, hidden=hidden),
            "rows that one part or both have seen nothing of",
            answers.NOTHING_SEEN,
        ),
    ]
    judge(fn, MERGE, cases)


def check_attend_block(fn, seen: Mapping[str, Tensor], layer: int = 0) -> None:
    """Check `fn(q, k, v, first_row, block_k)`, mixed (rows, d_head) of one block of queries, and that no more than a
    tile of scores is made at a time.

    q is (rows, d_head) with row 0 at position `first_row`, k and v are (n_k, d_head). Tried on head 0 and other sizes.
    """
    q, k, v = (tensor[:, 0] for tensor in heads(seen, layer))
    n, first = len(q), len(q) // 2
    cases = [Case((q[first : first + max(1, n // 4)], k, v, first, max(1, n // 3)), "this prompt")]
    cases += [Case(random_block(q, *sizes), BLOCK_WORDS.format(*sizes)) for sizes in (*BLOCK_SIZES, WATCHED)]
    cases += [Case(far_block(q, *levels), tries, hint) for *levels, tries, hint in EXTREMES]
    if callable(fn):
        _watch(fn, random_block(q, *WATCHED))
        _watch(fn, random_block(q, 1, *WATCHED[1:]), keeps=False)  # one row: a tile is a tile, not rows of it
    judge(fn, BLOCK, cases)


def check_tiles_to_load(fn) -> None:
    """Check `fn(n_tokens, block, window)`: how many tiles of block x block hold a pair that a causal mask leaves,
    each row seeing at most the last `window` keys up to itself (None: all)."""
    name = "tiles_to_load(n_tokens, block, window)"
    check_exact(name, fn, answers.tiles_to_load, answers.TILES_MISTAKES, TILES_CASES)


def _watch(fn, case: tuple, keeps: bool = True) -> None:
    """CheckFailed where `fn` makes more than a tile's scores, or (`keeps`) holds those of all tiles; no other fault."""
    (rows, _), (n_k, _), block_k = case[0].shape, case[1].shape, case[4]
    watches = []

    def watched(q, k, *rest):
        watches.append(ScoreWatch(q, k))
        with watches[0]:
            return fn(q, k, *rest)

    call(watched, case)
    watch, hint = watches[0], None
    if watch.fused:
        hint = block.FUSED
    elif max(watch.longest) > max(rows * block_k, 2 * block_k - 1):  # a tile joined to its running maximum is fine
        hint = block.TOO_LONG.format(rows=rows, n_k=n_k, block_k=block_k, made=watch.longest)
    elif keeps and watch.most >= rows * n_k:
        hint = block.KEPT.format(rows=rows, n_k=n_k, block_k=block_k, most=watch.most)
    if hint:
        raise CheckFailed(f"{BLOCK.name}, not yet: {hint}")
