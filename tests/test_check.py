"""The two checks: what they accept, what they refuse, and the sentence a reader gets."""

import warnings

import numpy as np
import pytest
import torch

from helpers.check import check_answer, check_close
from helpers.errors import CheckFailed
from helpers.peak import peak_of


def test_equal_tensors_are_reported_with_their_shape(capsys):
    queries = torch.randn(5, 9, 64)
    assert check_close("queries, block 0", queries, queries.clone()) is None
    assert capsys.readouterr().out == "queries, block 0 (5, 9, 64): same as the model, largest difference 0.0\n"


def test_the_largest_difference_has_one_significant_digit(capsys):
    ours = torch.tensor([0.0, 1.0, 2.00006234], dtype=torch.float64)
    check_close("x", ours, torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64))
    assert capsys.readouterr().out == "x (3,): same as the model, largest difference 6e-05\n"


def test_tolerance_is_absolute_plus_relative():
    model = torch.tensor([0.0, 22600.0])
    check_close("stream", torch.tensor([0.9e-4, 22602.0]), model)
    for wrong in ([1.5e-4, 22600.0], [0.0, 22603.0]):
        with pytest.raises(CheckFailed):
            check_close("stream", torch.tensor(wrong), model)


def test_the_place_of_the_difference_is_named():
    ours = torch.zeros(2, 3)
    ours[1, 2] = 0.42
    with pytest.raises(CheckFailed, match=r"pattern: largest difference 0\.4 \(ours 0\.42, the model 0, at \[1, 2\]\)"):
        check_close("pattern", ours, torch.zeros(2, 3))


def test_different_shapes_are_both_named():
    with pytest.raises(CheckFailed, match=r"q: the shapes differ: ours \(3, 2\), the model \(2, 3\)\."):
        check_close("q", torch.zeros(3, 2), torch.zeros(2, 3))


def test_masked_scores_can_be_compared(capsys):
    scores = torch.tensor([[1.0, -torch.inf], [2.0, 3.0]])
    check_close("scores", scores, scores.clone())
    assert "largest difference 0.0" in capsys.readouterr().out


@pytest.mark.parametrize("value", [0.0, torch.inf])
def test_an_infinity_only_equals_itself(value):
    with pytest.raises(CheckFailed, match="inf"):
        check_close("scores", torch.tensor([1.0, value]), torch.tensor([1.0, -torch.inf]))


def test_nan_never_equals_anything():
    nan = torch.tensor([[0.0, torch.nan]])
    with pytest.raises(CheckFailed, match=r"x: not a number \(NaN\): ours, at \[0, 1\]"):
        check_close("x", nan, nan)


def test_half_precision_lists_numbers_and_empty_tensors_are_compared(capsys):
    check_close("half", torch.ones(2, dtype=torch.bfloat16), torch.ones(2))
    check_close("list", [1, 2], torch.tensor([1, 2]))
    check_close("number", 3, 3.0)
    check_close("nothing", torch.zeros(0, 4), torch.zeros(0, 4))
    assert capsys.readouterr().out.count("same as the model, largest difference 0.0") == 4


def test_tensors_on_another_device_are_compared(device, capsys):
    check_close("x", torch.ones(2, device=device), torch.ones(2))
    assert "same as the model" in capsys.readouterr().out


def test_what_is_compared_with_is_named(capsys):
    check_close("top-k", [1.0], [1.0], against="transformers")
    assert capsys.readouterr().out == "top-k (1,): same as transformers, largest difference 0.0\n"


@pytest.mark.parametrize(
    ("theirs", "sentence"),
    [
        ([2.0], r"x: largest difference 1 \(ours 1, the formula 2, at \[0\]\)"),
        ([1.0, 2.0], r"ours \(1,\), the formula \(2,\)"),
        ([torch.nan], r"\(NaN\): the formula, at \[0\]"),
    ],
)
def test_what_is_compared_with_is_named_in_every_refusal(theirs, sentence):
    with pytest.raises(CheckFailed, match=sentence) as refusal:
        check_close("x", [1.0], theirs, against="the formula")
    assert "the model" not in str(refusal.value)


def test_whole_numbers_must_be_equal():
    """1e-4 of token id 49,000 would let four other tokens pass."""
    check_close("ids", torch.tensor([49_000.0]), [49_000])
    with pytest.raises(CheckFailed, match=r"ours 49001, the model 49000, at \[0\]\); they must be equal"):
        check_close("ids", [49_001], [49_000])
    with pytest.raises(CheckFailed, match="yours 10000001, expected 10000000"):
        check_answer("weights", 10_000_001, 10_000_000)
    check_answer("weights", 10_000_001, 10_000_000.0)


def test_an_answer_not_begun_is_no_error(capsys):
    check_answer("the mean", ..., 3)
    assert capsys.readouterr().out.startswith("Not done yet: the mean.")


def test_a_right_answer_is_said_to_be_right(capsys):
    check_answer("the mean", torch.tensor([1.0, 2.0]), [1, 2])
    assert capsys.readouterr().out == "Right: the mean.\n"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (5, "the mean, not yet: divide by the number of values."),
        (4, r"largest difference 1 \(yours 4, expected 3\)"),
        (None, "your answer is None: is `return` missing"),
        (torch.nan, "your answer is not a number"),
        ([1, 2], r"your answer is a tensor of shape \(2,\), expected a single number"),
        ("three", "your answer is a str, expected a single number"),
        ([[1], [2, 3]], "your answer is a list, expected a single number"),
    ],
)
def test_a_wrong_answer_is_refused_with_a_hint(answer, sentence):
    with pytest.raises(CheckFailed, match=sentence):
        check_answer("the mean", answer, 3, {"divide by the number of values.": 5})


@pytest.mark.parametrize("ours", [..., None, "text", [[1.0], [1.0, 2.0]], torch.zeros(2, dtype=torch.complex64)])
def test_what_is_no_tensor_of_real_numbers_gets_one_sentence(ours):
    with pytest.raises(CheckFailed, match="not a tensor of shape"):
        check_close("queries", ours, torch.zeros(2))


def test_large_tensors_are_compared_some_rows_at_a_time(capsys):
    ours = torch.ones(12, 1000, 1000)
    assert peak_of(lambda: check_close("x", ours, ours)) < ours.nbytes  # in float64 at once: four times as much
    off = ours.clone()
    off[11, 999, 999] = 1.5
    with pytest.raises(CheckFailed, match=r"largest difference 0.5 \(ours 1.5, the model 1, at \[11, 999, 999\]\)"):
        check_close("x", off, ours)
    off[11, 999, 999] = 1.00005
    check_close("x", off, ours)
    assert capsys.readouterr().out.endswith("largest difference 5e-05\n")
    off[11, 0, 0] = torch.nan
    for pair in ((off, ours), (ours, off), (off, off)):
        with pytest.raises(CheckFailed, match=r"\(NaN\): .*, at \[11, 0, 0\]"):
            check_close("x", *pair)


def test_numpy_arrays_may_be_reversed_or_read_only(capsys):
    right = torch.tensor([3.0, 2.0, 1.0])
    array = np.array([1.0, 2.0, 3.0])
    check_close("x", array[::-1], right)
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_close("x", array, right.flip(0))
    assert capsys.readouterr().out.count("same as the model") == 2
