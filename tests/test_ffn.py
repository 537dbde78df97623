"""What notebook 04 stands on: shapes, hooks, small models, and what single neurons write."""

import json

import pytest
import torch
import transformers

from helpers import ReaderError, trace
from helpers.ffn import block_modules, hooked, model_shapes
from helpers.figures.ffn import signed_bars, stacked_shares
from helpers.neurons import answer_directions, nearest_tokens, strongest
from helpers.small_models import random_model
from helpers.weights import block_weights, final_norm
from tests.tiny import D_MLP, N_LAYERS, tiny

PROMPT = "Hello world: the capital of France is"
ONE_FFN = ("llama", "qwen2", "qwen3", "mistral", "gpt2")
CONFIGS = {
    "Gemma 3 270M": transformers.Gemma3TextConfig,
    "Mixtral 8x7B": transformers.MixtralConfig,
}


def counted(shape):
    """Weights of a model of these sizes, as transformers builds it, without memory for them."""
    config = CONFIGS.get(shape["name"], transformers.LlamaConfig)(
        vocab_size=shape["n_vocab"], hidden_size=shape["d_model"], intermediate_size=shape["d_mlp"],
        num_hidden_layers=shape["n_layers"], num_attention_heads=shape["n_heads"],
        num_key_value_heads=shape["n_kv_heads"], head_dim=shape["d_head"], tie_word_embeddings=shape["tied"],
        pad_token_id=0,
    )  # fmt: skip
    if shape["n_experts"] > 1:
        config.num_local_experts, config.num_experts_per_tok = shape["n_experts"], shape["n_active"]
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    return sum(p.numel() for p in model.parameters())


def budget_of_the_page():
    """The function that notebook 04 shows."""
    from tests.page import cells

    space = {}
    exec(next(code for code in cells("04_ffn") if code.startswith("def budget")), space)
    return space["budget"]


@pytest.mark.parametrize("shape", model_shapes(), ids=lambda shape: shape["name"])
def test_the_page_counts_what_transformers_builds(shape):
    assert sum(budget_of_the_page()(shape).values()) == counted(shape)


def test_published_totals():
    totals = {shape["name"]: sum(budget_of_the_page()(shape).values()) for shape in model_shapes()}
    assert totals["LLaMA-2-7B"] == 6_738_415_616 and totals["Llama-3-8B"] == 8_030_261_248
    assert totals["Mixtral 8x7B"] == 46_702_792_704


def test_the_first_shape_is_the_default_model_s(lm):
    shape = model_shapes()[0]
    assert sum(p.numel() for p in lm.model.parameters()) == sum(budget_of_the_page()(shape).values())


@pytest.mark.parametrize("kind", ["gpt2", "mixtral"])
def test_small_models_are_the_same_each_time_and_traceable(kind):
    lm = tiny("llama")
    first, again = random_model(lm, kind), random_model.__wrapped__(lm, kind)
    pairs = zip(first.model.parameters(), again.model.parameters(), strict=True)
    assert all(one.equal(other) for one, other in pairs)
    seen = trace(first, lm.encode(PROMPT))
    assert seen["logits"].shape == (len(seen.tokens), lm.config.vocab_size)
    assert ("block0.router" in seen) == (kind == "mixtral")


@pytest.mark.parametrize("arch", ONE_FFN)
def test_hooks_change_the_stream_and_are_gone_afterwards(arch):
    lm = tiny(arch)
    ids = lm.encode(PROMPT)
    before, block = trace(lm, ids), block_modules(lm, 0)
    with hooked([(block.mlp, lambda entering, out: 0 * out)]):
        silenced = trace(lm, ids)
    torch.testing.assert_close(silenced["block0"], before["block0.mid"])
    with hooked([(block.block, lambda entering, out: out - entering)]):
        alone = trace(lm, ids)
    torch.testing.assert_close(alone["block1.norm1"], block_weights(lm, 1).norm1(before["block0"] - before["embed"]))
    with hooked([(block.norm2, lambda entering, out: entering)]):
        torch.testing.assert_close(trace(lm, ids)["block0.norm2"], before["block0.mid"])
    assert trace(lm, ids)["logits"].equal(before["logits"])


