"""The check of attend_block accepts right answers, however written, and names each slip; scores are watched."""

import math

import pytest
import torch
import torch.nn.functional as F

from helpers import trace
from helpers.errors import CheckFailed
from helpers.exercises.flash import check_attend_block
from helpers.exercises.score_watch import ScoreWatch
from helpers.flash import attend_tiled
from tests.tiny import tiny

PROMPTS = ("Hello world is the capital of France", "a")
NEVER = -torch.inf


@pytest.fixture(scope="module", params=[("llama", PROMPTS[0]), ("llama", "a"), ("gpt2", "ab"), ("qwen2", PROMPTS[0])])
def seen(request):
    return trace(tiny(request.param[0]), request.param[1])


def merged(a, b, guard=True):
    new = torch.maximum(a[0], b[0])
    base = new.where(new > NEVER, 0.0) if guard else new
    by_a, by_b = torch.exp(a[0] - base), torch.exp(b[0] - base)
    return new, by_a * a[1] + by_b * b[1], by_a[:, None] * a[2] + by_b[:, None] * b[2]


# --- right answers, as different readers would write them ---


def attended(q, k, v, first_row, block_k):
    rows = torch.arange(first_row, first_row + len(q), device=q.device)
    maximum, total, mixed = torch.full_like(q[:, 0], NEVER), torch.zeros_like(q[:, 0]), torch.zeros_like(q)
    for start in range(0, len(k), block_k):
        k_tile, v_tile = k[start : start + block_k], v[start : start + block_k]
        scores = q @ k_tile.T / math.sqrt(q.shape[1])
        columns = start + torch.arange(len(k_tile), device=q.device)
        scores = scores.masked_fill(columns > rows[:, None], NEVER)
        new = torch.maximum(maximum, scores.max(dim=1).values)
        shares, factor = torch.exp(scores - new[:, None]), torch.exp(maximum - new)
        total = factor * total + shares.sum(dim=1)
        mixed = factor[:, None] * mixed + shares @ v_tile
        maximum = new
    return mixed / total[:, None]


def attended_in_place(q, k, v, first_row, block_k):
    """Writes into its arguments, scales all keys before, masks with a large negative number, skips hidden tiles."""
    n_rows, n_k = len(q), len(k)
    k *= q.shape[1] ** -0.5
    mask = torch.zeros(n_rows, n_k).masked_fill(torch.ones(n_rows, n_k).triu(first_row + 1).bool(), -1e9).to(q)
    total, mixed = torch.zeros(n_rows, 1).to(q), torch.zeros(n_rows, q.shape[1]).to(q)
    maximum = torch.full((n_rows, 1), torch.finfo(torch.float32).min).to(q)
    for tile in torch.arange(n_k).split(block_k):
        if tile[0] > first_row + n_rows - 1:
            break
        scores = torch.einsum("id,jd->ij", q, k[tile]) + mask[:, tile]
        new = torch.cat([maximum, scores], dim=1).amax(dim=1, keepdim=True)
        total *= (maximum - new).exp()
        mixed *= (maximum - new).exp()
        scores.sub_(new).exp_()
        total += scores.sum(1, keepdim=True)
        mixed += scores @ v[tile]
        maximum = new
    return mixed.div_(total)


def attended_from_the_right(q, k, v, first_row, block_k):
    state = torch.full_like(q[:, 0], NEVER), torch.zeros_like(q[:, 0]), torch.zeros_like(q)
    for start in reversed(range(0, len(k), block_k)):
        state = merged(state, part_of(q, k, v, first_row, start, block_k))
    return state[2] / state[1][:, None]


def part_of(q, k, v, first_row, start, block_k):
    """One tile's maximum, total, mixed, by multiplying and adding: (rows, columns, d_head) numbers."""
    scores = (q[:, None] * k[None, start : start + block_k]).sum(-1) / q.shape[1] ** 0.5
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(first_row - start + 1)
    scores[hidden] = NEVER
    maximum = scores.max(1).values
    shares = torch.where(hidden, torch.zeros_like(scores), (scores - maximum[:, None]).exp())
    return maximum, shares.sum(1), (shares[..., None] * v[None, start : start + block_k]).sum(1)


