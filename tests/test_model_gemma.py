"""Gemma 3 270M, the model that reads Chinese: its weights, its configuration, and what it is known to say."""

import gguf
import numpy as np
import pytest
import torch

from helpers.fetch import fetch
from helpers.gguf_file import GgufFile


def next_tokens(lm, prompt, count=4):
    logits = lm.model(torch.tensor([lm.encode(prompt)])).logits[0, -1]
    p, ids = logits.softmax(-1).topk(count)
    return [(lm.decode([i]), round(p, 2)) for p, i in zip(p.tolist(), ids.tolist(), strict=True)]


def test_what_i_want_to_eat(gemma):
    assert next_tokens(gemma, "我想吃") == [("什么", 0.11), ("，", 0.05), ("烤", 0.04), ("牛肉", 0.02)]


def test_one_tensor_of_each_block_type_equals_ggufs_own_dequantization(gemma):
    file = GgufFile(fetch("gemma3-270m"))
    one_of_each = {tensor.kind: name for name, tensor in file.tensors.items() if name != "token_embd.weight"}
    assert {gguf.GGMLQuantizationType(kind).name for kind in one_of_each} == {
        "F32",
        "Q4_K",
        "Q5_0",
        "Q6_K",
        "Q8_0",
    }
    data = np.memmap(file.path, mode="r")
    for kind, name in one_of_each.items():
        shape, start = file.tensors[name].shape, file.tensors[name].start
        block_size, block_bytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(kind)]
        stored = data[start : start + np.prod(shape) // block_size * block_bytes]
        assert np.array_equal(file.read(name).ravel(), gguf.dequantize(stored, gguf.GGMLQuantizationType(kind)).ravel())


def test_its_norms_add_one_to_what_they_hold(gemma):
    stored = GgufFile(fetch("gemma3-270m")).read("blk.3.attn_norm.weight")
    held = gemma.model.model.layers[3].input_layernorm.weight.numpy()
    assert np.array_equal(held, stored - 1)


def test_the_configuration_is_gemmas(gemma):
    config = gemma.config
    shape = (
        config.num_hidden_layers,
        config.hidden_size,
        config.num_attention_heads,
        config.num_key_value_heads,
    )
    assert (*shape, config.head_dim) == (18, 640, 4, 1, 256)
    assert config.layer_types == (["sliding_attention"] * 5 + ["full_attention"]) * 3
    assert config.sliding_window == 512
    theta = {kind: settings["rope_theta"] for kind, settings in config.rope_parameters.items()}
    assert theta == {"sliding_attention": 10_000, "full_attention": 1_000_000}
    assert gemma.model.lm_head.weight is gemma.model.model.embed_tokens.weight


def test_embeddings_are_scaled_as_gemma_scales_them(gemma):
    embed = gemma.model.model.embed_tokens
    assert embed(torch.tensor([5])).norm() / embed.weight[5].norm() == pytest.approx(640**0.5, rel=1e-5)
