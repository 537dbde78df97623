"""The map of the model leaves nothing out: every weight once, every tensor, every module that computes."""

import pytest
from torch import nn

from helpers import trace
from helpers.model_map import model_map
from tests.tiny import ARCHS, tiny


@pytest.mark.parametrize("arch", ARCHS)
def test_every_weight_is_counted_once(arch):
    lm = tiny(arch)
    parts = model_map(lm, trace(lm, "hi you"))
    assert parts.n_weights == sum(weights.numel() for weights in lm.model.parameters())


@pytest.mark.parametrize("arch", ARCHS)
def test_every_module_that_computes_has_its_row(arch):
    lm = tiny(arch)
    n_listed = sum(sum(part.modules.values()) for part in model_map(lm, trace(lm, "hi you")))
    leaves = [path for path, module in lm.model.named_modules() if not any(module.children())]
    inner = [
        path
        for path, module in lm.model.named_modules()
        if any(module.children()) and path.count(".") > 1 and not isinstance(module, nn.ModuleList)
    ]
    assert n_listed == len(leaves) + len(inner)


def test_every_tensor_of_the_trace_has_its_row():
    lm = tiny("llama")
    seen = trace(lm, "hi you")
    rows = [part.cells()[0] for part in model_map(lm, seen)]
    assert rows == list(dict.fromkeys(key.replace("block0", "block{i}").replace("block1", "block{i}") for key in seen))


def test_a_module_without_a_trace_key_is_not_left_out_silently():
    lm = tiny("llama")
    seen = trace(lm, "hi you")
    lm.model.model.layers[0].self_attn.add_module("planted", nn.Linear(2, 2))
    try:
        with pytest.raises(KeyError, match="planted"):
            model_map(lm, seen)
    finally:
        del lm.model.model.layers[0].self_attn.planted


def test_the_table_is_escaped_and_has_a_row_an_operation():
    lm = tiny("llama")
    parts = model_map(lm, trace(lm, "hi you"))
    assert parts._repr_html_().count("<tr>") == 1 + len(parts)
    assert "self_attn.o_proj" in repr(parts)