def attended_split_and_merged(q, k, v, first_row, block_k):
    """Every tile for itself, all results merged at the end."""
    parts = [part_of(q, k, v, first_row, start, block_k) for start in range(0, len(k), block_k)]
    maxima, totals, mixed = (torch.stack(each) for each in zip(*parts, strict=True))
    by = torch.exp(maxima - maxima.amax(0))
    return (by[..., None] * mixed).sum(0) / (by * totals).sum(0)[:, None]


def attended_row_by_row(q, k, v, first_row, block_k):
    """One row after the other; what it sees of a tile is sliced, not masked."""
    out = []
    for i, row in enumerate(q):
        maximum, total, mixed = torch.tensor(NEVER), 0.0, torch.zeros_like(row)
        for start in range(0, first_row + i + 1, block_k):
            end = min(start + block_k, first_row + i + 1)
            scores = k[start:end] @ row * len(row) ** -0.5
            new = max(maximum.item(), scores.max().item())
            shares, factor = (scores - new).exp(), math.exp(maximum - new)
            maximum, total, mixed = (
                torch.tensor(new),
                factor * total + shares.sum(),
                factor * mixed + shares @ v[start:end],
            )
        out.append(mixed / total)
    return torch.stack(out)


def attended_number_by_number(q, k, v, first_row, block_k):
    out = torch.empty_like(q)
    for i in range(len(q)):
        maximum, total, mixed = -math.inf, 0.0, [0.0] * q.shape[1]
        for start in range(0, len(k), block_k):
            seen = range(start, min(start + block_k, len(k), first_row + i + 1))
            scores = [(q[i] * k[j]).sum().item() / math.sqrt(q.shape[1]) for j in seen]
            new = max([maximum, *scores])
            factor, shares = math.exp(maximum - new), [math.exp(score - new) for score in scores]
            total = factor * total + sum(shares)
            mixed = [factor * x for x in mixed]
            for share, j in zip(shares, seen, strict=True):
                mixed = [x + share * y for x, y in zip(mixed, v[j].tolist(), strict=True)]
            maximum = new
        out[i] = torch.tensor(mixed) / total
    return out


def attended_twice(q, k, v, first_row, block_k):
    """First the maxima, then the sums: every tile's scores are made twice, none is kept."""

    def scores(start):
        made = q @ k[start : start + block_k].T / q.shape[1] ** 0.5
        return made.masked_fill(torch.ones_like(made).triu(first_row - start + 1).bool(), NEVER)

    maximum = torch.stack([scores(start).amax(1) for start in range(0, len(k), block_k)]).amax(0)
    total, mixed = 0, 0
    for start in range(0, len(k), block_k):
        shares = (scores(start) - maximum[:, None]).exp()
        total, mixed = total + shares.sum(1), mixed + shares @ v[start : start + block_k]
    return mixed / total[:, None]


def attended_by_the_helpers(q, k, v, first_row, block_k):
    return attend_tiled(*(x[:, None] for x in (q, k, v)), len(q), block_k, offset=first_row)[0][:, 0]


@pytest.mark.parametrize("right", [
    attended, attended_in_place, attended_from_the_right, attended_split_and_merged, attended_row_by_row,
    attended_number_by_number, attended_twice, attended_by_the_helpers,
])  # fmt: skip
def test_right_blocks(capsys, seen, right):
    check_attend_block(right, seen)
    assert capsys.readouterr().out.startswith("Right: attend_block(q, k, v, first_row, block_k), on the model's own")


def test_the_right_block_is_the_models_own():
    seen = trace(tiny("llama"), PROMPTS[0])
    q, k, v = (seen[f"block1.{name}"][:, 0] for name in ("q_rot", "k_rot", "v"))
    torch.testing.assert_close(attended(q[2:5], k, v, 2, 3), seen["block1.mixed"][2:5, 0], rtol=1e-4, atol=1e-4)


# --- slips, written out ---


def causal(i, j, n_rows, first_row, start, *_):
    return start + j > first_row + i


