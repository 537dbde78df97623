"""Figures are values: true numbers under true labels, legible on any page, small, described in words."""

import json
import re

import plotly.graph_objects as go
import pytest
import torch

from helpers.figures import bars, head_grid, heatmap, lines, strips
from helpers.figures.charts import SERIES
from helpers.figures.colours import BLUE, ORANGE
from helpers.figures.cuts import ends
from helpers.figures.frame import INK
from helpers.figures.lens import measures
from helpers.figures.words import escape, shorten, text_width, wrap
from tests.drawn import texts

TOKENS = ["the", "<b>", "the", "$x$", "&amp;", "天气"]
CAPTION = "smollm2-135m, float32. Prompt: the <b>the$x$&amp; 天气. Layer 0, head 0."
SOURCES = {"light": (255, 255, 255), "dark": (0x11, 0x11, 0x11)}  # JupyterLab's two grounds


def causal(n, heads=None, seed=0):
    values = torch.randn((*([heads] if heads else []), n, n), generator=torch.Generator().manual_seed(seed))
    return values.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)


def examples():
    vectors = torch.randn(6, 576, generator=torch.Generator().manual_seed(1))
    return {
        "heatmap": heatmap(causal(6), TOKENS, TOKENS, "Who looks at whom", CAPTION),
        "scores": heatmap(causal(6).log(), TOKENS, TOKENS, "Scores", CAPTION),
        "head_grid": head_grid(causal(6, 9), TOKENS, "Nine heads", CAPTION),
        "bars": bars(TOKENS, causal(6)[-1], "What comes next", CAPTION),
        "lines": lines([1, 2, 4], {"with": [1, 1.5, 2], "<i>without": [1, 4, 16]}, "Time", CAPTION, "tokens", "ms"),
        "strips": strips(vectors, TOKENS, "Six vectors", CAPTION),
    }


EXAMPLES = examples()


@pytest.fixture(params=EXAMPLES)
def figure(request):
    return EXAMPLES[request.param]


# --- what every figure promises ---


def test_it_is_a_small_figure_of_plain_lists_and_old_trace_types(figure):
    assert isinstance(figure, go.Figure)
    written = figure.to_json()
    assert len(written) < 200_000 and "bdata" not in written
    assert {trace.type for trace in figure.data} <= {"heatmap", "bar", "scatter"}


def test_it_is_no_wider_than_a_page_and_transparent(figure):
    layout = figure.layout
    assert 300 <= layout.width <= 720 and 150 <= layout.height <= 900
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert layout.width > layout.margin.l + layout.margin.r and layout.height > layout.margin.t + layout.margin.b


def test_its_caption_stands_whole_under_the_plot(figure):
    caption = figure.layout.annotations[-1]
    assert caption.y == 0 and caption.yanchor == "top" and caption.yshift < 0
    assert escape(CAPTION) in caption.text.replace("<br>", " ")
    lines_below = caption.text.count("<br>") + 1
    assert figure.layout.margin.b >= -caption.yshift + 15 * lines_below


def test_it_says_in_words_what_it_shows(figure):
    alt = figure.layout.meta["alt"]
    assert 60 < len(alt) < 1200 and figure.layout.title.text.split("<br>")[0] in alt


def test_no_label_is_read_as_markup_tex_or_a_template(figure):
    for text in texts(json.loads(figure.to_json())):
        assert set(re.findall(r"<[^>]*>", text)) <= {"<br>", "<extra>", "</extra>"}, text
        assert "$" not in text and "<b>" not in text
        assert set(re.findall(r"%\{(\w*)", text)) <= {"x", "y", "z", "text"}, text


def test_the_same_input_gives_the_same_bytes():
    again = examples()
    assert all(again[name].to_json() == figure.to_json() for name, figure in EXAMPLES.items())


# --- numbers and labels ---


def test_repeated_tokens_keep_their_own_row_and_column():
    x, y = EXAMPLES["heatmap"].layout.xaxis, EXAMPLES["heatmap"].layout.yaxis
    assert list(x.tickvals) == list(y.tickvals) == [0, 1, 2, 3, 4, 5]
    assert list(x.ticktext) == [escape(token) for token in TOKENS]


