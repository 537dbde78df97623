"""Keeps the tensors of a forward pass while it runs, and leaves the model as it was.

Forward hooks see what goes in and out of each module. Between q, k, v and the mix there is no module: an
attention function registered with `transformers` computes that part as its eager functions do, and keeps it.
Another does so for the experts of a mixture-of-experts model.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.moe import ExpertsInterface
from transformers.masking_utils import eager_mask

from helpers.layouts import Layout, block_key, head_size

NAME = "token_journey_recorder"
_one_at_a_time = threading.Lock()  # the registered functions are switched on for a whole model
_now: ContextVar["Recording | None"] = ContextVar("recording", default=None)  # of this thread


class Recording:
    """The tensors of one forward pass, in the order in which they came up, without their batch axis."""

    def __init__(self, model: PreTrainedModel, layout: Layout):
        self.layout = layout
        self.d_head = head_size(model.config)
        self.blocks = model.get_submodule(layout.blocks)
        self.index_of = {part: i for i, block in enumerate(self.blocks) for part in block.modules()}
        self.tensors: dict[str, Tensor] = {}

    def add(self, module: nn.Module, **named: Tensor) -> None:
        """Keep tensors that belong to the block of `module`; no copy is made."""
        for name, tensor in named.items():
            tensor = tensor[0] if tensor.dim() > 2 else tensor  # a router's outputs have no batch axis
            heads = tensor.unflatten(-1, (-1, self.d_head)) if name in ("q", "k", "v") else tensor
            self.tensors[block_key(self.index_of[module], name)] = heads


@contextmanager
def recording(model: PreTrainedModel, layout: Layout) -> Iterator[Recording]:
    """Record the forward pass that this thread makes inside the block; afterwards the model is as before."""
    with _one_at_a_time, ExitStack() as undo:
        kept = Recording(model, layout)
        undo.callback(_now.reset, _now.set(kept))
        for handle in _hooks(model, kept):
            undo.callback(handle.remove)
        undo.callback(model.set_attn_implementation, model.config._attn_implementation)
        model.set_attn_implementation(NAME)
        if "mlp.experts" in layout.within:
            undo.callback(model.set_experts_implementation, model.config._experts_implementation)
            model.set_experts_implementation(NAME)
        yield kept


def _hooks(model: PreTrainedModel, kept: Recording) -> Iterator[torch.utils.hooks.RemovableHandle]:
    layout = kept.layout
    yield kept.blocks[0].register_forward_pre_hook(_keep_embed)
    for block in kept.blocks:
        for path in {**layout.outputs, **layout.inputs}:
            names = layout.inputs.get(path), layout.outputs.get(path)
            yield block.get_submodule(path).register_forward_hook(partial(_keep, *names))
    for path, key in layout.outside.items():
        if key == "final_norm" and path.count("."):
            yield model.get_submodule(path).register_forward_hook(_keep_final_norm)


def _keep_embed(block: nn.Module, inputs: tuple) -> None:
    if kept := _now.get():
        kept.tensors["embed"] = inputs[0][0]


def _keep_final_norm(norm: nn.Module, inputs: tuple, output: Tensor) -> None:
    if kept := _now.get():
        kept.tensors["final_norm"] = output[0]


def _keep(entering: str | None, leaving: str | None, module: nn.Module, inputs: tuple, output) -> None:
    kept = _now.get()
    if kept is None:
        return
    if entering is not None:
        kept.add(module, **{entering: inputs[0]})
    if leaving is not None:
        names = leaving.split(" ")
        # a router returns a tuple; GPT-2 makes q, k and v in one matrix
        parts = output if isinstance(output, tuple) else output.chunk(len(names), dim=-1)
        kept.add(module, **dict(zip(names, parts, strict=True)))


def _attention(module, query, key, value, attention_mask, scaling=None, softcap=None, **_):
    """Eager attention, with its stages kept; tensors are (1, heads, n_tokens, d_head)."""
    group = query.shape[1] // key.shape[1]
    scores = torch.matmul(query, key.repeat_interleave(group, dim=1).transpose(2, 3)).mul_(scaling)
    if softcap is not None:
        scores = scores.div_(softcap).tanh_().mul_(softcap)
    scores.masked_fill_(attention_mask < 0, -torch.inf)
    pattern = scores.softmax(dim=-1, dtype=torch.float32).to(query.dtype)
    mixed = torch.matmul(pattern, value.repeat_interleave(group, dim=1)).transpose(1, 2).contiguous()
    if kept := _now.get():
        if kept.layout.rotates:
            kept.add(module, q_rot=query.transpose(1, 2), k_rot=key.transpose(1, 2))
        kept.add(module, scores=scores, pattern=pattern, mixed=mixed)
    return mixed, pattern


def _experts(module, hidden, chosen, weights):
    """The eager loop over experts, with gate, up and act kept as (n_tokens, experts per token, d_mlp)."""
    stages = hidden.new_zeros(3, *chosen.shape, module.down_proj.shape[-1])
    added = torch.zeros_like(hidden)
    for expert in chosen.unique().tolist():
        place, token = torch.where((chosen == expert).T)
        gate, up = nn.functional.linear(hidden[token], module.gate_up_proj[expert]).chunk(2, dim=-1)
        act = module.act_fn(gate) * up
        stages[:, token, place] = torch.stack([gate, up, act])
        out = nn.functional.linear(act, module.down_proj[expert]) * weights[token, place, None]
        added.index_add_(0, token, out.to(added.dtype))
    if kept := _now.get():
        kept.add(module, **dict(zip(("gate", "up", "act"), stages[:, None], strict=True)))
    return added


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, eager_mask)
ExpertsInterface.register(NAME, _experts)