def online(
    mask=causal,
    scale=None,
    total=True,
    mixed=True,
    fill=NEVER,
    last=True,
    of_values=None,
    end=True,
    tile=None,
    late=False,
):
    """A reader's loop with one thing wrong. mask(i, j, n_rows, first_row, start, n_k, width): hidden?"""

    def attend(q, k, v, first_row, block_k):
        state = torch.full((len(q), 1), NEVER), torch.zeros(len(q), 1), torch.zeros_like(q)
        for start in range(0, len(k) if last else len(k) - block_k + 1, block_k):
            k_tile, v_tile = k[start : start + block_k], v[start : start + block_k]
            s = q @ k_tile.T * (q.shape[1] ** -0.5 if scale is None else scale(q.shape[1]))
            i, j, place = (
                torch.arange(len(q))[:, None],
                torch.arange(len(k_tile)),
                (first_row, start, len(k), len(k_tile)),
            )
            hidden = torch.as_tensor(mask(i, j, len(q), *place)).expand(s.shape)
            s = s if late else s.masked_fill(hidden, fill)
            new = torch.maximum(state[0], s.amax(1, keepdim=True))
            p = (s - new.where(new > NEVER, 0.0)).exp()
            by = (state[0] - new.where(new > NEVER, 0.0)).exp()
            p = p.masked_fill(hidden, 0.0) if late else p
            if tile is not None:
                p, by = tile(p, by, state[0], new)
            values = p @ (v[: len(k_tile)] if of_values else v_tile)
            state = (
                new,
                state[1] * (by if total else 1) + p.sum(1, keepdim=True),
                state[2] * (by if mixed else 1) + values,
            )
        return state[2] / state[1] if end else state[2]

    return attend


def softmax_of_tiles(divide):
    def attend(q, k, v, first_row, block_k):
        out, n_tiles = torch.zeros_like(q), 0
        for start in range(0, len(k), block_k):
            part = part_of(q, k, v, first_row, start, block_k)
            out, n_tiles = out + part[2] / part[1].clamp(min=1e-30)[:, None], n_tiles + 1
        return out / (n_tiles if divide else 1)

    return attend


def merged_without_guard(q, k, v, first_row, block_k):
    state = None
    for start in range(0, len(k), block_k):
        scores = q @ k[start : start + block_k].T / q.shape[1] ** 0.5
        scores = scores.masked_fill(torch.ones_like(scores).triu(first_row - start + 1).bool(), NEVER)
        shares = (scores - scores.amax(1, keepdim=True)).exp()
        part = scores.amax(1), shares.sum(1), shares @ v[start : start + block_k]
        state = merged(state, part, guard=False) if state else part
    return state[2] / state[1][:, None]


def from_zero(q, k, v, first_row, block_k):
    return extreme(q, k, v, first_row, block_k, lambda old, s: torch.maximum(old, s), start=0.0)


def extreme(q, k, v, first_row, block_k, newest, start=NEVER):
    maximum, total, mixed = torch.full((len(q),), start), torch.zeros(len(q)), torch.zeros_like(q)
    for left in range(0, len(k), block_k):
        s = q @ k[left : left + block_k].T / q.shape[1] ** 0.5
        s = s.masked_fill(torch.ones_like(s).triu(first_row - left + 1).bool(), -1e9)
        new = newest(maximum, s.amax(1))
        p, by = (s - new[:, None]).exp(), (maximum - new).exp().nan_to_num(0.0)
        total, mixed, maximum = by * total + p.sum(1), by[:, None] * mixed + p @ v[left : left + block_k], new
    return mixed / total[:, None]


def hidden_after_the_total(q, k, v, first_row, block_k):
    """The total counts what the mask hides."""
    seen = online(mask=lambda *_: False, end=False)
    right, total = (
        online(late=True, end=False)(q, k, v, first_row, block_k),
        seen(q, k, torch.ones_like(v), first_row, block_k),
    )
    return right / total


def upside_down(p, by, old, new):
    return p, (new - old).exp().where(old > NEVER, 0.0)


