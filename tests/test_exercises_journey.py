"""The checks of notebook 00 accept right answers and name each typical slip."""

import pytest
import torch

from helpers.errors import CheckFailed
from helpers.exercises.journey import check_top_share, check_with_temperature

LOGITS = 4.0 * torch.randn(300, generator=torch.Generator().manual_seed(1))


def test_right_answers(capsys):
    check_with_temperature(lambda x, t: torch.softmax(x / t, dim=0), LOGITS)
    check_with_temperature(lambda x, t: (x / t).exp() / (x / t).exp().sum(), LOGITS)
    check_with_temperature(lambda x, t: torch.nn.functional.normalize(x.double().softmax(0) ** (1 / t), 1, 0), LOGITS)
    check_with_temperature(lambda x, t: x.div_(t).softmax(0), LOGITS)
    check_top_share(lambda x, k: x.softmax(0).sort(descending=True).values[:k].sum(), LOGITS)
    check_top_share(lambda x, k: x.softmax(0).topk(k).values.sum().item(), LOGITS)
    assert capsys.readouterr().out.count("Right: ") == 6


def test_stubs_are_not_done_yet(capsys):
    check_with_temperature(lambda logits, temperature: ..., LOGITS)
    check_top_share(lambda logits, k: ..., LOGITS)
    assert capsys.readouterr().out.count("Not done yet") == 2


def test_a_forgotten_return_is_named():
    for check in (check_with_temperature, check_top_share):
        with pytest.raises(CheckFailed, match="returns nothing: is `return` missing"):
            check(lambda logits, setting: None, LOGITS)


@pytest.mark.parametrize("wrong, hint", [
    (lambda x, t: (x * t).softmax(0), "do not multiply"),
    (lambda x, t: x.softmax(0) / t, "you divided the probabilities"),
    (lambda x, t: x.softmax(0), "does not change with the temperature"),
    (lambda x, t: x / t, "softmax is missing"),
    (lambda x, t: (x / 0.5).softmax(0), "not for sizes"),
    (lambda x, t: x.softmax(0) ** (1 / t), "add up to 1 again"),
    (lambda x, t: (x / t**0.5).softmax(0), "largest difference"),
])  # fmt: skip
def test_temperature_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_with_temperature(wrong, LOGITS)


@pytest.mark.parametrize("wrong, hint", [
    (lambda x, k: x.topk(k).values.softmax(0).sum(), "softmax has to see all tokens"),
    (lambda x, k: x.softmax(0).topk(k).values, "add them up"),
    (lambda x, k: x.topk(k).values.sum(), "sum of the logits"),
    (lambda x, k: x.softmax(0).topk(k).values[-1], "k-th probability alone"),
    (lambda x, k: x.softmax(0)[:k].sum(), "first k tokens of the vocabulary"),
    (lambda x, k: LOGITS.softmax(0).topk(10).values.sum(), "not for sizes"),
    (lambda x, k: x.softmax(0).sort().values[:k].sum(), "unlikeliest"),
    (lambda x, k: x.softmax(0).topk(k - 1).values.sum(), "largest difference"),
    (lambda x, k: x.softmax(0)[x >= x.topk(k).values[-1]].sum(), "not for sizes"),
    (lambda x, k: 100 * x.softmax(0).topk(k).values.sum(), "largest difference"),
])  # fmt: skip
def test_top_share_slips(wrong, hint):
    with pytest.raises(CheckFailed, match=hint):
        check_top_share(wrong, LOGITS)
