"""The tile explorer: what it sends, what it refuses, and its JavaScript against Python."""

import json
import re

import pytest
import torch

from helpers import ReaderError, trace
from helpers.flash import finish
from helpers.flash_counts import naive_traffic, tiled_traffic
from helpers.language import STRINGS
from helpers.widgets import FlashExplorer
from helpers.widgets.flash import MOST_TOKENS
from helpers.widgets.flash_walk import counts, score_scale
from helpers.widgets.static import static_state
from tests.js.test_js import run_node
from tests.tiny import ARCHS, N_LAYERS, WINDOW, tiny

PROMPT = "The capital of France is Paris. The capital of Italy is"
SETTINGS = ("head", "block_q", "block_k", "window", "decode")
SEVERAL = (
    {},
    {"block_q": 1, "block_k": 1, "head": 1},
    {"block_q": 5, "block_k": 3, "window": 2},
    {"block_q": 3, "block_k": 2, "window": 6},
    {"block_q": 64, "block_k": 64},
    {"decode": True, "block_k": 5},
    {"decode": True, "block_k": 2, "window": 3},
)


class Edited(dict):
    """The tensors of a trace, some of block 0 put in place of its own."""

    def __init__(self, seen, **changed):
        super().__init__({**seen, **{f"block0.{name}": value for name, value in changed.items()}})
        self.tokens, self.name = seen.tokens, seen.name


def plain(tensor):
    """Nested lists for JSON, None for -inf."""
    if tensor.dim() > 0:
        return [plain(one) for one in tensor]
    return None if tensor == -torch.inf else tensor.item()


def step_case(step, offset):
    """One step of Python's walk; rows as positions in the text."""
    rows, columns = step.tile.rows, step.tile.columns
    return {
        "rows": [rows.start + offset, rows.stop + offset],
        "columns": [columns.start, columns.stop],
        "kind": step.tile.kind,
        "complete": step.complete,
        "scores": None if step.scores is None else plain(step.scores),
        "factor": step.factor.tolist(),
        "maximum": plain(step.running.maximum[0]),
        "total": step.running.total[0].tolist(),
        "mixed": step.running.mixed[0].tolist(),
    }


def case(name, seen, layer=0, **settings):
    """Expected values for the JavaScript tests."""
    explorer = FlashExplorer(seen, layer, **settings)
    offset = len(explorer.labels) - 1 if explorer.decode else 0
    steps, differences = explorer.steps(), []
    for explorer.step, step in enumerate(steps):
        differences.append(explorer.difference() if step.complete else None)
    return {
        "name": f"{name}, block {layer}, {settings}",
        "state": static_state(explorer),
        "settings": {setting: getattr(explorer, setting) for setting in SETTINGS},
        "steps": [step_case(step, offset) for step in steps],
        "counts": [counts(steps, i, explorer.number_bytes) for i in range(len(steps))],
        "differences": differences,
    }


def test_javascript_computes_what_python_does(tmp_path, lm):
    real, short = trace(lm, PROMPT), "Hello world: the capital"
    cases = [case("SmolLM2", real, layer=12 * (i % 2), **settings) for i, settings in enumerate(SEVERAL)]
    for arch in ("gpt2", "gemma3", "mistral"):
        cases += [case(arch, trace(tiny(arch), short), layer=i % 2, **one) for i, one in enumerate(SEVERAL[:4])]
    cases += [case("own window", trace(tiny("gemma3"), short), window=WINDOW)]
    cases += [case("one token", trace(tiny("qwen3"), "a")), case("long", trace(tiny("llama"), "x" * 60), block_q=7)]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    run_node("flash.test.mjs", {"FLASH_CASES": str(path)})


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("layer", range(N_LAYERS))
def test_the_last_state_of_every_row_is_the_model_s_own_result(arch, layer):
    """Whatever the model multiplies its scores by, and however far back it looks."""
    seen = trace(tiny(arch), "Hello world: the capital of France is")
    probe = FlashExplorer(seen, layer)
    for head in range(probe.n_heads):
        explorer = FlashExplorer(seen, layer, head, block_q=5, block_k=3, window=probe.own_window)
        for step in explorer.steps():
            if step.complete:
                mixed = finish(step.running)[0][:, 0]
                expected = seen[f"block{layer}.mixed"][step.tile.rows, head]
                torch.testing.assert_close(mixed.float(), expected, rtol=1e-5, atol=1e-6)
            if step.scores is not None:
                own = seen[f"block{layer}.scores"][head][step.tile.rows, step.tile.columns]
                torch.testing.assert_close(step.scores.float(), own, rtol=1e-5, atol=1e-5)


