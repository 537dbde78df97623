"""A notebook with its exercises done, so that a test can run what a reader is told is right.

The convention: a code cell tagged "exercise" holds the stub, and the next cell, tagged "check", checks it.
The last ```python block inside <details> before the next exercise is the solution.
"""

import copy
import re

DETAILS = re.compile(r"<details>.*?</details>", re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def exercises(notebook) -> list[int]:
    """The positions of the stubs among the cells."""
    return [i for i, cell in enumerate(notebook.cells) if "exercise" in cell.metadata.get("tags", [])]


def checks(notebook) -> list:
    return [cell for cell in notebook.cells if "check" in cell.metadata.get("tags", [])]


def solution(notebook, position: int) -> str | None:
    """The code that solves the exercise at this position; None when the convention is broken."""
    following = notebook.cells[position + 1 :]
    if not following or "check" not in following[0].metadata.get("tags", []):
        return None
    end = next((i for i in exercises(notebook) if i > position), len(notebook.cells))
    prose = [cell.source for cell in notebook.cells[position:end] if cell.cell_type == "markdown"]
    blocks = [code for text in prose for part in DETAILS.findall(text) for code in PYTHON.findall(part)]
    return blocks[-1].strip() if blocks else None


def solved(notebook):
    """A copy in which every stub is replaced by its solution; what follows the last check is left out."""
    copied = copy.deepcopy(notebook)
    for position in exercises(notebook):
        copied.cells[position].source = solution(notebook, position)
    last = max(i for i, cell in enumerate(copied.cells) if "check" in cell.metadata.get("tags", []))
    copied.cells = copied.cells[: last + 1]
    return copied


def not_right(notebook) -> list[str]:
    """What the check cells of an executed notebook print where they do not say that the answer is right."""
    said = [(cell, "".join(out.get("text", "") for out in cell.outputs).strip()) for cell in checks(notebook)]
    return [text or cell.source for cell, text in said if not re.fullmatch(r"(Right: .+\n?)+", text)]
