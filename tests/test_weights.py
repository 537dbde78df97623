"""The weights under their common names give the model's own tensors, whatever the architecture."""

import pytest
import torch

from helpers import check_close, trace
from helpers.weights import activation, block_weights, final_norm, position_vectors, sizes
from tests.tiny import ARCHS, tiny

DENSE = [arch for arch in ARCHS if arch != "mixtral"]
close = torch.testing.assert_close


@pytest.mark.parametrize("arch", ARCHS)
def test_queries_keys_and_values(arch):
    lm = tiny(arch)
    seen, w, size = trace(lm, "hello you"), block_weights(lm, 1), sizes(lm)
    h = seen["block1.norm1"]
    for name, heads in (("q", size.n_heads), ("k", size.n_kv_heads), ("v", size.n_kv_heads)):
        ours = h @ getattr(w, f"w_{name}").T + getattr(w, f"b_{name}")
        check_close(name, ours.view(-1, heads, size.d_head), seen[f"block1.{name}"])


@pytest.mark.parametrize("arch", [arch for arch in ARCHS if arch != "gemma3"])
def test_output_projection(arch):
    lm = tiny(arch)
    seen, w = trace(lm, "hello you"), block_weights(lm, 0)
    check_close("attn", seen["block0.mixed"].flatten(1) @ w.w_o.T + w.b_o, seen["block0.attn"])


@pytest.mark.parametrize("arch", [arch for arch in DENSE if arch != "gemma3"])
def test_feed_forward(arch):
    lm = tiny(arch)
    seen, w, act = trace(lm, "hello you"), block_weights(lm, 0), activation(lm)
    h = seen["block0.norm2"]
    up = h @ w.w_up.T + w.b_up
    inner = act(up) if w.w_gate is None else act(h @ w.w_gate.T + w.b_gate) * up
    check_close("act", inner, seen["block0.act"])
    check_close("mlp", inner @ w.w_down.T + w.b_down, seen["block0.mlp"])


@pytest.mark.parametrize("arch", ARCHS)
def test_norms(arch):
    lm = tiny(arch)
    seen, w = trace(lm, "hello you"), block_weights(lm, 0)
    check_close("norm1", w.norm1(seen["embed"]), seen["block0.norm1"])
    check_close("norm2", w.norm2(seen["block0.mid"]), seen["block0.norm2"])
    last = f"block{sizes(lm).n_layers - 1}"
    check_close("final norm", final_norm(lm)(seen[last]), seen["final_norm"])


@pytest.mark.parametrize("arch", [arch for arch in ARCHS if arch != "gpt2"])
def test_rotation_keeps_the_length_of_what_the_query_and_key_norms_return(arch):
    lm = tiny(arch)
    seen, w = trace(lm, "hello you"), block_weights(lm, 0)
    check_close("queries", w.q_norm(seen["block0.q"]).norm(dim=-1), seen["block0.q_rot"].norm(dim=-1))
    check_close("keys", w.k_norm(seen["block0.k"]).norm(dim=-1), seen["block0.k_rot"].norm(dim=-1))


@pytest.mark.parametrize("arch", [arch for arch in ARCHS if arch != "gemma3"])
def test_embedding_is_a_row_of_the_table_and_the_position_s_vector(arch):
    lm = tiny(arch)
    seen = trace(lm, "hello you")
    rows = lm.model.get_input_embeddings().weight[seen.token_ids]
    check_close("embed", rows + position_vectors(lm, len(rows)), seen["embed"])


def test_a_bias_is_zero_where_there_is_none_and_the_model_s_where_there_is():
    assert block_weights(tiny("llama"), 0).b_q.abs().max() == 0
    lm = tiny("qwen2")
    bias = lm.model.model.layers[0].self_attn.q_proj.bias
    assert bias.abs().max() > 0
    close(block_weights(lm, 0).b_q, bias)
