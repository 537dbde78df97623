"""Right answers of the FFN exercises, and the slips readers make, each with the hint that helps."""

from functools import partial

from torch import Tensor
from torch.nn.functional import gelu, silu

SMALL_SHAPE = {
    "name": "toy", "n_layers": 3, "d_model": 8, "n_heads": 4, "n_kv_heads": 2, "d_head": 2, "d_mlp": 12,
    "n_experts": 6, "n_active": 2, "n_vocab": 20, "tied": True, "norms_per_block": 2, "qk_norms": False,
}  # fmt: skip


def rms_norm(x: Tensor, weight: Tensor, eps: float, root=True, axis=-1, eps_inside=True, centre=False) -> Tensor:
    """Rows of x (n_tokens, d_model) over their root mean square, times weight; the keywords plant a slip."""
    x = x - x.mean(dim=-1, keepdim=True) if centre else x
    mean_square = x.pow(2).mean(dim=axis, keepdim=True) + (eps if eps_inside else 0.0)
    divide_by = mean_square.sqrt() if root else mean_square
    return x / (divide_by + (0.0 if eps_inside else eps)) * weight


def swiglu(h: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor, act=None) -> Tensor:
    """What the FFN adds, (n_tokens, d_model); `act(gate, up)` plants a slip."""
    gate, up = h @ w_gate.T, h @ w_up.T
    return (silu(gate) * up if act is None else act(gate, up)) @ w_down.T


def weights_used(shape: dict, matrices=3, experts=None, tables=None, kv=True, router=True) -> int:
    """Weights that work on one token: attention, the active experts, the router, the vocabulary tables."""
    d, blocks = shape["d_model"], shape["n_layers"]
    n_kv_heads = shape["n_kv_heads"] if kv else shape["n_heads"]
    attention = 2 * d * shape["d_head"] * (shape["n_heads"] + n_kv_heads)
    ffn = matrices * d * shape["d_mlp"] * (shape[experts or "n_active"])
    gate = d * shape["n_experts"] if router and shape["n_experts"] > 1 else 0
    return blocks * (attention + ffn + gate) + shape["n_vocab"] * d * (tables or 2 - shape["tied"])


norm_slip, ffn_slip, count_slip = (partial(partial, f) for f in (rms_norm, swiglu, weights_used))

NORM_MISTAKES = [
    ("you divided by the mean square: divide by its square root.", norm_slip(root=False)),
    (
        "your mean runs over the tokens: each token is brought to its own length, so the mean runs over the last axis.",
        norm_slip(axis=0),
    ),
    (
        "your mean runs over all tokens at once: each row needs its own, dim=-1 with keepdim=True.",
        lambda x, weight, eps: x / (x.pow(2).mean() + eps).sqrt() * weight,
    ),
    ("eps belongs under the root: add it to the mean square, not to the root.", norm_slip(eps_inside=False)),
    ("eps is missing: add it to the mean square, under the root.", lambda x, weight, eps: rms_norm(x, weight, 0.0)),
    ("that is LayerNorm: RMSNorm does not subtract the mean.", norm_slip(centre=True)),
    (
        "that is a standard deviation: RMSNorm takes the mean of the squares, with no mean subtracted.",
        lambda x, weight, eps: x / (x.var(dim=-1, keepdim=True, unbiased=False) + eps).sqrt() * weight,
    ),
    (
        "that is a standard deviation: RMSNorm takes the mean of the squares, with no mean subtracted.",
        lambda x, weight, eps: x / (x.var(dim=-1, keepdim=True) + eps).sqrt() * weight,
    ),
    (
        "eps goes under the root as it is: you squared it or took its root.",
        lambda x, weight, eps: rms_norm(x, weight, eps**2),
    ),
    (
        "eps goes under the root as it is: you squared it or took its root.",
        lambda x, weight, eps: rms_norm(x, weight, eps**0.5),
    ),
    ("the weight is missing: every number is multiplied by its own.", lambda x, weight, eps: rms_norm(x, 1.0, eps)),
    (
        "you divided by the length, the root of the sum: take the mean of the squares.",
        lambda x, weight, eps: x / (x.pow(2).sum(dim=-1, keepdim=True) + eps).sqrt() * weight,
    ),
]

SWIGLU_MISTAKES = [
    ("SiLU bends the gate, and you bent up: it is silu(gate) * up.", ffn_slip(act=lambda gate, up: gate * silu(up))),
    ("SiLU bends the gate alone, before the product.", ffn_slip(act=lambda gate, up: silu(gate * up))),
    ("only the gate is bent: up enters the product as it is.", ffn_slip(act=lambda gate, up: silu(gate) * silu(up))),
    ("gate and up are multiplied number by number, not added.", ffn_slip(act=lambda gate, up: silu(gate) + up)),
    ("the multiplication by up is missing.", ffn_slip(act=lambda gate, up: silu(gate))),
    ("the gate is missing: up alone is the FFN of 2017.", ffn_slip(act=lambda gate, up: silu(up))),
    ("that is GEGLU: here the gate is bent by SiLU, not by GELU.", ffn_slip(act=lambda gate, up: gelu(gate) * up)),
    (
        "that is GEGLU: here the gate is bent by SiLU, not by GELU.",
        ffn_slip(act=lambda gate, up: gelu(gate, approximate="tanh") * up),
    ),
    (
        "a sigmoid alone is the gate of 1997: SiLU is gate * sigmoid(gate).",
        ffn_slip(act=lambda g, up: g.sigmoid() * up),
    ),
    (
        "that is ReGLU: here the gate is bent by SiLU, not by ReLU.",
        ffn_slip(act=lambda gate, up: gate.relu() * up),
    ),
    ("nothing is bent: without SiLU this is a product of two linear maps.", ffn_slip(act=lambda gate, up: gate * up)),
    (
        "w_down is missing: bring the d_mlp numbers back to d_model.",
        lambda h, w_gate, w_up, w_down: silu(h @ w_gate.T) * (h @ w_up.T),
    ),
]

COUNT_MISTAKES = [
    (
        "one table serves both ends where the shape says tied: count it once.",
        count_slip(tables=2),
    ),
    ("there are two vocabulary tables where the shape does not say tied.", count_slip(tables=1)),
    ("a gated FFN has three matrices, gate, up and down; you counted two.", count_slip(matrices=2)),
    ("only n_active of the experts work on a token; you counted all n_experts.", count_slip(experts="n_experts")),
    ("keys and values have n_kv_heads heads, fewer than the queries.", count_slip(kv=False)),
    ("the router is missing: d_model weights for every expert, in every block.", count_slip(router=False)),
    (
        "the attention is that of one block: all n_layers have their own.",
        lambda shape: weights_used({**shape, "n_layers": 1}),
    ),
]
