"""A page in Chinese has figures in Chinese: no English word but those that a page gave itself."""

import json
import re
from string import Formatter

import pytest
import torch

from helpers import language
from helpers.figures import bars, head_grid, heatmap, lines, strips
from helpers.figures.dots import dots
from helpers.figures.embed import word_map
from helpers.figures.ffn import signed_bars, stacked_shares
from helpers.figures.figure_words import STRINGS
from helpers.figures.lens import measures, token_grid
from tests.drawn import texts

TOKENS = [f"词{i}" for i in range(60)]
SAID = dict(title="标题", caption="来源。")
ENGLISH = re.compile(r"[A-Za-z]{2,}")
NOT_WORDS = re.compile(r"%\{\w+[^}]*\}|<br>|<extra></extra>|&\w+;")


def pattern(n, heads):
    """Causal shares (heads, n, n)."""
    noise = torch.randn(heads, n, n, generator=torch.Generator().manual_seed(0))
    return noise.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)


def figures():
    """One figure of every function, long enough to be cut, with titles in Chinese."""
    scores, cells = pattern(60, 1)[0].log(), [TOKENS] * 3
    points, some = torch.randn(3, 3, generator=torch.Generator().manual_seed(1)), TOKENS[:3]
    axes = dict(x_title="横轴", y_title="纵轴")
    return {
        "heatmap": heatmap(pattern(60, 1)[0], TOKENS, TOKENS, **SAID),
        "scores": heatmap(scores, TOKENS, TOKENS, **SAID),
        "masked": heatmap([[-torch.inf] * 3] * 3, some, some, **SAID),
        "head_grid": head_grid(pattern(60, 4), TOKENS, **SAID),
        "strips": strips(torch.randn(60, 576), TOKENS, **SAID),
        "bars": bars(TOKENS, torch.full((60,), 1 / 60), **SAID),
        "signed_bars": signed_bars(TOKENS, torch.linspace(-1, 1, 60), **SAID),
        "stacked": stacked_shares({"甲": [0.5, 0.5]}, ["左", "右"], **SAID),
        "lines": lines([1, 2], {"甲": [1, 2], "乙": [2, 1]}, **SAID, **axes),
        "dots": dots(some, {"甲": [1, 2, 3]}, x_title="横轴", **SAID),
        "measures": measures(TOKENS, torch.arange(60.0), unit="比特", **SAID),
        "token_grid": token_grid(
            cells, torch.full((3, 60), 0.5), range(3), TOKENS, row_title="行", column_title="列", **SAID
        ),
        "map": word_map(points, some, ["甲", "甲", "乙"], **SAID),
        "flat map": word_map(points[:, :2], some, ["甲", "甲", "乙"], **SAID),
        "point": word_map(points[:1], some[:1], ["甲"], **SAID),
    }


def all_words(figure):
    written = [*texts(json.loads(figure.to_json())), figure.layout.meta["alt"]]
    return [NOT_WORDS.sub("", one) for one in written]


def test_a_chinese_figure_has_no_english_word(monkeypatch):
    monkeypatch.setenv("TOKEN_JOURNEY_LANG", "zh")
    for name, figure in figures().items():
        found = [written for written in all_words(figure) if ENGLISH.search(written)]
        assert not found, (name, found)


def test_the_same_figures_in_english_have_english_words(monkeypatch):
    """Else the test above would pass on figures that say nothing."""
    monkeypatch.setenv("TOKEN_JOURNEY_LANG", "en")
    made = figures()
    for name in ("heatmap", "head_grid", "strips", "measures", "bars", "signed_bars", "token_grid"):
        written = " ".join(all_words(made[name]))
        assert "shown" in written.lower() and "这里" not in written, name


@pytest.mark.parametrize("key", STRINGS)
def test_both_languages_have_the_same_places(key):
    english, chinese = ({name for _, name, _, _ in Formatter().parse(text) if name} for text in STRINGS[key])
    assert english == chinese and language.STRINGS[key] == STRINGS[key]
