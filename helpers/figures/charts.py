"""Bars for probabilities, lines for what was measured."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from helpers.figures.colours import BLUE, cell, to_tensor
from helpers.figures.cuts import MAX_TOKENS, first_note
from helpers.figures.frame import (
    EDGE,
    FAINT,
    INK,
    LEGEND,
    ROW,
    WIDTH,
    axis_title,
    described,
    frame,
    label_pixels,
    plain_axis,
    short_labels,
    token_axis,
)
from helpers.figures.words import escape, listed, said

SERIES = ("#2f7fd0", "#c95e10", "#0f9172", "#b0569c")  # contrast at least 3 on white and on #111
DASHES, SYMBOLS = ("solid", "dash", "dot", "dashdot"), ("circle", "square", "diamond", "triangle-up")
BARS_WIDTH, PERCENT_ROOM = 560, 1.15  # pixels; the axis goes on past the longest bar for its percentage


def bars(labels: Sequence[str], values, title: str, caption: str) -> go.Figure:
    """Horizontal bars for at most 48 probabilities, first on top, each with its label and percentage."""
    shares = to_tensor(values, (len(labels),))[:MAX_TOKENS].tolist()
    names = short_labels(labels[:MAX_TOKENS])
    percents = [_percent(share) for share in shares]
    figure = go.Figure(_bars(shares, percents))
    figure.update_xaxes(visible=False, range=[0, round(PERCENT_ROOM * max(shares), 3)], fixedrange=True)
    figure.update_yaxes(token_axis(names, ROW), range=[len(names) - 0.5, -0.5], mirror=False)
    left = label_pixels(names) + EDGE
    note = first_note(len(names), len(labels))
    frame(figure, title, caption + note, (BARS_WIDTH - left, ROW * len(names)), left, below=6)
    rows = listed([f"{name} {percent}" for name, percent in zip(names, percents, strict=True)])
    return described(figure, "bars", title=title, cut=note, rows=rows)


def lines(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    title: str,
    caption: str,
    x_title: str,
    y_title: str,
) -> go.Figure:
    """One line with markers for each entry of `series`; colour, dash and marker tell them apart."""
    x = [cell(float(value)) for value in x]
    figure = go.Figure([_line(i, x, name, values) for i, (name, values) in enumerate(series.items())])
    figure.update_xaxes(plain_axis(), title=axis_title(x_title))
    figure.update_yaxes(plain_axis(), gridcolor=FAINT, title=axis_title(y_title))
    frame(figure, title, caption, (WIDTH - 64 - 2 * EDGE, 300), left=64, below=44, above=26)
    figure.update_layout(showlegend=len(series) > 1, legend=LEGEND)
    runs = [
        said("alt.line", name=name, start=f"{float(ys[0]):.3g}", end=f"{float(ys[-1]):.3g}")
        for name, ys in series.items()
    ]
    axes = dict(x=x_title, y=y_title, start=f"{x[0]:g}", end=f"{x[-1]:g}")
    return described(figure, "lines", title=title, lines=listed(runs), **axes)


def _bars(shares: list[float], percents: list[str]) -> go.Bar:
    return go.Bar(
        x=[round(share, 5) for share in shares],
        y=list(range(len(shares))),
        orientation="h",
        width=0.72,
        marker=dict(color=f"rgb{BLUE}"),
        text=[escape(percent) for percent in percents],
        textposition="outside",
        textfont=dict(color=INK, size=12),
        cliponaxis=False,
        hovertemplate="%{y}: %{text}<extra></extra>",
    )


def _line(i: int, x: list, name: str, values) -> go.Scatter:
    i %= len(SERIES)
    return go.Scatter(
        x=x,
        y=[cell(float(value)) for value in values],
        name=escape(name),
        mode="lines+markers",
        line=dict(color=SERIES[i], dash=DASHES[i], width=2),
        marker=dict(symbol=SYMBOLS[i], size=7),
        hovertemplate="%{x}: %{y}",
    )


def _percent(share: float) -> str:
    return "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"
