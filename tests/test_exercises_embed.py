"""The checks of notebook 02 accept right answers and name each typical slip."""

import pytest
import torch
import torch.nn.functional as F

from helpers.errors import CheckFailed
from helpers.exercises.embed import check_alibi, check_moved, check_nearest, check_turn
from helpers.trace import trace
from tests.tiny import tiny

TABLE = torch.randn(300, 16, generator=torch.Generator().manual_seed(0)) + 0.5


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def seen(request):
    return trace(tiny(request.param), "Hello the capital of France")


@pytest.fixture(scope="module")
def sines():
    place, pair = torch.arange(20)[:, None], torch.arange(16)
    angle = place / 10_000 ** (pair / 16)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


# --- right answers, in other words than the page's ---


def nearest_sorted(table, i, k):
    fits = F.cosine_similarity(table, table[i], dim=-1)
    return [j for j in fits.argsort(descending=True).tolist() if j != i][:k]


def nearest_in_float64(table, i, k):
    fits = F.cosine_similarity(table.double(), table[i].double(), dim=-1)
    fits[i] = -2.0
    return fits.topk(k).indices.tolist()


def turn_complex(x, positions, theta):
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    angle = torch.outer(positions.float(), theta ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1]))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)[:, None]).flatten(-2)


def turn_loop(x, positions, theta):
    out, d = x.clone(), x.shape[-1]
    for row, p in enumerate(positions.tolist()):
        for i in range(d // 2):
            angle = torch.tensor(p * theta ** (-2 * i / d))
            a, b = x[row, :, 2 * i], x[row, :, 2 * i + 1]
            out[row, :, 2 * i] = a * angle.cos() - b * angle.sin()
            out[row, :, 2 * i + 1] = b * angle.cos() + a * angle.sin()
    return out


def turn_in_place(x, positions, theta, keep=torch.clone):
    angle = torch.outer(positions.float(), theta ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1]))[:, None]
    a, b = keep(x[..., 0::2]), keep(x[..., 1::2])
    x[..., 0::2] = a * angle.cos() - b * angle.sin()
    x[..., 1::2] = a * angle.sin() + b * angle.cos()
    return x


def moved_right(vectors, k):
    d = vectors.shape[-1]
    out = vectors.clone()
    for i in range(d // 2):
        b = torch.tensor(k / 10_000 ** (2 * i / d))
        sin, cos = vectors[:, 2 * i], vectors[:, 2 * i + 1]
        out[:, 2 * i], out[:, 2 * i + 1] = sin * b.cos() + cos * b.sin(), cos * b.cos() - sin * b.sin()
    return out


def alibi_right(n_heads, n_tokens):
    bias = torch.full((n_heads, n_tokens, n_tokens), -torch.inf)
    for h in range(n_heads):
        for i in range(n_tokens):
            for j in range(i + 1):
                bias[h, i, j] = -(2 ** (-8 * (h + 1) / n_heads)) * (i - j)
    return bias


def test_right_answers(seen, sines, capsys):
    check_nearest(nearest_sorted, TABLE, 7)
    check_nearest(nearest_in_float64, TABLE, 299)
    check_turn(turn_complex, seen, 10_000.0)
    check_turn(turn_loop, seen, None)
    check_turn(turn_in_place, seen, 10_000.0)
    check_moved(moved_right, sines)
    check_alibi(alibi_right)
    assert capsys.readouterr().out.count("Right: ") == 7


def test_stubs_are_not_done_yet(seen, sines, capsys):
    check_nearest(lambda table, i, k: ..., TABLE, 7)
    check_turn(lambda x, positions, theta: ..., seen, 10_000.0)
    check_moved(lambda vectors, k: ..., sines)
    check_alibi(lambda n_heads, n_tokens: ...)
    assert capsys.readouterr().out.count("Not done yet") == 4


def test_a_forgotten_return_is_named(seen, sines):
    missing = "returns nothing: is `return` missing"
    for check in (
        lambda: check_nearest(lambda table, i, k: None, TABLE, 7),
        lambda: check_turn(lambda x, positions, theta: None, seen, 10_000.0),
        lambda: check_moved(lambda vectors, k: None, sines),
        lambda: check_alibi(lambda n_heads, n_tokens: None),
    ):
        with pytest.raises(CheckFailed, match=missing):
            check()


def test_one_token_is_enough_of_a_prompt():
    check_turn(turn_loop, trace(tiny("llama"), "a"), 10_000.0)
    with pytest.raises(CheckFailed, match="wrong way"):
        check_turn(lambda x, p, t: turn_complex(x, -p, t), trace(tiny("llama"), "a"), 10_000.0)


# --- slips, written out as a reader would make them ---


def unit(table):
    return table / table.norm(dim=-1, keepdim=True)


def without(order, i):
    return order[order != i]


@pytest.mark.parametrize("wrong, hint", [
    (lambda t, i, k: (unit(t) @ unit(t)[i]).topk(k).indices, "leave it out"),
    (lambda t, i, k: without((t @ t[i]).argsort(descending=True), i)[:k], "dot products"),
    (lambda t, i, k: (t @ t[i]).topk(k).indices, "long vectors win"),
    (lambda t, i, k: (unit(t) @ unit(t)[i]).topk(k, largest=False).indices, "farthest"),
    (lambda t, i, k: torch.cdist(t, t[i : i + 1])[:, 0].argsort()[1 : k + 1], "by distance"),
    (lambda t, i, k: nearest_sorted(t, i, 5), "not for sizes"),
    (lambda t, i, k: F.cosine_similarity(t, t[i], dim=-1).argsort(descending=True)[1 : k + 1], "by its number"),
    (lambda t, i, k: F.cosine_similarity(t, t[i], dim=-1).topk(k + 1).indices[1:], "by its number"),
    (lambda t, i, k: F.cosine_similarity(t, t[i], dim=-1)[nearest_sorted(t, i, k)], "these are cosines"),
    (lambda t, i, k: nearest_sorted(t, i, k)[::-1], "expected"),
    (lambda t, i, k: torch.tensor(nearest_sorted(t, i, k)) + 1, "yours .*, expected"),
])  # fmt: skip
def test_nearest_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_nearest(wrong, TABLE, 7)


def half_split(x, positions, theta, frequency=None):
    pair = torch.arange(x.shape[-1] // 2)
    angle = (positions[:, None] * theta ** (-2 * pair / x.shape[-1]))[:, None]
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), dim=-1)