def test_real_rows_differ_by_rounding_alone(lm):
    seen = trace(lm, PROMPT)
    explorer = FlashExplorer(seen, layer=12, head=4, step=2)
    assert explorer.difference() < 1e-6
    assert FlashExplorer(seen, layer=12, head=4, step=1).difference() is None
    assert FlashExplorer(seen, layer=12, head=4, step=2, window=1).difference() > 0.01
    assert FlashExplorer(seen, layer=12, decode=True, step=2).difference() < 1e-6


def test_the_scale_is_the_model_s():
    for arch, expected in (("llama", 8**-0.5), ("gemma3", 256**-0.5)):  # Gemma's query_pre_attn_scalar
        assert FlashExplorer(trace(tiny(arch), "Hello world")).scale == pytest.approx(expected, rel=1e-6)
    q, k = torch.randn(2, 5, 4, 8, generator=torch.Generator().manual_seed(0))
    scores = 0.3 * torch.einsum("ihd,jhd->hij", q, k)
    assert score_scale(q, k, scores.masked_fill(torch.ones(5, 5).triu(1) > 0, -torch.inf)) == pytest.approx(0.3)


def test_the_model_s_own_window_is_read_off_its_scores():
    layers = {arch: [FlashExplorer(trace(tiny(arch), "x" * 9), i).own_window for i in (0, 1)] for arch in ARCHS}
    assert layers["gemma3"] == [WINDOW, 0] and layers["mistral"] == [WINDOW, WINDOW] and layers["llama"] == [0, 0]
    assert FlashExplorer(trace(tiny("mistral"), "x" * WINDOW)).own_window == 0


@pytest.mark.parametrize("settings", SEVERAL)
def test_bytes_so_far_end_at_the_whole_traffic(settings):
    explorer = FlashExplorer(trace(tiny("llama"), "Hello world: the"), **settings)
    moved = []
    for step in range(explorer.n_tiles):
        explorer.step = step
        moved.append(explorer.counts()["moved"])
    found, its_tiles = explorer.counts(), [step.tile for step in explorer.steps()]
    n_q = 1 if explorer.decode else len(explorer.labels)
    assert moved == sorted(moved) and moved[-1] == tiled_traffic(its_tiles, 1, 1, explorer.d_head).total
    assert (found["loaded"], found["skipped"]) == (found["to_load"], found["to_skip"])
    assert found["naive"] == naive_traffic(n_q, len(explorer.labels), 1, 1, explorer.d_head).total


def test_bytes_of_the_first_steps_by_hand():
    """12 tokens, 8 numbers a head of 4 bytes, tiles of 4 by 4: loaded, two skipped, loaded."""
    explorer = FlashExplorer(trace(tiny("llama"), "x" * 12))
    one_load, begin, end = 2 * 4 * 8 * 4, 4 * 8 * 4, 4 * (8 * 4 + 4)
    moved = [begin + one_load, begin + one_load, begin + one_load + end, 2 * begin + 2 * one_load + end]
    for step, expected in enumerate(moved):
        explorer.step = step
        assert explorer.counts()["moved"] == expected


