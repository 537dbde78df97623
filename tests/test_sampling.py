"""next_token_probs against transformers' own logits processors, and what each setting means."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from helpers.errors import ReaderError
from helpers.sampling import greedy_id, next_token_probs, penalize_repetition, sample, sampling_steps, warped_logits
from tests.tiny import tiny

GRID = {
    "temperature": (1e-3, 0.3, 1.0, 1.7, 1e4),
    "top_k": (0, 1, 3, 10**6),
    "top_p": (1e-9, 0.1, 0.5, 0.9, 1.0),
    "min_p": (0.0, 0.05, 0.5, 1.0),
    "repetition_penalty": (0.5, 1.0, 1.3, 10.0),
}
ORDER = ("repetition_penalty", "temperature", "top_k", "top_p", "min_p")
CONTEXT = [1, 0, 1, 1, 2]  # id 1 three times


def logits_of(kind):
    noise = torch.randn(200, generator=torch.Generator().manual_seed(0)) * 4
    noise[:3] = torch.tensor([9.0, 10.0, -9.0])  # the context's tokens: two near the top, one negative
    return {
        "spread": noise,
        "ties": noise.round(),
        "all equal": torch.zeros(200),
        "all negative": noise - 50,
        "masked": noise.masked_fill(noise < 1, -math.inf),
        "huge": noise * 1e4,
        "three tokens": noise[:3],
        "one token": noise[:1],
        "whole vocabulary": torch.randn(49_152, generator=torch.Generator().manual_seed(1)) * 3,
    }[kind]


KINDS = ("spread", "ties", "all equal", "all negative", "masked", "huge", "three tokens", "whole vocabulary")


def settings_of(kind):
    every = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    return random.Random(kind).sample(every, 20 if kind == "whole vocabulary" else 150)


def transformers_logits(logits, context_ids, order=ORDER, **settings):
    """What `generate` makes of them: its own classes, switched on and off as `_get_logits_processor` does."""
    off = {"repetition_penalty": 1.0, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    classes = {
        "repetition_penalty": RepetitionPenaltyLogitsProcessor,
        "temperature": TemperatureLogitsWarper,
        "top_k": TopKLogitsWarper,
        "top_p": TopPLogitsWarper,
        "min_p": MinPLogitsWarper,
    }
    steps = [classes[name](settings[name]) for name in order if settings[name] != off[name]]
    return LogitsProcessorList(steps)(torch.tensor([context_ids], dtype=torch.long), logits[None].clone())[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("context_ids", (CONTEXT, []), ids=("context", "empty context"))
def test_equals_transformers_over_the_grid(kind, context_ids):
    logits = logits_of(kind)
    for settings in settings_of(kind):
        expected = transformers_logits(logits, context_ids, **settings)
        *_, (_, ours) = warped_logits(logits, context_ids, **settings)
        assert torch.equal(ours.sort().values, expected.sort().values), settings
        assert only_equals_are_exchanged(ours, expected), settings
        probs = next_token_probs(logits, context_ids=context_ids, **settings)
        torch.testing.assert_close(probs, ours.softmax(-1), rtol=0, atol=0, msg=str(settings))
        assert abs(float(probs.sum()) - 1) < 1e-5, settings


def only_equals_are_exchanged(ours, expected):
    """Which of several equal logits top-p cuts depends in transformers on the machine's sort; no more."""
    differ = ours != expected
    border = ours[ours.isfinite()].min()
    return bool((torch.maximum(ours, expected)[differ] == border).all())


SWAPS = (("repetition_penalty", "top_k"), ("temperature", "top_p"), ("top_k", "top_p"), ("top_p", "min_p"))


@pytest.mark.parametrize("swapped", SWAPS, ids="-".join)
def test_the_grid_notices_a_wrong_order(swapped):
    wrong = [dict(zip(swapped, reversed(swapped), strict=True)).get(name, name) for name in ORDER]
    logits = logits_of("spread")
    differ = [
        not torch.allclose(
            next_token_probs(logits, context_ids=CONTEXT, **settings),
            transformers_logits(logits, CONTEXT, wrong, **settings).softmax(-1),
            atol=1e-4,
        )
        for settings in settings_of("spread")
    ]
    assert any(differ)


