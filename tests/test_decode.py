"""Prompt and steps of the decoder against transformers: logits, tokens, memory, and which models it takes."""

import threading

import pytest
import torch

from helpers.decode import FAMILIES, Decoder, can_decode
from helpers.generate import generate
from helpers.intervene import intervene
from helpers.kv_cache import cache_bytes, forward_with_cache, new_cache
from helpers.peak import peak_of
from helpers.trace import trace
from tests.test_generate import theirs
from tests.tiny import ARCHS, tiny

IDS = [5, 9, 2, 7, 7, 30, 41, 3]
FAST = ("llama", "qwen2", "qwen3", "gpt2")


@pytest.mark.parametrize("arch", FAST)
@pytest.mark.parametrize("n_prompt", (1, 5))
def test_logits_of_every_step_are_those_of_the_full_pass(arch, n_prompt):
    lm = tiny(arch)
    decoder = Decoder(lm, len(IDS))
    steps = torch.stack([decoder(IDS[:n_prompt]), *(decoder([token_id]) for token_id in IDS[n_prompt:])])
    torch.testing.assert_close(steps, forward_with_cache(lm, IDS, None)[n_prompt - 1 :], rtol=5e-4, atol=5e-4)


def test_it_takes_the_models_that_are_written_here(monkeypatch):
    assert {arch for arch in ARCHS if can_decode(tiny(arch))} == set(FAST)  # tiny Mistral has a sliding window
    monkeypatch.setattr(tiny("mistral").config, "sliding_window", None)
    assert can_decode(tiny("mistral"))
    assert generate(tiny("mistral"), IDS, 30).token_ids == theirs(tiny("mistral"), IDS, 30, do_sample=False)
    assert {*FAST, "mistral"} == set(FAMILIES)


@torch.inference_mode()
def test_no_scores_of_the_prompt_are_kept():
    """Twice the prompt takes twice the memory at most; with n² scores it takes more."""
    lm, eager = tiny("llama"), lambda ids: forward_with_cache(lm, ids, new_cache(lm), last_only=True)
    short, long = (peak_of(lambda ids=IDS * k: Decoder(lm, len(ids))(ids)) for k in (8, 16))
    assert long <= 2 * short
    short, long = (peak_of(lambda ids=IDS * k: eager(ids)) for k in (8, 16))
    assert long > 2 * short


def test_it_divides_the_scores_as_the_model_does(monkeypatch):
    """GPT-2 has models that divide by the layer's number as well."""
    lm = tiny("gpt2")
    usual = generate(lm, IDS, 30).token_ids
    for layer, block in enumerate(lm.model.transformer.h):
        monkeypatch.setattr(block.attn, "scaling", block.attn.scaling * 9 / (layer + 1))
    assert can_decode(lm)
    assert usual != generate(lm, IDS, 30).token_ids == theirs(lm, IDS, 30, do_sample=False)


@pytest.mark.parametrize("implementation", ("eager", "sdpa"))
def test_the_model_s_attention_is_left_as_it_is(monkeypatch, implementation):
    lm = tiny("llama")
    expected = generate(lm, IDS, 5)
    lm.model.set_attn_implementation(implementation)
    try:
        assert can_decode(lm) and generate(lm, IDS, 5) == expected
        assert lm.model.config._attn_implementation == implementation
    finally:
        lm.model.set_attn_implementation("eager")


def test_a_trace_in_another_thread_changes_nothing():
    lm, wrong, done = tiny("llama"), [], threading.Event()
    expected, seen = generate(lm, IDS, 20), trace(lm, IDS)

    def trace_again_and_again():
        while not done.is_set():
            again = trace(lm, IDS)
            wrong.extend(key for key in seen if key not in again or not torch.equal(seen[key], again[key]))

    thread = threading.Thread(target=trace_again_and_again)
    thread.start()
    try:
        written = [generate(lm, IDS, 20) for _ in range(30)]
    finally:
        done.set()
        thread.join()
    assert all(made == expected for made in written)
    assert not wrong


