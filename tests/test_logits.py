"""What notebook 05 says in words about its default prompt is what its own cells compute; the chain on other models."""

import pytest
import torch

import helpers
from helpers.errors import CheckFailed
from tests.page import cells
from tests.tiny import tiny


@pytest.fixture(scope="module")
def page(lm):
    """The names that the page's cells define, up to the exercises, with the default prompt."""
    return run(lm)


def run(lm):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helpers, "load_model", lambda *_, **__: lm)
        space = {"__name__": "__main__"}
        for code in cells("05_logits"):
            if "def stable_softmax" in code:
                return space
            exec(code, space)
    raise AssertionError("the page has no exercises")


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3", "gpt2"])
def test_the_chain_holds_where_the_page_says_so(arch):
    space = run(tiny(arch))
    torch.testing.assert_close(space["our_logits"], space["seen"]["logits"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("arch", ["gemma3", "mistral"])
def test_the_check_stops_a_model_that_is_built_otherwise(arch):
    """Gemma 3 in several places; Mistral's sliding window, here shorter than the prompt."""
    with pytest.raises(CheckFailed, match="from ids to logits"):
        run(tiny(arch))


def test_every_slip_of_the_page_is_stopped(capsys):
    for arch in ("llama", "gpt2"):
        run(tiny(arch))
        printed = capsys.readouterr().out
        assert printed.count(", stopped") == 4 and "off by nan, stopped" in printed


def test_italy_travels_in_blocks_23_and_24(page):
    rome, at_place, at_last = page["answer"], page["at_place"], page["at_last"]
    assert page["seen"].tokens[page["place"]] == "␣Italy" and page["labels"] == ["␣Rome", "␣Madrid"]
    assert (at_place[:24].argmax(-1) == page["instead"]).all() and (at_place[25:].argmax(-1) == rome).all()
    assert (at_place[25:, rome] - page["probs"][-1, rome]).abs().max() < 0.01
    assert (at_last[:24].argmax(-1) == rome).all() and at_last[25].argmax() == page["instead"]


def test_the_hooks_are_gone_afterwards(page, lm):
    again = helpers.trace(lm, page["prompt"])["logits"]
    assert again.equal(page["seen"]["logits"])
    assert not any(block._forward_pre_hooks for block in page["blocks"])


def test_guesses_settle_one_after_another_not_in_bands(page):
    right = page["guess"] == page["final"]
    settled = [next(d for d in range(31) if right[d:, i].all()) for i in range(12)]
    assert sorted(settled)[0] == 11 and len(set(settled)) >= 6
    assert page["alike"][0] == pytest.approx(1) and page["alike"][1:].abs().max() < 0.1
    doubt = page["doubt"].mean(-1)
    assert doubt[28:].min() > doubt[1:28].max()


def test_rome_is_decided_before_the_lens_shows_it(page):
    depths, table, norm = page["depths"], page["out_table"], page["final_norm"](page["lm"])
    scores = norm(depths[:, -1]) @ table.T
    rank = (scores > scores[:, page["answer"], None]).sum(-1) + 1
    assert (rank[4], rank[24], rank[25], rank[30]) == (7590, 418, 155, 1)


def test_numbers_of_the_prose(page):
    lengths = page["x"].norm(dim=-1)
    assert 8.5 < lengths[0] / lengths[-1] < 9
    bits = page["entropy"](page["probs"])
    assert bits[10] < 0.5 < 6 < bits[2] and 5.5 < 2 ** bits[-1] < 6.5
    assert page["bits"].max() > 24 and len(page["bits"]) == 17
    first, second, third = (page["bits"][i] for i, token in enumerate(page["read"].tokens[1:]) if token == "␣plus")
    assert first > 10 * second > 10 * third
