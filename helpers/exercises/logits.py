"""The checks of notebook 05: softmax that cannot overflow, perplexity, the logit lens for one token."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from helpers.exercises import logits_answers as answers
from helpers.exercises.engine import check_function


def check_stable_softmax(fn, logits: Tensor) -> None:
    """Check `fn(logits)`, the probabilities along the last axis; all but the first overflow a plain exponential.

    The last but one overflows it in float64 too; in the last, rows lie so far apart that one maximum does not do.
    """
    logits, levels = logits.detach().float(), torch.tensor([[-400.0], [0.0], [400.0]])
    cases = [(logits[-3:],), (_random(5, 9) + 120.0,), (_random(2, 3, 7) * 60.0,), (_random(6) - 200.0,)]
    cases += [(_random(20, 5) + 800.0,), (_random(3, 8) + levels,)]
    notes = dict.fromkeys(range(1, len(cases)), answers.LARGE)
    check_function("stable_softmax(logits)", fn, answers.stable_softmax, answers.SOFTMAX_MISTAKES, cases, notes)


def check_perplexity(fn, logits: Tensor, ids) -> None:
    """Check `fn(logits, ids)`, the perplexity of a text: logits (n_tokens, n_vocab), ids its token ids."""
    ids = torch.as_tensor(ids, device=logits.device)
    cases = [(logits.detach().float(), ids)]
    for n_tokens, n_vocab in ((6, 11), (9, 40), (2, 7), (20, 20)):
        drawn = torch.Generator().manual_seed(n_tokens)
        cases.append((2.0 * _random(n_tokens, n_vocab), torch.randint(n_vocab, (n_tokens,), generator=drawn)))
    check_function("perplexity(logits, ids)", fn, answers.perplexity, answers.PERPLEXITY_MISTAKES, cases)


def check_lens_probability(fn, seen: Mapping[str, Tensor], norm: Callable, table: Tensor) -> None:
    """Check `fn(depths, norm, table, answer)`, the probability (n_depths,) of one token after 0, 1, … blocks.

    `norm` is the model's final norm, `table` (n_vocab, d_model) its vocabulary table.
    """
    n_layers = sum(key.endswith(".norm1") for key in seen)
    keys = ["embed", *(f"block{i}" for i in range(n_layers))]
    depths = torch.stack([seen[key][-1] for key in keys]).detach().float()
    answer = int(seen["logits"][-1].argmax())
    cases = [(depths, norm, table.detach().float(), answer)]
    cases += [(3.0 * _random(n, 8), _other_norm, _random(m, 8), m - 2) for n, m in ((4, 12), (7, 5), (1, 9), (8, 8))]
    name = "lens_probability(depths, norm, table, answer)"
    check_function(name, fn, answers.lens_probability, answers.LENS_MISTAKES, cases)


def _other_norm(x: Tensor) -> Tensor:
    """A norm whose weights are not all alike, for vectors of 8 numbers."""
    weight = torch.linspace(0.3, 2.0, 8)
    return weight * x / (x.pow(2).mean(dim=-1, keepdim=True) + 1e-5).sqrt()


def _random(*sizes: int) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes)))