@pytest.mark.parametrize("on", [c for n in range(6) for c in itertools.combinations(GRID, n)], ids="+".join)
def test_equals_what_generate_itself_draws_from(on):
    lm = tiny("gpt2")
    values = {"temperature": 0.7, "top_k": 50, "top_p": 0.8, "min_p": 0.1, "repetition_penalty": 1.4}
    off = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
    settings = off | {name: values[name] for name in on}
    ids = torch.tensor([[5, 6, 6, 7]])
    made = lm.model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=True, max_new_tokens=2, **settings,
        return_dict_in_generate=True, output_scores=True, output_logits=True,
    )  # fmt: skip
    for step, (logits, scores) in enumerate(zip(made.logits, made.scores, strict=True)):
        context_ids = made.sequences[0, : ids.shape[1] + step].tolist()
        ours = next_token_probs(logits[0], context_ids=context_ids, **settings)
        torch.testing.assert_close(ours, scores[0].softmax(-1), rtol=0, atol=1e-6)


def test_top_k_keeps_every_logit_equal_to_the_kth():
    probs = next_token_probs(torch.tensor([3.0, 1.0, 2.0, 2.0, 2.0]), top_k=2)
    assert probs.nonzero().flatten().tolist() == [0, 2, 3, 4]


def test_top_k_beyond_the_vocabulary_keeps_all():
    logits = logits_of("spread")
    assert torch.equal(next_token_probs(logits, top_k=201), logits.softmax(-1))


def test_top_p_keeps_the_token_that_crosses_p():
    logits = torch.tensor([0.5, 0.3, 0.2]).log()
    assert next_token_probs(logits, top_p=0.6).count_nonzero() == 2
    assert next_token_probs(logits, top_p=0.4).count_nonzero() == 1


def test_top_p_cuts_the_earlier_of_equal_tokens():
    assert next_token_probs(torch.zeros(4), top_p=0.5).tolist() == [0, 0, 0.5, 0.5]


def test_the_smallest_top_p_and_the_largest_min_p_keep_the_likeliest():
    logits = logits_of("spread")
    for settings in ({"top_p": 1e-12}, {"min_p": 1.0}, {"top_k": 1}):
        assert next_token_probs(logits, **settings)[logits.argmax()] == 1


def test_repeated_tokens_are_penalized_once_and_away_from_the_sign():
    logits = torch.tensor([2.0, -2.0, 0.0, 1.0])
    _, (name, after) = warped_logits(logits, context_ids=[0, 1, 1, 0, 2], repetition_penalty=2.0)
    assert name == "repetition_penalty"
    assert after.tolist() == [1.0, -4.0, 0.0, 1.0]


def test_context_ids_may_be_a_tensor():
    logits = logits_of("spread")
    right = next_token_probs(logits, 1, 0, 1, 0, 1.3, CONTEXT)
    for kind in (torch.tensor, np.array):
        assert torch.equal(next_token_probs(logits, 1, 0, 1, 0, 1.3, kind(CONTEXT)), right)


def test_the_penalty_itself_takes_only_ids():
    with pytest.raises(ReaderError, match="context_ids: token ids are whole numbers in a flat list, and 1.5 is none"):
        penalize_repetition(torch.zeros(4), 1.2, [1.5])


@pytest.mark.parametrize("kind", (*KINDS, "one token"))
def test_temperature_zero_is_one_for_the_first_largest_logit(kind):
    logits = logits_of(kind)
    first = (logits == logits.max()).nonzero()[0, 0]
    probs = next_token_probs(logits, temperature=0)
    assert probs[first] == 1 and probs.count_nonzero() == 1
    assert greedy_id(logits) == first == logits.argmax()


def test_temperature_zero_still_penalizes_repetition_but_cuts_nothing():
    logits = torch.tensor([3.0, 2.9, 0.0])
    settings = {"temperature": 0, "top_k": 1, "top_p": 0.1, "min_p": 1.0}
    assert next_token_probs(logits, **settings, repetition_penalty=1.5, context_ids=[0]).tolist() == [0, 1, 0]


def test_half_precision_logits_are_computed_in_float32():
    logits = logits_of("spread").bfloat16()
    probs = next_token_probs(logits, temperature=1.7)
    assert probs.dtype == torch.float32
    assert torch.equal(probs, next_token_probs(logits.float(), temperature=1.7))


def test_the_reader_s_logits_stay_as_they_are():
    logits = logits_of("spread")
    before = logits.clone()
    sampling_steps(logits, [1], temperature=0.5, top_k=3, top_p=0.9, min_p=0.1, repetition_penalty=2.0)
    assert torch.equal(logits, before)


