"""What a trace shows is what the model computed: tiny models of every architecture, on every device."""

import threading

import pytest
import torch
from torch import nn
from transformers.activations import ACT2FN

from helpers.errors import ReaderError
from helpers.layouts import layout_of
from helpers.recording import recording
from helpers.reference import reference
from helpers.trace import covered_modules, trace
from tests.tiny import ARCHS, N_LAYERS, WINDOW, tiny

PROMPT = "The capital of France is Hello world 天气"
every_arch = pytest.mark.parametrize("arch", ARCHS)


@every_arch
def test_equals_transformers_bit_for_bit(arch, device):
    lm = tiny(arch, device)
    seen, theirs = trace(lm, PROMPT), reference(lm, lm.encode(PROMPT))
    assert theirs.keys() <= seen.keys()
    assert {key for key, value in theirs.items() if not torch.equal(seen[key], value)} == set()
    assert {tensor.device.type for tensor in seen.values()} == {device}


@every_arch
def test_keys_are_in_data_flow_order(arch):
    per_block = ["norm1", "q", "k", "v", "q_rot", "k_rot", "scores", "pattern", "mixed", "attn", "mid"]
    per_block += ["norm2", "gate", "up", "act", "mlp"]
    if arch == "gpt2":
        per_block = [name for name in per_block if name not in ("q_rot", "k_rot", "gate")]
    if arch == "mixtral":
        per_block[12:12] = ["router", "expert_weights", "experts"]
    blocks = [[*(f"block{i}.{name}" for name in per_block), f"block{i}"] for i in range(N_LAYERS)]
    assert list(trace(tiny(arch), PROMPT)) == ["embed", *sum(blocks, []), "final_norm", "logits"]


def test_shapes_are_those_of_the_key_table():
    seen, n = trace(tiny("llama"), [5, 6, 7]), 3
    wide, heads, kv_heads, d_mlp = (n, 32), (n, 4, 8), (n, 2, 8), (n, 48)
    expected = {"embed": wide, "norm1": wide, "q": heads, "k": kv_heads, "v": kv_heads, "q_rot": heads}
    expected |= {"k_rot": kv_heads, "scores": (4, n, n), "pattern": (4, n, n), "mixed": heads}
    expected |= {"attn": wide, "mid": wide, "norm2": wide, "mlp": wide, "final_norm": wide}
    expected |= {"gate": d_mlp, "up": d_mlp, "act": d_mlp}
    expected |= {"block0": wide, "block1": wide, "logits": (n, tiny("llama").config.vocab_size)}
    assert {key: seen[key].shape for key in seen} == {key: expected[key.split(".")[-1]] for key in seen}


@every_arch
def test_attention_and_ffn_add_to_the_stream(arch, device):
    seen = trace(tiny(arch, device), PROMPT)
    stream = seen["embed"]
    for i in range(N_LAYERS):
        assert torch.equal(seen[f"block{i}.mid"], stream + seen[f"block{i}.attn"])
        assert torch.equal(seen[f"block{i}"], seen[f"block{i}.mid"] + seen[f"block{i}.mlp"])
        stream = seen[f"block{i}"]


