"""What a source may hold: cell headers, tags, and the fields that the build fills in; all else gets one sentence."""

import json
import re
from itertools import pairwise
from pathlib import Path

from helpers.errors import ReaderError
from helpers.language import LANGUAGES

HEADER = re.compile(r"# %%( \[markdown\])?(?: tags=(\[.*\]))?")
FIELD = re.compile(r"```.*?```|`[^`\n]*`|\{\{([^{}\n]*)\}\}", re.DOTALL)  # code, where {{ }} are Python's, or a field
CODE_TAGS = ("exercise", "check", "nbval-ignore-output", "raises-exception")
NO_CELL = "", False, []
HOW = '# %%, # %% tags=["check"] or # %% [markdown] tags=["en"]'


def checked_text(source: Path) -> str:
    """The text of a source; ReaderError that names the line where a cell's header, tags or fields are wrong."""
    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ReaderError(f"{source.name} is not saved as UTF-8 ({error.reason}): save it again as UTF-8.") from error
    cells = _cells(source, text.splitlines())
    for where, is_prose, tags in cells:
        _check_tags(where, is_prose, tags)
    for (where, _, tags), (follower, _, its_tags) in pairwise([NO_CELL, *cells, NO_CELL]):
        if ("exercise" in tags) != ("check" in its_tags):
            raise ReaderError(f"{follower or where}: cells tagged exercise and check come in pairs, in this order.")
    return text


def _cells(source: Path, lines: list[str]) -> list[tuple[str, bool, list]]:
    """For each cell the words that name its header's line, whether it is prose, and its tags."""
    cells = []
    for number, line in enumerate(lines, 1):
        where = f"{source.name}, line {number} ({line.strip()[:60]})"
        if line.startswith("# %%"):
            cells.append((where, *_header(where, line.rstrip())))
        elif line.strip() and not cells:
            raise ReaderError(f"{where}: the first cell needs a header: {HOW}.")
        elif cells and not cells[-1][1] and re.search(r"\{\{(path|nb:.*?)\}\}", line):
            raise ReaderError(f"{where}: this is a field of prose, and the cell is code: leave it out.")
    return cells


def _header(where: str, line: str) -> tuple[bool, list]:
    match = HEADER.fullmatch(line)
    try:
        tags = json.loads(match[2] or "[]") if match else None
    except json.JSONDecodeError:
        tags = None
    if tags is None:
        raise ReaderError(f"{where}: a cell's header is {HOW}.")
    return bool(match[1]), tags


def _check_tags(where: str, is_prose: bool, tags: list) -> None:
    known = LANGUAGES if is_prose else CODE_TAGS
    if is_prose and not tags:
        raise ReaderError(f'{where}: the cell needs the tag of its language, such as tags=["en"].')
    if unknown := [tag for tag in tags if tag not in known]:
        kind = "prose" if is_prose else "code"
        raise ReaderError(f"{where}: {unknown[0]!r} is no tag of a {kind} cell; there are {', '.join(known)}.")
    if len(set(tags)) < len(tags):
        raise ReaderError(f"{where}: a tag stands there twice.")


def filled(source: str, fields: dict[str, str], where: str) -> str:
    """The prose with each {{name}} outside code replaced by its text; ReaderError at a name not among `fields`."""

    def text_of(match: re.Match) -> str:
        if match[1] is None:
            return match[0]
        if match[1] not in fields:
            known = ", ".join(f"{{{{{name}}}}}" for name in fields)
            raise ReaderError(f"{where}: {match[0]} cannot be filled in here; there are {known}.")
        return fields[match[1]]

    return FIELD.sub(text_of, source)