def test_row_0_is_on_top():
    for name in ("heatmap", "head_grid", "bars", "strips"):
        assert list(EXAMPLES[name].layout.yaxis.range) == [5.5, -0.5]


def test_cells_are_the_values_to_3_decimals_and_masked_ones_are_empty():
    pattern = causal(6)
    z = EXAMPLES["heatmap"].data[0].z
    for i in range(6):
        for j in range(6):
            assert z[i][j] is None if j > i else z[i][j] == pytest.approx(pattern[i, j].item(), abs=5e-4)
    assert EXAMPLES["heatmap"].data[0].hoverongaps is False


def test_weights_have_one_hue_from_0_to_1_scores_two_around_zero():
    weights, scores = EXAMPLES["heatmap"].data[0], EXAMPLES["scores"].data[0]
    assert (weights.zmin, weights.zmax) == (0, 1) and scores.zmin == -scores.zmax
    assert len({hue(colour) for _, colour in weights.colorscale}) == 1
    assert len({hue(colour) for _, colour in scores.colorscale}) == 2
    opacities = [float(colour.rstrip(")").split(",")[3]) for _, colour in weights.colorscale]
    assert opacities == sorted(opacities) and opacities[0] < 0.1 and opacities[-1] == 1


def hue(colour):
    return tuple(colour.split("(")[1].split(",")[:3])


def test_scores_equal_to_minus_infinity_are_empty():
    assert EXAMPLES["scores"].data[0].z[0] == [0.0] + [None] * 5


def test_each_head_has_its_own_map_under_its_name():
    grid = EXAMPLES["head_grid"]
    assert len(grid.data) == 9 and [a.text for a in grid.layout.annotations[:9]] == [f"head {i}" for i in range(9)]
    assert grid.data[4].z[5][2] == pytest.approx(causal(6, 9)[4, 5, 2].item(), abs=5e-4)


def test_bars_show_percentages_that_fit_beside_them():
    drawn = EXAMPLES["bars"].data[0]
    assert drawn.text[0] == f"{causal(6)[-1, 0].item():.1%}"
    assert EXAMPLES["bars"].layout.xaxis.range[1] > 1.1 * max(drawn.x)
    assert bars(["a", "b"], [0.9996, 0.0004], "t", "c").data[0].text == ("100.0%", "&lt;0.1%")


def test_lines_differ_in_more_than_colour():
    first, second = EXAMPLES["lines"].data
    assert first.line.dash != second.line.dash and first.marker.symbol != second.marker.symbol
    assert second.name == "&lt;i&gt;without" and list(second.y) == [1, 4, 16]


def test_strips_clip_outliers_and_say_so():
    vectors = torch.randn(3, 64, generator=torch.Generator().manual_seed(2))
    vectors[0, 0] = 22_600.0
    figure = strips(vectors, ["a", "b", "c"], "Three vectors", "source.")
    assert figure.data[0].zmax < 5 and figure.data[0].zmin == -figure.data[0].zmax
    assert figure.data[0].z[0][0] == 22_600.0
    assert f"full colour from ±{figure.data[0].zmax:.2g} on" in figure.layout.annotations[-1].text


def test_alt_text_names_the_strongest_column_of_each_row():
    figure = heatmap([[1.0, 0.0], [0.25, 0.75]], ["a", "b"], ["c", "d"], "T", "C")
    assert figure.layout.meta["alt"] == "Heat map: T. Largest in each row: a: c 1.000, b: d 0.750."


def test_values_without_a_label_are_an_error():
    with pytest.raises(ValueError, match=r"shape \(2, 2\), their labels ask for \(2, 3\)"):
        heatmap(torch.zeros(2, 2), ["a", "b"], ["a", "b", "c"], "t", "c")


def test_tensors_of_any_device_and_precision_are_drawn(device):
    pattern = causal(4).to(device, torch.float16)
    figure = heatmap(pattern, list("abcd"), list("abcd"), "t", "c")
    assert figure.data[0].z[0][0] == 1.0


# --- prompts of any length ---


