"""The neuron explorer: what it sends, what it refuses, and its JavaScript against PyTorch."""

import json
import os
import string
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest
import torch

from helpers import ReaderError, trace
from helpers.neurons import ORDERS, answer_directions, nearest_tokens
from helpers.tokens import token_labels
from helpers.weights import block_weights
from helpers.widgets.base import Explorer
from helpers.widgets.neurons import MOST_TOKENS, NeuronExplorer
from helpers.widgets.neurons_words import STRINGS
from tests.needs import needs
from tests.tiny import D_MLP, N_LAYERS, tiny

PROMPT = "Hello world: the capital of France is"
ONE_FFN = ("llama", "qwen2", "qwen3", "mistral", "gpt2")


def explore(arch="llama", prompt=PROMPT, **where):
    lm = tiny(arch)
    seen = trace(lm, prompt)
    return lm, seen, NeuronExplorer(lm, seen, **where)


def state_of(explorer):
    """What the browser gets, bytes in base64."""
    traits = explorer.traits(sync=True).items()
    ours = [name for name, trait in traits if trait.this_class in (NeuronExplorer, Explorer)]
    state = {name: getattr(explorer, name) for name in ours}
    return state | {name: {"base64": b64encode(state[name]).decode("ascii")} for name in ("floats", "whole")}


def expected(lm, explorer, layer, at, order):
    """One list as Python has it; that it is the model's, test_ffn.py shows."""
    found, w = explorer._all, block_weights(lm, layer)
    slots = found.slots[ORDERS.index(order), layer, at].tolist()
    sides = nearest_tokens(
        lm, torch.stack([w.w_down[:, found.neuron[one]] * found.act[one, at].sign() for one in slots])
    )
    up, down = ([token_labels(lm.tokenizer, ids) for ids in side.tolist()] for side in sides)
    acts, norms = found.act.double(), found.norm.double()
    push = acts * found.to_answer.double()
    listed = [
        dict(
            neuron=int(found.neuron[one]), act=acts[one, at].item(), push=push[one, at].item(),
            strength=(acts[one, at].abs() * norms[one]).item(), everywhere=acts[one].tolist(),
            promoted=dict(up=up[i], down=down[i]),
        )
        for i, one in enumerate(slots)
    ]  # fmt: skip
    total = found.totals[layer, at].item()
    return dict(layer=layer, at=at, order=order, listed=listed, total=total, rest=total - push[slots, at].sum().item())


def case(name, lm, seen, layers):
    explorer = NeuronExplorer(lm, seen)
    ends = (0, len(explorer.positions) - 1)
    places = [expected(lm, explorer, layer, at, order) for layer in layers for at in ends for order in ORDERS]
    return dict(name=name, state=state_of(explorer), places=places)


def test_javascript_computes_what_pytorch_does(tmp_path, lm):
    cases = [case(arch, tiny(arch), trace(tiny(arch), PROMPT), range(N_LAYERS)) for arch in ("llama", "gpt2")]
    cases.append(case("long prompt", tiny("llama"), trace(tiny("llama"), "word " * 20), range(N_LAYERS)))
    cases.append(case("SmolLM2", lm, trace(lm, "The capital of Italy is"), (0, 24, 29)))
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    done = subprocess.run(
        [needs("node"), "--test", str(Path(__file__).parent / "js" / "neurons.test.mjs")],
        env=os.environ | {"NEURON_CASES": str(path)},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr


@pytest.mark.parametrize("arch", ONE_FFN)
def test_every_architecture_with_one_ffn_a_block_is_shown(arch):
    _, seen, explorer = explore(arch)
    assert explorer.tokens == seen.tokens and explorer.token == len(seen.tokens) - 1
    assert explorer.n_layers == N_LAYERS and explorer.d_mlp == D_MLP
    assert len(explorer.listed) == explorer.n_listed


def test_it_starts_at_the_largest_push_upwards():
    lm, seen, explorer = explore()
    towards = answer_directions(lm, seen, [-1])[0]
    push = torch.stack([seen[f"block{i}.act"][-1] * (towards @ block_weights(lm, i).w_down) for i in range(N_LAYERS)])
    assert (explorer.layer, explorer.neuron) == divmod(int(push.argmax()), D_MLP)


def test_places_are_seen_by_python_and_wrong_ones_are_refused():
    explorer = explore()[2]
    explorer.set_state(dict(layer=1, token=3, order="strength", rank=2))  # as the browser does
    assert explorer.neuron == explorer.listed[2][0]
    with pytest.raises(ReaderError, match="layer 2 is not shown here: choose one of 0 to 1"):
        explorer.layer = 2
    with pytest.raises(ReaderError, match="order 'size' is unknown"):
        explorer.order = "size"
    with pytest.raises(ReaderError, match="rank 8 is not shown here"):
        explorer.rank = 8
    assert (explorer.layer, explorer.order) == (1, "strength")


def test_a_long_prompt_shows_its_first_and_last_tokens_and_says_so():
    _, seen, explorer = explore(prompt="word " * 20)
    hidden = len(seen.tokens) - MOST_TOKENS
    assert hidden > 0 and explorer.positions == [0, *range(hidden + 1, len(seen.tokens))]
    assert f"the {hidden} between them are left out" in explorer.caption
    with pytest.raises(ReaderError, match=f"choose one of 0, {hidden + 1} to {len(seen.tokens) - 1}"):
        explorer.token = 1


def test_the_table_is_small_escaped_and_python_s():
    _, _, explorer = explore(prompt="<b> &lt; 我想吃苹果")
    data, _ = explorer._repr_mimebundle_()
    neuron, act, push = explorer.listed[0]
    table = data["text/html"]
    assert len(table.encode()) < 3000 and "<b>" not in table
    assert f'<th scope="row">{neuron}</th><td>{act:.2f}</td><td>{push:+.2f}</td>' in table
    assert "0x" not in data["text/plain"]


def test_a_single_token():
    explorer = explore(prompt="a")[2]
    assert explorer.positions == [0] and len(explorer.listed) == explorer.n_listed


def test_both_languages_fill_in_the_same_values():
    def fields(text):
        return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)

    for key, (english, chinese) in STRINGS.items():
        assert fields(english) == fields(chinese), key
