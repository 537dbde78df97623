"""The checks of notebook 07 accept right answers and name each typical slip."""

from types import SimpleNamespace

import pytest
import torch

from helpers import trace
from helpers.errors import CheckFailed
from helpers.exercises import kv_cache_answers as answers
from helpers.exercises.kv_cache import check_attend_cached, check_positions, check_tokens_that_fit
from helpers.weights import sizes
from tests.tiny import tiny

PROMPTS = ("Hello world is", "a", "ab")


def attend(q, k, v, keys, values, axis=0, grow=True, **slip):
    """Attention over the joined rows, with the cache as a reader would return it."""
    mixed = answers.attend_cached(q, k, v, keys, values, **slip)
    if not grow:
        return mixed, keys, values
    return mixed, torch.cat([keys, k], dim=axis), torch.cat([values, v], dim=axis)


def by_hand(q, k, v, keys, values):
    """Another way to write it: token by token, head by head, without a mask."""
    mixed, group = torch.empty_like(q), q.shape[1] // k.shape[1]
    for i in range(len(q)):
        keys, values = torch.cat([keys, k[i : i + 1]]), torch.cat([values, v[i : i + 1]])
        for head in range(q.shape[1]):
            shares = (keys[:, head // group] @ q[i, head] / q.shape[-1] ** 0.5).softmax(dim=0)
            mixed[i, head] = shares @ values[:, head // group]
    return mixed, keys, values


@pytest.mark.parametrize("arch", ("llama", "gpt2"))
@pytest.mark.parametrize("prompt", PROMPTS)
def test_right_answers(capsys, arch, prompt):
    seen, size = trace(tiny(arch), prompt), sizes(tiny(arch))
    for right in (attend, by_hand, lambda *case: list(attend(*case))):
        check_attend_cached(right, seen)
    check_positions(lambda n_cached, n_new: [n_cached + i for i in range(n_new)])
    check_positions(lambda n_cached, n_new: range(n_cached, n_cached + n_new))
    check_attend_cached(lambda *case: (by_hand(*(x.double() for x in case))[0], *attend(*case)[1:]), seen)
    check_positions(lambda n_cached, n_new: torch.arange(n_cached, n_cached + n_new).tolist())
    check_tokens_that_fit(lambda s, n, b, x: n // (s.n_kv_heads * 2 * s.d_head * b * x * s.n_layers), size)
    assert capsys.readouterr().out.count("Right: ") == 8


def test_stubs_are_not_done_yet(capsys):
    check_attend_cached(lambda q, k, v, keys, values: ..., trace(tiny("llama"), "Hello"))
    check_positions(lambda n_cached, n_new: ...)
    check_tokens_that_fit(lambda size, n_bytes, batch, number: ..., sizes(tiny("llama")))
    assert capsys.readouterr().out.count("Not done yet") == 3


def test_a_forgotten_return_is_named():
    missing = "returns nothing: is `return` missing"
    with pytest.raises(CheckFailed, match=missing):
        check_attend_cached(lambda *case: None, trace(tiny("llama"), "Hello"))
    with pytest.raises(CheckFailed, match=missing):
        check_positions(lambda n_cached, n_new: None)
    with pytest.raises(CheckFailed, match=missing):
        check_tokens_that_fit(lambda *case: None, sizes(tiny("llama")))


def filled(q, k, v, keys, values, number):
    """Hidden scores set to a number."""
    n_old, group = len(keys), q.shape[1] // k.shape[1]
    keys, values = torch.cat([keys, k]), torch.cat([values, v])
    scores = torch.einsum("ihd,jhd->hij", q, keys.repeat_interleave(group, dim=1)) / q.shape[-1] ** 0.5
    future = torch.ones_like(scores, dtype=torch.bool).triu(n_old + 1)
    shares = scores.masked_fill(future, number).softmax(-1)
    return torch.einsum("hij,jhd->ihd", shares, values.repeat_interleave(group, dim=1)), keys, values


@pytest.mark.parametrize("number", [-20.0, -100.0, -1000.0])
def test_a_mask_of_finite_numbers_is_refused(number):
    seen = trace(tiny("llama"), "Hello world is")
    check_attend_cached(lambda *case: filled(*case, number=-torch.inf), seen)
    with pytest.raises(CheckFailed, match="scores far apart: hide with minus infinity"):
        check_attend_cached(lambda *case: filled(*case, number=number), seen)


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("slip, hint", [
    ({"axis": 1}, "wrong axis: the cache grows along the tokens"),
    ({"axis": 2}, "wrong axis: the cache grows along the tokens"),
    ({"grow": False}, "have not grown"),
    ({"first": 10**6}, "later tokens are not hidden"),
    ({"first": 0}, "does not see itself"),
    ({"first": 2}, "still sees the next one"),
    ({"offset": 0}, "counts from the first cached row"),
    ({"tile": True}, "use key and value 0"),
    ({"join": False, "first": 10**6}, "look before their own"),
])  # fmt: skip
def test_attend_slips(prompt, slip, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_attend_cached(lambda *case: attend(*case, **slip), trace(tiny("llama"), prompt))


def test_attend_other_faults():
    seen = trace(tiny("llama"), "Hello world is")
    with pytest.raises(CheckFailed, match="return three things"):
        check_attend_cached(lambda *case: attend(*case)[0], seen)
    with pytest.raises(CheckFailed, match="old rows, then the new ones"):
        check_attend_cached(lambda q, k, v, ks, vs: (q, torch.cat([k, ks]), torch.cat([vs, v])), seen)
    with pytest.raises(CheckFailed, match="the keys you return are a list"):
        check_attend_cached(lambda q, k, v, ks, vs: (q, [ks, k], [vs, v]), seen)
    with pytest.raises(CheckFailed, match="stopped with NameError"):
        check_attend_cached(lambda *case: undefined, seen)  # noqa: F821
    with pytest.raises(CheckFailed, match="largest difference"):
        check_attend_cached(lambda *case: (2 * attend(*case)[0], *attend(*case)[1:]), seen)


@pytest.mark.parametrize("wrong, hint", [
    (lambda n_cached, n_new: list(range(n_new)), "start at 0 in each step"),
    (lambda n_cached, n_new: list(range(n_cached + 1, n_cached + n_new + 1)), "one too far"),
    (lambda n_cached, n_new: list(range(n_cached - 1, n_cached + n_new - 1)), "one too early"),
    (lambda n_cached, n_new: list(range(n_cached + n_new)), "positions of the whole text"),
    (lambda n_cached, n_new: n_cached, "returns 12, expected"),
    (lambda n_cached, n_new: [n_cached], "for 0, 5 it returns"),
])  # fmt: skip
def test_position_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_positions(wrong)


SMOLLM2 = SimpleNamespace(n_layers=30, n_heads=9, n_kv_heads=3, d_head=64, d_model=576)


@pytest.mark.parametrize("slip, hint", [
    ({"heads": "n_heads"}, "only the KV heads"),
    ({"tensors": 1}, "a key and a value"),
    ({"layers": 1}, "every layer"),
    ({"batch": 1}, "`batch` of them share"),
    ({"number": 4}, "you took 4"),
    ({"round": False}, "round down"),
    ({"round": round}, "expected"),
    ({"round": lambda tokens: max(1, int(tokens))}, "expected 0"),
])  # fmt: skip
def test_fit_slips(slip, hint):
    def wrong(size, n_bytes, batch, number):
        if "round" in slip:
            tokens = n_bytes / (2 * size.n_layers * size.n_kv_heads * size.d_head * number * batch)
            return slip["round"](tokens) if slip["round"] else tokens
        given = {"batch": batch, "number": number} | slip
        return answers.tokens_that_fit(size, n_bytes, **given)

    with pytest.raises(CheckFailed, match=hint):
        check_tokens_that_fit(wrong, SMOLLM2)


def test_a_gigabyte_of_smollm2():
    assert answers.tokens_that_fit(SMOLLM2, 10**9, 1, 4) == 10**9 // 46_080