def test_it_leaves_a_changed_model_to_transformers():
    lm = tiny("llama")
    with intervene(lm, {"block0.mlp": torch.zeros_like}):
        assert not can_decode(lm)
        changed = generate(lm, IDS, 12)
        assert changed.token_ids == generate(lm, IDS, 12, cache=False).token_ids
    assert can_decode(lm)
    assert changed.token_ids != generate(lm, IDS, 12).token_ids


class Silent(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)


@pytest.mark.parametrize("name, value", (("forward", torch.zeros_like), ("mlp", Silent())))
def test_it_leaves_a_model_with_a_part_of_the_reader_s_own_to_transformers(name, value):
    lm = tiny.__wrapped__("llama")  # one of its own: monkeypatch would not put a module back
    block = lm.model.model.layers[0]
    usual = generate(lm, IDS, 12).token_ids
    setattr(block.mlp if name == "forward" else block, name, value)
    assert not can_decode(lm)
    assert usual != generate(lm, IDS, 12).token_ids == theirs(lm, IDS, 12, do_sample=False)


def relu_in(block):
    block.mlp.act_fn = torch.nn.ReLU()


def other_norm(block):
    block.input_layernorm = torch.nn.Identity()


@pytest.mark.parametrize("change", (
    lambda model: relu_in(model.model.layers[1]),
    lambda model: [relu_in(block) for block in model.model.layers],
    lambda model: [other_norm(block) for block in model.model.layers],
    lambda model: setattr(model, "lm_head", torch.nn.Linear(model.config.hidden_size, model.config.vocab_size)),
    lambda model: setattr(model.get_input_embeddings(), "max_norm", 0.1),
    lambda model: model.model.layers.__delitem__(0),
    lambda model: model.train(),
))  # fmt: skip
def test_it_leaves_whatever_a_reader_changed_to_transformers(change):
    lm = tiny.__wrapped__("llama")
    assert can_decode(lm)
    change(lm.model)
    assert not can_decode(lm)


def test_it_leaves_hooks_on_all_modules_and_patched_classes_to_transformers(monkeypatch):
    lm = tiny("llama")
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    assert not can_decode(lm)
    handle.remove()
    assert can_decode(lm)
    monkeypatch.setattr(type(lm.model.model.layers[0].mlp), "forward", lambda self, x: x)
    assert not can_decode(lm)


def test_it_leaves_other_precisions_and_moving_rotations_to_transformers(monkeypatch):
    lm = tiny.__wrapped__("llama")  # one of its own: rounded weights do not come back
    monkeypatch.setitem(lm.config.rope_parameters, "rope_type", "dynamic")
    assert not can_decode(lm)
    monkeypatch.undo()
    assert can_decode(lm)
    lm.model.to(torch.bfloat16)
    assert not can_decode(lm)


@pytest.mark.parametrize("arch", ARCHS)
def test_greedy_is_transformers_to_the_end_of_the_context_window(arch):
    lm = tiny(arch)
    ours = generate(lm, IDS, 100)
    assert len(ours.token_ids) > 1
    assert ours.token_ids == theirs(lm, IDS, 100, do_sample=False)


def test_gemma_s_windows_bound_what_most_blocks_keep(gemma):
    """What notebook 07 computes for 8,192 tokens, at a length a test can afford."""
    n_tokens, cache = 540, new_cache(gemma)
    forward_with_cache(gemma, [2, *range(1000, 1000 + n_tokens - 1)], cache, last_only=True)
    a_row = 2 * 1 * 256 * 4  # one KV head of 256 numbers, float32
    assert gemma.config.layer_types.count("sliding_attention") == 15
    assert cache_bytes(cache) == a_row * (15 * (512 - 1) + 3 * n_tokens)  # the new token itself fills the window