@every_arch
def test_scores_come_from_q_and_k_and_pattern_from_scores(arch):
    lm, block = tiny(arch), "block1."
    seen = trace(lm, PROMPT)
    q, k = (seen.get(f"{block}{name}_rot", seen[f"{block}{name}"]) for name in "qk")
    k, v = (t.repeat_interleave(4 // t.shape[1], dim=1) for t in (k, seen[f"{block}v"]))
    scale = next(m.scaling for m in lm.model.modules() if hasattr(m, "scaling"))
    scores, allowed = torch.einsum("ihd,jhd->hij", q, k) * scale, ~seen[f"{block}scores"].isneginf()
    torch.testing.assert_close(scores[allowed], seen[f"{block}scores"][allowed], rtol=1e-5, atol=1e-5)
    assert torch.equal(seen[f"{block}scores"].softmax(dim=-1), seen[f"{block}pattern"])
    mixed = torch.einsum("hij,jhd->ihd", seen[f"{block}pattern"], v)
    torch.testing.assert_close(mixed, seen[f"{block}mixed"], rtol=1e-5, atol=1e-5)


@every_arch
@pytest.mark.parametrize("block", range(N_LAYERS))
def test_each_row_spreads_one_over_what_it_may_look_at(arch, block):
    seen = trace(tiny(arch), PROMPT)
    pattern, n = seen[f"block{block}.pattern"], len(seen.tokens)
    torch.testing.assert_close(pattern.sum(-1), torch.ones(4, n))
    back = torch.arange(n)[:, None] - torch.arange(n)  # how many steps back each column is
    sliding = arch == "mistral" or (arch == "gemma3" and block == 0)
    may_look = (back >= 0) & (back < (WINDOW if sliding else n))
    assert torch.equal(pattern > 0, may_look.expand_as(pattern))
    assert torch.equal(seen[f"block{block}.scores"].isneginf(), ~may_look.expand_as(pattern))


@every_arch
def test_act_is_what_the_last_ffn_matrix_receives(arch):
    lm = tiny(arch)
    seen, config = trace(lm, PROMPT), lm.config
    names = ("hidden_act", "hidden_activation", "activation_function")
    act = ACT2FN[next(getattr(config, name) for name in names if hasattr(config, name))]
    gate, up = seen.get("block0.gate"), seen["block0.up"]
    expected = act(up) if gate is None else act(gate) * up
    torch.testing.assert_close(seen["block0.act"], expected, rtol=1e-6, atol=1e-6)


def test_experts_are_the_routers_choice_and_their_sum_is_the_ffn():
    lm = tiny("mixtral")
    seen, mlp = trace(lm, PROMPT), lm.model.model.layers[0].mlp
    best, chosen = seen["block0.router"].softmax(-1).topk(2)
    assert torch.equal(chosen, seen["block0.experts"])
    torch.testing.assert_close(best / best.sum(-1, keepdim=True), seen["block0.expert_weights"])
    outputs = torch.einsum("tkm,tkdm->tkd", seen["block0.act"], mlp.experts.down_proj[chosen])
    summed = (outputs * seen["block0.expert_weights"][..., None]).sum(1)
    torch.testing.assert_close(summed, seen["block0.mlp"], rtol=1e-5, atol=1e-5)


@every_arch
def test_every_module_is_covered_by_a_key_that_exists(arch):
    lm = tiny(arch)
    computing = {path for path, m in lm.model.named_modules() if not isinstance(m, nn.ModuleList)}
    covered = covered_modules(lm)
    assert computing - covered.keys() == set()
    assert set(covered.values()) <= trace(lm, "Hello").keys()


@pytest.mark.parametrize("where", ["", "model", "model.layers.1", "model.layers.0.mlp"])
def test_a_module_that_no_key_shows_is_found_missing(where):
    lm = tiny.__wrapped__("llama")  # a model of its own, to plant something in
    lm.model.get_submodule(where).add_module("planted", nn.Linear(2, 2))
    missing = {path for path, _ in lm.model.named_modules()} - covered_modules(lm).keys()
    assert missing == {"model.layers", f"{where}.planted".lstrip(".")}


@every_arch
def test_a_change_in_a_module_first_shows_in_its_key(arch):
    lm = tiny(arch)
    before, first_changed = trace(lm, PROMPT), {}
    for path, module in lm.model.named_modules():
        own = list(module.parameters(recurse=False))
        if own and not (path == "lm_head" and own[0] is lm.model.get_input_embeddings().weight):
            with changed(own[-1]):
                after = trace(lm, PROMPT)
            first_changed[path] = next(key for key in before if not torch.equal(before[key], after[key]))
    assert first_changed == {path: covered_modules(lm)[path] for path in first_changed}


@every_arch
def test_the_model_is_left_as_it_was(arch):
    lm = tiny(arch)
    ids = torch.tensor([lm.encode(PROMPT)])
    before, state = lm.model(ids).logits, state_of(lm.model)
    trace(lm, PROMPT)
    assert state_of(lm.model) == state
    assert torch.equal(lm.model(ids).logits, before)


def test_the_model_is_left_as_it_was_after_an_error_in_the_middle():
    lm = tiny("mixtral")
    state = state_of(lm.model)
    stop = lm.model.model.layers[1].register_forward_pre_hook(raise_stop)
    try:
        with pytest.raises(InterruptedError):
            trace(lm, PROMPT)
    finally:
        stop.remove()
    assert state_of(lm.model) == state


def test_a_model_that_runs_another_attention_keeps_it():
    lm = tiny.__wrapped__("llama")
    lm.model.set_attn_implementation("sdpa")
    assert torch.equal(trace(lm, PROMPT)["block1.pattern"], trace(tiny("llama"), PROMPT)["block1.pattern"])
    assert lm.model.config._attn_implementation == "sdpa"


def test_what_another_thread_runs_is_not_recorded():
    lm = tiny("llama")
    other = threading.Thread(target=lm.model, args=(torch.tensor([[1, 2]]),))
    with recording(lm.model, layout_of(lm.model)) as kept:
        other.start()
        other.join()
        assert kept.tensors == {}
        lm.model(torch.tensor([[1, 2, 3]]))
    assert kept.tensors["block0.pattern"].shape == (4, 3, 3)


def test_text_and_its_ids_give_the_same_trace():
    lm = tiny("gemma3")
    by_text, ids = trace(lm, PROMPT), lm.encode(PROMPT)
    assert by_text.prompt == PROMPT
    for given in (ids, tuple(ids), torch.tensor(ids)):
        by_ids = trace(lm, given)
        assert (by_ids.token_ids, by_ids.tokens, by_ids.prompt) == (by_text.token_ids, by_text.tokens, None)
        assert torch.equal(by_ids["logits"], by_text["logits"])
    assert repr(by_text) == f"Trace of tiny-gemma3: {len(ids)} tokens, {len(by_text)} tensors"


@pytest.mark.parametrize(
    "prompt, sentence",
    [
        ("", "empty"),
        ([], "empty"),
        ([5, 290], "no token 290: ids go from 0 to 289"),
        ([-1], "no token -1"),
        ([0.5], "whole numbers"),
        ([True], "whole numbers"),
        (torch.tensor([[1, 2]]), "flat list"),
        ([[1, 2]], "flat list"),
        (None, "whole numbers"),
        (b"Hello", "whole numbers"),
        ([1] * 129, "129 tokens, but tiny-llama has 128 places"),
        ("a " * 129, "128 places"),
    ],
)
def test_a_prompt_that_cannot_run_is_refused_with_a_sentence(prompt, sentence):
    with pytest.raises(ReaderError, match=sentence):
        trace(tiny("llama"), prompt)


def test_an_unknown_architecture_is_refused_with_the_known_ones():
    lm = tiny.__wrapped__("llama")
    lm.model.config.model_type = "whale"
    with pytest.raises(ReaderError, match="'whale'.* gemma3_text, gpt2, .*, qwen3"):
        trace(lm, "Hello")


def test_logits_that_are_not_finite_are_refused_with_the_place_where_it_began():
    lm = tiny.__wrapped__("llama")
    lm.model.model.layers[1].mlp.up_proj.weight[0, 0] = torch.nan
    with pytest.raises(ReaderError, match="not finite .*'block1.up'"):
        trace(lm, "Hello")


class changed:
    """Inside the block, `parameter` is off by a little noise."""

    def __init__(self, parameter):
        self.parameter, self.original = parameter, parameter.clone()

    def __enter__(self):
        self.parameter.add_(torch.linspace(-0.1, 0.2, self.parameter.numel()).view_as(self.parameter))

    def __exit__(self, *_):
        self.parameter.copy_(self.original)


def state_of(model):
    """What a trace must put back: hooks on every module, and the chosen implementations."""
    hooks = {path: len(m._forward_hooks) + len(m._forward_pre_hooks) for path, m in model.named_modules()}
    return hooks, model.config._attn_implementation, model.config._experts_implementation


def raise_stop(*_):
    raise InterruptedError


def test_an_unknown_key_gets_a_sentence_with_the_nearest_one():
    seen = trace(tiny("llama"), "Hello")
    with pytest.raises(ReaderError, match="no tensor 'block0.patern': did you mean 'block0.pattern'"):
        seen["block0.patern"]
    assert seen.get("block0.patern") is None
    assert "block0.patern" not in seen
    with pytest.raises(ReaderError, match="no tensor \\[0\\]"):
        seen[[0]]
