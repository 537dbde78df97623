"""generate and stream against transformers' own generate; stop tokens, the context window, seeds, text."""

import warnings

import numpy as np
import pytest
import torch

from helpers import load_model, timing
from helpers.errors import ReaderError
from helpers.generate import Generation, generate, stream
from tests.tiny import ARCHS, CONTEXT, tiny

PROMPTS = ("Hello world", "天气 ok")
SETTINGS = {"temperature": 1.3, "top_k": 40, "top_p": 0.95, "min_p": 0.01, "repetition_penalty": 1.2}


@pytest.fixture(autouse=True)
def future_warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        yield


def theirs(lm, prompt_ids, n, **settings):
    """New token ids of transformers' generate."""
    ids = torch.tensor([prompt_ids], device=lm.device)
    made = lm.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=n, **settings)
    return made[0, len(prompt_ids) :].tolist()


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_writes_what_transformers_writes_with_and_without_cache(arch, prompt):
    lm = tiny(arch)
    ours = generate(lm, prompt, 30)
    assert ours.prompt_ids == lm.encode(prompt)
    assert ours.token_ids == theirs(lm, ours.prompt_ids, 30, do_sample=False)
    assert generate(lm, prompt, 30, cache=False) == ours


@pytest.mark.parametrize("arch", ("llama", "gemma3", "gpt2"))
@pytest.mark.parametrize("cache", (True, False), ids=("cache", "no cache"))
def test_sampling_draws_what_transformers_draws_from_the_same_seed(arch, cache):
    lm = tiny(arch)
    ours = generate(lm, "Hello world", 30, cache=cache, seed=7, **SETTINGS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        assert ours.token_ids == theirs(lm, ours.prompt_ids, 30, do_sample=True, **SETTINGS)


def test_greedy_penalizes_repetition_as_transformers_does():
    lm = tiny("gemma3")
    ours = generate(lm, "Hello world", 30, repetition_penalty=1.5)
    assert ours.token_ids == theirs(lm, ours.prompt_ids, 30, do_sample=False, repetition_penalty=1.5)
    assert ours.token_ids != generate(lm, "Hello world", 30).token_ids


def test_seeds():
    lm = tiny("llama")
    first, again, other = (generate(lm, "Hello", 20, seed=seed, temperature=1.5) for seed in (3, 3, 4))
    assert first == again
    assert first.token_ids != other.token_ids
    assert generate(lm, "Hello", 20, seed=3) == generate(lm, "Hello", 20, seed=4)  # greedy draws nothing


def test_a_draw_leaves_torch_s_own_random_numbers_alone():
    before = torch.random.get_rng_state()
    generate(tiny("llama"), "Hello", 5, temperature=1.0)
    assert torch.equal(torch.random.get_rng_state(), before)


def stopping_at(monkeypatch, lm, owner):
    """Make the third greedy token a stop token by way of `owner`; returns the greedy ids without it."""
    ids = generate(lm, "天气 ok", 12).token_ids
    assert ids.index(ids[2]) == 2
    monkeypatch.setattr(getattr(lm.model, owner), "eos_token_id", [299, ids[2]])
    return ids


@pytest.mark.parametrize("owner", ("generation_config", "config"))
def test_stops_after_a_stop_token_which_is_not_part_of_the_text(monkeypatch, owner):
    lm = tiny("qwen3")
    ids = stopping_at(monkeypatch, lm, owner)
    stopped = generate(lm, "天气 ok", 12)
    assert stopped.token_ids == ids[:3]
    assert stopped.stopped_by == "stop token"
    monkeypatch.undo()
    assert stopped.text == generate(lm, "天气 ok", 2).text
    assert generate(lm, "天气 ok", 3).stopped_by == "max_new_tokens"


@pytest.mark.parametrize("cache", (True, False), ids=("cache", "no cache"))
@pytest.mark.parametrize("arch", ("llama", "gpt2"))
def test_stops_when_the_context_window_is_full(arch, cache):
    prompt_ids = [5 + i % 90 for i in range(CONTEXT - 3)]
    full = generate(tiny(arch), prompt_ids, 40, cache=cache)
    assert len(full.token_ids) == 4  # the fourth is chosen, but needs no place of its own
    assert full.stopped_by == "context window"
    assert generate(tiny(arch), prompt_ids, 4, cache=cache).token_ids == full.token_ids


MISTAKES = {
    "prompt is empty": ("", {}),
    "list of token ids is empty": ([], {}),
    f"{CONTEXT + 1} tokens": ([1] * (CONTEXT + 1), {}),
    "no token 1000000: ids go from 0 to 289": ([1, 10**6], {}),
    "no token -1": ([-1], {}),
    "whole numbers in a flat list, and 1.5 is none": ([1.5, 2.0], {}),
    "whole numbers in a flat list, and True is none": ([True, 2], {}),
    r"whole numbers in a flat list, and \[1, 2\] is none": ([[1, 2]], {}),
    "and 2.0 is none": (torch.tensor([2.0]), {}),
    "and False is none": (torch.tensor([False]), {}),
    r"is needed, not tensor\(3\)": (torch.tensor(3), {}),
    "is needed, not None": (None, {}),
    "is needed, not b'Hello'": (b"Hello", {}),
    "is needed, not 7": (7, {}),
    "half of a character": ("a\ud83d", {}),
    "max_new_tokens=0": ("Hello", {"max_new_tokens": 0}),
    "max_new_tokens=-1": ("Hello", {"max_new_tokens": -1}),
    "max_new_tokens=2.0": ("Hello", {"max_new_tokens": 2.0}),
    "max_new_tokens='5'": ("Hello", {"max_new_tokens": "5"}),
    "max_new_tokens=True": ("Hello", {"max_new_tokens": True}),
    "seed=-1": ("Hello", {"seed": -1}),
    f"seed={2**70} cannot be used: it must be a whole number from 0": ("Hello", {"seed": 2**70}),
    "seed=None": ("Hello", {"seed": None}),
    "temperature=-1": ("Hello", {"temperature": -1}),
    "top_p=0": ("Hello", {"top_p": 0}),
    "no setting 'temprature'": ("Hello", {"temprature": 1.0}),
}


@pytest.mark.parametrize("said", MISTAKES)
@pytest.mark.parametrize("write", (generate, stream))
def test_what_cannot_be_is_answered_with_a_sentence_at_once(write, said):
    prompt, options = MISTAKES[said]
    with pytest.raises(ReaderError, match=said):
        write(tiny("llama"), prompt, **options)


@pytest.mark.parametrize("write", (generate, stream))
def test_the_model_comes_first(write):
    with pytest.raises(ReaderError, match="First comes the model, lm = load_model.*here a str comes first"):
        write("Hello", tiny("llama"))


@pytest.mark.parametrize("kind", (tuple, torch.tensor, np.array, lambda ids: [*torch.tensor(ids)]))
def test_ids_may_be_a_tensor_or_an_array(kind):
    lm = tiny("llama")
    ids = lm.encode("Hello world")
    assert generate(lm, kind(ids), 5) == generate(lm, ids, 5)
    assert lm.decode(kind(ids)) == "Hello world"


def test_whole_numbers_may_be_numpys():
    lm = tiny("llama")
    settings = {"temperature": np.float32(1.5), "top_k": np.int64(9)}
    plain = generate(lm, "Hello", 5, seed=3, temperature=1.5, top_k=9)
    assert generate(lm, "Hello", np.int64(5), seed=np.int64(3), **settings) == plain


def replace_the_model(monkeypatch, forward):
    """`helpers.generate` names the function, so the module's own names are reached through it."""
    monkeypatch.setitem(generate.__globals__, "can_decode", lambda lm: False)
    monkeypatch.setitem(generate.__globals__, "forward_with_cache", forward)


def test_logits_that_are_not_finite_are_answered_with_a_sentence(monkeypatch):
    replace_the_model(monkeypatch, lambda *_, **__: torch.full((1, 300), torch.nan))
    with pytest.raises(ReaderError, match="nan"):
        generate(tiny("llama"), "Hello")


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("settings", ({}, {"temperature": 3.0, "seed": 5}), ids=("greedy", "hot"))
def test_streamed_pieces_join_to_the_text(arch, prompt, settings):
    lm = tiny(arch)
    whole = generate(lm, prompt, 40, **settings)
    pieces = list(stream(lm, prompt, 40, **settings))
    assert "".join(pieces) == whole.text
    assert all(pieces)


def test_the_text_is_the_tokens_bytes_as_utf_8():
    lm = tiny("llama")
    made = generate(lm, "Hello", 60, temperature=3.0, seed=1)
    assert made.text == lm.decode(made.token_ids)


def write_these(monkeypatch, ids):
    """Let the model 'choose' the given ids one after the other."""
    left = iter(ids)

    def one_hot(lm, *_, **__):
        return torch.nn.functional.one_hot(torch.tensor([next(left)]), lm.config.vocab_size).float()

    replace_the_model(monkeypatch, one_hot)


TEXTS = ("天气🌧️ ok", "👨‍👩‍👧 family", "e\u0301 accent", "plain\n\ttext ", "\ufffd itself")


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_character_is_broken_in_a_stream(monkeypatch, text):
    lm = tiny("llama")
    ids = lm.encode(text)
    write_these(monkeypatch, ids)
    pieces = list(stream(lm, "Hello", len(ids)))
    assert "".join(pieces) == text
    assert "".join(pieces).count("\ufffd") == text.count("\ufffd")


def test_bytes_that_make_no_character_come_out_as_one_mark_each(monkeypatch):
    lm = tiny("llama")
    ids = lm.encode("天a")
    write_these(monkeypatch, [ids[0], ids[1], ids[-1], ids[0]])
    assert list(stream(lm, "Hello", 4)) == ["\ufffda", "\ufffd"]


def test_a_prompt_of_ids_may_end_within_a_character(monkeypatch):
    lm = tiny("llama")
    ids = lm.encode("天")
    write_these(monkeypatch, ids[1:])
    assert list(stream(lm, ids[:1], len(ids) - 1)) == ["天"]


def test_a_time_for_every_token():
    made = generate(tiny("llama"), "Hello", 10)
    assert len(made.step_s) == len(made.token_ids) - 1
    assert made.prefill_s > 0 and min(made.step_s) > 0


@pytest.mark.parametrize("kind", ("cuda", "mps"))
def test_the_clock_is_read_after_the_queued_work_is_done(monkeypatch, kind):
    done = [0.0, 5.0]  # what the clock says before and after the wait
    monkeypatch.setattr(getattr(torch, kind), "synchronize", lambda: done.pop(0))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: done[0])
    assert timing.now(kind) == 5.0
    assert timing.now(torch.device("cpu")) == 5.0


def test_generation_compares_by_what_was_written():
    same = [Generation([1], [2], "x", "max_new_tokens", seconds, []) for seconds in (0.1, 0.2)]
    assert same[0] == same[1]


def test_smollm2_writes_200_tokens_as_transformers_does(lm):
    prompt = "Once upon a time there was a small robot who"
    ours = generate(lm, prompt, 200)
    assert len(ours.token_ids) == 200
    assert ours.token_ids == theirs(lm, ours.prompt_ids, 200, do_sample=False)


def test_smollm2_on_each_device_writes_the_same_with_and_without_cache(device):
    lm = load_model("smollm2-135m", device=device, dtype=torch.float32)
    made = generate(lm, "The capital of France is", 16)
    assert made.text.startswith(" Paris")
    assert generate(lm, "The capital of France is", 16, cache=False) == made