BLOCK_SLIPS = {
    "no mask": (online(lambda *_: False), "later keys are not hidden"),
    "diagonal tile whole": (online(lambda i, j, n, first, start, *_: start > first + n - 1), "is taken whole"),
    "tile whole if row 0 sees its first": (online(lambda i, j, n, first, start, *_: start > first), "is taken whole"),
    "tile whole, row by row": (online(lambda i, j, n, first, start, *_: start > first + i), "is taken whole"),
    "diagonal tile left out": (
        online(lambda i, j, n, first, start, n_k, width: start + width - 1 > first), "is left out"),
    "left out unless the last row sees all": (
        online(lambda i, j, n, first, start, n_k, width: start + width - 1 > first + n - 1), "is left out"),
    "left out, row by row": (
        online(lambda i, j, n, first, start, n_k, width: start + width - 1 > first + i), "is left out"),
    "triu of the tile": (online(lambda i, j, *_: j > i), "from the tile's own corner"),
    "first_row ignored": (online(lambda i, j, n, first, start, *_: start + j > i), "counts rows from 0"),
    "start ignored": (online(lambda i, j, n, first, start, *_: j > first + i), "each tile's columns from 0"),
    "rows are the last": (
        online(lambda i, j, n, first, start, n_k, width: start + j > n_k - n + i), "as if they were the last ones"),
    "not itself": (online(lambda i, j, n, first, start, *_: start + j >= first + i), "must see itself"),
    "the next one too": (online(lambda i, j, n, first, start, *_: start + j > first + i + 1), "sees the next key"),
    "past hidden": (online(lambda i, j, n, first, start, *_: start + j < first + i), "hides the past"),
    "hidden scores 0": (online(fill=0.0), "must be minus infinity"),
    "no scale": (online(scale=lambda d: 1.0), "not divided by the square root"),
    "scale d_head": (online(scale=lambda d: 1 / d), "it takes the square root"),
    "no last tile": (online(last=False), "last tile may be smaller"),
    "first values": (online(of_values=True), "mixes the first values"),
    "no rescaling": (online(total=False, mixed=False), "maximum grows from tile to tile"),
    "mixed not rescaled": (online(mixed=False), "total is measured anew when the maximum grows, mixed is not"),
    "total not rescaled": (online(total=False), "mixed is measured anew when the maximum grows, the total is not"),
    "factor upside down": (online(tile=upside_down), "factor is upside down"),
    "factor upside down, NaN": (
        online(tile=lambda p, by, old, new: (p, (new - old).exp())), "NaN.*this way round"),
    "softmax of each tile": (softmax_of_tiles(divide=False), "You added the tiles' own results"),
    "average of the tiles": (softmax_of_tiles(divide=True), "You averaged the tiles' own results"),
    "divided in the tile as well": (
        online(tile=lambda p, by, old, new: (p / p.sum(1, keepdim=True).clamp(min=1e-9), by), end=False),
        "not yet:.* largest difference"),
    "never divided": (online(end=False), "the total is missing"),
    "hidden tiles": (merged_without_guard, "NaN.*hides a tile wholly from a row"),
    "maximum from 0": (from_zero, "the first maximum is minus infinity"),
    "no maximum": (lambda *case: extreme(*case, lambda old, s: torch.zeros_like(s)), "exp overflows"),
    "the tile's maximum": (
        lambda *case: extreme(*case, lambda old, s: torch.where(s > -1e8, s, old)), "running maximum never falls"),
    "the tile's maximum, hidden": (lambda *case: extreme(*case, lambda old, s: s), "NaN.*the larger of the two"),
    "the first tile's maximum": (
        lambda *case: extreme(*case, lambda old, s: torch.where(old == NEVER, s, old)), "first tile's maximum is not"),
    "hidden after the maximum": (online(late=True), "hide scores before you take the maximum"),
    "hidden after the total": (hidden_after_the_total, "not yet:.* largest difference"),
    "one maximum": (
        lambda *case: extreme(*case, lambda old, s: torch.maximum(old, s).max().expand_as(s)), "maximum of its own"),
}  # fmt: skip


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("name", BLOCK_SLIPS)
def test_block_slips(name, prompt):
    slip, hint = BLOCK_SLIPS[name]
    with pytest.raises(CheckFailed, match=hint):
        check_attend_block(slip, trace(tiny("llama"), prompt))


def test_other_faults_of_a_block(seen):
    for slip, hint in (
        (lambda *case: None, "is `return` missing"),
        (lambda *case: (attended(*case), 0), "your answer is a tuple"),
        (lambda *case: undefined, "stopped with NameError"),  # noqa: F821
        (lambda *case: attended(*case)[None], "your answer is a tensor of shape"),
        (lambda *case: 1.01 * attended(*case), "largest difference"),
        (lambda q, k, v, first_row, block_k: attended(q, k, v, first_row, 4)[:4], "not for 5 rows, 5 keys"),
    ):
        with pytest.raises(CheckFailed, match=hint):
            check_attend_block(slip, seen)


