"""The two exceptions a reader may meet. In a notebook each renders as its one sentence, without a traceback."""


class _OneSentence(Exception):
    def _render_traceback_(self):
        """IPython's hook: the lines shown instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class ReaderError(_OneSentence, ValueError):
    """Something the reader can put right: the message says what happened, why, and what to do."""


def missing_package(error: ModuleNotFoundError) -> str | None:
    """How to get the package that could not be imported; None where it is a module of our own, which is a fault."""
    package = (error.name or "").partition(".")[0]
    if package in ("", "helpers"):
        return None
    return f"The package {package} is missing: run `python -m pip install {package}`."


class CheckFailed(_OneSentence, AssertionError):
    """A check on the page did not hold: the message says by how much and where."""
