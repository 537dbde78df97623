"""The coloured cells of heat maps: one hue from zero up, or two around zero, empty where there is nothing."""

import plotly.graph_objects as go
import torch
from torch import Tensor

from helpers.figures.words import said

BLUE, ORANGE = (47, 111, 208), (201, 94, 16)  # told apart by every common kind of colour blindness
STEPS = (0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1)


def to_tensor(values, sizes: tuple[int, ...]) -> Tensor:
    """Values as float32 on the CPU; ValueError when there is not one for each label."""
    values = torch.as_tensor(values).detach().float().cpu()
    if tuple(values.shape) != sizes:
        raise ValueError(f"The values have shape {tuple(values.shape)}, their labels ask for {sizes}.")
    return values


def colour_map(values: Tensor, limit: float, diverging: bool, hover: str) -> go.Heatmap:
    """Cells of values (n_rows, n_columns) between 0 (or -limit) and limit; what is not finite stays empty."""
    scale = [[0.5 - t / 2, c] for t, c in reversed(ramp(ORANGE))] + [[0.5 + t / 2, c] for t, c in ramp(BLUE)]
    return go.Heatmap(
        z=[[cell(value) for value in row] for row in values.tolist()],
        zmin=-limit if diverging else 0,
        zmax=limit,
        colorscale=scale if diverging else ramp(BLUE),
        showscale=False,
        hoverongaps=False,
        hovertemplate=f"{hover}<extra></extra>",
    )


def ramp(colour: tuple[int, int, int]) -> list[tuple[float, str]]:
    """From a faint wash to full colour: one hue works on any ground. The root lets weak values be seen."""
    return [(t, f"rgba{(*colour, round(0.08 + 0.92 * t**0.55, 3))}") for t in STEPS]


def cell(value: float) -> float | None:
    """A value as it enters a figure: 3 decimals, from 100 on 1; None (not drawn) when not finite."""
    if value - value != 0:
        return None
    return round(value, 3 if abs(value) < 100 else 1)


def masked(values: Tensor) -> Tensor:
    """Causal weights (…, n_tokens, n_tokens) with -inf where a mask left an exact 0; others unchanged."""
    square = values.shape[-1] == values.shape[-2]
    causal = square and not values.triu(1).any()
    return values.masked_fill(values == 0, -float("inf")) if causal else values


def limits(values: Tensor) -> tuple[float, bool]:
    """(largest magnitude for the scale, do two hues stand around zero): 1 for weights and probabilities."""
    finite = values[values.isfinite()]
    largest = finite.abs().max().item() if finite.numel() else 1.0
    diverging = bool((finite < 0).any())
    return (largest if diverging or largest > 1 else 1.0), diverging


def scale_note(values: Tensor) -> str:
    """What the colours mean, for the caption."""
    limit, diverging = limits(values)
    empty = "" if values.isfinite().all() else said("empty")
    if diverging:
        return said("two_hues", limit=f"{limit:.2g}", empty=empty)
    return said("one_hue", limit=f"{limit:.3g}", empty=empty)


def strongest(values: Tensor, rows: list[str], columns: list[str]) -> list[str]:
    """For each row the column of its largest value, "is: The 0.712"; "is: nothing" where all is masked or 0."""
    best = values.masked_fill(~values.isfinite(), -torch.inf).max(dim=1)
    blank = (best.values == -torch.inf) | (values == 0).all(dim=1)
    return [
        said("row_empty", row=row) if nothing else said("row", row=row, rest=f"{columns[i]} {value:.3f}")
        for row, i, value, nothing in zip(rows, *(t.tolist() for t in (best.indices, best.values, blank)), strict=True)
    ]
