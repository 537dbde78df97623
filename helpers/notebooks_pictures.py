"""A picture beside every plotly figure, for what runs no plotly: GitHub, a printed page, a plain viewer."""

import asyncio
import base64
import struct
import zlib

from helpers.errors import ReaderError

PLOTLY, PNG = "application/vnd.plotly.v1+json", "image/png"
MAX_PICTURE = 60_000  # bytes
WIDTH, HEIGHT = 700, 450  # pixels, where the figure names none
SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHUNKS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")  # the others hold times and versions
NO_CHROME = (
    "Pictures of the figures need kaleido and a Chrome or Chromium: run python -m pip install kaleido "
    "and then kaleido_get_chrome, or set BROWSER_PATH to the browser's program."
)


def add_pictures(bundles: list[tuple[str, dict]]) -> None:
    """Put a PNG beside each plotly figure, and make every PNG small and free of time stamps, in place.

    `bundles` pairs the words that name a cell with one of its outputs. The alternative text of a picture is
    the figure's `layout.meta["alt"]`. Raises ReaderError: no browser, or a picture over 60 kB.
    """
    figures = [output for _, output in bundles if PLOTLY in output.data]
    for output, picture in zip(figures, render([output.data[PLOTLY] for output in figures]), strict=True):
        output.data[PNG] = base64.b64encode(picture).decode()
        if alt := (output.data[PLOTLY]["layout"].get("meta") or {}).get("alt"):
            output.metadata[PNG] = {"alt": alt}
    for where, output in bundles:
        if PNG in output.data:
            output.data[PNG] = _small(output.data[PNG], where)


def _small(encoded: str, where: str) -> str:
    picture = compact(base64.b64decode(encoded))
    if len(picture) > MAX_PICTURE:
        size = f"{len(picture) / 1000:.0f} kB, and the limit is {MAX_PICTURE // 1000} kB"
        raise ReaderError(f"{where} shows a picture of {size}: draw it smaller. Nothing was written.")
    return base64.b64encode(picture).decode()


def render(figures: list[dict]) -> list[bytes]:
    """Each figure, in plotly's JSON form, as a PNG."""
    if not figures:
        return []
    try:
        from choreographer.errors import BrowserDepsError, BrowserFailedError, ChromeNotFoundError
        from kaleido import Kaleido
    except ImportError as error:
        raise ReaderError(NO_CHROME) from error
    try:
        return asyncio.run(_render(Kaleido, figures))
    except (BrowserDepsError, BrowserFailedError, ChromeNotFoundError) as error:
        raise ReaderError(NO_CHROME) from error


async def _render(browser, figures: list[dict]) -> list[bytes]:
    async with browser(n=1) as renderer:
        return [await renderer.calc_fig(figure, opts=_options(figure)) for figure in figures]


def _options(figure: dict) -> dict:
    layout = figure["layout"]
    size = {"width": layout.get("width", WIDTH), "height": layout.get("height", HEIGHT)}
    return {"format": "png", "scale": 1, **size}


def compact(png: bytes) -> bytes:
    """The same pixels with only the chunks that show them, compressed as far as zlib goes."""
    parts, position = {kind: b"" for kind in CHUNKS}, len(SIGNATURE)
    while position < len(png):
        length, kind = struct.unpack_from(">I4s", png, position)
        if kind in parts:
            parts[kind] += png[position + 8 : position + 8 + length]
        position += 12 + length
    parts[b"IDAT"] = zlib.compress(zlib.decompress(parts[b"IDAT"]), 9)
    return SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts.items() if data or kind == b"IEND")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
