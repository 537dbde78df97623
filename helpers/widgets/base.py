"""What every explorer stands on: one JavaScript module, one style sheet, a table for where neither can run.

An explorer hands its tensors to the browser once and answers there, and needs no kernel afterwards.
"""

import re
from html import escape
from pathlib import Path

from traitlets import Dict, HasTraits

from helpers.language import strings, text
from helpers.widgets import shown

try:
    from anywidget import AnyWidget
except ImportError:  # the table and a sentence take the explorer's place
    AnyWidget = None

FOLDER = Path(__file__).parent
_IMPORT = re.compile(r'^import .* from "\./(\w+\.js)";\n', re.MULTILINE)


def bundle(path):
    """The JavaScript module at `path`, with the modules it imports from its folder put in front, as one text.

    A notebook front end gets a module as text, where a relative import leads nowhere. All names must differ.
    """
    return "".join(_sources(Path(path), set()))


def _sources(path, done):
    if path in done:
        return
    done.add(path)
    source = path.read_text(encoding="utf-8")
    for name in _IMPORT.findall(source):
        yield from _sources(path.parent / name, done)
    yield _IMPORT.sub("", source)


class Explorer(AnyWidget or HasTraits):
    """Base of the explorers. A subclass sets `_esm` (a Path), `words_of` (its prefix in helpers.language) and
    has `table()`.

    Its JavaScript is `export default { render({ model, el }) }`; its strings are `model.get("words")`.
    """

    _css = (FOLDER / "explorer.css").read_text(encoding="utf-8")
    _ipython_display_ = None  # ipywidgets 7 defines it, and IPython would then never ask for the table
    words_of = ""
    words = Dict().tag(sync=True)

    def __init_subclass__(cls, **kwargs):
        if isinstance(cls.__dict__.get("_esm"), Path):
            cls._esm = bundle(cls._esm)
        super().__init_subclass__(**kwargs)

    def __init__(self, **traits):
        super().__init__(words=strings(self.words_of), **traits)

    def table(self):
        """A small HTML table of the present state: what a page shows that cannot run the explorer."""
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__}()"

    def sleep(self):
        """Leave the browser and ipywidgets' list of live widgets; being shown again wakes it, as it was."""
        self.close()
        self.layout.close()
        for name in ("_repr_mimebundle_", "_ipython_display_"):  # ipywidgets sets them to None for good
            self.__dict__.pop(name, None)

    def _wake(self):
        self.layout.open()
        self.open()

    def _repr_mimebundle_(self, **kwargs):
        if AnyWidget:
            self._wake()
            shown.note(self)
        data, metadata = super()._repr_mimebundle_(**kwargs) if AnyWidget else ({}, {})
        note = "" if AnyWidget else f"<p>{escape(text('explorer.missing'))}</p>"
        return {**data, "text/html": self.table() + note, "text/plain": repr(self)}, metadata


def html_table(caption, header, rows):
    """Rows of plain strings as an HTML table; everything is escaped, the first column heads its row."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(map(_html_row, rows))
    top = f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _html_row(cells):
    heading, *others = map(escape, cells)
    return f'<tr><th scope="row">{heading}</th>' + "".join(f"<td>{cell}</td>" for cell in others) + "</tr>"
