"""The checks of notebook 04 accept right answers and name each typical slip."""

import pytest
import torch
from torch.nn.functional import gelu, silu

from helpers import trace
from helpers.errors import CheckFailed
from helpers.exercises.ffn import check_rms_norm, check_swiglu, check_weights_used
from helpers.ffn import model_shapes
from helpers.weights import block_weights
from tests.tiny import tiny

LM = tiny("llama")
SEEN, W = trace(LM, "Hello world: the capital of France is"), block_weights(LM, 0)


def norm_check(fn):
    check_rms_norm(fn, SEEN, W.norm2)


def ffn_check(fn):
    check_swiglu(fn, SEEN, W)


def count_check(fn):
    check_weights_used(fn, model_shapes())


def rms(x, eps, **where):
    return (x.pow(2).mean(keepdim=True, **where) + eps).sqrt()


def count(s, matrices=3, experts="n_active", tables=None, n_kv_heads="n_kv_heads", router=True):
    attention = 2 * s["d_model"] * s["d_head"] * (s["n_heads"] + s[n_kv_heads])
    ffn = matrices * s["d_model"] * s["d_mlp"] * s[experts]
    ffn += s["d_model"] * s["n_experts"] if router and s["n_experts"] > 1 else 0
    return s["n_layers"] * (attention + ffn) + (tables or 2 - s["tied"]) * s["n_vocab"] * s["d_model"]


def test_right_answers(capsys):
    norm_check(lambda x, weight, eps: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight)
    norm_check(lambda x, weight, eps: torch.nn.functional.rms_norm(x, weight.shape, weight, eps))
    norm_check(lambda x, weight, eps: torch.stack([row / (row.square().mean() + eps).sqrt() * weight for row in x]))
    norm_check(lambda x, weight, eps: x.double().div_(rms(x.double(), eps, dim=-1)).mul_(weight))
    ffn_check(lambda h, gate, up, down: (silu(h.double() @ gate.T.double()) * (h @ up.T)) @ down.T.double())
    count_check(lambda shape: float(count(shape)))
    ffn_check(lambda h, gate, up, down: (h @ gate.T * (h @ gate.T).sigmoid() * (h @ up.T)) @ down.T)
    count_check(count)
    assert capsys.readouterr().out.count("Right: ") == 8


def test_stubs_are_not_done_yet(capsys):
    norm_check(lambda x, weight, eps: ...)
    ffn_check(lambda h, gate, up, down: ...)
    count_check(lambda shape: ...)
    assert capsys.readouterr().out.count("Not done yet") == 3


def test_a_forgotten_return_is_named():
    for check in (norm_check, ffn_check, count_check):
        with pytest.raises(CheckFailed, match="returns nothing: is `return` missing"):
            check(lambda *arguments: None)


def test_a_model_without_a_gate_can_be_used(capsys):
    gpt2 = tiny("gpt2")
    seen = trace(gpt2, "Hello world")
    check_swiglu(lambda h, gate, up, down: (silu(h @ gate.T) * (h @ up.T)) @ down.T, seen, block_weights(gpt2, 0))
    assert "Right: " in capsys.readouterr().out


