"""Change one tensor while the model runs: `with intervene(lm, {"block16.mixed": without_head}): trace(lm, prompt)`."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from helpers.errors import ReaderError
from helpers.layouts import head_size, layout_of

HEADS = ("q", "k", "v", "mixed")
OUTPUT_PROJECTIONS = ("self_attn.o_proj", "attn.c_proj")  # what enters them is `mixed`


@contextmanager
def intervene(lm, changes: Mapping[str, Callable[[Tensor], Tensor]]) -> Iterator[None]:
    """While the block lasts, each function receives the tensor of its trace key and returns what goes on instead.

    Keys: block{i} and its .norm1, .q, .k, .v (before rotation), .mixed, .attn, .norm2, .gate, .up, .act, .mlp, as
    far as the model has them. Tensors have no batch axis, as in a trace; q, k, v, mixed are (n_tokens, heads, d_head).
    A trace made inside shows the changed values. ReaderError: a key that cannot be changed.
    """
    with ExitStack() as undo:
        for key, change in changes.items():
            undo.callback(_hook(lm.model, key, change).remove)
        yield


def _hook(model: nn.Module, key: str, change: Callable):
    layout = layout_of(model)
    match = re.fullmatch(r"block(\d+)(?:\.(\w+))?", key)
    blocks = model.get_submodule(layout.blocks)
    if not match or int(match[1]) >= len(blocks):
        raise ReaderError(f"{key!r} cannot be changed: name a tensor of blocks 0 to {len(blocks) - 1}, block3.mlp say.")
    block, name = blocks[int(match[1])], match[2] or ""
    apply = partial(_apply, change, head_size(model.config) if name in HEADS else None)
    entering = {part: name for part, name in layout.inputs.items() if name != "mid"}
    entering |= {part: "mixed" for part in OUTPUT_PROJECTIONS}
    for part, what in entering.items():
        if what == name and _has(block, part):
            return block.get_submodule(part).register_forward_pre_hook(partial(_change_input, apply))
    for part, names in layout.outputs.items():
        if name in names.split(" "):
            hook = partial(_change_output, apply, names.split(" "), name)
            return block.get_submodule(part).register_forward_hook(hook)
    raise ReaderError(f"{key!r} cannot be changed while the model runs: no module of this model returns it.")


def _has(block: nn.Module, path: str) -> bool:
    return any(path == name for name, _ in block.named_modules())


def _change_input(apply, module: nn.Module, inputs: tuple) -> tuple:
    return (apply(inputs[0]), *inputs[1:])


def _change_output(apply, names: list[str], name: str, module: nn.Module, inputs: tuple, output: Tensor) -> Tensor:
    parts = list(output.chunk(len(names), dim=-1))  # GPT-2 makes q, k and v in one matrix
    parts[names.index(name)] = apply(parts[names.index(name)])
    return torch.cat(parts, dim=-1)


def _apply(change, d_head: int | None, tensor: Tensor) -> Tensor:
    """`change` without the batch axis, heads apart where there are heads."""
    one = tensor[0]
    changed = change(one if d_head is None else one.unflatten(-1, (-1, d_head)))
    return changed.reshape(one.shape)[None]