def by_angle(x, angle):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), dim=-1).flatten(-2)


@pytest.mark.parametrize("wrong, hint", [
    (lambda x, p, t: turn_complex(x, -p, t), "wrong way"),
    (half_split, "this exercise pairs neighbours"),
    (lambda x, p, t: turn_complex(x, p + 1, t), "from 1"),
    (lambda x, p, t: turn_complex(x, torch.arange(len(x)), t), "positions from the argument"),
    (lambda x, p, t: turn_complex(x, torch.arange(1, len(x) + 1), t), "positions from the argument"),
    (lambda x, p, t: by_angle(x, p[:, None, None].float()), "frequency of its own"),
    (lambda x, p, t: turn_complex(x, p, t**0.5), "the 2 is missing"),
    (lambda x, p, t: torch.cat((turn_loop(x, p, t)[..., 0::2], turn_loop(x, p, t)[..., 1::2]), -1), "side by side"),
    (lambda x, p, t: turn_complex(x, p, 10_000.0), "not for sizes"),
    (lambda x, p, t: turn_in_place(x, p, t, keep=lambda part: part), "wrote over the first number"),
    (lambda x, p, t: turn_complex(x, p * torch.pi / 180, t), "largest difference"),
])  # fmt: skip
def test_turn_slips(seen, wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_turn(wrong, seen, 10_000.0)


def moved_with(vectors, b, swap=False):
    even, odd = vectors[:, 0::2], vectors[:, 1::2]
    sin, cos = (odd, even) if swap else (even, odd)
    later = [sin * b.cos() + cos * b.sin(), cos * b.cos() - sin * b.sin()]
    return torch.stack(later[::-1] if swap else later, -1).flatten(1)


def step(vectors, k, two=2):
    d = vectors.shape[-1]
    return k / 10_000 ** (two * torch.arange(d // 2) / d)


@pytest.mark.parametrize("wrong, hint", [
    (lambda v, k: moved_right(v, -k), "moved them back"),
    (lambda v, k: moved_with(v, step(v, k), swap=True), "exchanged"),
    (lambda v, k: moved_right(v, k).unflatten(1, (-1, 2)).flip(-1).flatten(1), "in what you return"),
    (lambda v, k: moved_with(v, step(v, k, two=1)), "the 2 is missing"),
    (lambda v, k: moved_with(v, torch.tensor(float(k))), "frequency of its own"),
    (lambda v, k: v.roll(-k, 0), "past its end"),
])  # fmt: skip
def test_moved_slips(sines, wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_moved(wrong, sines)


def biases(n_heads, n_tokens, slopes, hide=True):
    distance = torch.arange(n_tokens)[:, None] - torch.arange(n_tokens)
    bias = -slopes[:, None, None] * distance
    return bias.masked_fill(distance < 0, -torch.inf) if hide else bias


@pytest.mark.parametrize("wrong, hint", [
    (lambda h, n: biases(h, n, 2.0 ** (-8 / h * torch.arange(h))), "counted from 1"),
    (lambda h, n: biases(h, n, -(2.0 ** (-8 / h * torch.arange(1, h + 1)))), "must lose"),
    (lambda h, n: biases(h, n, 2.0 ** -torch.arange(1.0, h + 1)), "depend on the number"),
    (lambda h, n: biases(h, n, 2.0 ** (-8 / h * torch.arange(1, h + 1)), hide=False), "bonus"),
    (lambda h, n: alibi_right(h, n).tril().nan_to_num(), "as near as"),
    (lambda h, n: alibi_right(h, n).clamp(min=-1e9), "below any other number"),
    (lambda h, n: alibi_right(h, n).clamp(min=-1e4), "below any other number"),
    (lambda h, n: alibi_right(h, n).clamp(min=-100.0), "yours -100, expected -inf"),
    (lambda h, n: biases(h, n, torch.ones(h)), "slope of its own"),
    (lambda h, n: alibi_right(8, n)[:h], "not for 4, 3"),
])  # fmt: skip
def test_alibi_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_alibi(wrong)