@pytest.mark.parametrize("wrong, hint", [
    (lambda x, weight, eps: x / (x.pow(2).mean(-1, keepdim=True) + eps) * weight, "by its square root"),
    (lambda x, weight, eps: x / rms(x, eps, dim=0) * weight, "runs over the tokens"),
    (lambda x, weight, eps: x / (x.pow(2).mean() + eps).sqrt() * weight, "over all tokens at once"),
    (lambda x, weight, eps: x / (rms(x, 0, dim=-1) + eps) * weight, "under the root"),
    (lambda x, weight, eps: x / rms(x, 0, dim=-1) * weight, "eps is missing"),
    (lambda x, weight, eps: torch.nn.functional.layer_norm(x, weight.shape, weight, None, eps), "LayerNorm"),
    (lambda x, weight, eps: x / (x.var(-1, keepdim=True, correction=0) + eps).sqrt() * weight, "standard deviation"),
    (lambda x, weight, eps: x / rms(x, eps, dim=-1), "the weight is missing"),
    (lambda x, weight, eps: x / (x.pow(2).sum(-1, keepdim=True) + eps).sqrt() * weight, "the root of the sum"),
    (lambda x, weight, eps: x / rms(x, 1e-5, dim=-1) * weight, "every number from the arguments"),
    (lambda x, weight, eps: x / rms(x, 1e-6, dim=-1) * weight, "every number from the arguments|eps is missing"),
    (lambda x, weight, eps: x / rms(x, 1e-12, dim=-1) * weight, "every number from the arguments"),
    (lambda x, weight, eps: x / rms(x, 0.9 * eps, dim=-1) * weight, "largest difference"),
    (lambda x, weight, eps: x / (rms(x, eps, dim=-1) + eps) * weight, "largest difference"),
    (lambda x, weight, eps: x / rms(x, 0, dim=-1).clamp(min=eps) * weight, "largest difference"),
    (lambda x, weight, eps: x / rms(x, eps**2, dim=-1) * weight, "as it is: you squared it"),
    (lambda x, weight, eps: x / (x.var(-1, keepdim=True) + eps).sqrt() * weight, "standard deviation"),
    (lambda x, weight, eps: x / rms(x, eps, dim=-1) * (1 + weight), "largest difference"),
    (lambda x, weight, eps: (x / rms(x, eps, dim=-1) * weight).nan_to_num(nan=1.0) + 1e-3 * (x == 0), "row of zeros"),
])  # fmt: skip
def test_norm_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        norm_check(wrong)


@pytest.mark.parametrize("act, hint", [
    (lambda gate, up: gate * silu(up), "you bent up"),
    (lambda gate, up: silu(gate * up), "before the product"),
    (lambda gate, up: silu(gate) * silu(up), "up enters the product as it is"),
    (lambda gate, up: silu(gate) + up, "not added"),
    (lambda gate, up: silu(gate), "multiplication by up is missing"),
    (lambda gate, up: silu(up), "the FFN of 2017"),
    (lambda gate, up: gelu(gate) * up, "GEGLU"),
    (lambda gate, up: gelu(gate, approximate="tanh") * up, "GEGLU"),
    (lambda gate, up: gate.sigmoid() * up, "SiLU is gate"),
    (lambda gate, up: gate * up, "nothing is bent"),
    (lambda gate, up: gate.relu() * up, "ReGLU"),
    (lambda gate, up: torch.nn.functional.hardswish(gate) * up, "largest difference"),
])  # fmt: skip
def test_swiglu_slips(act, hint):
    with pytest.raises(CheckFailed, match=hint):
        ffn_check(lambda h, gate, up, down: act(h @ gate.T, h @ up.T) @ down.T)


def test_swiglu_without_its_last_matrix():
    with pytest.raises(CheckFailed, match="w_down is missing"):
        ffn_check(lambda h, gate, up, down: silu(h @ gate.T) * (h @ up.T))


@pytest.mark.parametrize("wrong, hint", [
    (dict(tables=2), "count it once"),
    (dict(tables=1), "two vocabulary tables"),
    (dict(matrices=2), "three matrices"),
    (dict(experts="n_experts"), "only n_active"),
    (dict(n_kv_heads="n_heads"), "fewer than the queries"),
    (dict(router=False), "the router is missing"),
])  # fmt: skip
def test_count_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        count_check(lambda shape: count(shape, **wrong))


def test_one_weight_more_is_refused():
    """Beside 134 million a forgotten norm of 576 is 4e-6: whole numbers are compared exactly."""
    for more in (1, LM.config.hidden_size):
        with pytest.raises(CheckFailed, match="largest difference"):
            count_check(lambda shape, more=more: count(shape) + more)
