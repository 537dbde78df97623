"""A page shows the source that runs."""

import inspect

import pytest

from helpers import flash
from helpers.errors import ReaderError
from helpers.show import source_of


def test_the_source_is_the_one_that_runs():
    assert source_of("flash", "add_tile") == inspect.getsource(flash.add_tile).rstrip()


def test_a_module_need_not_be_importable():
    assert source_of("flash_triton", "_add_tiles").startswith("def _add_tiles(")


@pytest.mark.parametrize("module, function", [("flash", "no_such"), ("no_such", "add_tile")])
def test_what_is_not_there_is_a_sentence(module, function):
    with pytest.raises(ReaderError, match=f"no function {function} in helpers/{module}.py"):
        source_of(module, function)
