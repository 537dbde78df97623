"""What holds for the text of every notebook, found without running it: a rule returns its faults."""

import re
from collections import Counter
from itertools import pairwise

from tests.solved import checks, exercises, not_right, solution

STEPS = "1 · …, 2 · …"
ANATOMY = [  # the second-level headings of a stage's notebook: these, in this order, and no others
    "What you will see",
    "What you need",
    "Set up",
    "What comes in",
    STEPS,
    "Try it",
    "Break it",
    "Exercises",
    "Fact check",
    "What we have now",
    "Further reading",
]
JOURNEY = [
    "What you will see",
    "What you need",
    "Set up",
    STEPS,
    "What we have now",
]  # notebook 00: others between
CELL_LINES, SET_UP_CELLS, STAGE_CELLS = 15, 3, range(15, 31)
BANNED_WORDS = re.compile(r"\b(simply|just|obviously|powerful)\b", re.IGNORECASE)
BANNED_CODE = ["time.time(", "warnings.filterwarnings", "%autoreload", "# NBVAL"]
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^(#+) +(.+?) *$", re.MULTILINE)
IMAGE = re.compile(r"<img\b[^>]*>|!\[([^\]]*)\]")


def codes(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook) -> list[str]:
    """The markdown cells without their code blocks."""
    return [FENCED.sub("", cell.source) for cell in notebook.cells if cell.cell_type == "markdown"]


def anatomy(notebook, number: int) -> list[str]:
    """Title, headings in the design's order, few set-up cells, short code cells, one line for the prompt."""
    found = [(len(marks), text) for text in prose(notebook) for marks, text in HEADING.findall(text)]
    second = _collapsed([text for level, text in found if level == 2])
    levels = [level for level, _ in found]
    faults = []
    if levels[:1] != [1] or levels.count(1) > 1 or not re.fullmatch(rf"{number} · .+[?？]", found[0][1]):
        faults.append(f"needs one title, and first: # {number} · a question?")
    if any(after - before > 1 for before, after in pairwise(levels)):
        faults.append("skips a heading level")
    if not (_contains(second, JOURNEY) if number == 0 else second == ANATOMY):
        faults.append(f"has the headings {second}")
    return faults + _set_up(notebook) + _cells(notebook, number)


def _collapsed(headings: list[str]) -> list[str]:
    """The headings with each run 1 · …, 2 · …, counted without a gap, as one entry."""
    collapsed, steps = [], 0
    for heading in headings:
        step = heading.startswith(f"{steps + 1} · ")
        steps += step
        if not (step and collapsed[-1:] == [STEPS]):
            collapsed.append(STEPS if step else heading)
    return collapsed


def _contains(headings: list[str], wanted: list[str]) -> bool:
    remaining = iter(headings)
    return all(heading in remaining for heading in wanted)


def _set_up(notebook) -> list[str]:
    section, counted = "", Counter()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            counted[section] += 1
        elif headings := HEADING.findall(FENCED.sub("", cell.source)):
            section = headings[-1][1]
    return [f"has {counted['Set up']} set-up cells"] if counted["Set up"] > SET_UP_CELLS else []


def _cells(notebook, number: int) -> list[str]:
    faults, count = [], len(codes(notebook)) - 1  # the Colab cell does not count
    if number and count not in STAGE_CELLS:
        faults.append(f"has {count} code cells")
    lines = [line for cell in codes(notebook) for line in cell.source.splitlines()]
    prompts = [line for line in lines if re.match(r"prompt\s*=", line)]
    if len(prompts) != 1 or not re.match(r"""prompt = (["']).*\1""", prompts[0]):
        faults.append('needs exactly one line prompt = "…"')
    return faults


def code(notebook) -> list[str]:
    """Code cells are short and hold nothing that is not for the reader."""
    sources = [cell.source for cell in codes(notebook)]
    long = [source.splitlines() for source in sources if len(source.splitlines()) > CELL_LINES]
    banned = [word for source in sources for word in BANNED_CODE if word in source]
    return [f"long cell: {lines[0]}" for lines in long] + [f"code contains {word}" for word in banned]


def text(notebook) -> list[str]:
    """Every prose cell says something, without the banned words, with described images."""
    faults = ["an empty markdown cell" for cell in notebook.cells if not cell.source.strip()]
    for cell in prose(notebook):
        faults += [f"says {word}" for word in BANNED_WORDS.findall(re.sub(r"`[^`]*`", "", cell))]
        faults += [f"left unfilled: {mark}" for mark in re.findall(r"\{\{(?:path|nb).*?\}\}", cell)]
        undescribed = [tag[0] for tag in IMAGE.finditer(cell) if not _described(tag)]
        faults += [f"image without alternative text: {tag}" for tag in undescribed]
    return faults


def _described(tag: re.Match) -> bool:
    return bool(re.search(r"""\balt=["'][^"']""", tag[0]) or (tag[1] or "").strip())


def practice(notebook) -> list[str]:
    """Every exercise has its check and its solution, and is handed out undone."""
    stubs, said = exercises(notebook), not_right(notebook)
    faults = [f"no solution: {notebook.cells[i].source}" for i in stubs if not solution(notebook, i)]
    if len(stubs) != len(checks(notebook)) or len(said) != len(stubs):
        faults.append("needs one check for each exercise, none of them passed yet")
    return faults
