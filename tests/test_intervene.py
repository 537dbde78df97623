"""An intervention changes the tensor it names, what follows from it, and nothing afterwards."""

import pytest
import torch

from helpers import ReaderError, trace
from helpers.intervene import intervene
from tests.tiny import ARCHS, tiny

NAMES = ("norm1", "q", "k", "v", "mixed", "attn", "norm2", "mlp")


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", NAMES)
def test_the_tensor_is_changed_and_what_comes_before_is_not(arch, name):
    lm, key = tiny(arch), f"block1.{name}"
    before = trace(lm, "hello you")
    with intervene(lm, {key: lambda x: 0.5 * x}):
        inside = trace(lm, "hello you")
    if name != "mixed":  # a trace takes `mixed` from attention, before the change
        torch.testing.assert_close(inside[key], 0.5 * before[key])
    assert torch.equal(inside["block0"], before["block0"])
    assert not torch.equal(inside["logits"], before["logits"])


@pytest.mark.parametrize("arch", ARCHS)
def test_nothing_is_left_behind(arch):
    lm = tiny(arch)
    before = trace(lm, "hello you")["logits"]
    with pytest.raises(ZeroDivisionError), intervene(lm, {"block0.mlp": lambda x: 1 / 0}):
        trace(lm, "hello you")
    assert torch.equal(trace(lm, "hello you")["logits"], before)


@pytest.mark.parametrize("arch", [arch for arch in ARCHS if arch != "gemma3"])
def test_a_head_without_its_mix_adds_nothing(arch):
    lm = tiny(arch)
    seen = trace(lm, "hello you")

    def without_head_2(mixed):
        mixed = mixed.clone()
        mixed[:, 2] = 0
        return mixed

    with intervene(lm, {"block0.mixed": without_head_2}):
        inside = trace(lm, "hello you")
    w_o = lm.model.get_submodule("transformer.h" if arch == "gpt2" else "model.layers")[0]
    w_o = w_o.attn.c_proj.weight.T if arch == "gpt2" else w_o.self_attn.o_proj.weight
    head_2 = seen["block0.mixed"][:, 2] @ w_o[:, 16:24].T
    torch.testing.assert_close(inside["block0.attn"], seen["block0.attn"] - head_2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("arch", ["llama", "gpt2", "qwen3"])
def test_act_and_the_stream_can_be_changed(arch):
    lm = tiny(arch)
    for key in ("block0.act", "block0.up", "block0"):
        before = trace(lm, "hello you")
        with intervene(lm, {key: torch.zeros_like}):
            inside = trace(lm, "hello you")
        assert not torch.equal(inside["logits"], before["logits"])
    assert inside["block0"].abs().max() == 0


@pytest.mark.parametrize("key", ["logits", "block0.pattern", "block9.mlp", "block0.nonsense", "block0.mid"])
def test_a_key_that_cannot_be_changed_gets_one_sentence(key):
    with pytest.raises(ReaderError, match="cannot be changed"), intervene(tiny("llama"), {key: lambda x: x}):
        pass