@pytest.mark.parametrize("n", [1, 2, 48, 49, 300])
def test_any_length_of_prompt_gives_a_small_figure(n):
    labels = ["<|im_start|>" if i % 2 else "天气预报天气预报天气预报" for i in range(n)]
    figures = [
        heatmap(causal(n), labels, labels, "t", "c"),
        head_grid(causal(n, 9), labels, "t", "c"),
        bars(labels, causal(n)[-1], "t", "c"),
        strips(torch.randn(n, 640), labels, "t", "c"),
        lines(range(n), {"a": list(range(n))}, "t", "c", "x", "y"),
    ]
    for figure in figures:
        assert len(figure.to_json()) < 200_000 and figure.layout.width <= 720 and figure.layout.height <= 1400
    notes = [caption_of(figure) for figure in figures[:4]]
    assert ["The first 48 of" in note for note in notes] == [False, False, n > 48, False]
    assert [f"first and the last 47; the {n - 48} between" in note for note in notes[:2]] == [n > 48] * 2
    assert (f"first and the last 20; the {n - 21} between" in notes[3]) == (n > 21)


def test_many_heads_still_give_a_small_figure():
    figure = head_grid(causal(48, 32), ["<|im_start|>"] * 48, "t", "c")
    assert len(figure.data) == 32 and len(figure.to_json()) < 200_000
    assert "Shown are the first and the last 22; the 25 between them are left out." in caption_of(figure)
    assert figure.data[0].z[-1][-1] == pytest.approx(causal(48, 32)[0, -1, -1].item(), abs=5e-4)


LONG = [f"t{i}" for i in range(100)]
KEPT = [0, *range(53, 100)]  # of 100 tokens: the first, and the 47 up to the one from which the next is predicted


def caption_of(figure):
    return figure.layout.annotations[-1].text.replace("<br>", " ")


def test_a_long_heatmap_shows_the_first_token_and_the_last_rows():
    pattern = causal(100)
    figure = heatmap(pattern, LONG, LONG, "T", "C.")
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        assert list(axis.ticktext) == [LONG[i] for i in KEPT] and list(axis.tickvals) == list(range(48))
    z = figure.data[0].z
    assert z[-1][0] == pytest.approx(pattern[99, 0].item(), abs=5e-4)
    assert z[-1][1] == pytest.approx(pattern[99, 53].item(), abs=5e-4)
    assert list(z[1][:2]) == pytest.approx(pattern[53, [0, 53]].tolist(), abs=5e-4) and set(z[1][2:]) == {None}
    note = "Shown are the first and the last 47; the 52 between them are left out."
    assert caption_of(figure).endswith(note) and caption_of(figure).count(note) == 1
    best = LONG[KEPT[int(pattern[99, KEPT].argmax())]]
    alt = figure.layout.meta["alt"]
    assert note in alt and "t0: t0 1.000, 36 more, t89: " in alt
    assert alt.endswith(f"t99: {best} {pattern[99, KEPT].max():.3f}.")


def test_axes_of_different_lengths_are_cut_each_for_itself():
    figure = heatmap(torch.arange(300.0).view(3, 100), list("abc"), LONG, "T", "C.")
    assert list(figure.layout.yaxis.ticktext) == list("abc")
    assert list(figure.layout.xaxis.ticktext) == [LONG[i] for i in KEPT]
    assert figure.data[0].z[2][-1] == 299 and figure.data[0].z[2][1] == 253
    assert caption_of(figure).count("left out") == 1


def test_long_grids_and_strips_and_measures_show_the_last_token():
    patterns, vectors, amounts = causal(100, 9), torch.randn(100, 576), torch.arange(100.0)
    grid, strip, bar = (
        head_grid(patterns, LONG, "T", "C."),
        strips(vectors, LONG, "T", "C."),
        measures(LONG, amounts, "T", "C.", "bits"),
    )
    assert list(grid.layout.xaxis.ticktext)[-1] == list(grid.layout.yaxis.ticktext)[-1] == "t99"
    assert grid.data[4].z[-1][-2] == pytest.approx(patterns[4, 99, 98].item(), abs=5e-4)
    assert list(strip.layout.yaxis.ticktext) == ["t0", *LONG[-23:]]
    assert strip.data[0].z[-1][5] == pytest.approx(vectors[99, 5].item(), abs=5e-4)
    assert list(bar.layout.yaxis.ticktext) == [LONG[i] for i in KEPT] and list(bar.data[0].x) == KEPT
    for figure in (strip, bar):
        assert "t99 " in figure.layout.meta["alt"]
    for figure in (grid, strip, bar):
        assert "left out." in figure.layout.meta["alt"] and "left out." in caption_of(figure)


