"""Right answers of the exercises on sampling, and the slips readers make, each with the hint that helps."""

import torch
from torch import Tensor


def nucleus(logits: Tensor, temperature: float, p: float) -> Tensor:
    """Probabilities (n_vocab,) after temperature and top-p, in this order."""
    return cut(logits / temperature, p).softmax(dim=-1)


def cut(logits: Tensor, p: float, counted=lambda probs: probs.cumsum(-1) - probs, descending=True) -> Tensor:
    """The logits with -inf where top-p cuts; `counted` says what is compared with p, by place in the order."""
    probs, order = logits.softmax(dim=-1).sort(descending=descending)
    return logits.index_fill(0, order[counted(probs) >= p], -torch.inf)


def crossing_dropped(logits: Tensor, temperature: float, p: float) -> Tensor:
    return cut(logits / temperature, p, lambda probs: probs.cumsum(-1)).softmax(dim=-1)


def crossing_dropped_but_one(logits: Tensor, temperature: float, p: float) -> Tensor:
    """Without the crossing token, but never without any: a rule that only shows where the favourite is below p."""
    return cut(logits / temperature, p, lambda probs: probs.cumsum(-1).index_fill(0, _first(probs), 0.0)).softmax(
        dim=-1
    )


def in_sorted_order(logits: Tensor, temperature: float, p: float) -> Tensor:
    return nucleus(logits, temperature, p).sort(descending=True).values


def not_shared_out(logits: Tensor, temperature: float, p: float, cut_to=0.0) -> Tensor:
    probs = (logits / temperature).softmax(dim=-1)
    return probs.masked_fill(nucleus(logits, temperature, p) == 0, cut_to)


def cut_to_zero(logits: Tensor, temperature: float, p: float) -> Tensor:
    """A logit of 0 in place of minus infinity."""
    warm = logits / temperature
    return warm.masked_fill(cut(warm, p).isinf(), 0.0).softmax(dim=-1)


def above_p(logits: Tensor, temperature: float, p: float) -> Tensor:
    probs = (logits / temperature).softmax(dim=-1)
    kept = probs.masked_fill(probs < p * probs.max(), 0.0)
    return kept / kept.sum()


def penalize_recent(logits: Tensor, ids, penalty: float, window: int) -> Tensor:
    """The repetition penalty for the last `window` tokens."""
    return _penalized(logits, ids[-window:], lambda old: torch.where(old > 0, old / penalty, old * penalty))


def _penalized(logits: Tensor, ids, change) -> Tensor:
    used = torch.tensor(sorted(set(ids)), device=logits.device)
    return logits.index_copy(0, used, change(logits[used]))


def divided(logits: Tensor, ids, penalty: float, window: int) -> Tensor:
    return _penalized(logits, ids[-window:], lambda old: old / penalty)


def multiplied(logits: Tensor, ids, penalty: float, window: int) -> Tensor:
    return _penalized(logits, ids[-window:], lambda old: old * penalty)


def subtracted(logits: Tensor, ids, penalty: float, window: int) -> Tensor:
    return _penalized(logits, ids[-window:], lambda old: old - penalty)


def the_wrong_way(logits: Tensor, ids, penalty: float, window: int) -> Tensor:
    return penalize_recent(logits, ids, 1 / penalty, window)


def each_time(logits: Tensor, ids, penalty: float, window: int) -> Tensor:
    for token in ids[-window:]:
        logits = penalize_recent(logits, [token], penalty, 1)
    return logits


def everything(logits: Tensor, ids, penalty: float, window: int) -> Tensor:
    return torch.where(logits > 0, logits / penalty, logits * penalty)


def write_until(next_logits, ids, stop_ids, n_new: int, start=0, seen=lambda ids: ids) -> list[int]:
    """New ids, greedy, without the stop token; `seen` is what the model is shown of the text so far."""
    written = list(ids)
    for _ in range(n_new):
        token = int(next_logits(seen(written)).argmax())
        if token in stop_ids:
            break
        written.append(token)
    return written[len(ids) if start == 0 else 0 :]


def never_stops(next_logits, ids, stop_ids, n_new: int) -> list[int]:
    return write_until(next_logits, ids, set(), n_new)


def with_the_stop(next_logits, ids, stop_ids, n_new: int) -> list[int]:
    written = never_stops(next_logits, ids, stop_ids, n_new)
    end = next((i for i, token in enumerate(written) if token in stop_ids), n_new)
    return written[: end + 1]


def _first(probs: Tensor) -> Tensor:
    return torch.zeros(1, dtype=torch.long, device=probs.device)


def unsorted(logits: Tensor, temperature: float, p: float) -> Tensor:
    """The shares added up in the order of the vocabulary."""
    warm = logits / temperature
    probs = warm.softmax(dim=-1)
    return warm.masked_fill(probs.cumsum(-1) - probs >= p, -torch.inf).softmax(dim=-1)


