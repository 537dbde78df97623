"""What holds for the outputs and the file of every notebook: a rule returns the sentences of its faults."""

import json
import re
from itertools import takewhile
from pathlib import Path

from helpers.notebooks import MAX_BYTES
from helpers.notebooks_pictures import PLOTLY, PNG
from helpers.notebooks_run import WIDGET, fault_of, where
from helpers.notebooks_source import METADATA
from tests.notebook_rules import codes, prose

TRACES = {"bar", "heatmap", "sankey", "scatter", "scatter3d", "table"}  # those that every front end's plotly.js draws
LINK = re.compile(r"""\]\(([^)\s]+)|(?:href|src)=["']([^"']+)""")


def bundles(notebook):
    """Every output that holds data, with the words that name its cell."""
    for number, cell in enumerate(codes(notebook), 1):
        yield from ((where(number, cell), output) for output in cell.outputs if "data" in output)


def in_step(notebook, source) -> list[str]:
    """The committed notebook has the cells of its source: kind, text, tags and id."""
    ours, theirs = ([_essence(cell) for cell in nb.cells] for nb in (notebook, source))
    if ours == theirs:
        return []
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False))))
    return [f"differs from its source after {same} cells: build it again"]


def _essence(cell) -> tuple:
    return cell.cell_type, cell.source, cell.metadata.get("tags", []), cell.id


def links(notebook, folder: Path) -> list[str]:
    """Every relative link, in prose and in HTML output, leads to a file."""
    pages = prose(notebook) + ["".join(out.data.get("text/html", "")) for _, out in bundles(notebook)]
    targets = [a or b for page in pages for a, b in LINK.findall(page)]
    relative = [target.partition("#")[0] for target in targets if not re.match(r"[a-z]+:|#", target)]
    return [f"dead link: {target}" for target in relative if not (folder / target).exists()]


def metadata(notebook, path: Path) -> list[str]:
    """Small, counted from 1, ids all different, no widget state, no trace of one machine's Python."""
    faults, size = [], path.stat().st_size
    if size > MAX_BYTES:
        faults.append(f"has {size} bytes")
    if notebook.metadata != METADATA:
        faults.append(f"has the metadata {json.dumps(notebook.metadata)[:200]}")
    if [cell.execution_count for cell in codes(notebook)] != list(range(1, len(codes(notebook)) + 1)):
        faults.append("was not run from top to bottom")
    ids = [cell["id"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]  # nbformat mends doubles
    if len(set(ids)) != len(ids):
        faults.append("has two cells of one id")
    return faults


def outputs(notebook) -> list[str]:
    """No output is an unmeant error, a warning or a widget view, or shows a path or an address."""
    faults = [f"{name} holds a widget view" for name, output in bundles(notebook) if WIDGET in output.data]
    for number, cell in enumerate(codes(notebook), 1):
        faults += [f"{where(number, cell)} {fault}" for fault in map(fault_of, cell.outputs) if fault]
        stopped = any(output.output_type == "error" for output in cell.outputs)
        if stopped != ("raises-exception" in cell.metadata.get("tags", [])):
            faults.append(f"{where(number, cell)} ends in an error, or in none where one is meant")
    return faults


def figures(notebook) -> list[str]:
    """Each plotly figure has a picture, old trace types and plain lists; each picture is described."""
    faults = []
    for name, output in bundles(notebook):
        figure = output.data.get(PLOTLY, {"data": []})
        if strange := {trace.get("type", "scatter") for trace in figure["data"]} - TRACES:
            faults.append(f"{name} draws {strange}")
        if '"bdata"' in json.dumps(figure):
            faults.append(f"{name} holds binary arrays")
        if PLOTLY in output.data and PNG not in output.data:
            faults.append(f"{name} has no picture")
        if PNG in output.data and not output.metadata.get(PNG, {}).get("alt"):
            faults.append(f"{name} has a picture without alternative text")
    return faults
