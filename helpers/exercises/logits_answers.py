"""Right answers of the exercises on logits, and the slips readers make, each with the hint that helps."""

import torch
from torch import Tensor


def stable_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Probabilities along an axis, the right one being the last."""
    return x.softmax(dim=axis)


def perplexity(logits: Tensor, ids: Tensor) -> Tensor:
    """e to the mean of −ln p over the tokens that are predicted: all but the first."""
    return (-token_log_probs(logits, ids).mean()).exp()


def lens_probability(depths: Tensor, norm, table: Tensor, answer: int) -> Tensor:
    """The probability of one token at each depth (n_depths, d_model)."""
    return (norm(depths) @ table.T).softmax(dim=-1)[:, answer]


def token_log_probs(logits: Tensor, ids: Tensor) -> Tensor:
    """ln p of each token but the first, (n_tokens - 1,)."""
    return logits[:-1].log_softmax(dim=-1).gather(1, ids[1:, None])[:, 0]


def plain_softmax(x: Tensor) -> Tensor:
    return x.exp() / x.exp().sum(dim=-1, keepdim=True)


def one_total(x: Tensor) -> Tensor:
    exps = (x - x.max()).exp()
    return exps / exps.sum()


def unshifted(logits: Tensor, ids: Tensor) -> Tensor:
    return logits.log_softmax(dim=-1).gather(1, ids[:, None])[:, 0]


def first_counted(logits: Tensor, ids: Tensor) -> Tensor:
    """The sum divided by all tokens, as though the first one had been predicted for certain."""
    return (-token_log_probs(logits, ids).sum() / len(ids)).exp()


def shifted_back(logits: Tensor, ids: Tensor) -> Tensor:
    return (-logits[1:].log_softmax(dim=-1).gather(1, ids[:-1, None]).mean()).exp()


def largest_of_all(x: Tensor) -> Tensor:
    """Each row by its own sum, but lowered by one maximum: rows far below it lose all they have."""
    exps = (x - x.max()).exp()
    return exps / exps.sum(dim=-1, keepdim=True)


LARGE = "logits that are large or far apart: subtract the largest logit of each row, dim=-1 with keepdim=True"

SOFTMAX_MISTAKES = [
    ("exp overflows in large logits: subtract the largest logit of each row first.", plain_softmax),
    (
        "each row must add up to 1: take maximum and sum along the last axis, with keepdim=True, not over everything.",
        one_total,
    ),
    ("subtract the largest logit of each row, not the largest of all: rows far below it become 0 / 0.", largest_of_all),
    (
        "subtract the largest logit of each row, not its mean: above the mean exp can still overflow.",
        lambda x: plain_softmax(x - x.mean(dim=-1, keepdim=True)),
    ),
    (
        "subtract the largest logit of each row, not the smallest: above that exp can still overflow.",
        lambda x: plain_softmax(x - x.amin(dim=-1, keepdim=True)),
    ),
    ("your softmax runs over the tokens: it runs over the vocabulary, the last axis.", lambda x: stable_softmax(x, 0)),
    (
        "these are the exponentials: divide each row by its sum.",
        lambda x: (x - x.amax(dim=-1, keepdim=True)).exp(),
    ),
    ("these are logarithms of probabilities: raise e to them.", lambda x: x.log_softmax(dim=-1)),
    ("these are shifted logits: the exponential is missing.", lambda x: x - x.amax(dim=-1, keepdim=True)),
]

PERPLEXITY_MISTAKES = [
    (
        "row i predicts token i + 1: compare logits[:-1] with ids[1:]. You compared guesses with what they were given.",
        lambda logits, ids: (-unshifted(logits, ids).mean()).exp(),
    ),
    (
        "that is the comparison without a shift, cut at one end: row i predicts token i + 1.",
        lambda logits, ids: (-unshifted(logits, ids)[1:].mean()).exp(),
    ),
    (
        "that is the comparison without a shift, cut at one end: row i predicts token i + 1.",
        lambda logits, ids: (-unshifted(logits, ids)[:-1].mean()).exp(),
    ),
    ("you shifted the wrong way: row i predicts token i + 1, not token i - 1.", shifted_back),
    (
        "take the mean of the logarithms, not of the probabilities: a text is as likely as the product of its tokens.",
        lambda logits, ids: 1 / token_log_probs(logits, ids).exp().mean(),
    ),
    (
        "that is the mean of 1 / p: take the mean of the logarithms, then the power.",
        lambda logits, ids: (-token_log_probs(logits, ids)).exp().mean(),
    ),
    (
        "the bases differ: with natural logarithms the power is e's, with log2 it is 2's.",
        lambda logits, ids: 2 ** -token_log_probs(logits, ids).mean(),
    ),
    (
        "the bases differ: with natural logarithms the power is e's, with log2 it is 2's.",
        lambda logits, ids: (-token_log_probs(logits, ids).mean() / torch.tensor(2.0).log()).exp(),
    ),
    (
        "the first token is never predicted: divide by the number of predictions, n_tokens - 1.",
        first_counted,
    ),
    (
        "the sign is lost: the mean of the logarithms is negative, its opposite goes into the power.",
        lambda logits, ids: token_log_probs(logits, ids).mean().exp(),
    ),
    (
        "that is the mean surprise: perplexity is the power of it.",
        lambda logits, ids: -token_log_probs(logits, ids).mean(),
    ),
    (
        "that is the mean surprise in bits: perplexity is 2 to the power of it.",
        lambda logits, ids: -token_log_probs(logits, ids).mean() / torch.tensor(2.0).log(),
    ),
    (
        "take the mean over the tokens, not the sum, or a longer text always looks worse.",
        lambda logits, ids: (-token_log_probs(logits, ids).sum()).exp(),
    ),
]

LENS_MISTAKES = [
    (
        "the final norm is missing: without it the vectors are far too long for the table.",
        lambda depths, norm, table, answer: lens_probability(depths, lambda x: x, table, answer),
    ),
    (
        "these are logits: softmax is missing.",
        lambda depths, norm, table, answer: (norm(depths) @ table.T)[:, answer],
    ),
    (
        "your softmax runs over the depths: it runs over the vocabulary, the last axis.",
        lambda depths, norm, table, answer: (norm(depths) @ table.T).softmax(dim=0)[:, answer],
    ),
    (
        "that is the probability of the likeliest token of each depth: take the entry of `answer` in every row.",
        lambda depths, norm, table, answer: (norm(depths) @ table.T).softmax(dim=-1).amax(dim=-1),
    ),
    (
        "that is the last depth alone: return one probability for each depth.",
        lambda depths, norm, table, answer: lens_probability(depths, norm, table, answer)[-1],
    ),
    (
        "softmax before the cut: after picking `answer` alone there is nothing to share with.",
        lambda depths, norm, table, answer: torch.ones(len(depths), device=depths.device),
    ),
]