def sorted_twice(logits: Tensor, temperature: float, p: float) -> Tensor:
    """`order` used to take from the sorted numbers, where it says where to put them."""
    order = (logits / temperature).argsort(descending=True)
    return nucleus(logits, temperature, p)[order][order]


def stopped_by_the_prompt(next_logits, ids, stop_ids, n_new: int) -> list[int]:
    """The last token looked at before the next is written, were it the prompt's own."""
    return [] if ids[-1] in stop_ids else write_until(next_logits, ids, stop_ids, n_new)


FAR_BELOW = (
    "logits far below 0: what is cut must be minus infinity, or 0 as a probability; "
    "and softmax, not a plain exponential"
)

NUCLEUS_MISTAKES = [
    ("the token that crosses p stays: compare p with what the tokens *before* it hold.", crossing_dropped),
    (
        "the token that crosses p stays: compare p with what the tokens *before* it hold.",
        crossing_dropped_but_one,
    ),
    (
        "temperature comes first: top-p has to look at the probabilities that are drawn from.",
        lambda logits, temperature, p: (cut(logits, p) / temperature).softmax(dim=-1),
    ),
    ("the temperature is missing.", lambda logits, temperature, p: nucleus(logits, 1.0, p)),
    (
        "a temperature above 1 must flatten the distribution: divide the logits by it.",
        lambda logits, temperature, p: nucleus(logits, 1 / temperature, p),
    ),
    ("these are in sorted order: put them back where they came from, with `order`.", in_sorted_order),
    ("`order` says where each sorted number belongs: put them there with scatter; indexing takes.", sorted_twice),
    ("the shares were added up in the order of the vocabulary: sort first, likeliest first.", unsorted),
    (
        "softmax ran over probabilities: divide what is left by its sum.",
        lambda *case: not_shared_out(*case).softmax(dim=-1),
    ),
    (
        "softmax ran over probabilities: divide what is left by its sum.",
        lambda *case: not_shared_out(*case, cut_to=-torch.inf).softmax(dim=-1),
    ),
    ("what is left must add up to 1 again.", not_shared_out),
    ("a logit of 0 is not a cut, e to the 0 is 1: it must be minus infinity.", cut_to_zero),
    (
        "that is min-p: it compares with the favourite. Top-p adds the shares up, likeliest first.",
        above_p,
    ),
    (
        "you began with the unlikeliest: sort in descending order.",
        lambda logits, temperature, p: cut(logits / temperature, p, descending=False).softmax(dim=-1),
    ),
    (
        "these are logits: the probabilities were asked for.",
        lambda logits, temperature, p: cut(logits / temperature, p),
    ),
    ("nothing was cut.", lambda logits, temperature, p: (logits / temperature).softmax(dim=-1)),
]

RECENT_MISTAKES = [
    ("dividing a negative logit makes its token likelier: multiply the negative ones.", divided),
    ("multiplying a positive logit makes its token likelier: divide the positive ones.", multiplied),
    ("that is a presence penalty: it subtracts. This one divides and multiplies.", subtracted),
    ("the penalized tokens became likelier: divide positive logits, multiply negative ones.", the_wrong_way),
    ("a token that occurs twice is penalized once: take the set of the ids.", each_time),
    (
        "you penalized the whole text: only the last `window` tokens count.",
        lambda logits, ids, penalty, window: penalize_recent(logits, ids, penalty, len(ids)),
    ),
    (
        "those are the first `window` tokens: the newest stand at the end.",
        lambda logits, ids, penalty, window: penalize_recent(logits, ids[:window], penalty, window),
    ),
    ("only tokens that have occurred are penalized, not the whole vocabulary.", everything),
    ("nothing was penalized.", lambda logits, ids, penalty, window: logits),
]

WRITE_MISTAKES = [
    ("a stop token in the prompt stops nothing: look at new tokens only.", stopped_by_the_prompt),
    ("it wrote on after the stop token: leave the loop there.", never_stops),
    ("the stop token is not part of the text: look at the token before you append it.", with_the_stop),
    (
        "the prompt was not asked for: return the new tokens only.",
        lambda *case: write_until(*case, start=1),
    ),
    (
        "the model saw only the last token: it needs the whole text so far.",
        lambda *case: write_until(*case, seen=lambda ids: ids[-1:]),
    ),
    (
        "the model was shown the prompt each time: the new tokens have to join what it sees.",
        lambda next_logits, ids, *rest: write_until(next_logits, ids, *rest, seen=lambda _: list(ids)),
    ),
    (
        "one token too few: the loop runs `n_new` times.",
        lambda next_logits, ids, stop_ids, n_new: write_until(next_logits, ids, stop_ids, n_new - 1),
    ),
    (
        "one token too many: the loop runs `n_new` times.",
        lambda next_logits, ids, stop_ids, n_new: write_until(next_logits, ids, stop_ids, n_new + 1),
    ),
]
