"""The two exceptions a reader may meet. In a notebook each renders as its one sentence, without a traceback."""


class _OneSentence(Exception):
    def _render_traceback_(self):
        """IPython's hook: the lines shown instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class ReaderError(_OneSentence, ValueError):
    """Something the reader can put right: the message says what happened, why, and what to do."""


class CheckFailed(_OneSentence, AssertionError):
    """A check on the page did not hold: the message says by how much and where."""
