"""Bars around zero for what adds to a logit and what takes away; stacked bars for shares of a whole."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from helpers.figures.charts import SERIES
from helpers.figures.colours import BLUE, ORANGE, to_tensor
from helpers.figures.cuts import MAX_TOKENS, first_note
from helpers.figures.frame import (
    EDGE,
    INK,
    LEGEND,
    ROW,
    described,
    frame,
    label_pixels,
    short_labels,
    token_axis,
)
from helpers.figures.words import escape, listed, named, said

WIDE, NUMBER_ROOM = 600, 0.22  # pixels; part of the axis left free for the number behind the longest bar


def signed_bars(labels: Sequence[str], values, title: str, caption: str) -> go.Figure:
    """Horizontal bars for at most 48 values around zero, first on top: blue above, orange below."""
    numbers = to_tensor(values, (len(labels),))[:MAX_TOKENS].tolist()
    names = short_labels(labels[:MAX_TOKENS])
    written = [f"{number:+.2f}" for number in numbers]
    figure = go.Figure(_signed(numbers, written))
    largest = max(map(abs, numbers)) or 1.0
    low = -largest * (1 + NUMBER_ROOM) if min(numbers) < 0 else 0
    figure.update_xaxes(visible=False, range=[low, largest * (1 + NUMBER_ROOM)], fixedrange=True)
    figure.update_yaxes(token_axis(names, ROW), range=[len(names) - 0.5, -0.5], mirror=False, showline=low == 0)
    left = label_pixels(names) + EDGE
    note = first_note(len(names), len(labels))
    frame(figure, title, caption + note, (WIDE - left, ROW * len(names)), left, below=6)
    rows = listed([f"{name} {number}" for name, number in zip(names, written, strict=True)])
    return described(figure, "bars", title=title, cut=note, rows=rows)


def stacked_shares(rows: Mapping[str, Sequence[float]], parts: Sequence[str], title: str, caption: str) -> go.Figure:
    """One bar a row, divided into `parts`; the values of a row are shares that add up to 1."""
    names = short_labels(rows)
    figure = go.Figure([_part(i, part, [shares[i] for shares in rows.values()]) for i, part in enumerate(parts)])
    figure.update_xaxes(visible=False, range=[0, 1], fixedrange=True)
    figure.update_yaxes(token_axis(names, ROW), range=[len(names) - 0.5, -0.5], mirror=False)
    left = label_pixels(names) + EDGE
    frame(figure, title, caption, (WIDE - left, 1.3 * ROW * len(names)), left, below=6, above=26)
    legend = LEGEND | dict(traceorder="normal")
    figure.update_layout(barmode="stack", showlegend=True, legend=legend)
    listing = [
        named(name, parts, [f"{share:.1%}" for share in shares])
        for name, shares in zip(names, rows.values(), strict=True)
    ]
    return described(figure, "stacked", title=title, rows=said("semicolon").join(listing))


def _signed(numbers: list[float], written: list[str]) -> go.Bar:
    return go.Bar(
        x=[round(number, 4) for number in numbers],
        y=list(range(len(numbers))),
        orientation="h",
        width=0.72,
        marker=dict(color=[f"rgb{BLUE if number >= 0 else ORANGE}" for number in numbers]),
        text=[escape(number) for number in written],
        textposition="outside",
        textfont=dict(color=INK, size=12),
        cliponaxis=False,
        hovertemplate="%{text}<extra></extra>",
    )


def _part(i: int, part: str, shares: list[float]) -> go.Bar:
    return go.Bar(
        x=[round(share, 4) for share in shares],
        y=list(range(len(shares))),
        name=escape(part),
        orientation="h",
        width=0.72,
        marker=dict(color=SERIES[i % len(SERIES)]),
        text=[f"{share:.1%}" if share >= 0.08 else "" for share in shares],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont=dict(color="#ffffff", size=12),
        hovertemplate=f"{escape(part)}: %{{x:.1%}}<extra></extra>",
    )
