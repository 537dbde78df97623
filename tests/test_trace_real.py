"""The trace of a real model equals what `transformers` hands out, bit for bit."""

import pytest
import torch
from torch import nn

from helpers.reference import reference
from helpers.trace import covered_modules, trace

PROMPTS = ["The capital of France is", "def f(n):\n    return n", "天气🌧️ ok", "x"]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_smollm2_equals_transformers_bit_for_bit(lm, prompt):
    seen, theirs = trace(lm, prompt), reference(lm, lm.encode(prompt))
    assert {key for key, value in theirs.items() if not torch.equal(seen[key], value)} == set()
    assert len(seen) == 30 * 17 + 3


def test_gemma_equals_transformers_bit_for_bit(gemma):
    seen, theirs = trace(gemma, "我想吃苹果"), reference(gemma, gemma.encode("我想吃苹果"))
    assert {key for key, value in theirs.items() if not torch.equal(seen[key], value)} == set()
    assert seen.tokens == ["<bos>", "我想", "吃", "苹果"]


def test_smollm2_continues_the_capital_of_france(lm):
    best = trace(lm, "The capital of France is")["logits"][-1].argmax()
    assert lm.decode([int(best)]) == " Paris"


@pytest.mark.parametrize("model", ["lm", "gemma"])
def test_every_module_of_a_real_model_is_covered(model, request):
    lm = request.getfixturevalue(model)
    computing = {path for path, m in lm.model.named_modules() if not isinstance(m, nn.ModuleList)}
    assert covered_modules(lm).keys() == computing


def test_every_stage_of_smollm2_adds_to_the_stream(lm):
    seen = trace(lm, PROMPTS[0])
    stream = seen["embed"]
    for i in range(lm.config.num_hidden_layers):
        assert torch.equal(seen[f"block{i}.mid"], stream + seen[f"block{i}.attn"])
        stream = seen[f"block{i}.mid"] + seen[f"block{i}.mlp"]
        assert torch.equal(seen[f"block{i}"], stream)
