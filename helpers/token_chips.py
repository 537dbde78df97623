"""Tokens as HTML chips: no script, inline styles, colours for light and dark pages, all text escaped."""

from dataclasses import dataclass
from html import escape

HUES = ("47,111,208", "201,94,16")  # alternate, so that two neighbours can be told apart
INK = "var(--jp-content-font-color1, currentColor)"
MONO = "var(--jp-code-font-family, ui-monospace, Menlo, Consolas, monospace)"
ROW = f"display:flex;flex-wrap:wrap;align-items:flex-start;gap:6px 4px;line-height:1.35;color:{INK}"
GROUP = "display:inline-flex;flex-direction:column;max-width:100%"
PIECES = "display:inline-flex;flex-wrap:wrap"
PIECE = f"display:block;white-space:pre;font-family:{MONO};font-size:14px;unicode-bidi:isolate"
SMALL = "display:block;font-size:11px;opacity:0.8"
TOGETHER = f"{PIECE};margin-top:2px;text-align:center;border:1px solid currentColor;border-top:0"


@dataclass(frozen=True)
class Chip:
    """One token: its visible label, its id, whether it is a control token."""

    label: str
    token_id: int
    special: bool

    def __str__(self):
        return f"{self.label} {self.token_id}" + (" special" if self.special else "")


@dataclass(frozen=True)
class TokenChips:
    """Groups of tokens, each a pair (the text its tokens make together, its chips)."""

    groups: list[tuple[str, list[Chip]]]

    def __repr__(self):
        return " ".join(_plain(text, chips) for text, chips in self.groups) or "no tokens"

    def _repr_html_(self):
        number, spans = 0, []
        for text, chips in self.groups:
            spans.append(_group(text, chips, number))
            number += len(chips)
        return f'<div style="{ROW}">{" ".join(spans) or "no tokens"}</div>'


def _plain(text: str, chips: list[Chip]) -> str:
    pieces = " + ".join(map(str, chips))
    return f"[{pieces}]" if len(chips) == 1 else f"[{pieces} = {text}]"


def _group(text: str, chips: list[Chip], number: int) -> str:
    pieces = " ".join(_chip(chip, number + i, i > 0) for i, chip in enumerate(chips))
    together = f'<span style="{TOGETHER}">= {escape(text)}</span>' if len(chips) > 1 else ""
    return f'<span style="{GROUP}"><span style="{PIECES}">{pieces}</span> {together}</span>'


def _chip(chip: Chip, number: int, joined: bool) -> str:
    """A control token has a dashed border and says so; a piece that continues a character a dotted edge."""
    edge = "border:1px dashed currentColor" if chip.special else "border-left:1px dotted currentColor" if joined else ""
    style = f"padding:2px 6px;text-align:center;background:rgba({HUES[number % 2]},0.16);{edge}"
    notes = [str(chip.token_id), *(["special"] if chip.special else [])]
    return (
        f'<span style="{style}"><span style="{PIECE}">{escape(chip.label)}</span> '
        f'<span style="{SMALL}">{"<br>".join(notes)}</span></span>'
    )
