"""Tokens in coloured cells, and bars with a number that is no percentage."""

from collections.abc import Sequence

import plotly.graph_objects as go

from helpers.figures.charts import BARS_WIDTH
from helpers.figures.colours import BLUE, STEPS, colour_map, scale_note, to_tensor
from helpers.figures.cuts import ends, ends_note, last_note
from helpers.figures.frame import (
    EDGE,
    INK,
    MONO,
    ROW,
    WIDTH,
    axis_title,
    described,
    frame,
    label_pixels,
    short_labels,
    token_axis,
)  # fmt: skip
from helpers.figures.words import escape, listed_ends, said, shorten

LOW_ROW = 20  # pixels


def token_grid(
    texts: Sequence[Sequence[str]],
    values,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    caption: str,
    row_title: str,
    column_title: str,
) -> go.Figure:
    """One cell a value of (len(rows), len(columns)) between 0 and 1, row 0 on top, with its text written in it.

    Of longer axes the last 12 columns are shown, in which a short token can be read.
    """
    n_shown = min(len(columns), 12)
    shown = to_tensor(values, (len(rows), len(columns)))[:, -n_shown:]
    cells = [row[-n_shown:] for row in texts]
    names, heads = [str(row) for row in rows], short_labels(columns[-n_shown:])
    left, above = 26 + label_pixels(names, 11), 12 + label_pixels(heads, 11)
    side = (WIDTH - left - EDGE) / 12
    figure = go.Figure(colour_map(shown, 1.0, False, "%{text}: %{z}"))
    figure.update_traces(colorscale=[[step, _on_white(step)] for step in STEPS])
    letters = int(side / 6.2)  # a character of 10 px is about 6 wide
    written = [[escape(shorten(text, letters)) for text in row] for row in cells]
    ink = dict(family=MONO, size=10)
    figure.update_traces(text=written, texttemplate="%{text}", textfont=ink, xgap=1, ygap=1)
    figure.update_xaxes(token_axis(heads, 13), tickangle=-90, side="top", title=axis_title(column_title))
    figure.update_yaxes(token_axis(names, 13), range=[len(names) - 0.5, -0.5], title=axis_title(row_title))
    note, plot = last_note(n_shown, len(columns)), (side * n_shown, LOW_ROW * len(names))
    frame(figure, title, f"{caption} {scale_note(shown)}{note}", plot, left, below=6, above=above + 16)
    last = [said("row", row=head, rest=cell) for head, cell in zip(heads, cells[-1], strict=True)]
    return described(figure, "token_grid", title=title, cut=note, cells=listed_ends(last))


def _on_white(step: float) -> str:
    """The usual ramp as it looks on white: plotly picks black or white text as though no ground shone through."""
    strength = 0.08 + 0.92 * step**0.55
    return f"rgb{tuple(round(255 + strength * (part - 255)) for part in BLUE)}"


def measures(labels: Sequence[str], values, title: str, caption: str, unit: str) -> go.Figure:
    """Horizontal bars for the amounts of a text's tokens, none negative, 1 decimal each, the first token on top.

    Of more than 48 the first and the last 47 are shown.
    """
    places = ends(len(labels))
    amounts = to_tensor(values, (len(labels),))[places].tolist()
    names = short_labels(labels[i] for i in places)
    written = [f"{amount:.1f}" for amount in amounts]
    figure = go.Figure(_amounts(amounts, written, unit))
    figure.update_xaxes(visible=False, range=[0, round(1.15 * (max(amounts) or 1.0), 3)], fixedrange=True)
    figure.update_yaxes(token_axis(names, ROW), range=[len(names) - 0.5, -0.5], mirror=False)
    left = label_pixels(names) + EDGE
    note = ends_note(len(labels))
    notes = f"{caption} {said('in_unit', unit=unit)}{note}"
    frame(figure, title, notes, (BARS_WIDTH - left, ROW * len(names)), left, below=6)
    rows = listed_ends([f"{name} {amount}" for name, amount in zip(names, written, strict=True)], 20)
    return described(figure, "measures", unit=unit, title=title, cut=note, rows=rows)


def _amounts(amounts: list[float], written: list[str], unit: str) -> go.Bar:
    return go.Bar(
        x=[round(amount, 3) for amount in amounts],
        y=list(range(len(amounts))),
        orientation="h",
        width=0.72,
        marker=dict(color=f"rgb{BLUE}"),
        text=written,
        textposition="outside",
        textfont=dict(color=INK, size=12),
        cliponaxis=False,
        hovertemplate=f"%{{y}}: %{{text}} {unit}<extra></extra>",
    )
