"""Which cell of the notebook shows which explorers: a cell that is run again lets go of those it showed before.

ipywidgets keeps every widget that was ever made, in the kernel and in the browser, until it is closed.
"""

import re

try:
    from IPython import get_ipython
except ImportError:  # plain Python: there are no cells
    get_ipython = None

_shown, _fresh = {}, {}  # {cell: explorers} its last run showed, and its present run has shown so far
_OUTPUTS = re.compile(r"_{1,3}|_?\d+")  # where IPython keeps what cells returned: _, __, ___, _7, Out[7]


def note(explorer):
    """Remember that the running cell shows `explorer`; outside a front end that names its cells, do nothing."""
    shell = _shell()
    if shell is None:
        return
    if (cell := running_cell()) is None:  # shown by a callback, or by a front end that names no cells: for good
        _shown.setdefault(None, []).append(explorer)
        return
    _fresh.setdefault(cell, []).append(explorer)
    if _settle not in shell.events.callbacks["post_run_cell"]:
        shell.events.register("post_run_cell", _settle)


def running_cell():
    """The id of the notebook's cell that is being run, as the front end sent it; None where there is none."""
    shell = _shell()
    return (shell.get_parent() or {}).get("metadata", {}).get("cellId") if shell else None


def _shell():
    """The shell of a kernel, or None: in a terminal nothing is shown."""
    shell = get_ipython() if get_ipython else None
    return shell if hasattr(shell, "get_parent") else None


def _settle(_result):
    """After a run: what the cell showed before and no cell shows now is closed."""
    if (cell := running_cell()) is None:
        return
    before, _shown[cell] = _shown.get(cell, []), _fresh.pop(cell, [])
    kept = {id(explorer) for explorers in _shown.values() for explorer in explorers}
    for explorer in before:
        if id(explorer) not in kept and not _in_a_box(explorer):
            explorer.sleep()
            _forget(explorer)


def _in_a_box(explorer):
    """Whether a container of widgets holds it, which may be shown anywhere."""
    from ipywidgets.widgets import widget

    alive = widget._instances if hasattr(widget, "_instances") else widget.Widget.widgets  # since ipywidgets 8; in 7
    return any(explorer in getattr(one, "children", ()) for one in list(alive.values()))


def _forget(explorer):
    """Take `explorer` out of what IPython keeps of earlier outputs, which would hold its tensors; variables stay."""
    shell = _shell()
    for names in (shell.user_ns["_oh"], shell.user_ns, shell.user_ns_hidden):
        for name in [name for name, value in names.items() if value is explorer and _OUTPUTS.fullmatch(str(name))]:
            del names[name]
    for name in ("_", "__", "___"):
        if getattr(shell.displayhook, name, None) is explorer:
            setattr(shell.displayhook, name, "")
