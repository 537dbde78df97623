"""The checks of notebook 06 accept right answers, however written, and name each typical slip."""

import pytest
import torch

from helpers.errors import CheckFailed
from helpers.exercises.sampling import check_nucleus, check_penalize_recent, check_write

LOGITS = 3 * torch.randn(60, generator=torch.Generator().manual_seed(0))
IDS = [4, 9, 4, 30, 31, 7]


def model(ids):
    return torch.nn.functional.one_hot(torch.tensor((7 * len(ids) + ids[-1]) % 60), 60).float()


def by_loop(logits, temperature, p):
    probs = (logits / temperature).softmax(-1)
    kept, total = torch.zeros_like(probs), 0.0
    for i in probs.argsort(descending=True).tolist():
        kept[i] = probs[i]
        total += float(probs[i])
        if total >= p:
            break
    return kept / kept.sum()


def shifted_mask(logits, temperature, p):
    """The way transformers once did it: cut where the sum passed p, shifted by one."""
    ordered, order = (logits / temperature).sort(descending=True)
    cut = ordered.softmax(-1).cumsum(-1) > p
    cut[1:] = cut[:-1].clone()
    cut[0] = False
    return (logits / temperature).index_fill(0, order[cut], -torch.inf).softmax(-1)


def from_the_unlikely_end(logits, temperature, p):
    ordered, order = (logits / temperature).sort()
    cut = ordered.softmax(-1).cumsum(-1) <= 1 - p
    cut[-1] = False
    return (logits / temperature).index_fill(0, order[cut], -1e9).softmax(-1)


def down_to_the_last_one_kept(logits, temperature, p):
    probs = (logits.double() / temperature).softmax(-1)
    ordered = probs.sort(descending=True).values
    probs[probs < ordered[int((ordered.cumsum(-1) < p).sum())]] = 0
    return probs / probs.sum()


def in_place(logits, ids, penalty, window):
    for i in set(ids[-window:]):
        logits[i] = logits[i] / penalty if logits[i] > 0 else logits[i] * penalty
    return logits


def while_loop(next_logits, ids, stop_ids, n_new):
    new = []
    while len(new) < n_new:
        token = next_logits(ids + new).argmax().item()
        if token in stop_ids:
            return new
        new += [token]
    return new


def changes_its_argument(next_logits, ids, stop_ids, n_new):
    n = len(ids)
    for _ in range(n_new):
        ids.append(int(next_logits(ids).argmax()))
        if ids[-1] in stop_ids:
            return ids[n:-1]
    return ids[n:]


def test_right_answers(capsys):
    check_nucleus(by_loop, LOGITS)
    check_nucleus(shifted_mask, LOGITS)
    check_nucleus(from_the_unlikely_end, LOGITS)
    check_nucleus(down_to_the_last_one_kept, LOGITS)
    check_penalize_recent(in_place, LOGITS, IDS)
    check_penalize_recent(lambda logits, *rest: in_place(logits.double(), *rest), LOGITS, IDS)
    check_write(while_loop, model, IDS)
    check_write(lambda *case: torch.tensor(while_loop(*case)), model, IDS)
    check_write(changes_its_argument, model, IDS)
    assert capsys.readouterr().out.count("Right: ") == 9


def test_stubs_are_not_done_yet(capsys):
    check_nucleus(lambda *_: ..., LOGITS)
    check_penalize_recent(lambda *_: ..., LOGITS, IDS)
    check_write(lambda *_: ..., model, IDS)
    check_write(..., model, IDS)
    assert capsys.readouterr().out.count("Not done yet") == 4


def test_a_forgotten_return_is_named():
    missing = "returns nothing: is `return` missing"
    with pytest.raises(CheckFailed, match=missing):
        check_nucleus(lambda *_: None, LOGITS)
    with pytest.raises(CheckFailed, match=missing):
        check_penalize_recent(lambda *_: None, LOGITS, IDS)
    with pytest.raises(CheckFailed, match=missing):
        check_write(lambda *_: None, model, IDS)


