"""The logit lens as a helper: equal to the model at the last depth, to plain arithmetic at every other."""

import pytest
import torch

from helpers import trace
from helpers.figures.lens import measures, token_grid
from helpers.lens import read_depths
from tests.tiny import ARCHS, N_LAYERS, tiny

PROMPT = "Hello world: the capital of France is"


@pytest.mark.parametrize("arch", ARCHS)
def test_the_last_depth_is_the_model(arch):
    lm = tiny(arch)
    seen = trace(lm, PROMPT)
    positions = list(range(len(seen.tokens)))
    read = read_depths(lm, seen, positions, k=5)
    top = seen["logits"].softmax(-1).topk(5)
    torch.testing.assert_close(read.probs[-1], top.values)
    assert read.ids[-1].equal(top.indices) and read.answers.equal(seen["logits"].argmax(-1))
    assert read.ranks[-1].eq(1).all() and read.answer_probs[-1].equal(read.probs[-1, :, 0])


def test_every_depth_is_norm_table_softmax():
    lm = tiny("qwen3")
    seen = trace(lm, PROMPT)
    read = read_depths(lm, seen, [3, 7])
    with torch.no_grad():
        for depth, key in enumerate(["embed", *(f"block{i}" for i in range(N_LAYERS))]):
            probs = lm.model.lm_head(lm.model.model.norm(seen[key][[3, 7]])).double().softmax(-1)
            torch.testing.assert_close(read.probs[depth].double(), probs.topk(10).values, rtol=1e-5, atol=1e-6)
            bits = torch.distributions.Categorical(probs=probs).entropy() / torch.tensor(2.0).log()
            torch.testing.assert_close(read.bits[depth].double(), bits, rtol=1e-4, atol=1e-5)
            order = probs.argsort(descending=True).tolist()
            places = [row.index(answer) + 1 for row, answer in zip(order, read.answers.tolist(), strict=True)]
            assert read.ranks[depth].tolist() == places


def test_entropy_of_a_certain_guess_is_zero_not_nan(lm):
    seen = trace(lm, "The capital of France is Paris. The capital of Italy is")
    read = read_depths(lm, seen, list(range(12)))
    assert read.bits.isfinite().all() and read.bits.ge(0).all() and read.bits.le(15.6).all()
    assert read.bits[0].min() < 1e-3  # the tied table makes an embedding predict its own token
    assert (read.ids[0, :, 0] == torch.tensor(seen.token_ids)).sum() == 9


def test_the_lens_sees_rome_late(lm):
    seen = trace(lm, "The capital of France is Paris. The capital of Italy is")
    read = read_depths(lm, seen, [11])
    assert lm.decode([int(read.answers[0])]) == " Rome"
    assert read.ranks[4, 0] > 5000 and read.ranks[24, 0] > 300 and read.ranks[30, 0] == 1


def test_token_grid_shows_the_last_columns_escaped():
    texts = [[f"<b>{i}"] * 20 for i in range(3)]
    columns = [f"t{i}" for i in range(20)]
    figure = token_grid(texts, torch.full((3, 20), 0.5), range(3), columns, "Title", "Caption.", "rows", "columns")
    heat = figure.data[0]
    assert len(heat.z[0]) == 12 and heat.text[1][0] == "&lt;b>1".replace(">", "&gt;")
    assert list(figure.layout.xaxis.ticktext) == columns[-12:]
    assert "The last 12 of 20 are shown." in figure.layout.annotations[0].text.replace("<br>", " ")
    assert "t19: <b>2" in figure.layout.meta["alt"]


def test_measures_are_written_with_their_unit():
    figure = measures(["a", "a", "b"], [0.0, 24.66, 3.0], "Surprise", "Caption.", "bits")
    assert list(figure.data[0].text) == ["0.0", "24.7", "3.0"] and "bits" in figure.layout.meta["alt"]
    assert max(figure.layout.xaxis.range) > 24.66
    assert measures(["a"], [0.0], "Surprise", "Caption.", "bits").layout.xaxis.range[1] > 0
    with pytest.raises(ValueError):
        measures(["a"], [1.0, 2.0], "Surprise", "Caption.", "bits")