def test_steps_are_named_in_order_and_end_in_the_result():
    settings = {"temperature": 0.7, "top_k": 20, "top_p": 0.9, "min_p": 0.02, "repetition_penalty": 1.3}
    logits = logits_of("spread")
    names, probs = zip(*sampling_steps(logits, context_ids=CONTEXT, **settings), strict=True)
    assert names == ("logits", *ORDER)
    assert torch.equal(probs[0], logits.softmax(-1))
    assert torch.equal(probs[-1], next_token_probs(logits, context_ids=CONTEXT, **settings))
    kept = [int(p.count_nonzero()) for p in probs]
    assert kept == sorted(kept, reverse=True) and kept[-1] < kept[2]


def test_steps_that_are_off_are_not_listed():
    assert [name for name, _ in sampling_steps(torch.zeros(3), top_k=2)] == ["logits", "top_k"]
    assert [name for name, _ in sampling_steps(torch.zeros(3), temperature=0)] == ["logits", "greedy"]


def test_draws_follow_the_probabilities_and_the_seed():
    probs = next_token_probs(torch.tensor([0.5, 0.3, 0.2, 0.0]).log())
    generators = [torch.Generator().manual_seed(seed) for seed in (0, 0, 1)]
    draws = [[sample(probs, generator) for _ in range(4000)] for generator in generators]
    assert draws[0] == draws[1] != draws[2]
    for token_id, p in enumerate(probs.tolist()):
        bound = 5 * math.sqrt(4000 * p * (1 - p))  # five standard deviations: missed once in a million
        assert abs(draws[0].count(token_id) - 4000 * p) <= bound


@pytest.mark.parametrize(
    "settings, said",
    (
        ({"temperature": -0.1}, "temperature=-0.1"),
        ({"temperature": math.nan}, "temperature=nan"),
        ({"temperature": math.inf}, "temperature=inf"),
        ({"temperature": "hot"}, "temperature='hot'"),
        ({"temperature": True}, "temperature=True"),
        ({"temperature": 10**400}, "must be 0 .greedy. or a positive number"),
        ({"temperature": Fraction(1, 2)}, "temperature=Fraction"),
        ({"repetition_penalty": 10**400}, "must be a positive number"),
        ({"temperature": 1e-44}, "too small"),
        ({"top_k": -1}, "top_k=-1"),
        ({"top_k": 2.5}, "top_k=2.5"),
        ({"top_p": 0.0}, "top_p=0.0"),
        ({"top_p": 1.1}, "top_p=1.1"),
        ({"min_p": -0.1}, "min_p=-0.1"),
        ({"min_p": 1.5}, "min_p=1.5"),
        ({"repetition_penalty": 0}, "repetition_penalty=0"),
        ({"repetition_penalty": 1.2, "context_ids": [4]}, "context_ids: there is no token 4: ids go from 0 to 3"),
        ({"repetition_penalty": 1.2, "context_ids": [-1]}, "no token -1: ids go from 0 to 3"),
        ({"context_ids": [1.5]}, "context_ids: token ids are whole numbers in a flat list, and 1.5 is none"),
        ({"context_ids": torch.tensor([1.0])}, "and 1.0 is none"),
        ({"context_ids": [False]}, "and False is none"),
        ({"context_ids": [[1]]}, r"and \[1\] is none"),
        ({"context_ids": 1}, "a flat list of token ids .* not 1"),
    ),
    ids=str,
)
def test_a_setting_out_of_range_is_answered_with_a_sentence(settings, said):
    with pytest.raises(ReaderError, match=said):
        next_token_probs(torch.tensor([2.0, 1.0, 0.0, -1.0]), **settings)


@pytest.mark.parametrize(
    "logits, said",
    (
        (torch.tensor([1.0, math.nan]), "nan"),
        (torch.tensor([1.0, math.inf]), "inf"),
        (torch.full((3,), -math.inf), "-inf"),
        (torch.zeros(2, 3), r"\(2, 3\)"),
        ("a text", "not a str"),
        (None, "not a NoneType"),
        ([[1.0], [2.0, 3.0]], "not a list"),
        (torch.tensor([1j]), "complex"),
        (torch.zeros(0), r"\(0,\)"),
    ),
    ids=("nan", "inf", "all masked", "two positions", "text", "None", "ragged", "complex", "no token"),
)
def test_logits_without_a_distribution_are_answered_with_a_sentence(logits, said):
    with pytest.raises(ReaderError, match=said):
        next_token_probs(logits)
