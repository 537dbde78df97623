"""Tensors and labels in, a plotly figure out: no model, no display.

Every figure can be read on a light and on a dark page (clear ground, one grey that contrasts with both),
needs no colour vision, carries its provenance as a caption, and says in words what it shows in
`figure.layout.meta["alt"]`. Only plain lists enter, so that old plotly.js versions can draw it.
"""

from helpers.figures.charts import bars, lines
from helpers.figures.maps import head_grid, heatmap, strips

__all__ = ["bars", "head_grid", "heatmap", "lines", "strips"]
