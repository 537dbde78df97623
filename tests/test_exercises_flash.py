"""The checks of notebook 08 accept right answers, however written, and name each typical slip."""

import math

import pytest
import torch

from helpers import trace
from helpers.errors import CheckFailed
from helpers.exercises.flash import check_merge, check_tiles_to_load
from helpers.flash import tiles
from tests.tiny import tiny

PROMPTS = ("Hello world is the capital of France", "a", "ab")
NEVER = -torch.inf


@pytest.fixture(scope="module", params=[("llama", PROMPTS[0]), ("llama", "a"), ("gpt2", "ab"), ("qwen2", PROMPTS[0])])
def seen(request):
    return trace(tiny(request.param[0]), request.param[1])


# --- merge: right answers, as different readers would write them ---


def factors(a, b):
    new = torch.maximum(a[0], b[0])
    base = torch.where(new == NEVER, torch.zeros_like(new), new)
    return new, torch.exp(a[0] - base), torch.exp(b[0] - base)


def merged(a, b):
    new, by_a, by_b = factors(a, b)
    return new, by_a * a[1] + by_b * b[1], by_a[:, None] * a[2] + by_b[:, None] * b[2]


def merged_row_by_row(a, b):
    new, total, mixed = a[0].clone(), a[1].clone(), a[2].clone()
    for i in range(len(new)):
        if b[0][i] == NEVER:
            continue
        if a[0][i] == NEVER:
            new[i], total[i], mixed[i] = b[0][i], b[1][i], b[2][i]
            continue
        new[i] = max(a[0][i].item(), b[0][i].item())
        by_a, by_b = math.exp(a[0][i] - new[i]), math.exp(b[0][i] - new[i])
        total[i] = by_a * a[1][i] + by_b * b[1][i]
        mixed[i] = by_a * a[2][i] + by_b * b[2][i]
    return [new, total, mixed]


def merged_in_place(a, b):
    new, by_a, by_b = factors(a, b)
    a[1].mul_(by_a).add_(by_b * b[1])
    a[2].mul_(by_a.unsqueeze(-1)).add_(by_b.unsqueeze(-1) * b[2])
    a[0].copy_(new)
    return a


def merged_by_logarithms(a, b):
    new = torch.maximum(a[0], b[0])
    logs = [part[0] + part[1].log() for part in (a, b)]
    both = torch.logaddexp(*logs)
    total = torch.exp(both - new).nan_to_num(0.0)
    shares = [(torch.exp(log - both) * total / part[1]).nan_to_num(0.0) for log, part in zip(logs, (a, b), strict=True)]
    return new, total, shares[0][:, None] * a[2] + shares[1][:, None] * b[2]


def merged_stacked(a, b):
    maxima, totals, mixed = (torch.stack(pair) for pair in zip(a, b, strict=True))
    new = maxima.amax(dim=0)
    by = (maxima - new).nan_to_num(nan=NEVER).exp()
    return new, (by * totals).sum(0), torch.einsum("pi,pid->id", by, mixed)


@pytest.mark.parametrize("right", [merged, merged_row_by_row, merged_in_place, merged_by_logarithms, merged_stacked])
def test_right_merges(capsys, seen, right):
    check_merge(right, seen)
    check_merge(lambda a, b: right(b, a), seen)
    assert capsys.readouterr().out.count("Right: merge(a, b), on the model's own values") == 2


# --- merge: slips, written out ---


def with_sums(new, by_a, by_b, a, b):
    return new, by_a * a[1] + by_b * b[1], by_a[:, None] * a[2] + by_b[:, None] * b[2]


def change(place, how):
    def slip(a, b):
        right = list(merged(a, b))
        right[place] = how(a, b, *right)
        return tuple(right)

    return slip


def from_larger(a, b, sign=1):
    new = torch.maximum(a[0], b[0])
    return new, torch.exp(sign * (a[0] - new)), torch.exp(sign * (b[0] - new))


def one_for_all(a, b, shaped=True):
    new = max(a[0].max(), b[0].max())
    answer = with_sums(new, torch.exp(a[0] - new), torch.exp(b[0] - new), a, b)
    return (new.expand(len(a[0])), *answer[1:]) if shaped else answer


def from_one(part, returned, a, b):
    base = (a, b)[part][0]
    return with_sums(returned(a[0], b[0]), torch.exp(a[0] - base), torch.exp(b[0] - base), a, b)