@pytest.mark.parametrize("stub", [..., lambda q, k, v, first_row, block_k: ...])
def test_a_stub_is_not_done_yet(capsys, seen, stub):
    check_attend_block(stub, seen)
    assert capsys.readouterr().out.startswith("Not done yet: attend_block")


# --- right numbers, but not tile by tile ---


def whole(q, k, v, first_row, block_k):
    scores = q @ k.T / q.shape[1] ** 0.5
    return scores.masked_fill(torch.ones_like(scores).triu(first_row + 1).bool(), NEVER).softmax(1) @ v


def whole_row_by_row(q, k, v, first_row, block_k):
    return torch.stack([(k[: first_row + i + 1] @ row / len(row) ** 0.5).softmax(0) @ v[: first_row + i + 1]
                        for i, row in enumerate(q)])  # fmt: skip


def filled(q, k, v, first_row, block_k):
    """The whole matrix, filled tile by tile."""
    scores = torch.empty(len(q), len(k))
    for start in range(0, len(k), block_k):
        scores[:, start : start + block_k] = q @ k[start : start + block_k].T / q.shape[1] ** 0.5
    return scores.masked_fill(torch.ones_like(scores).triu(first_row + 1).bool(), NEVER).softmax(1) @ v


def kept(q, k, v, first_row, block_k):
    """Every tile's scores are kept until the maximum is known."""
    starts = range(0, len(k), block_k)
    scores = [(q @ k[s : s + block_k].T / q.shape[1] ** 0.5) for s in starts]
    scores = [
        s.masked_fill(torch.ones_like(s).triu(first_row - a + 1).bool(), NEVER)
        for s, a in zip(scores, starts, strict=True)
    ]
    new = torch.stack([s.amax(1) for s in scores]).amax(0)[:, None]
    shares = [(s - new).exp() for s in scores]
    mixed = sum(p @ v[a : a + block_k] for p, a in zip(shares, starts, strict=True))
    return mixed / sum(p.sum(1, keepdim=True) for p in shares)


def sixty_four(q, k, v, first_row, block_k):
    return attended(q, k, v, first_row, 64)


def by_torch(q, k, v, first_row, block_k):
    mask = torch.ones(len(q), len(k), dtype=torch.bool).tril(first_row)
    return F.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None], attn_mask=mask)[0, 0]


@pytest.mark.parametrize("slip, hint", [
    (whole, r"you made scores \(3, 397\) at once, a tile has at most \(3, 16\)"),
    (whole_row_by_row, r"you made scores \(397,\) at once"),
    (filled, r"you made scores \(3, 397\) at once"),
    (kept, "you keep .* numbers made from q and k at one time"),
    (sixty_four, r"you made scores \(3, 64\) at once"),
    (lambda q, k, v, first_row, block_k: attended(q, k, v, first_row, 32), r"you made scores \(1, 32\) at once"),
    (lambda q, k, v, first_row, block_k: attended(q, k, v, first_row, 2 * block_k), r"at most \(1, 16\)"),
    (by_torch, "torch's own attention"),
])  # fmt: skip
def test_the_whole_row_of_scores_is_refused(seen, slip, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_attend_block(slip, seen)


def test_the_watch_follows_what_comes_from_both():
    q, k = torch.randn(3, 2), torch.randn(40, 2)
    with ScoreWatch(q, k) as watch:
        (2 * k).exp()
        scores = q @ k[:5].T
        assert watch.longest == (3, 5) and watch.most == 15
        other = torch.zeros_like(scores).new_ones(3, 100) + q.new_ones(3, 1)
        assert other.shape == (3, 100) and watch.longest == (3, 5)
        kept = torch.zeros(3, 20)
        kept[:, :5] = scores.exp()
        assert watch.most == 15 + 15 + 60
        del scores
        kept = kept + 1
        assert watch.longest == (3, 20)
    with ScoreWatch(q, k) as watch:
        for start in range(0, 40, 5):
            (q @ k[start : start + 5].T).sum()
    assert watch.longest == (3, 5) and watch.most == 16
