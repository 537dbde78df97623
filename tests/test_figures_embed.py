"""The word map: flat and in three dimensions, readable without sight."""

import json

import pytest
import torch

from helpers.figures.embed import word_map
from helpers.figures.words import escape

POINTS = torch.tensor([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 2.1, 2.0]])
LABELS, GROUPS = ["France", "Italy", "<b>", "pear"], ["countries", "countries", "fruit", "fruit"]


@pytest.mark.parametrize("dimensions, kind", [(2, "scatter"), (3, "scatter3d")])
def test_one_mark_a_group_and_every_point_at_its_place(dimensions, kind):
    figure = word_map(POINTS[:, :dimensions], LABELS, GROUPS, title="A map", caption="Toy.")
    assert [trace.type for trace in figure.data] == [kind] * 2
    assert [trace.name for trace in figure.data] == ["countries", "fruit"]
    first, second = figure.data
    assert first.marker.symbol != second.marker.symbol and first.marker.color != second.marker.color
    assert list(first.x) == [0.0, pytest.approx(0.1)] and list(second.y) == [2.0, pytest.approx(2.1)]
    assert list(second.text) == [escape("<b>"), "pear"]
    assert '"bdata"' not in json.dumps(figure.to_plotly_json(), default=list)


def test_the_alternative_text_names_neighbours():
    alt = word_map(POINTS, LABELS, GROUPS, title="A map", caption="Toy.").layout.meta["alt"]
    assert "France: Italy" in alt and "pear: <b>" in alt


def test_a_single_point_is_a_map():
    assert (
        word_map(POINTS[:1], LABELS[:1], GROUPS[:1], title="One", caption="Toy.")
        .layout.meta["alt"]
        .endswith("One point.")
    )


def test_labels_must_match_the_points():
    with pytest.raises(ValueError, match="their labels ask for"):
        word_map(POINTS, LABELS[:2], GROUPS[:2], title="A map", caption="Toy.")
