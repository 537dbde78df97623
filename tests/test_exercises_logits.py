"""The checks of notebook 05 accept right answers and name each typical slip."""

import math

import pytest
import torch

from helpers import trace
from helpers.errors import CheckFailed
from helpers.exercises.logits import check_lens_probability, check_perplexity, check_stable_softmax
from helpers.exercises.logits_answers import LENS_MISTAKES, PERPLEXITY_MISTAKES, SOFTMAX_MISTAKES, stable_softmax
from helpers.weights import final_norm
from tests.tiny import tiny

LM = tiny("llama")
SEEN = trace(LM, "Hello world: the capital of France is")
IDS, TABLE = torch.tensor(SEEN.token_ids), LM.model.get_output_embeddings().weight


def perplexity_loop(logits, ids):
    """Token by token, in plain Python."""
    bits = 0.0
    for row, came in zip(logits, ids[1:], strict=False):
        bits -= math.log2(torch.softmax(row.double(), 0)[came])
    return 2 ** (bits / (len(ids) - 1))


def softmax(fn):
    check_stable_softmax(fn, SEEN["logits"])


def perplexity(fn):
    check_perplexity(fn, SEEN["logits"], SEEN.token_ids)


def lens(fn):
    check_lens_probability(fn, SEEN, final_norm(LM), TABLE)


def test_right_answers(capsys):
    softmax(lambda x: torch.softmax(x, -1))
    softmax(lambda x: (x - x.logsumexp(-1, keepdim=True)).exp())
    softmax(lambda x: x.double().softmax(-1))
    softmax(lambda x: torch.nn.functional.normalize(x.sub_(x.amax(-1, keepdim=True)).exp_(), p=1.0, dim=-1))
    perplexity(perplexity_loop)
    perplexity(lambda x, ids: torch.nn.functional.cross_entropy(x[:-1], ids[1:]).exp())
    lens(lambda x, norm, table, answer: torch.softmax(norm(x) @ table.T, 1).T[answer])
    lens(lambda x, norm, table, answer: [float((table @ norm(depth)).softmax(0)[answer]) for depth in x])
    assert capsys.readouterr().out.count("Right: ") == 8


def test_the_loss_of_transformers_is_the_same_perplexity(capsys):
    with torch.no_grad():
        loss = LM.model(IDS[None], labels=IDS[None]).loss
    assert perplexity_loop(SEEN["logits"], SEEN.token_ids) == pytest.approx(loss.exp().item(), rel=1e-5)


def test_stubs_are_not_done_yet(capsys):
    softmax(lambda logits: ...)
    perplexity(lambda logits, ids: ...)
    lens(lambda depths, norm, table, answer: ...)
    assert capsys.readouterr().out.count("Not done yet") == 3


def test_a_forgotten_return_is_named():
    for check in (softmax, perplexity, lens):
        with pytest.raises(CheckFailed, match="returns nothing: is `return` missing"):
            check(lambda *arguments: None)


@pytest.mark.parametrize("check, mistakes", [
    (softmax, SOFTMAX_MISTAKES),
    (perplexity, PERPLEXITY_MISTAKES),
    (lens, LENS_MISTAKES),
])  # fmt: skip
def test_every_slip_gets_its_own_hint(check, mistakes):
    for hint, slip in mistakes:
        with pytest.raises(CheckFailed) as caught:
            check(slip)
        assert hint in str(caught.value), (hint, str(caught.value))


def lowered_by(x, number):
    exps = (x - number).exp()
    return exps / exps.sum(-1, keepdim=True)


@pytest.mark.parametrize("wrong, hint", [
    (lambda x: x.exp() / x.exp().sum(-1, keepdim=True), "exp overflows"),
    (lambda x: x.softmax(0), "runs over the tokens"),
    (lambda x: (x - x.max()).exp() / (x - x.max()).exp().sum(), "each row must add up to 1"),
    (lambda x: x.log_softmax(-1), "logarithms of probabilities"),
    (lambda x: lowered_by(x, x.max()), "not the largest of all"),
    (lambda x: lowered_by(x, x.mean(-1, keepdim=True)), "not its mean"),
    (lambda x: lowered_by(x, x.amin(-1, keepdim=True)), "not the smallest"),
    (lambda x: lowered_by(x, 100.0), "large or far apart: subtract the largest"),
    (lambda x: lowered_by(x.double(), 0.0), "large or far apart: subtract the largest"),
    (lambda x: lowered_by(x.clamp(max=80.0), 0.0), "large or far apart: subtract the largest"),
    (lambda x: lowered_by(x, 0.0).nan_to_num(), "large or far apart: subtract the largest"),
])  # fmt: skip
def test_softmax_slips_as_readers_write_them(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        softmax(wrong)


def log_probs(logits):
    return logits.log_softmax(-1)


@pytest.mark.parametrize("wrong, hint", [
    (lambda x, i: log_probs(x)[range(len(i)), i].mean().neg().exp(), "row i predicts token i"),
    (lambda x, i: log_probs(x)[range(len(i) - 1), i[:-1]].mean().neg().exp(), "cut at one end"),
    (lambda x, i: 1 / x.softmax(-1)[range(len(i) - 1), i[1:]].mean(), "mean of the logarithms"),
    (lambda x, i: 2 ** log_probs(x)[range(len(i) - 1), i[1:]].mean().neg(), "bases differ"),
    (lambda x, i: (log_probs(x)[range(len(i) - 1), i[1:]].sum() / -len(i)).exp(), "first token is never predicted"),
    (lambda x, i: log_probs(x)[range(len(i) - 1), i[1:]].sum().neg().exp(), "mean over the tokens"),
    (lambda x, i: torch.nn.functional.cross_entropy(x[:-1], i[1:]), "mean surprise"),
])  # fmt: skip
def test_perplexity_slips_as_readers_write_them(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        perplexity(wrong)


@pytest.mark.parametrize("wrong, hint", [
    (lambda x, norm, t, a: (x @ t.T).softmax(-1)[:, a], "final norm is missing"),
    (lambda x, norm, t, a: (norm(x) @ t.T)[:, a], "softmax is missing"),
    (lambda x, norm, t, a: (norm(x) @ t.T).softmax(0)[:, a], "runs over the depths"),
    (lambda x, norm, t, a: (norm(x) @ t[a, None].T).softmax(-1)[:, 0], "softmax before the cut"),
    (lambda x, norm, t, a: (norm(x) @ t.T).softmax(-1)[-1, a], "last depth alone"),
])  # fmt: skip
def test_lens_slips_as_readers_write_them(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        lens(wrong)


def test_softmax_case_that_does_not_overflow_is_not_enough():
    """A plain exponential is right for the page's own logits; only the other cases show the slip."""
    own = SEEN["logits"]
    torch.testing.assert_close(own.exp() / own.exp().sum(-1, keepdim=True), stable_softmax(own))
