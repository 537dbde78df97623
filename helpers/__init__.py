"""Token Journey's helpers: what runs a real model and lets you look; a lesson's arithmetic is on its page."""

from helpers import runtime as runtime  # first: it sets what torch reads when it is imported
from helpers.errors import ReaderError, missing_package

__all__ = ["ReaderError", "check_close", "generate", "load_model", "next_token_probs", "trace"]

try:
    from helpers.check import check_close
    from helpers.generate import generate
    from helpers.model import load_model
    from helpers.sampling import next_token_probs
    from helpers.trace import trace
except ModuleNotFoundError as error:
    if not (missing := missing_package(error)):
        raise

    def __getattr__(name: str):
        """Without a required package only `python -m helpers doctor` works; all else says what to install."""
        if name in __all__:
            raise ReaderError(missing)
        raise AttributeError(f"module 'helpers' has no attribute {name!r}")