def sorted_probs(logits):
    return logits.softmax(-1).sort(descending=True)


def drops_the_crossing_token(logits, temperature, p):
    probs, order = sorted_probs(logits / temperature)
    probs[probs.cumsum(-1) >= p] = 0
    return torch.zeros_like(logits).scatter(0, order, probs / probs.sum())


def drops_it_but_keeps_one(logits, temperature, p):
    probs, order = sorted_probs(logits / temperature)
    cut = probs.cumsum(-1) >= p
    cut[0] = False
    probs[cut] = 0
    return torch.zeros_like(logits).scatter(0, order, probs / probs.sum())


def temperature_last(logits, temperature, p):
    probs, order = sorted_probs(logits)
    kept = order[probs.cumsum(-1) - probs < p]
    masked = torch.full_like(logits, -torch.inf)
    masked[kept] = logits[kept]
    return (masked / temperature).softmax(-1)


def stays_sorted(logits, temperature, p):
    probs, _ = sorted_probs(logits / temperature)
    probs[probs.cumsum(-1) - probs >= p] = 0
    return probs / probs.sum()


def not_renormalized(logits, temperature, p):
    probs, order = sorted_probs(logits / temperature)
    probs[probs.cumsum(-1) - probs >= p] = 0
    return torch.zeros_like(logits).scatter(0, order, probs)


def unsorted(logits, temperature, p):
    probs = (logits / temperature).softmax(-1)
    probs[probs.cumsum(-1) - probs >= p] = 0
    return probs / probs.sum()


def taken_by_order(logits, temperature, p):
    return stays_sorted(logits, temperature, p)[(logits / temperature).argsort(descending=True)]


def filled_with(number):
    def nucleus(logits, temperature, p):
        warm = logits / temperature
        return warm.masked_fill(by_loop(logits, temperature, p) == 0, number).softmax(-1)

    return nucleus


def plain_exponential(logits, temperature, p):
    exps = (logits / temperature).exp().masked_fill(by_loop(logits, temperature, p) == 0, 0)
    return exps / exps.sum()


def softmax_twice(number):
    return lambda *case: not_renormalized(*case).masked_fill(by_loop(*case) == 0, number).softmax(-1)


@pytest.mark.parametrize("wrong, hint", [
    (drops_the_crossing_token, "crosses p stays"),
    (drops_it_but_keeps_one, "crosses p stays"),
    (temperature_last, "temperature comes first"),
    (lambda logits, t, p: by_loop(logits, 1.0, p), "temperature is missing"),
    (lambda logits, t, p: by_loop(logits, 1 / t, p), "divide the logits"),
    (stays_sorted, "sorted order"),
    (not_renormalized, "add up to 1"),
    (lambda logits, t, p: (logits / t).softmax(-1), "nothing was cut"),
    (filled_with(-10.0), "what is cut must be minus infinity"),
    (filled_with(-20.0), "what is cut must be minus infinity"),
    (filled_with(-1000.0), "what is cut must be minus infinity"),
    (plain_exponential, "softmax, not a plain exponential"),
    (unsorted, "in the order of the vocabulary"),
    (taken_by_order, "put them there with scatter"),
    (softmax_twice(0.0), "softmax ran over probabilities"),
    (softmax_twice(-torch.inf), "softmax ran over probabilities"),
    (lambda logits, t, p: by_loop(logits, t, min(0.99, p)), "not for sizes"),
    (lambda logits, t, p: by_loop(logits, t, p).log(), "logits|expected"),
    (lambda logits, t, p: by_loop(logits, t, p)[:5], "expected a tensor of shape"),
    (lambda logits, t, p: logits.sort(p), "stopped with TypeError"),
])  # fmt: skip
def test_nucleus_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_nucleus(wrong, LOGITS)


