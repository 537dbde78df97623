"""Execute a notebook in a fresh kernel, and keep of its outputs what belongs in a committed file."""

import os
import re
from pathlib import Path

from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import from_dict

from helpers.errors import ReaderError
from helpers.notebooks_pictures import add_pictures
from helpers.notebooks_source import METADATA

ROOT = Path(__file__).parents[1]
CELL_TIMEOUT = 300  # seconds
WIDGET = "application/vnd.jupyter.widget-view+json"
ADDRESS = re.compile(r"0x[0-9a-fA-F]{8,}")
# C:\Users\…, D:/work/…; but not "A:\nParis\n" as repr shows it, nor https://…
DRIVE = re.compile(r"(?<!\w)[A-Za-z]:(?:\\{1,2}(?![nrtux])|/)\w[\w .-]*[\\/]")
FOLDERS = re.compile(r"site-packages|dist-packages|(?<![\w.])/(?:home|root|Users|tmp|usr|opt|var)/")


def execute(notebook, name: str, lang: str, folder: Path) -> None:
    """Run `notebook` and keep of its outputs what belongs in a committed file. Raises ReaderError."""
    run(notebook, name, lang, folder)
    clean(notebook, name)


def run(notebook, name: str, lang: str, folder: Path) -> None:
    """Fill in the outputs of `notebook`, with `folder` as the working directory. Raises ReaderError."""
    started = []
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        on_cell_start=lambda cell, cell_index: started.append(cell),
    )
    try:
        client.execute(env=_environment(lang))
    except NoSuchKernel as error:
        said = "There is no Jupyter kernel to run notebooks: run `python -m pip install ipykernel`, then this again."
        raise ReaderError(said) from error
    except CellExecutionError as error:
        raise _failed(name, notebook, started, f"{error.ename}: {_last_line(error.evalue)}") from error
    except CellTimeoutError as error:
        raise _failed(name, notebook, started, f"it took longer than {CELL_TIMEOUT} s") from error
    except DeadKernelError as error:
        raise _failed(name, notebook, started, "the kernel died, perhaps for want of memory") from error


def _environment(lang: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "TOKEN_JOURNEY_LANG": lang}


def _failed(name: str, notebook, started: list, why: str) -> ReaderError:
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    number = next((i for i, cell in enumerate(codes, 1) if started and cell is started[-1]), 1)
    return ReaderError(f"{name}: {where(number, codes[number - 1])} failed: {why}. Nothing was written.")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1].rstrip(".")


def where(number: int, cell) -> str:
    """The words that name a code cell: its number on the page, and its first line."""
    first_line = cell.source.strip().splitlines()[0] if cell.source.strip() else ""
    return f"code cell {number} ({first_line[:60]})"


def clean(notebook, name: str) -> None:
    """Number the cells, drop what only this run knew, refuse what must not be committed, add pictures."""
    notebook.metadata = from_dict(METADATA)  # the kernel has added its Python's version
    bundles = []
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(codes, 1):
        cell.execution_count = number
        cell.metadata.pop("execution", None)
        cell.outputs = [output for output in cell.outputs if _keep(output, number)]
        for fault in filter(None, map(fault_of, cell.outputs)):
            raise ReaderError(f"{name}: {where(number, cell)} {fault}. Nothing was written.")
        bundles += [(f"{name}: {where(number, cell)}", output) for output in cell.outputs if "data" in output]
    add_pictures(bundles)


def _keep(output, number: int) -> bool:
    """Tidy one output in place; False when nothing of it is left to show."""
    if output.output_type == "execute_result":
        output.execution_count = number
    if "data" not in output:
        return True
    output.data.pop(WIDGET, None)
    output.metadata.pop(WIDGET, None)
    return bool(output.data)


def fault_of(output) -> str | None:
    """Why this output must not be committed: a few words that follow the cell's name, or None."""
    if output.get("name") == "stderr":
        return f"wrote to stderr: {_last_line(output.text)}"
    for text in _texts({key: value for key, value in output.items() if key != "metadata"}):
        if found := ADDRESS.search(text):
            return f"shows a memory address: {found[0]}"
        if found := _path_in(text):
            return f"shows a path of this machine: {found}"
    return None


def _path_in(text: str) -> str | None:
    own = next((str(path) for path in (ROOT, Path.home()) if str(path) in text and path != path.parent), None)
    found = FOLDERS.search(text) or DRIVE.search(text)
    return own or (found and found[0])


def _texts(value):
    """Every string in a nest of mappings and lists, except pictures."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not str(key).startswith("image/"):
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