@pytest.mark.parametrize("arch", ONE_FFN)
def test_pushes_add_up_to_the_logit_above_average(arch):
    lm = tiny(arch)
    seen = trace(lm, PROMPT)
    everywhere = list(range(len(seen.tokens)))
    towards, norm = answer_directions(lm, seen, everywhere), final_norm(lm)
    table = lm.model.get_output_embeddings().weight
    answers = seen["logits"].argmax(dim=-1)
    bias = (table[answers] - table.mean(dim=0)) @ norm.bias
    stream = (seen[f"block{N_LAYERS - 1}"] * towards).sum(dim=-1) + bias
    above = seen["logits"].max(dim=-1).values - seen["logits"].mean(dim=-1)
    torch.testing.assert_close(stream, above, rtol=1e-4, atol=1e-4)
    found = strongest(lm, seen, everywhere, k=4)
    for layer in range(N_LAYERS):
        added = seen[f"block{layer}.mlp"] - block_weights(lm, layer).b_down
        torch.testing.assert_close(found.totals[layer], (added * towards).sum(dim=-1), rtol=1e-4, atol=1e-4)


def test_the_strongest_are_the_strongest():
    lm = tiny("llama")
    seen = trace(lm, PROMPT)
    positions = [0, 2, len(seen.tokens) - 1]
    found, towards = strongest(lm, seen, positions, k=5), answer_directions(lm, seen, positions)
    for layer in range(N_LAYERS):
        column, act = block_weights(lm, layer).w_down, seen[f"block{layer}.act"][positions]
        for order, size in enumerate([(act * (towards @ column)).abs(), act.abs() * column.norm(dim=0)]):
            for at in range(len(positions)):
                slots = found.slots[order, layer, at]
                assert (found.layer[slots] == layer).all()
                assert found.neuron[slots].tolist() == size[at].argsort(descending=True)[:5].tolist()
                torch.testing.assert_close(found.act[slots, at], act[at, found.neuron[slots]])


def test_all_neurons_can_be_asked_for():
    lm = tiny("llama")
    found = strongest(lm, trace(lm, "a"), [0], k=D_MLP)
    assert sorted(found.neuron[found.layer == 0].tolist()) == list(range(D_MLP))


@pytest.mark.parametrize("rows_at_once", [7, 4096])
def test_nearest_tokens_are_those_of_the_whole_vocabulary(monkeypatch, rows_at_once):
    monkeypatch.setattr("helpers.neurons.ROWS_AT_ONCE", rows_at_once)
    lm = tiny("gpt2")
    directions = torch.randn(3, 32, generator=torch.Generator().manual_seed(0))
    table, weight = lm.model.get_output_embeddings().weight, final_norm(lm).weight
    cosine = torch.nn.functional.cosine_similarity(
        directions[:, None], ((table - table.mean(0)) * weight)[None], dim=-1
    )
    up, down = nearest_tokens(lm, directions, k=9)
    assert up.tolist() == cosine.argsort(descending=True)[:, :9].tolist()
    assert down.tolist() == cosine.argsort()[:, :9].tolist()


def test_experts_are_refused():
    lm = tiny("mixtral")
    with pytest.raises(ReaderError, match="this one has experts"):
        strongest(lm, trace(lm, PROMPT), [0], k=3)


def test_signed_bars_say_their_values():
    figure = signed_bars(["a", "a", "<b>"], torch.tensor([1.5, -0.25, 0.0]), "Push", "Toy numbers.")
    assert figure.layout.meta["alt"] == "Bar chart: Push. a +1.50, a -0.25, <b> +0.00."
    assert list(figure.data[0].x) == [1.5, -0.25, 0.0] and "bdata" not in figure.to_json()
    assert figure.data[0].marker.color[0] != figure.data[0].marker.color[1]


def test_stacked_shares_are_drawn_part_by_part():
    figure = stacked_shares({"m": [0.75, 0.25], "n": [0.05, 0.95]}, ("FFN", "rest"), "Weights", "Toy numbers.")
    assert [list(bar.x) for bar in figure.data] == [[0.75, 0.05], [0.25, 0.95]]
    assert "m: FFN 75.0%, rest 25.0%; n: FFN 5.0%, rest 95.0%" in figure.layout.meta["alt"]
    json.loads(figure.to_json())