def over_the_list(logits, ids, penalty, window):
    for i in ids[-window:]:
        logits[i] = logits[i] / penalty if logits[i] > 0 else logits[i] * penalty
    return logits


def counted_back(ids, window):
    return [ids[len(ids) - i] for i in range(1, window + 1)]


def changed(logits, ids, change):
    for i in set(ids):
        logits[i] = change(logits[i])
    return logits


@pytest.mark.parametrize("wrong, hint", [
    (lambda logits, ids, penalty, window: changed(logits, ids[-window:], lambda x: x / penalty), "negative logit"),
    (lambda logits, ids, penalty, window: changed(logits, ids[-window:], lambda x: x * penalty), "positive logit"),
    (lambda logits, ids, penalty, window: changed(logits, ids[-window:], lambda x: x - penalty), "presence penalty"),
    (over_the_list, "penalized once"),
    (lambda logits, ids, penalty, window: in_place(logits, ids, penalty, len(ids)), "whole text"),
    (lambda logits, ids, penalty, window: in_place(logits, ids[:window], penalty, window), "first `window`"),
    (lambda logits, ids, penalty, window: in_place(logits, ids, 1 / penalty, window), "became likelier"),
    (lambda logits, ids, penalty, window: logits, "nothing was penalized"),
    (lambda logits, ids, penalty, window: in_place(logits, ids, penalty, window + 1), "expected"),
    (lambda logits, ids, penalty, window: in_place(logits, ids[-window:-1], penalty, window), "expected"),
    (lambda logits, ids, penalty, window: in_place(logits, list(dict.fromkeys(ids)), penalty, window), "expected"),
    (lambda logits, ids, penalty, window: in_place(logits, counted_back(ids, window), penalty, 99), "longer than"),
    (lambda logits, ids, penalty, window: in_place(logits, ids, max(1, penalty), window), "penalty below 1"),
])  # fmt: skip
def test_penalty_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_penalize_recent(wrong, LOGITS, IDS)


def with_the_stop(next_logits, ids, stop_ids, n_new):
    new = []
    for _ in range(n_new):
        new.append(int(next_logits(ids + new).argmax()))
        if new[-1] in stop_ids:
            break
    return new


def looks_before_it_writes(next_logits, ids, stop_ids, n_new):
    text = list(ids)
    while len(text) < len(ids) + n_new and text[-1] not in stop_ids:
        text.append(int(next_logits(text).argmax()))
    return [token for token in text[len(ids) :] if token not in stop_ids]


def forever(next_logits, ids, stop_ids, n_new):
    while True:
        ids.append(int(next_logits(ids).argmax()))


@pytest.mark.parametrize("wrong, hint", [
    (with_the_stop, "not part of the text"),
    (lambda model, ids, stops, n: while_loop(model, ids, set(), n), "after the stop token"),
    (lambda model, ids, stops, n: ids + while_loop(model, ids, stops, n), "new tokens only"),
    (lambda model, ids, stops, n: while_loop(lambda seen: model(seen[-1:]), ids, stops, n), "only the last token"),
    (lambda model, ids, stops, n: while_loop(lambda _: model(ids), ids, stops, n), "prompt each time"),
    (lambda model, ids, stops, n: while_loop(model, ids, stops, n - 1), "too few"),
    (lambda model, ids, stops, n: while_loop(model, ids, stops, n + 1), "too many"),
    (looks_before_it_writes, "stop token in the prompt stops nothing"),
    (lambda model, ids, stops, n: while_loop(model, ids, {max(stops, default=0)}, n), "several stop tokens"),
    (lambda model, ids, stops, n: while_loop(model, ids, {min(stops, default=0)}, n), "several stop tokens"),
    (lambda model, ids, stops, n: while_loop(model, ids, stops, n) or [0], "ends at once"),
    (forever, "does not end"),
    (lambda model, ids, stops, n: "text", "expected"),
])  # fmt: skip
def test_loop_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_write(wrong, model, IDS)
