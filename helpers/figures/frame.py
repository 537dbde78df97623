"""What every figure has in common: ground, type, sizes, token axes, caption, alternative text."""

import plotly.graph_objects as go

from helpers.figures.words import escape, said, shorten, text_width, wrapped

INK = "#767676"  # contrast 4.5 on white, 4.2 on #111; no grey reaches 4.5 on both
FAINT = "rgba(128,128,128,0.35)"
CLEAR = "rgba(0,0,0,0)"
LEGEND = dict(orientation="h", x=0, xanchor="left", y=1, yanchor="bottom", bgcolor=CLEAR)  # above the plot
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
WIDTH, MIN_WIDTH, EDGE, ROW = 720, 480, 12, 24  # pixels


def frame(
    figure: go.Figure,
    title: str,
    caption: str,
    plot: tuple[float, float],
    left: float,
    below: float,
    above: float = 0,
) -> go.Figure:
    """Set title, caption and size around a plot area of `plot` = (width, height) pixels.

    `left`, `below` and `above` are the pixels that axis labels take on these sides.
    """
    width = min(WIDTH, max(MIN_WIDTH, left + plot[0] + EDGE))
    title_text, title_lines = wrapped(title, int((width - EDGE) / 8.5))
    caption_text, caption_lines = wrapped(caption, int((width - 2 * EDGE) / 6.3))
    top, bottom = 16 + 20 * title_lines + above, below + 16 * caption_lines + 14
    figure.update_layout(
        template="none",
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        font=dict(color=INK, size=12, family=SANS),
        title=dict(
            text=title_text,
            x=0,
            xanchor="left",
            y=1,
            yanchor="top",
            pad=dict(l=EDGE, t=10),
            font=dict(size=15),
        ),
        width=round(width),
        height=round(top + plot[1] + bottom),
        dragmode=False,
        showlegend=False,
        margin=dict(l=round(left), r=round(width - left - plot[0]), t=round(top), b=round(bottom), pad=0),
        modebar=dict(bgcolor=CLEAR, color=FAINT, activecolor=INK),
    )
    figure.add_annotation(
        text=caption_text,
        showarrow=False,
        align="left",
        xref="paper",
        yref="paper",
        x=0,
        y=0,
        xanchor="left",
        yanchor="top",
        xshift=EDGE - left,
        yshift=-below - 4,
        font=dict(size=12),
    )
    return figure


def token_axis(labels: list[str], cell: float) -> dict:
    """A numeric axis with a token at each position: a category axis would merge two equal tokens."""
    return dict(
        tickmode="array",
        tickvals=list(range(len(labels))),
        ticktext=[escape(label) for label in labels],
        tickfont=dict(family=MONO, size=font_size(cell)),
        range=[-0.5, len(labels) - 0.5],
        automargin=False,
        showgrid=False,
        zeroline=False,
        ticks="",
        linecolor=FAINT,
        showline=True,
        mirror=True,
        fixedrange=True,
    )


def plain_axis() -> dict:
    return dict(
        showgrid=True,
        gridcolor=CLEAR,
        zeroline=False,
        linecolor=FAINT,
        showline=True,
        ticks="",
        automargin=False,
        fixedrange=True,
    )


def axis_title(text: str) -> dict:
    return dict(text=escape(text), font=dict(size=12), standoff=6)  # px from the tick labels, however long


def short_labels(labels) -> list[str]:
    return [shorten(str(label)) for label in labels]


def font_size(cell: float) -> int:
    """The largest type, at most 13 px, of which one line fits a cell."""
    return max(8, min(13, int(cell) - 2))


def label_pixels(labels: list[str], size: int = 13) -> float:
    """The length in pixels of the longest label, with some air."""
    return 0.61 * size * max(map(text_width, labels)) + 8


def described(figure: go.Figure, kind: str, **values) -> go.Figure:
    """The figure with the string `figure.alt.kind`, its alternative text, in `layout.meta["alt"]`."""
    figure.update_layout(meta={"alt": said(f"alt.{kind}", **values)})
    return figure
