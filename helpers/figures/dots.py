"""One row a thing, one mark a measurement: where several kinds of one number are compared."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from helpers.figures.charts import SERIES, SYMBOLS
from helpers.figures.colours import cell
from helpers.figures.frame import (
    EDGE,
    FAINT,
    INK,
    LEGEND,
    WIDTH,
    axis_title,
    described,
    frame,
    label_pixels,
    plain_axis,
    short_labels,
    token_axis,
)
from helpers.figures.words import escape, listed, named

ROW = 34  # pixels


def dots(
    rows: Sequence[str],
    series: Mapping[str, Sequence[float]],
    title: str,
    caption: str,
    x_title: str,
) -> go.Figure:
    """Marks over an axis from zero: for each row one of every series; colour and shape tell them apart."""
    names = short_labels(rows)
    figure = go.Figure([_marks(i, name, values) for i, (name, values) in enumerate(series.items())])
    figure.update_xaxes(plain_axis(), gridcolor=FAINT, rangemode="tozero", title=axis_title(x_title))
    axis = token_axis(names, ROW) | dict(showgrid=True, gridcolor=FAINT)
    figure.update_yaxes(axis, range=[len(names) - 0.5, -0.5], mirror=False)
    left = label_pixels(names) + EDGE
    frame(figure, title, caption, (WIDTH - left - 2 * EDGE, ROW * len(names)), left, below=44, above=26)
    figure.update_layout(showlegend=True, legend=LEGEND)
    marks = [named(name, rows, [f"{value:.3g}" for value in values]) for name, values in series.items()]
    return described(figure, "dots", title=title, x=x_title, rows=listed(marks))


def _marks(i: int, name: str, values: Sequence[float]) -> go.Scatter:
    i %= len(SERIES)
    return go.Scatter(
        x=[cell(float(value)) for value in values],
        y=list(range(len(values))),
        name=escape(name),
        mode="markers",
        marker=dict(symbol=SYMBOLS[i], size=11, color=SERIES[i], line=dict(color=INK, width=0.5)),
        hovertemplate=f"{escape(name)}, %{{y}}: %{{x}}<extra></extra>",
    )
