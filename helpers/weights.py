"""A model's weights under the same names whatever the architecture, each matrix as (out, in): `y = x @ w.T + b`.

Where a model has no bias, `b_…` is zero; where an FFN has no gate, `w_gate` is None.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from helpers.layouts import head_size, layout_of


@dataclass(frozen=True)
class Norm:
    """RMSNorm, or LayerNorm where it first subtracts the mean: weight and bias (d_model,), eps.

    Called with x (…, d_model), it brings every vector to a standard length, as notebook 04 derives.
    """

    weight: Tensor
    bias: Tensor
    eps: float
    subtracts_mean: bool

    def __call__(self, x: Tensor) -> Tensor:
        x = x - x.mean(dim=-1, keepdim=True) if self.subtracts_mean else x
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps) * self.weight + self.bias


def block_weights(lm, layer: int) -> SimpleNamespace:
    """The weights of one block.

    w_q (n_heads * d_head, d_model), w_k and w_v (n_kv_heads * d_head, d_model), w_o (d_model, n_heads * d_head),
    w_gate and w_up (d_mlp, d_model), w_down (d_model, d_mlp), the biases b_q … b_down, norm1, norm2 (Norm), and
    q_norm, k_norm, which change nothing where the model does not norm its queries and keys.
    The matrices of a mixture of experts stay in the model: there w_gate, w_up and w_down are absent.
    """
    block = lm.model.get_submodule(layout_of(lm.model).blocks)[layer]
    part = _gpt2(block) if lm.model.config.model_type == "gpt2" else _llama(block)
    return SimpleNamespace(**part)


def final_norm(lm) -> Norm:
    """The norm between the last block and the logits."""
    trunk = lm.model.base_model
    return _norm(trunk.ln_f if hasattr(trunk, "ln_f") else trunk.norm)


def activation(lm):
    """The function that bends the response of an FFN's features: SiLU, GELU or its tanh approximation."""
    block = lm.model.get_submodule(layout_of(lm.model).blocks)[0]
    return getattr(block.mlp, "act_fn", None) or getattr(block.mlp, "act", None) or block.mlp.experts.act_fn


def position_vectors(lm, n_tokens: int) -> Tensor:
    """What is added to the embeddings for their positions, (n_tokens, d_model); zero in models that rotate instead."""
    if lm.model.config.model_type == "gpt2":
        return lm.model.transformer.wpe.weight[:n_tokens].detach()
    return torch.zeros(n_tokens, lm.model.config.hidden_size, device=lm.device)


def sizes(lm) -> SimpleNamespace:
    """n_layers, n_heads, n_kv_heads, d_head, d_model, n_vocab: what a configuration calls by many names."""
    config = lm.model.config
    return SimpleNamespace(
        n_layers=config.num_hidden_layers, n_heads=config.num_attention_heads,
        n_kv_heads=getattr(config, "num_key_value_heads", None) or config.num_attention_heads,
        d_head=head_size(config), d_model=config.hidden_size, n_vocab=config.vocab_size,
    )  # fmt: skip


def _llama(block: nn.Module) -> dict:
    attn, mlp = block.self_attn, block.mlp
    layers = {"q": attn.q_proj, "k": attn.k_proj, "v": attn.v_proj, "o": attn.o_proj}
    if hasattr(mlp, "down_proj"):
        layers |= {"gate": mlp.gate_proj, "up": mlp.up_proj, "down": mlp.down_proj}
    norm2 = getattr(block, "pre_feedforward_layernorm", block.post_attention_layernorm)
    norms = {"norm1": _norm(block.input_layernorm), "norm2": _norm(norm2)}
    for name in ("q_norm", "k_norm"):
        norms[name] = _norm(getattr(attn, name)) if hasattr(attn, name) else _unchanged
    return {**_matrices(layers), **norms}


def _gpt2(block: nn.Module) -> dict:
    """GPT-2 stores its matrices as (in, out), and those of q, k and v as one."""
    matrices = {"o": block.attn.c_proj, "up": block.mlp.c_fc, "down": block.mlp.c_proj}
    named = {f"w_{name}": part.weight.detach().T for name, part in matrices.items()}
    named |= {f"b_{name}": part.bias.detach() for name, part in matrices.items()}
    for name, weight in zip("qkv", block.attn.c_attn.weight.detach().T.chunk(3), strict=True):
        named[f"w_{name}"] = weight
    for name, bias in zip("qkv", block.attn.c_attn.bias.detach().chunk(3), strict=True):
        named[f"b_{name}"] = bias
    norms = {
        "norm1": _norm(block.ln_1),
        "norm2": _norm(block.ln_2),
        "q_norm": _unchanged,
        "k_norm": _unchanged,
    }
    return {**named, **norms, "w_gate": None}


def _matrices(layers: dict[str, nn.Linear]) -> dict[str, Tensor]:
    named = {}
    for name, linear in layers.items():
        named[f"w_{name}"] = linear.weight.detach()
        zero = linear.weight.new_zeros(linear.weight.shape[0])
        named[f"b_{name}"] = zero if linear.bias is None else linear.bias.detach()
    return named


def _unchanged(x: Tensor) -> Tensor:
    return x


def _norm(norm: nn.Module) -> Norm:
    weight = norm.weight.detach()
    if "Gemma" in type(norm).__name__:  # stores the difference from 1
        weight = 1.0 + weight
    bias = getattr(norm, "bias", None)
    eps = next(getattr(norm, name) for name in ("variance_epsilon", "eps") if hasattr(norm, name))
    return Norm(
        weight,
        torch.zeros_like(weight) if bias is None else bias.detach(),
        eps,
        isinstance(norm, nn.LayerNorm),
    )
