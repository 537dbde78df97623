"""From logits to the next token: the logits processors of transformers' `generate`, one short function each.

They run in its order (transformers/generation/utils.py, `_get_logits_processor`; the same in 5.15 and 5.24):
repetition penalty, temperature, top-k, top-p, min-p. A token that is cut gets the logit -inf: probability 0.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from helpers.errors import ReaderError
from helpers.sampling_checks import check_ids, check_largest, check_logits, check_settings


def penalize_repetition(logits: Tensor, penalty: float, context_ids: Sequence[int]) -> Tensor:
    """Divide the positive logits of the context's tokens by `penalty`, multiply the negative ones.

    A token that occurs twice is penalized once. Source: Keskar et al., CTRL (2019), section 4.1.
    ReaderError: ids that are not whole numbers, or that `logits` (n_vocab,) lack.
    """
    listed = check_ids("context_ids", context_ids, len(logits))
    ids = torch.tensor(listed, dtype=torch.long, device=logits.device)
    before = logits[ids]
    after = torch.where(before < 0, before * penalty, before / penalty)
    return logits.index_copy(0, ids, after)


def scale_by_temperature(logits: Tensor, temperature: float) -> Tensor:
    """Divide all logits: below 1 sharpens the distribution, above 1 flattens it."""
    return logits / temperature


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Keep the `k` largest logits, and every other one that equals the k-th."""
    kth = logits.topk(min(k, len(logits))).values[-1]
    return logits.masked_fill(logits < kth, -math.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Keep the likeliest tokens whose probabilities together reach `p`; at least one.

    The sum runs from the least likely token up. Of equal logits the earlier id is cut first; transformers
    leaves that to the machine's sort, so it may cut another of the equal ones, but never more or fewer.
    Source: Holtzman et al., The Curious Case of Neural Text Degeneration (2020).
    """
    ascending, order = logits.sort(stable=True)
    cut = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - p
    cut[-1] = False
    return logits.masked_fill(torch.zeros_like(cut).scatter(0, order, cut), -math.inf)


def keep_min_p(logits: Tensor, p: float) -> Tensor:
    """Keep the tokens at least `p` times as likely as the likeliest one. Source: Nguyen et al. (2024)."""
    probs = logits.softmax(dim=-1)
    return logits.masked_fill(probs < p * probs.max(), -math.inf)


def keep_largest(logits: Tensor) -> Tensor:
    """Greedy: keep one token, the first of those with the largest logit."""
    cut = torch.ones_like(logits, dtype=torch.bool)
    cut[greedy_id(logits)] = False
    return logits.masked_fill(cut, -math.inf)


def processors(
    temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, repetition_penalty=1.0, context_ids=()
) -> dict[str, Callable[[Tensor], Tensor]]:
    """The processors that are switched on, by the name of their setting, in the order in which they run."""
    steps = {}
    if repetition_penalty != 1:
        steps["repetition_penalty"] = lambda x: penalize_repetition(x, repetition_penalty, context_ids)
    if temperature == 0:
        return steps | {"greedy": keep_largest}
    if temperature != 1:
        steps["temperature"] = lambda x: scale_by_temperature(x, temperature)
    if top_k > 0:
        steps["top_k"] = lambda x: keep_top_k(x, top_k)
    if top_p < 1:
        steps["top_p"] = lambda x: keep_top_p(x, top_p)
    if min_p > 0:
        steps["min_p"] = lambda x: keep_min_p(x, min_p)
    return steps


def warped_logits(logits: Tensor, context_ids=None, **settings) -> Iterator[tuple[str, Tensor]]:
    """Yield ("logits", as given), then (name, logits after it) for each processor that is switched on.

    Settings and errors are those of `next_token_probs`.
    """
    check_settings(**settings)
    logits = check_logits(logits)
    context_ids = check_ids("context_ids", () if context_ids is None else context_ids, len(logits))
    yield "logits", logits
    for name, step in processors(context_ids=context_ids, **settings).items():
        logits = step(logits)
        if not logits.max().isfinite():
            raise ReaderError(f"{name}={settings[name]} is too small: the logits no longer fit into float32.")
        yield name, logits


def sampling_steps(logits: Tensor, context_ids=None, **settings) -> list[tuple[str, Tensor]]:
    """[("logits", probs before all), (name, probs after it), ...] for each processor that is switched on."""
    return [(name, step.softmax(dim=-1)) for name, step in warped_logits(logits, context_ids, **settings)]


def next_token_probs(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
    context_ids: Sequence[int] | None = None,
) -> Tensor:
    """Probabilities (n_vocab,) in float32 from one position's logits (n_vocab,): what `generate` draws from.

    `temperature=0` is greedy: 1 for the largest logit after the repetition penalty, the first of equals; 0
    elsewhere. `top_k=0`, `top_p=1`, `min_p=0`, `repetition_penalty=1` switch a step off; the penalty is
    for `context_ids`, the tokens so far, prompt included. A logit of -inf is a masked token.
    ReaderError: a setting or a context id out of range, another shape, a logit that is NaN or +inf.
    """
    cuts = {"top_k": top_k, "top_p": top_p, "min_p": min_p}
    scales = {"temperature": temperature, "repetition_penalty": repetition_penalty}
    *_, (_, last) = warped_logits(logits, context_ids, **cuts, **scales)
    return last.softmax(dim=-1)


def greedy_id(logits: Tensor) -> int:
    """The id of the largest logit (n_vocab,), the first of equals: what `temperature=0` chooses."""
    largest, token_id = logits.max(dim=-1)
    check_largest(largest)
    return int(token_id)


def sample(probs: Tensor, generator: torch.Generator) -> int:
    """Draw one token id from `probs` (n_vocab,), on the CPU: a seed draws the same on every device."""
    return int(torch.multinomial(probs.cpu(), 1, generator=generator))
