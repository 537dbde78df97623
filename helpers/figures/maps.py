"""Matrices as coloured cells: who looks at whom, the heads of a layer, the vectors of the tokens."""

import math
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from helpers.figures.colours import colour_map, limits, masked, scale_note, strongest, to_tensor
from helpers.figures.cuts import MAX_TOKENS, ends, ends_note
from helpers.figures.frame import (
    EDGE,
    INK,
    ROW,
    WIDTH,
    axis_title,
    described,
    font_size,
    frame,
    label_pixels,
    plain_axis,
    short_labels,
    token_axis,
)
from helpers.figures.words import escape, listed, listed_ends, said

LOOKS = "%{y} → %{x}: %{z}"
MAX_CELLS, MAX_BYTES = 14_000, 180_000  # of one figure
CELL, SMALL_MAP, GAP, TITLE_ROOM = 42, 190, 28, 34  # pixels


def heatmap(
    values,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    caption: str,
    row_title: str | None = None,
    column_title: str | None = None,
) -> go.Figure:
    """One cell a value (len(rows), len(columns)), row 0 on top; masked cells (0 or -inf) stay empty.

    One hue where no value is negative, else two hues around zero. Of longer axes the first and the last 47 are shown.
    Without titles of their own the axes say that row tokens look at column tokens.
    """
    row_title, column_title = row_title or said("looks"), column_title or said("looked_at")
    down, across = ends(len(rows)), ends(len(columns))
    shown = masked(to_tensor(values, (len(rows), len(columns))))[down][:, across]
    limit, diverging = limits(shown)
    names, heads = short_labels(rows[i] for i in down), short_labels(columns[i] for i in across)
    side = min(CELL, (WIDTH - EDGE - TITLE_ROOM - label_pixels(names)) / len(heads))
    left, below = (TITLE_ROOM + label_pixels(labels, font_size(side)) for labels in (names, heads))
    figure = go.Figure(colour_map(shown, limit, diverging, LOOKS))
    figure.update_xaxes(token_axis(heads, side), tickangle=-90, title=axis_title(column_title))
    figure.update_yaxes(token_axis(names, side), range=[len(names) - 0.5, -0.5], title=axis_title(row_title))
    note = ends_note(len(rows), len(columns))
    frame(figure, title, f"{caption} {scale_note(shown)}{note}", (side * len(heads), side * len(names)), left, below)
    best = listed_ends(strongest(shown, names, heads))
    return described(figure, "heatmap", title=title, cut=note, rows=best)


def head_grid(
    patterns,
    labels: Sequence[str],
    title: str,
    caption: str,
    names: Sequence[str] | None = None,
    columns: int | None = None,
) -> go.Figure:
    """A small map for each head of patterns (n_heads, n_tokens, n_tokens), all on one colour scale.

    `names` stand above the maps ("head 0", …), `columns` maps in a row; pointing at a cell names its tokens.
    Of more tokens than can be drawn the first and the last ones are shown.
    """
    patterns = to_tensor(patterns, (len(patterns), len(labels), len(labels)))
    names = names or [said("head", i=i) for i in range(len(patterns))]
    most = min(MAX_TOKENS, _affordable_tokens(len(patterns)))
    places, note = ends(len(labels), most), ends_note(len(labels), most=most)
    shown = masked(patterns)[:, places][:, :, places]
    limit, diverging = limits(shown)
    figure, plot = _grid([colour_map(pattern, limit, diverging, LOOKS) for pattern in shown], names, columns)
    axis = token_axis(short_labels(labels[i] for i in places), CELL) | dict(showticklabels=False)
    figure.update_xaxes(axis)
    figure.update_yaxes(axis, range=[len(places) - 0.5, -0.5])
    notes = f"{said('rows_look')} {scale_note(shown)}{note}"
    frame(figure, title, f"{caption} {notes}", plot, left=EDGE, below=8, above=20)
    first = [f"{name} {pattern[:, 0].mean():.2f}" for name, pattern in zip(names, patterns, strict=True)]
    return described(figure, "head_grid", n=len(first), title=title, cut=note, heads=listed(first))


def strips(vectors, labels: Sequence[str], title: str, caption: str) -> go.Figure:
    """Each vector of (len(labels), d_model) as a strip of cells, two hues around zero, outliers clipped.

    Of more than can be drawn the first and the last ones are shown.
    """
    vectors = to_tensor(vectors, (len(labels), len(vectors[0])))
    most = min(MAX_TOKENS, MAX_CELLS // vectors.shape[1])
    places, note = ends(len(labels), most), ends_note(len(labels), most=most)
    shown, names = vectors[places], short_labels(labels[i] for i in places)
    limit, left = shown.abs().quantile(0.98).item() or 1.0, label_pixels(names) + EDGE
    figure = go.Figure(colour_map(shown, limit, True, f"%{{y}}, {said('number', place='%{x}')}: %{{z}}"))
    figure.update_xaxes(plain_axis(), title=axis_title(said("numbers", n=shown.shape[1])))
    figure.update_yaxes(token_axis(names, ROW), range=[len(names) - 0.5, -0.5])
    notes = said("clipped", limit=f"{limit:.2g}") + note
    frame(figure, title, f"{caption} {notes}", (WIDTH - left - EDGE, ROW * len(names)), left, below=42)
    lengths = [f"{name} {norm:.2g}" for name, norm in zip(names, shown.norm(dim=-1).tolist(), strict=True)]
    return described(figure, "strips", title=title, cut=note, rows=listed_ends(lengths))


def _affordable_tokens(n_maps: int) -> int:
    """How many tokens n_maps maps can show: each takes about 6 (n_tokens + 5)² + 650 bytes."""
    return max(1, math.isqrt(max(0, MAX_BYTES // n_maps - 650) // 6) - 5)


def _grid(maps: list[go.Heatmap], names, columns: int | None) -> tuple[go.Figure, tuple[float, float]]:
    """(the maps side by side under their names, (width, height) in pixels)."""
    columns = columns or math.ceil(len(maps) ** 0.5)
    rows, side = math.ceil(len(maps) / columns), min(SMALL_MAP, (WIDTH - 2 * EDGE + GAP) / columns - GAP)
    width, height = columns * (side + GAP) - GAP, rows * (side + GAP) - GAP
    spacing = dict(horizontal_spacing=GAP / width, vertical_spacing=GAP / height)
    figure = make_subplots(rows, columns, subplot_titles=[escape(name) for name in names], **spacing)
    for i, one in enumerate(maps):
        figure.add_trace(one, i // columns + 1, i % columns + 1)
    figure.update_annotations(font=dict(size=12, color=INK))
    return figure, (width, height)
