"""Strict nbval, but in figures a last digit may round either way: their numbers differ in the seventh place between
processors and thread counts, and among thousands of rounded ones a few then fall on the other side."""

import copy
import re

from nbval.plugin import IPyNbCell

FIGURE = "application/vnd.plotly.v1+json"
TOLERANCE = 1.5e-3  # figures hold at least three decimals
NUMBER = re.compile(r"\d+(?:\.(\d+))?")


def accept_rounding():
    """From now on nbval compares figures in this way."""
    strict = IPyNbCell.compare_outputs

    def compare(cell, test, ref, skip_compare=None):
        return strict(cell, [_settled(one, other) for one, other in _pairs(test, ref)], ref, skip_compare)

    IPyNbCell.compare_outputs = compare


def _pairs(test, ref):
    return [(one, ref[i] if i < len(ref) else {}) for i, one in enumerate(test)]


def _settled(output, reference):
    """The output with the reference's figure in place of its own where the two agree."""
    ours, theirs = output.get("data", {}).get(FIGURE), reference.get("data", {}).get(FIGURE)
    if ours is None or theirs is None or not agree(ours, theirs):
        return output
    settled = copy.deepcopy(output)  # of nbval's own type
    settled["data"][FIGURE] = theirs
    return settled


def agree(ours, theirs) -> bool:
    """Whether two JSON values are the same but for the last digit of their numbers, also of numbers in words."""
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return abs(ours - theirs) <= TOLERANCE * max(1, abs(theirs))
    if isinstance(ours, str) and isinstance(theirs, str):
        return _texts_agree(ours, theirs)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(agree(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(agree, ours, theirs))
    return ours == theirs


def _texts_agree(ours: str, theirs: str) -> bool:
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    return all(_last_digit(*pair) for pair in zip(NUMBER.finditer(ours), NUMBER.finditer(theirs), strict=True))


def _last_digit(ours, theirs) -> bool:
    """Whole numbers must be equal; of decimals the last place may differ by one."""
    places = len(theirs[1] or "")
    if places == 0 or len(ours[1] or "") != places:
        return ours[0] == theirs[0]
    return abs(float(ours[0]) - float(theirs[0])) < 1.5 * 10**-places
