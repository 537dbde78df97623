"""Vectors as points on a map, flat or to be turned."""

from collections.abc import Sequence

import plotly.graph_objects as go
import torch

from helpers.figures.charts import SERIES
from helpers.figures.colours import to_tensor
from helpers.figures.frame import (
    CLEAR,
    EDGE,
    FAINT,
    INK,
    LEGEND,
    WIDTH,
    axis_title,
    described,
    frame,
    plain_axis,
    short_labels,
)  # fmt: skip
from helpers.figures.words import escape, listed, said

COLOURS = (*SERIES, "#8a7a12", "#6d6bd6")
SYMBOLS = ("circle", "square", "diamond", "cross", "square-open", "circle-open")  # those that a map in 3-D has as well
HEIGHTS, GRID = {2: 460, 3: 390}, "#9a9a9a"  # a map in 3-D knows no see-through lines


def word_map(points, labels: Sequence[str], groups: Sequence[str], title: str, caption: str) -> go.Figure:
    """Points (len(labels), 2 or 3) with their labels, one colour and one mark for each of at most six groups.

    With three columns the map can be turned with the mouse. Axes have no unit: what counts is who lies near whom.
    """
    points = to_tensor(points, (len(labels), len(points[0])))
    names = list(dict.fromkeys(groups))
    members = {name: [i for i, group in enumerate(groups) if group == name] for name in names}
    trace = _in_3d if points.shape[1] == 3 else _flat
    shown = short_labels(labels)
    figure = go.Figure([
        trace(points[where], [shown[i] for i in where], name, COLOURS[j % 6], SYMBOLS[j % 6])
        for j, (name, where) in enumerate(members.items())
    ])  # fmt: skip
    if points.shape[1] == 3:
        axis = dict(showticklabels=False, gridcolor=GRID, zerolinecolor=GRID, showbackground=False, showspikes=False)
        axes = {f"{letter}axis": axis | dict(title=dict(text=said("part", i=i))) for i, letter in enumerate("xyz", 1)}
        figure.update_layout(scene=dict(axes, bgcolor=CLEAR, camera=dict(eye=dict(x=1.05, y=1.05, z=0.55))))
    else:
        figure.update_xaxes(plain_axis(), showticklabels=False, gridcolor=FAINT, title=axis_title(said("part", i=1)))
        figure.update_yaxes(plain_axis(), showticklabels=False, gridcolor=FAINT, title=axis_title(said("part", i=2)))
    frame(figure, title, caption, (WIDTH - 40 - EDGE, HEIGHTS[points.shape[1]]), left=40, below=30, above=26)
    if points.shape[1] == 3:
        figure.update_layout(dragmode="orbit")
    figure.update_layout(showlegend=len(names) > 1, legend=LEGEND)
    if len(labels) < 2:
        return described(figure, "point", n=len(labels), title=title)
    return described(figure, "map", n=len(labels), title=title, pairs=_neighbours(points, shown))


def _flat(points, labels: list[str], name: str, colour: str, symbol: str) -> go.Scatter:
    x, y = _columns(points)
    text = dict(text=[escape(label) for label in labels], textposition="top center", textfont=dict(size=11, color=INK))
    mark = dict(marker=dict(color=colour, symbol=symbol, size=8), mode="markers+text", name=escape(name))
    return go.Scatter(x=x, y=y, hovertemplate="%{text}<extra></extra>", cliponaxis=False, **text, **mark)


def _in_3d(points, labels: list[str], name: str, colour: str, symbol: str) -> go.Scatter3d:
    x, y, z = _columns(points)
    text = dict(text=[escape(label) for label in labels], textposition="top center", textfont=dict(size=11, color=INK))
    mark = dict(marker=dict(color=colour, symbol=symbol, size=4), mode="markers+text", name=escape(name))
    return go.Scatter3d(x=x, y=y, z=z, hovertemplate="%{text}<extra></extra>", **text, **mark)


def _columns(points) -> list[list[float]]:
    return [[round(value, 3) for value in column] for column in points.T.tolist()]


def _neighbours(points, labels: list[str]) -> str:
    """ "Paris: Rome, …": each label with the one that lies nearest."""
    near = torch.cdist(points, points).fill_diagonal_(torch.inf).argmin(dim=1).tolist()
    return listed([said("row", row=a, rest=labels[i]) for a, i in zip(labels, near, strict=True)])