MERGE_SLIPS = {
    "no rescaling": (
        lambda a, b: (torch.maximum(a[0], b[0]), a[1] + b[1], a[2] + b[2]), "added as they are"),
    "only a": (
        lambda a, b: (factors(a, b)[0], factors(a, b)[1] * a[1] + b[1], factors(a, b)[1][:, None] * a[2] + b[2]),
        "sums of a and leave those of b"),
    "only b": (
        lambda a, b: (factors(a, b)[0], a[1] + factors(a, b)[2] * b[1], a[2] + factors(a, b)[2][:, None] * b[2]),
        "sums of b and leave those of a"),
    "mixed left": (change(2, lambda a, b, *right: a[2] + b[2]), "the total is right, mixed is not"),
    "total left": (change(1, lambda a, b, *right: a[1] + b[1]), "mixed is right, the total is not"),
    "sign": (lambda a, b: with_sums(*from_larger(a, b, -1), a, b), "upside down"),
    "exchanged": (
        lambda a, b: with_sums(factors(a, b)[0], factors(a, b)[2], factors(a, b)[1], a, b), "are exchanged"),
    "no exp": (
        lambda a, b: with_sums(factors(a, b)[0], *(x[0] - factors(a, b)[0] for x in (a, b)), a, b), "lack the exp"),
    "one maximum": (one_for_all, "one maximum for all rows"),
    "one maximum, a number": (lambda a, b: one_for_all(a, b, shaped=False), "one maximum for all rows"),
    "maximum of a": (lambda a, b: from_one(0, lambda x, y: x, a, b), "keep the maximum of a"),
    "maximum of b": (lambda a, b: from_one(1, lambda x, y: y, a, b), "keep the maximum of b"),
    "measured from a": (lambda a, b: from_one(0, torch.maximum, a, b), "measured from the maximum of a"),
    "measured from b": (lambda a, b: from_one(1, torch.maximum, a, b), "measured from the maximum of b"),
    "average": (change(2, lambda a, b, *right: (a[2] + b[2]) / 2), "average of the two"),
    "average, rescaled": (change(2, lambda a, b, *right: right[2] / 2), "average of the two"),
    "divided": (change(2, lambda a, b, *right: right[2] / right[1].unsqueeze(1)), "You divided already"),
    "weighted with the totals": (
        change(2, lambda a, b, *right: sum(
            (f * p[1])[:, None] * p[2] for f, p in zip(factors(a, b)[1:], (a, b), strict=True))),
        "weighted the parts with their totals"),
    "weighted average": (
        change(2, lambda a, b, *right: sum(
            (f * p[1] / right[1])[:, None] * p[2] for f, p in zip(factors(a, b)[1:], (a, b), strict=True))),
        "weighted the parts with their totals"),
    "log of the total": (change(1, lambda a, b, *right: torch.log(right[1])), "not the logarithm"),
    "logsumexp": (change(1, lambda a, b, *right: right[0] + right[1].log()), "not the logarithm"),
    "totals added as logarithms": (change(1, lambda a, b, *right: torch.logaddexp(a[1], b[1])), "not the logarithm"),
    "nothing seen": (lambda a, b: with_sums(*from_larger(a, b), a, b), "seen nothing of a row.*-inf - -inf.*NaN"),
    "empty part dropped": (
        lambda a, b: tuple(x.nan_to_num(0.0, neginf=0.0) for x in with_sums(*from_larger(a, b), a, b)),
        "seen nothing of a row"),
    "exp before the maximum": (
        lambda a, b: with_sums(
            factors(a, b)[0], *(torch.exp(x[0]) / torch.exp(factors(a, b)[0]) for x in (a, b)), a, b),
        "overflows"),
    "Python's max": (lambda a, b: with_sums(max(a[0], b[0]), a[0], b[0], a, b), "torch.maximum takes the larger"),
    "no axis": (
        lambda a, b: (factors(a, b)[0], factors(a, b)[1] * a[1], factors(a, b)[1] * a[2]), "factor\\[:, None\\]"),
}  # fmt: skip


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("name", MERGE_SLIPS)
def test_merge_slips(name, prompt):
    slip, hint = MERGE_SLIPS[name]
    with pytest.raises(CheckFailed, match=hint):
        check_merge(slip, trace(tiny("llama"), prompt))


def test_other_faults_of_a_merge(seen):
    for slip, hint in (
        (lambda a, b: None, "is `return` missing"),
        (lambda a, b: merged(a, b)[2], "return 3 things, as a tuple: maximum, total, mixed"),
        (lambda a, b: merged(a, b)[:2], "return 3 things"),
        (lambda a, b: undefined, "stopped with NameError"),  # noqa: F821
        (lambda a, b: (merged(a, b)[0] + 1, *merged(a, b)[1:]), "not yet: .*maximum: largest difference 1 "),
        (change(2, lambda a, b, *right: right[2].T), "mixed: your answer is a tensor of shape"),
        (change(1, lambda a, b, *right: right[1] * 1.01), "total: largest difference"),
        (change(1, lambda a, b, *right: right[1] * torch.nan), r"total: .*\(NaN\).* An exp that is infinite"),
        (change(2, lambda a, b, *right: "mixed"), "mixed: your answer is a str"),
    ):
        with pytest.raises(CheckFailed, match=hint):
            check_merge(slip, seen)


