"""The checks of notebook 04: RMSNorm, SwiGLU, how many weights one token uses."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from helpers.exercises import ffn_answers as answers
from helpers.exercises.engine import check_function


def check_rms_norm(fn, seen: Mapping[str, Tensor], norm, layer: int = 0) -> None:
    """Check `fn(x, weight, eps)`, the root-mean-square norm of every row of x (n_tokens, d_model).

    norm: the block's second norm (helpers.weights.Norm), whose weight and eps the first case takes.
    """
    x = seen[f"block{layer}.mid"].float()
    small = [(0.004 * _random(x, n, d), _random(x, d), eps) for n, d, eps in ((5, 8, 1e-5), (3, 12, 1e-6))]
    cases = [(x, norm.weight.float(), norm.eps), *small, (_random(x, 20, 7), _random(x, 7), 0.1)]
    cases += [(torch.zeros(1, 4).to(x.device), _random(x, 4), 1e-6)]
    notes = {len(cases) - 1: "a row of zeros, which eps keeps from being divided by zero"}
    check_function("rms_norm(x, weight, eps)", fn, answers.rms_norm, answers.NORM_MISTAKES, cases, notes)


def check_swiglu(fn, seen: Mapping[str, Tensor], w, layer: int = 0) -> None:
    """Check `fn(h, w_gate, w_up, w_down)`, what an FFN with SiLU and no biases adds: (n_tokens, d_model).

    w: the block's weights; in a model without a gate its second matrix, upside down, stands in for one.
    """
    h = seen[f"block{layer}.norm2"].float()
    gate = (w.w_up.flip(0) if w.w_gate is None else w.w_gate).float()
    shapes = ((5, 8, 12), (3, 6, 10), (1, 4, 6), (20, 5, 3))  # n_tokens, d_model, d_mlp
    fresh = [
        (_random(h, n, d), _random(h, m, d, seed=1), _random(h, m, d, seed=2), _random(h, d, m)) for n, d, m in shapes
    ]
    cases = [(h, gate, w.w_up.float(), w.w_down.float()), *fresh]
    check_function("swiglu(h, w_gate, w_up, w_down)", fn, answers.swiglu, answers.SWIGLU_MISTAKES, cases)


def check_weights_used(fn, shapes: Sequence[Mapping]) -> None:
    """Check `fn(shape)`, the weights that work on one token, norms not counted.

    After every published shape comes a small one: beside billions a forgotten router would not show.
    """
    cases = [(dict(shape),) for shape in (*shapes, answers.SMALL_SHAPE)]
    check_function("weights_used(shape)", fn, answers.weights_used, answers.COUNT_MISTAKES, cases)


def _random(like: Tensor, *sizes: int, seed: int = 0) -> Tensor:
    """Reproducible numbers on the device of `like`."""
    generator = torch.Generator().manual_seed(sum(sizes) + 1000 * seed)
    return torch.randn(sizes, generator=generator).to(like.device)
