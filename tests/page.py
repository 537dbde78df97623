"""Runs a notebook's cells in this process, exercises solved, on any model and prompt: no kernel, no pictures."""

from contextlib import redirect_stdout
from io import StringIO
from unittest.mock import patch

import helpers
from helpers import notebooks_source
from tests.solved import exercises, solution


def cells(name: str) -> list[str]:
    """The code of a notebook, each exercise with its solution, without the Colab cell."""
    notebook = notebooks_source.read(name, "en")
    for position in exercises(notebook):
        notebook.cells[position].source = solution(notebook, position)
    return [cell.source for cell in notebook.cells[1:] if cell.cell_type == "code"]


def run_page(name: str, lm, prompt: str | None = None) -> str:
    """Run every cell with `lm` as the model and `prompt` on the prompt's line; returns all that was printed."""
    space, printed = {"__name__": "__main__"}, StringIO()
    with patch.object(helpers, "load_model", lambda *_, **__: lm), redirect_stdout(printed):
        for number, code in enumerate(cells(name), 1):
            code = code if prompt is None else _with_prompt(code, prompt)
            exec(compile(code, f"{name}, code cell {number}", "exec"), space)
    return printed.getvalue()


def _with_prompt(code: str, prompt: str) -> str:
    lines = code.splitlines()
    return "\n".join(f"prompt = {prompt!r}" if line.startswith("prompt = ") else line for line in lines)
