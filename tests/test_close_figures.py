"""Figures are compared up to a last digit that rounds the other way, and not further."""

import pytest

from tests.close_figures import FIGURE, _settled, agree


@pytest.mark.parametrize("ours, theirs", [
    ({"x": [0.123, 1], "name": "a"}, {"x": [0.124, 1], "name": "a"}),
    ("␣Rome 65.3%, ␣Milan 0.8%", "␣Rome 65.4%, ␣Milan 0.8%"),
    ([-22600.1, None, True], [-22600.0, None, True]),
])  # fmt: skip
def test_a_last_digit_may_differ(ours, theirs):
    assert agree(ours, theirs)


@pytest.mark.parametrize("ours, theirs", [
    ({"x": [0.123]}, {"x": [0.126]}),
    ({"x": [0.123]}, {"y": [0.123]}),
    ([0.1], [0.1, 0.1]),
    ("␣Rome 65.3%", "␣Rome 65.5%"),
    ("␣Rome 65.3%", "␣Roma 65.3%"),
    ("block 16, head 4", "block 16, head 5"),
    (True, 1),
    ("1", 1),
    (None, 0.0),
])  # fmt: skip
def test_anything_more_is_a_difference(ours, theirs):
    assert not agree(ours, theirs)


def test_only_the_figure_is_settled():
    ours = {"data": {FIGURE: {"x": [0.1231]}, "text/plain": "new"}}
    theirs = {"data": {FIGURE: {"x": [0.1232]}, "text/plain": "old"}}
    assert _settled(ours, theirs) == {"data": {FIGURE: {"x": [0.1232]}, "text/plain": "new"}}
    different = {"data": {FIGURE: {"x": [0.5]}}}
    assert _settled(different, theirs) == different
