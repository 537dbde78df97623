"""What notebook 04 holds on to: a block's modules whatever the architecture, model shapes, small random models."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from torch import nn

from helpers.layouts import layout_of
from helpers.paths import DATA

SHAPES = DATA / "model_shapes.json"
_NAMES = {  # ours: what architectures call it
    "norm1": ("input_layernorm", "ln_1"),
    "attn": ("self_attn", "attn"),
    "norm2": ("pre_feedforward_layernorm", "post_attention_layernorm", "ln_2"),
    "mlp": ("mlp",),
    "down": ("mlp.down_proj", "mlp.c_proj"),
}


def block_modules(lm, layer: int) -> SimpleNamespace:
    """The modules of one block to put hooks on: block, norm1, attn, norm2, mlp, down (its last matrix, else None)."""
    block = lm.model.get_submodule(layout_of(lm.model).blocks)[layer]
    inside = dict(block.named_modules())
    parts = {ours: next((inside[name] for name in names if name in inside), None) for ours, names in _NAMES.items()}
    return SimpleNamespace(block=block, **parts)


@contextmanager
def hooked(hooks: list[tuple[nn.Module, object]]) -> Iterator[None]:
    """While the body runs, what `change(input, output)` returns takes the place of each module's output.

    `change` may return None, which leaves the output as it is.
    """
    handles = [module.register_forward_hook(_hook(change)) for module, change in hooks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def model_shapes() -> list[dict]:
    """The sizes of five published models, as data/README.md says where from."""
    return json.loads(SHAPES.read_text(encoding="utf-8"))


def _hook(change):
    return lambda module, inputs, output: change(inputs[0], output)
