"""What notebook 06 says of sampling, on the real model: frequencies, orders, greedy, seeds, beam search."""

import math

import pytest
import torch

from helpers import generate, next_token_probs, trace
from helpers.kv_cache import forward_with_cache
from helpers.sampling import keep_top_p, sample
from tests.tiny import tiny

PROMPT = "The capital of France is Paris. The capital of Italy is"
N = 10_000
LOADED = 1e-6  # honest dice are called loaded once in a million tests
SETTINGS = (
    {},
    {"temperature": 0.7, "top_p": 0.9},
    {"temperature": 1.5, "top_k": 50, "top_p": 0.9, "min_p": 0.02, "repetition_penalty": 1.2},
    {"temperature": 2.0, "min_p": 0.05},
)


@pytest.fixture(scope="module")
def seen(lm):
    return trace(lm, PROMPT)


def chance(counts, probs):
    """How often honest dice are at least this far off: chi-square, tokens expected under 5 times pooled."""
    expected = counts.sum() * probs.double()
    rare = expected < 5
    seen, due = (torch.cat([x[~rare], x[rare].sum()[None]]) for x in (counts.double(), expected))
    if due[-1] == 0:
        assert seen[-1] == 0, "a token was drawn that is cut"
    freedom = int((due > 0).sum()) - 1
    chi2 = ((seen - due) ** 2 / due.clamp(min=1e-9)).sum()
    return float(torch.special.gammaincc(torch.tensor(max(freedom, 1) / 2).double(), chi2 / 2))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_frequencies_of_ten_thousand_draws_match_the_distribution(seen, settings):
    probs = next_token_probs(seen["logits"][-1], context_ids=seen.token_ids, **settings)
    generator = torch.Generator().manual_seed(0)
    draws = torch.multinomial(probs, N, replacement=True, generator=generator)
    assert chance(torch.bincount(draws, minlength=len(probs)), probs) > LOADED


def test_one_draw_at_a_time_as_generate_does_it_matches_too(seen):
    probs = next_token_probs(seen["logits"][-1], temperature=1.2, top_k=40)
    generator = torch.Generator().manual_seed(1)
    draws = torch.tensor([sample(probs, generator) for _ in range(2000)])
    assert chance(torch.bincount(draws, minlength=len(probs)), probs) > LOADED


def test_the_test_notices_loaded_dice(seen):
    logits = seen["logits"][-1]
    probs = next_token_probs(logits)
    draws = torch.multinomial(probs, N, replacement=True, generator=torch.Generator().manual_seed(0))
    counts = torch.bincount(draws, minlength=len(probs))
    assert chance(counts, next_token_probs(logits, temperature=1.1)) < LOADED
    again = torch.bincount(draws[:1].repeat(200), minlength=len(probs))
    assert chance(again, next_token_probs(logits, temperature=1.5, top_p=0.9)) < LOADED


def test_temperature_runs_from_greedy_to_uniform(seen):
    logits = seen["logits"][-1]
    n_vocab = len(logits)
    torch.testing.assert_close(next_token_probs(logits, temperature=1e-3), next_token_probs(logits, temperature=0))
    assert float(next_token_probs(logits, temperature=1e4).max()) * n_vocab < 1.01
    assert (logits / 0).softmax(-1).isnan().any()


def test_top_p_before_the_heating_keeps_far_fewer(seen):
    logits = seen["logits"][-1]
    after, before = keep_top_p(logits / 1.5, 0.9), keep_top_p(logits, 0.9)
    assert before.isfinite().sum() == 10
    assert 400 < after.isfinite().sum() < 520


def test_a_low_top_p_is_nearer_to_greedy(seen):
    """Claim 15, the other way round: at every position of the prompt the favourite gains as p falls."""
    for logits in seen["logits"]:
        shares = [float(next_token_probs(logits, top_p=p).max()) for p in (0.95, 0.7, 0.5, 0.3, 0.1)]
        assert shares == sorted(shares)
        kept = [int((next_token_probs(logits, top_p=p) > 0).sum()) for p in (0.95, 0.3)]
        assert kept[1] < kept[0] or kept == [1, 1]


def test_the_repetition_penalty_depends_on_where_zero_lies(seen):
    logits, italy = seen["logits"][-1], seen.token_ids[-2]
    options = dict(repetition_penalty=1.3, context_ids=seen.token_ids)
    here, lower = (float(next_token_probs(x, **options)[italy]) for x in (logits, logits - 30))
    assert math.isclose(logits.softmax(-1)[italy], (logits - 30).softmax(-1)[italy], rel_tol=1e-4)
    assert here > 5 * lower


def test_greedy_repeats_itself_most(lm):
    """Claim 17: distinct pairs among 40 tokens, greedy against temperature 1."""

    def distinct(ids):
        pairs = list(zip(ids, ids[1:], strict=False))
        return len(set(pairs)) / len(pairs)

    greedy = generate(lm, PROMPT, 40).token_ids
    drawn = [generate(lm, PROMPT, 40, temperature=1.0, seed=seed).token_ids for seed in (0, 1)]
    assert distinct(greedy) < min(map(distinct, drawn))


@pytest.mark.parametrize("arch", ["llama", "gpt2", "qwen3"])
def test_beam_search_finds_what_is_at_least_as_likely_as_greedy(arch):
    lm = tiny(arch)
    ids = lm.encode("Hello world")
    options = dict(do_sample=False, min_new_tokens=8, max_new_tokens=8)
    start = torch.tensor([ids])
    greedy, beam = (
        lm.model.generate(start, attention_mask=torch.ones_like(start), num_beams=n, **options)[0] for n in (1, 8)
    )

    def log_prob(whole):
        rows = forward_with_cache(lm, whole[:-1].tolist(), None).log_softmax(-1)[len(ids) - 1 :]
        return float(rows.gather(1, whole[len(ids) :, None]).sum())

    assert log_prob(beam) >= log_prob(greedy) - 1e-3