def test_an_edge_is_told_of_only_when_all_else_is_right(seen):
    def ties(a, b):  # where both maxima are equal, neither part is taken
        by_a, by_b = (a[0] > b[0]).float(), (b[0] > a[0]).float()
        return change(1, lambda a, b, *right: (by_a + by_b) * right[1])(a, b)

    with pytest.raises(CheckFailed, match="for parts with equal maxima: total: largest difference"):
        check_merge(ties, seen)


@pytest.mark.parametrize("arch", ["qwen3", "gemma3"])
def test_a_merge_in_other_models(arch):
    check_merge(merged, trace(tiny(arch), PROMPTS[0]), layer=1)


# --- tiles_to_load ---


def count_pairs(n_tokens, block, window):
    row, column = torch.arange(n_tokens)[:, None], torch.arange(n_tokens)
    seen = (column <= row) & (column > row - (window or n_tokens))
    return len({(int(i) // block, int(j) // block) for i, j in seen.nonzero()})


def count_bands(n_tokens, block, window):
    n_rows, back = math.ceil(n_tokens / block), n_tokens if window is None else math.ceil((window - 1) / block)
    return sum(min(i, back) + 1 for i in range(n_rows))


def count_tiles(n_tokens, block, window):
    return sum(tile.kind != "skipped" for tile in tiles(n_tokens, n_tokens, block, block, window=window))


@pytest.mark.parametrize("right", [count_pairs, count_bands, count_tiles])
def test_right_counts(capsys, right):
    check_tiles_to_load(right)
    assert capsys.readouterr().out.startswith("Right: tiles_to_load(n_tokens, block, window)")


def bands(n_tokens, block, window, most, up=math.ceil, own=1):
    n_rows = up(n_tokens / block)
    return sum(min(i + own, n_rows if window is None else most(window, block)) for i in range(n_rows))


def up(x, y):
    return math.ceil(x / y)


TILES_SLIPS = {
    "all": (lambda n, b, w: up(n, b) ** 2, "these are all tiles"),
    "half": (lambda n, b, w: up(n, b) ** 2 // 2, "half of all tiles is too few"),
    "half, not whole": (lambda n, b, w: up(n, b) ** 2 / 2, "half of all tiles is too few"),
    "no diagonal": (lambda n, b, w: count_pairs(n, b, w) - up(n, b), "half of all tiles is too few"),
    "no diagonal, no window": (lambda n, b, w: up(n, b) * (up(n, b) - 1) // 2, "half of all tiles is too few"),
    "rounded down": (lambda n, b, w: bands(n, b, w, lambda w, b: up(w - 1, b) + 1, up=math.floor), "round up"),
    "rounded down, no window": (lambda n, b, w: (n // b) * (n // b + 1) // 2, "round up"),
    "no window": (lambda n, b, w: up(n, b) * (up(n, b) + 1) // 2, "the window is ignored"),
    "window // block": (lambda n, b, w: bands(n, b, w, lambda w, b: w // b), "middle of a tile"),
    "window // block, one at least": (lambda n, b, w: bands(n, b, w, lambda w, b: max(1, w // b)), "middle of a tile"),
    "window / block": (lambda n, b, w: bands(n, b, w, up), "middle of a tile"),
    "window // block + 1": (lambda n, b, w: bands(n, b, w, lambda w, b: w // b + 1), "middle of a tile"),
    "window / block + 1": (lambda n, b, w: bands(n, b, w, lambda w, b: up(w, b) + 1), "one tile too many"),
    "window + 1": (lambda n, b, w: count_pairs(n, b, w and w + 1), "one tile too many"),
    "window - 1": (
        lambda n, b, w: count_pairs(n, b, w - 1) if w and w > 1 else 0 if w else count_pairs(n, b, w), "left one out"),
    "pairs": (lambda n, b, w: count_pairs(n, 1, w), "count tiles, not pairs"),
    "later keys too": (
        lambda n, b, w: 2 * count_pairs(n, b, w) - up(n, b), "not yet: for 12, 4, None it returns 9, expected 6"),
    "a float": (lambda n, b, w: float(count_pairs(n, b, w)), "as an int"),
    "a tensor": (lambda n, b, w: torch.tensor(count_pairs(n, b, w)), "as an int"),
    "None in a division": (lambda n, b, w: bands(n, b, 0, lambda _, b: up(w - 1, b) + 1), "stopped with TypeError"),
    "nothing": (lambda n, b, w: None, "is `return` missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", TILES_SLIPS)
def test_tiles_slips(name):
    slip, hint = TILES_SLIPS[name]
    with pytest.raises(CheckFailed, match=hint):
        check_tiles_to_load(slip)


def test_stubs_are_not_done_yet(capsys):
    seen = trace(tiny("llama"), "Hello")
    for stub in (..., lambda a, b: ...):
        check_merge(stub, seen)
    check_tiles_to_load(lambda n_tokens, block, window: ...)
    assert capsys.readouterr().out.count("Not done yet") == 3