@pytest.mark.parametrize(
    "n, most, shown", [(1, 48, [0]), (2, 48, [0, 1]), (3, 2, [0, 2]), (4, 1, [0, 3]), (3, 3, [0, 1, 2])]
)
def test_the_first_and_the_last_places_are_shown(n, most, shown):
    assert ends(n, most) == shown


# --- a row with nothing in it ---


def test_a_row_that_is_masked_or_zero_has_no_largest_cell():
    rows, columns = list("abcd"), list("wxyz")
    values = [[-torch.inf] * 4, [0.0] * 4, [-torch.inf, -2.5, torch.nan, -3.0], [torch.inf, 1.0, 0.0, 0.0]]
    figure = heatmap(values, rows, columns, "T", "C.")
    assert (
        figure.layout.meta["alt"]
        == "Heat map: T. Largest in each row: a: nothing, b: nothing, c: x -2.500, d: x 1.000."
    )
    assert list(figure.data[0].z[0]) == [None] * 4


def test_a_causal_row_of_zeros_is_masked_and_has_no_largest_cell():
    figure = heatmap([[1.0, 0.0], [0.0, 0.0]], ["a", "b"], ["a", "b"], "T", "C.")
    assert figure.layout.meta["alt"].endswith("a: a 1.000, b: nothing.")
    assert "empty: masked" in caption_of(figure)


def test_a_figure_with_nothing_in_it_is_a_figure():
    figure = heatmap([[-torch.inf] * 2] * 2, ["a", "b"], ["a", "b"], "T", "C.")
    assert figure.layout.meta["alt"] == "Heat map: T. Largest in each row: a: nothing, b: nothing."


def test_a_matrix_that_is_not_causal_has_no_masked_cells():
    figure = heatmap([[0.0, 1.0], [1.0, 0.0]], ["a", "b"], ["c", "d"], "T", "C.")
    assert figure.data[0].z == ([0.0, 1.0], [1.0, 0.0])
    assert figure.layout.annotations[-1].text == "C. Faintest is 0, full colour 1."


# --- words ---


def test_wide_characters_count_twice_and_accents_nothing():
    assert text_width("天气 ok") == 7 and text_width("e\u0301") == 1


def test_shortened_labels_fit_and_say_so():
    assert shorten("short") == "short"
    assert shorten("天气预报天气预报天") == "天气预报天气预…" and text_width(shorten("x" * 40)) == 16


@pytest.mark.parametrize("text", ["a few words that need two lines", "天" * 50, "x" * 45 + " y", "", "a " + "天" * 30])
def test_wrapped_lines_fit_and_lose_nothing(text):
    broken = wrap(text, 20)
    assert all(0 < text_width(line) <= 20 for line in broken)
    assert "".join(broken).replace(" ", "") == text.replace(" ", "")


# --- colours ---


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """WCAG 2.2 contrast ratio."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def test_text_contrasts_with_light_and_dark_pages():
    """No grey reaches 4.5 on both: the contrast of white and #111 is 18.9, the root of that is 4.35."""
    assert contrast(rgb(INK), SOURCES["light"]) >= 4.5
    assert contrast(rgb(INK), SOURCES["dark"]) >= 4.1


@pytest.mark.parametrize("ground", SOURCES)
def test_marks_contrast_with_the_page(ground):
    for colour in (*map(rgb, SERIES), BLUE, ORANGE):
        assert contrast(colour, SOURCES[ground]) >= 3


def test_the_two_hues_differ_for_colour_blind_readers():
    """Blue against orange: their blue-yellow difference survives red-green blindness."""
    assert abs((BLUE[0] + BLUE[1]) / 2 - BLUE[2] - ((ORANGE[0] + ORANGE[1]) / 2 - ORANGE[2])) > 150