def test_settings_that_are_not_there():
    seen = trace(tiny("llama"), "Hello world: the")
    explorer = FlashExplorer(seen)
    for name, value in (("step", explorer.n_tiles), ("step", -1), ("head", explorer.n_heads), ("head", -1)):
        with pytest.raises(ReaderError, match=f"{name} {value} is not shown here: choose one of 0 to"):
            explorer.set_trait(name, value)
        with pytest.raises(ReaderError, match=f"{name} {value} is not shown here"):
            FlashExplorer(seen, **{name: value})
    for name, value, least in (("block_q", 0, 1), ("block_k", -2, 1), ("window", -1, 0)):
        for give in (lambda n, v: explorer.set_trait(n, v), lambda n, v: FlashExplorer(seen, **{n: v})):
            with pytest.raises(ReaderError, match=f"{name} {value} holds no token: choose {least} or more"):
                give(name, value)
    with pytest.raises(ReaderError, match=f"layer {N_LAYERS} is not there: this trace has blocks 0 to {N_LAYERS - 1}"):
        FlashExplorer(seen, N_LAYERS)


def test_a_block_larger_than_the_text_holds_all_of_it():
    explorer = FlashExplorer(trace(tiny("llama"), "Hello world: the"), block_q=64, block_k=64, window=4096)
    n = len(explorer.labels)
    assert (explorer.block_q, explorer.block_k, explorer.window, explorer.n_tiles) == (n, n, n, 1)


def test_larger_blocks_keep_the_step_inside():
    explorer = FlashExplorer(trace(tiny("llama"), "x" * 12), step=8)
    explorer.block_q = 12
    assert (explorer.n_tiles, explorer.step) == (3, 2)
    explorer.block_k = 12
    assert explorer.step == 0


def test_tensors_that_are_not_finite():
    seen = trace(tiny("llama"), "Hello world")
    broken = seen["block0.k_rot"].clone()
    broken[0, 0, 0] = torch.nan
    with pytest.raises(ReaderError, match="of block 0 is not finite"):
        FlashExplorer(Edited(seen, k_rot=broken))


def test_long_texts_take_their_first_tokens():
    """What the model computes for a token does not depend on later ones."""
    lm = tiny("llama")
    seen = trace(lm, [*range(60)])
    explorer = FlashExplorer(seen)
    assert explorer.labels == seen.tokens[:MOST_TOKENS]
    assert "The first 40 of 60 tokens" in explorer.caption
    alone = FlashExplorer(trace(lm, [*range(MOST_TOKENS)]))
    sent = [torch.frombuffer(bytearray(one.packed), dtype=torch.float32) for one in (explorer, alone)]
    torch.testing.assert_close(*sent)


def test_half_precision_is_sent_as_it_is():
    seen = trace(tiny("llama"), "Hello world: the")
    names = ("q_rot", "k_rot", "v", "mixed", "scores")
    half = Edited(seen, **{name: seen[f"block0.{name}"].bfloat16() for name in names})
    explorer = FlashExplorer(half)
    assert explorer.number_bytes == 2 and explorer.scale == pytest.approx(8**-0.5, rel=1e-2)


def test_what_is_shown_without_a_kernel_is_small_and_has_no_address(lm):
    explorer = FlashExplorer(trace(lm, PROMPT), step=3)
    assert "Tile 4 of 9" in explorer.table() and len(explorer.table()) < 3000
    assert explorer.table().count("<td>first</td>") == len(range(12)[explorer.steps()[3].tile.rows])
    expected = "FlashExplorer(layer=0, head=0, block_q=4, block_k=4, step=3, window=0, decode=False)"
    assert repr(explorer) == expected
    assert len(explorer.packed) == 4 * 64 * (9 + 9 + 3 + 3) * 12


def test_every_word_is_in_both_languages():
    ours = {key: row for key, row in STRINGS.items() if key.startswith("flash.")}
    assert ours and all(len(row) == 2 and all(row) for row in ours.values())
    names = {key: [set(re.findall(r"\{(\w+)\}", word)) for word in row] for key, row in ours.items()}
    assert [key for key, (english, chinese) in names.items() if english != chinese] == []
