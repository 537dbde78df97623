"""The KV cache explorer: what it sends, what it refuses, and its JavaScript against Python."""

import json

import pytest
import torch

from helpers import ReaderError, generate, trace
from helpers.kv_cache import cache_bytes, forward_with_cache, new_cache
from helpers.language import STRINGS
from helpers.widgets.cache import MOST_TOKENS, CacheExplorer, step_work
from helpers.widgets.static import static_state
from tests.js.test_js import run_node
from tests.tiny import ARCHS, N_LAYERS, tiny


def whole(lm, prompt, n_new):
    """The trace of the prompt and what the model writes behind it, and the prompt's length."""
    made = generate(lm, prompt, n_new)
    return trace(lm, [*made.prompt_ids, *made.token_ids]), len(made.prompt_ids)


def case(name, lm, prompt, n_new):
    """Expected values for the JavaScript tests."""
    seen, n_prompt = whole(lm, prompt, n_new)
    explorer = CacheExplorer(lm, seen, n_prompt)
    state = static_state(explorer)
    steps = range(explorer.n_steps + 1)
    work = [
        [
            step,
            cached,
            vars(explorer.work(step, cached)),
            sum(explorer.work(i, cached).multiplications for i in range(step + 1)),
        ]
        for step in steps
        for cached in (True, False)
    ]
    patterns = [seen[f"block{i}.pattern"].mean(dim=0) for i in range(explorer.n_layers)]
    shares = [
        [step, i, patterns[i][n_prompt + step - 1][explorer.positions].tolist()]
        for step in steps[1:]
        for i in range(0, explorer.n_layers, 7)
    ]
    return {"name": name, "state": state, "work": work, "shares": shares}


def test_javascript_computes_what_python_does(tmp_path, lm):
    cases = [
        case("SmolLM2", lm, "The capital of France is Paris. The capital of Italy is", 12),
        case("tiny llama", tiny("llama"), "Hello world: the capital of France is", 6),
        case("longer than its columns", tiny("gpt2"), "the capital of France is " * 3, 9),
        case("one token and one more", tiny("qwen3"), "a", 1),
    ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    run_node("cache.test.mjs", {"CACHE_CASES": str(path)})


@pytest.mark.parametrize("cached", (True, False))
def test_work_counts_every_pair_once(cached):
    """Against a walk over all rows and columns."""
    for n_prompt in (1, 4):
        for step in range(4):
            n = n_prompt + step
            rows = range(n) if not cached or step == 0 else [n - 1]
            pairs = sum(1 for row in rows for column in range(n) if column <= row)
            work = step_work(n_prompt, step, cached, a_token=1000, a_pair=10)
            assert (work.computed, work.read) == (len(rows), n - len(rows))
            assert work.multiplications == 1000 * len(rows) + 10 * pairs


def test_over_a_whole_text_the_cache_saves_no_pair_of_the_last_pass():
    """All steps together compute each pair once: as much as one pass over the text."""
    together = sum(step_work(5, step, True, 0, 1).multiplications for step in range(8))
    assert together == step_work(12, 0, True, 0, 1).multiplications


@pytest.mark.parametrize("arch", ARCHS)
def test_any_architecture(arch):
    lm = tiny(arch)
    seen, n_prompt = whole(lm, "Hello world", 5)
    explorer = CacheExplorer(lm, seen, n_prompt)
    assert explorer.shares.shape == (explorer.n_steps, N_LAYERS, len(seen.tokens))
    torch.testing.assert_close(explorer.shares.sum(dim=-1), torch.ones(explorer.n_steps, N_LAYERS))
    assert explorer.a_token > 0 and "<table>" in explorer.table()


def test_bytes_are_the_cache_s_own(lm):
    ids = lm.encode("The capital of France is Paris")
    cache = new_cache(lm)
    forward_with_cache(lm, ids, cache)
    explorer = CacheExplorer(lm, trace(lm, ids), n_prompt=len(ids))
    assert explorer.row_bytes * len(ids) == cache_bytes(cache)
    assert explorer.a_token == 106_168_320  # SmolLM2's weights without the vocabulary table and the norms


def test_places_that_are_not_there():
    lm = tiny("llama")
    seen, n_prompt = whole(lm, "Hello world", 5)
    explorer = CacheExplorer(lm, seen, n_prompt)
    for name, value in (("step", explorer.n_steps + 1), ("step", -1), ("block", N_LAYERS)):
        with pytest.raises(ReaderError, match=f"{name} {value} is not shown here: choose one of 0 to"):
            explorer.set_trait(name, value)
    for wrong in (0, len(seen.tokens) + 1):
        with pytest.raises(ReaderError, match=f"n_prompt is {wrong}"):
            CacheExplorer(lm, seen, wrong)


def test_a_text_that_is_all_prompt_has_only_the_prefill():
    lm = tiny("llama")
    seen = trace(lm, "Hello world")
    explorer = CacheExplorer(lm, seen, len(seen.tokens))
    assert (explorer.step, explorer.n_steps, explorer.packed) == (0, 0, b"")
    assert "Step 0" in explorer.table()


def test_long_texts_show_the_first_and_the_last_tokens():
    lm = tiny("llama")
    seen, n_prompt = whole(lm, "x" * 60, 8)
    explorer = CacheExplorer(lm, seen, n_prompt)
    assert explorer.positions == [0, *range(len(seen.tokens) - MOST_TOKENS + 1, len(seen.tokens))]
    assert "are left out" in explorer.caption


def test_what_is_shown_without_a_kernel_is_small_and_has_no_address(lm):
    seen, n_prompt = whole(lm, "The capital of Italy is", 12)
    explorer = CacheExplorer(lm, seen, n_prompt)
    assert len(explorer.table()) < 3000
    assert repr(explorer) == "CacheExplorer(step=1, block=0, cached=True)"
    assert len(explorer.packed) < 100_000


def test_every_word_is_in_both_languages():
    ours = {key: row for key, row in STRINGS.items() if key.startswith("cache.")}
    assert ours and all(len(row) == 2 for row in ours.values())
    assert [key for key, row in ours.items() if bool(row[0]) != bool(row[1])] == []
