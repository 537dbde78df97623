"""A program that a reader's machine may lack: its tests are skipped there with a sentence, and fail in CI."""

import os
import shutil

import pytest


def needs(*names):
    """The path of the first program of `names` that is installed."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop(f"needs one of these programs: {', '.join(names)}")
    return found
