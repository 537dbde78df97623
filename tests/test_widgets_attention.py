"""The attention explorer: what it sends, what it refuses, and its JavaScript against PyTorch."""

import json
import os
import string
import subprocess
from base64 import b64encode
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers import ReaderError, trace
from helpers.language import STRINGS
from helpers.widgets.attention import MOST_BYTES, MOST_TOKENS, AttentionExplorer, shown_positions
from helpers.widgets.base import Explorer
from tests.needs import needs
from tests.tiny import ARCHS, N_HEADS, N_KV_HEADS, N_LAYERS, tiny

PROMPT = "Hello world: the capital of France is"


class Patterns(dict):
    """Patterns that no model made: (n_layers, n_heads, n, n) and one label a token."""

    name = "made up"

    def __init__(self, patterns, tokens, n_kv_heads):
        super().__init__({f"block{i}.pattern": pattern for i, pattern in enumerate(patterns)})
        self["block0.k"] = torch.zeros(len(tokens), n_kv_heads, 2)
        self.tokens = tokens


def random_patterns(tokens, n_layers=2, n_heads=4, n_kv_heads=2):
    """Causal softmax patterns of random scores, seeded."""
    n = len(tokens)
    scores = 2 * torch.randn(n_layers, n_heads, n, n, generator=torch.Generator().manual_seed(0))
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    return Patterns(scores.masked_fill(future, -torch.inf).softmax(-1), tokens, n_kv_heads)


def state_of(explorer):
    """What the browser gets, bytes in base64."""
    classes = (AttentionExplorer, Explorer)
    ours = [name for name, trait in explorer.traits(sync=True).items() if trait.this_class in classes]
    state = {name: getattr(explorer, name) for name in ours}
    return state | {"packed": {"base64": b64encode(explorer.packed).decode("ascii")}}


def mean_weights(pattern, positions):
    """Means over the shown rows but the first, of one map (n_tokens, n_tokens)."""
    rows = torch.tensor(positions[1:])
    neighbours = torch.tensor([b for a, b in zip(positions, positions[1:], strict=False) if b - a == 1])
    pattern = pattern.double()
    return dict(
        first=pattern[rows, 0].mean().item(),
        previous=pattern[neighbours, neighbours - 1].mean().item(),
        itself=pattern[rows, rows].mean().item(),
    )


def case(name, seen):
    """Expected values for the JavaScript tests, worked out with PyTorch."""
    explorer = AttentionExplorer(seen)
    maps = [m for i in range(explorer.n_layers) for m in seen[f"block{i}.pattern"].float().cpu()]
    means = [mean_weights(m, explorer.positions) for m in maps]
    rows = [
        (index, i, maps[index][position, explorer.positions[: i + 1]].tolist())
        for index in range(0, len(maps), 5)
        for i, position in enumerate(explorer.positions)
    ]
    strongest = {kind: max(range(len(maps)), key=lambda i: means[i][kind]) for kind in means[0]}
    return dict(name=name, state=state_of(explorer), rows=rows, means=means, strongest=strongest)


def test_javascript_computes_what_pytorch_does(tmp_path, lm):
    cases = [
        case("tiny llama", trace(tiny("llama"), PROMPT)),
        case("SmolLM2", trace(lm, "The capital of France is Paris, and the capital of Italy is")),
        case("long prompt", random_patterns([f"␣{i}" for i in range(MOST_TOKENS + 30)])),
    ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    done = subprocess.run(
        [needs("node"), "--test", str(Path(__file__).parent / "js" / "attention.test.mjs")],
        env=os.environ | {"ATTENTION_CASES": str(path)},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr


@pytest.mark.parametrize("arch", ARCHS)
def test_every_architecture_arrives_exactly(arch):
    seen = trace(tiny(arch), PROMPT)
    explorer = AttentionExplorer(seen, layer=N_LAYERS - 1, head=2)
    n = len(seen.tokens)
    sent = np.frombuffer(explorer.packed, "<f4").reshape(N_LAYERS, N_HEADS, -1)
    rows, columns = np.tril_indices(n)
    for layer in range(N_LAYERS):
        assert (sent[layer] == seen[f"block{layer}.pattern"].numpy()[:, rows, columns]).all()
    assert explorer.labels == seen.tokens and explorer.row == n - 1
    assert explorer.n_kv_heads == (N_HEADS if arch == "gpt2" else N_KV_HEADS)
    assert explorer.pattern.equal(seen[f"block{N_LAYERS - 1}.pattern"][2])
    assert explorer.pattern.data_ptr() == seen[f"block{N_LAYERS - 1}.pattern"][2].data_ptr()  # no copy


def test_places_are_seen_by_python_and_wrong_ones_are_refused():
    explorer = AttentionExplorer(random_patterns(list("abcde")))
    explorer.set_state(dict(layer=1, head=3, row=2))  # as the browser does
    assert (explorer.layer, explorer.head, explorer.row) == (1, 3, 2)
    with pytest.raises(ReaderError, match="layer 2 is not shown here: choose one of 0 to 1"):
        explorer.layer = 2
    with pytest.raises(ReaderError, match="row 5 is not shown here: choose one of 0 to 4"):
        AttentionExplorer(random_patterns(list("abcde")), row=5)
    assert explorer.layer == 1


def test_a_long_prompt_shows_its_first_and_last_tokens_and_says_so():
    n = MOST_TOKENS + 30
    explorer = AttentionExplorer(random_patterns([f"␣{i}" for i in range(n)]))
    assert explorer.positions == [0, *range(31, n)] and explorer.labels[1] == "␣31"
    assert "the 30 between them are left out" in explorer.caption
    with pytest.raises(ReaderError, match=f"row 20 is not shown here: choose 0, or one of 31 to {n - 1}"):
        explorer.row = 20


def test_a_model_with_very_many_heads_stays_small():
    for n_maps in (270, 126 * 128):
        shown = len(shown_positions(1000, n_maps))
        assert 3 <= shown <= MOST_TOKENS and n_maps * shown * (shown + 1) // 2 * 4 <= MOST_BYTES


def test_the_table_is_small_escaped_and_python_s():
    tokens = ["<b>", "&lt;", "שלום", "我", "e5 a4"] * 9
    seen = random_patterns(tokens)
    explorer = AttentionExplorer(seen, layer=1, head=2)
    data, _ = explorer._repr_mimebundle_()
    table = data["text/html"]
    assert len(table.encode()) < 3000
    assert "<b>" not in table and "&lt;b&gt;" in table and "&amp;lt;" in table
    assert f"<td>{seen['block1.pattern'][2, -1].max():.3f}</td>" in table
    assert "0x" not in data["text/plain"]


def test_a_single_token_looks_at_itself():
    explorer = AttentionExplorer(random_patterns(["one"]))
    assert explorer.pattern.tolist() == [[1.0]] and "<td>1.000</td>" in explorer.table()


@pytest.mark.parametrize(
    ("row", "column", "value", "message"), [(2, 1, torch.nan, "not finite"), (1, 2, 0.1, "later tokens")]
)
def test_a_broken_pattern_is_refused(row, column, value, message):
    seen = random_patterns(list("abc"))
    seen["block1.pattern"][0, row, column] = value
    with pytest.raises(ReaderError, match=message):
        AttentionExplorer(seen)


def test_both_languages_fill_in_the_same_values():
    def fields(text):
        return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)

    ours = {key: pair for key, pair in STRINGS.items() if key.startswith("attention.")}
    assert ours
    for key, (english, chinese) in ours.items():
        assert fields(english) == fields(chinese), key
