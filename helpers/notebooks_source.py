"""From `notebooks/source/NN_name.py` to a notebook of one language, not yet executed; from that to text."""

import hashlib
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat

from helpers.language import LANGUAGES
from helpers.notebooks import NOTEBOOKS, built_path, source_path, stages
from helpers.notebooks_check import checked_text, filled

PYPROJECT = NOTEBOOKS.parent / "pyproject.toml"
ABSENT_ON_COLAB = ("gguf", "platformdirs")  # pip leaves alone what is there
ON_COLAB = 'if "google.colab" in str(get_ipython()) and not __import__("importlib.util").util.find_spec("helpers"): '
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True)
class Published:
    """Where the project is: "owner/name" on GitHub (empty: nowhere yet), and the branch or tag to open."""

    repository: str
    ref: str


def published() -> Published:
    """What pyproject.toml says in [tool.token-journey]."""
    table = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["token-journey"]
    return Published(table["repository"], table["ref"])


def read(name: str, lang: str, folder: Path = NOTEBOOKS, address: Published | None = None):
    """The notebook in one language: the Colab cell, then the source's cells without their language tags."""
    address = address or published()
    cells = [nbformat.v4.new_code_cell(colab_line(address))]
    for cell in jupytext.reads(checked_text(source_path(name, folder)), fmt="py:percent").cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" or lang in tags:
            cells.append(_cell(cell, [tag for tag in tags if tag not in LANGUAGES]))
    _fill_in(cells, name, lang, folder, address)
    _set_ids(cells)
    return nbformat.v4.new_notebook(cells=cells, metadata=nbformat.from_dict(METADATA))


def _cell(cell, tags: list[str]):
    new = nbformat.v4.new_code_cell if cell.cell_type == "code" else nbformat.v4.new_markdown_cell
    return new(cell.source, metadata={"tags": tags} if tags else {})


def _fill_in(cells: list, name: str, lang: str, folder: Path, address: Published) -> None:
    """Put the path strip in place of {{path}}, links of {{nb:05}}, and the badges under the title."""
    prose = [cell for cell in cells if cell.cell_type == "markdown"]
    fields = {f"nb:{stage.number:02}": _mention(stage, lang) for stage in stages(lang, folder)}
    only_first = {"path": path_strip(name, lang, folder)}
    for cell in prose:
        where = f"{name}, the {lang} cell {cell.source.lstrip().partition(chr(10))[0][:60]!r}"
        cell.source = filled(cell.source, only_first | fields, where)
        only_first = {}
    if prose and address.repository:
        title, _, rest = prose[0].source.partition("\n")
        prose[0].source = f"{title}\n\n{badges(name, lang, address)}\n{rest}"


def path_strip(name: str, lang: str, folder: Path = NOTEBOOKS) -> str:
    """All stages in one line of Markdown, this one marked, linked where there is a notebook."""
    return " · ".join(_stop(stage, stage.name == name) for stage in stages(lang, folder))


def _stop(stage, here: bool) -> str:
    if here:
        return f"**▸ {stage.label}**"
    return f"[{stage.label}]({stage.link})" if stage.link else stage.label


def _mention(stage, lang: str) -> str:
    """How prose names another notebook: a link once it exists."""
    text = f"notebook {stage.number}" if lang == "en" else f"第 {stage.number} 篇"
    return f"[{text}]({stage.link})" if stage.link else text


def badges(name: str, lang: str, address: Published) -> str:
    """Links that open the notebook on Colab and on Binder."""
    path = built_path(name, lang, Path("notebooks")).as_posix()
    colab = f"https://colab.research.google.com/github/{address.repository}/blob/{address.ref}/{path}"
    lab = path.replace("/", "%2F")
    binder = f"https://mybinder.org/v2/gh/{address.repository}/{address.ref}?labpath={lab}"
    return (
        f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab}) "
        f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({binder})"
    )


def colab_line(address: Published) -> str:
    """The first cell: on Colab it installs what is absent there, anywhere else it does nothing.

    `if …: %pip …` is no legal line in IPython, hence `run_line_magic`.
    """
    absent = " ".join(ABSENT_ON_COLAB)
    if not address.repository:
        how = f"run %pip install --no-deps -e . {absent} in that folder, and restart the session."
        return f'{ON_COLAB}print("On Colab, upload or clone the Token Journey folder, {how}")'
    package = f"'token-journey @ git+https://github.com/{address.repository}@{address.ref}'"
    return f'{ON_COLAB}get_ipython().run_line_magic("pip", "install -q --no-deps {package} {absent}")'


def _set_ids(cells: list) -> None:
    """Ids from the content, so that a rebuild changes none and an edit changes one."""
    occurrences = Counter()
    for cell in cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        occurrences[digest] += 1
        cell.id = digest if occurrences[digest] == 1 else f"{digest}-{occurrences[digest]}"


def dumps(notebook) -> str:
    """The text of the .ipynb file: keys sorted, indented by one, nothing escaped, a newline at the end."""
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"
