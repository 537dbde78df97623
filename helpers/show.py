"""The source of a helper, to be read on a page: never a copy of it."""

import ast
from pathlib import Path

from helpers.errors import ReaderError


def source_of(module: str, function: str) -> str:
    """The text of a function in helpers/`module`.py, which is read and not imported: it may need what is not there.

    ReaderError: no such module or function.
    """
    path = Path(__file__).with_name(f"{module}.py")
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return ast.get_source_segment(text, node)
    raise ReaderError(f"There is no function {function} in helpers/{module}.py.")
