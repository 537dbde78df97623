"""The generation explorer's Python side: what is computed in advance, what a move computes, what it hands over."""

import json
import math

import pytest
import torch

from helpers import ReaderError, generate, next_token_probs
from helpers.kv_cache import forward_with_cache
from helpers.widgets.base import FOLDER, bundle
from helpers.widgets.generation import AHEAD, LISTED, GenerationExplorer
from helpers.widgets.static import static_html
from tests.tiny import CONTEXT, tiny

PROMPT = "Hello world"
SETTINGS = {"temperature": 1.4, "top_p": 0.8, "repetition_penalty": 1.3}
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def explorer():
    made = GenerationExplorer(tiny("llama"), PROMPT, **SETTINGS)
    made.sent = []
    made.send = lambda message, buffers=None: made.sent.append(json.loads(json.dumps(message)))
    return made


def node_at(explorer, path):
    return next(node for node in explorer.nodes if node["path"] == list(path))


def logits_after(lm, path):
    return forward_with_cache(lm, [*lm.encode(PROMPT), *path], None)[-1].float()


def test_first_branch_is_what_generate_writes_and_every_step_of_it_is_there():
    lm = tiny("llama")
    explorer = GenerationExplorer(lm, PROMPT)
    first, second = explorer.branches
    assert first == generate(lm, PROMPT, AHEAD).token_ids
    for branch in (first, second):
        for n in range(len(branch) + 1):
            assert node_at(explorer, branch[:n])
    fork = next(i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    assert second[fork] == explorer_rank(lm, first[:fork], 1)
    assert len(second) == len(first) or node_at(explorer, second)["ended"] == "stop"


def explorer_rank(lm, path, rank):
    return int(logits_after(lm, path).argsort(descending=True)[rank])


def test_alternatives_are_the_model_s_before_and_after_the_settings(explorer):
    lm = tiny("llama")
    path = explorer.branches[0][:3]
    context = [*lm.encode(PROMPT), *path]
    logits = logits_after(lm, path)
    before, after = logits.softmax(-1), next_token_probs(logits, context_ids=context, **SETTINGS)
    node = node_at(explorer, path)
    for token_id, _, p_before, p_after in node["alternatives"]:
        assert math.isclose(p_before, before[token_id], abs_tol=1e-4)
        assert math.isclose(p_after, after[token_id], abs_tol=1e-3)
    listed = {row[0] for row in node["alternatives"]}
    assert set(before.topk(LISTED).indices.tolist()) <= listed
    assert set(after.topk(LISTED).indices.tolist()) <= listed
    assert node["n_kept"] == int((after > 0).sum())


def test_a_move_computes_and_sends_only_what_is_new(explorer):
    path = explorer.branches[0][:2]
    explorer.path = path  # known already
    assert explorer.sent == [{"nodes": []}]
    row = node_at(explorer, path)["alternatives"][7]
    explorer.path = [*path, row[0]]
    (node,) = explorer.sent[-1]["nodes"]
    assert node["path"] == [*path, row[0]]
    assert node_at(explorer, explorer.path) == node  # a page that is opened again gets it too
    assert explorer.alternatives[0] == tuple(node["alternatives"][0][1:])


def test_a_token_that_is_not_listed_can_be_forced_from_python(explorer):
    listed = {row[0] for row in node_at(explorer, [])["alternatives"]}
    token = next(i for i in range(250) if i not in listed)
    explorer.path = [token, 5]
    assert [node["path"] for node in explorer.sent[-1]["nodes"]] == [[], [token], [token, 5]]
    assert token in [row[0] for row in node_at(explorer, [])["alternatives"]]
    assert explorer.text == tiny("llama").decode([token, 5])


def test_log_probability_is_the_sum_over_the_model_s_own(explorer):
    lm = tiny("llama")
    path = explorer.branches[1]
    ids = lm.encode(PROMPT)
    rows = forward_with_cache(lm, [*ids, *path], None).float().log_softmax(-1)[len(ids) - 1 : -1]
    assert math.isclose(explorer.log_prob(path), float(rows[range(len(path)), path].sum()), abs_tol=1e-3)
    assert explorer.log_prob() == 0


def test_a_draw_beyond_the_list_is_the_token_at_that_place_of_the_running_total():
    lm = tiny("llama")
    explorer = GenerationExplorer(lm, PROMPT)
    explorer.sent = []
    explorer.send = lambda message, buffers=None: explorer.sent.append(message)
    probs = logits_after(lm, []).softmax(-1).sort(descending=True)
    for draw in (0.2, 0.9, 0.999999999):
        explorer._asked(explorer, {"draw": draw, "path": []}, None)
        place = min(int((probs.values.double().cumsum(0) <= draw).sum()), len(probs.values) - 1)
        assert explorer.sent[-1]["drawn"] == int(probs.indices[place])


def test_a_stop_token_ends_a_branch_and_so_does_the_context_window(explorer):
    stop = tiny("llama").tokenizer.eos_token_id
    explorer.path = [stop]
    assert node_at(explorer, [stop])["ended"] == "stop" and explorer.alternatives == []
    full = GenerationExplorer(tiny("llama"), [5] * CONTEXT)
    assert full.branches == [] and [node["ended"] for node in full.nodes] == ["full"]
    assert "<table>" in full.table()
    nearly = GenerationExplorer(tiny("llama"), [5] * (CONTEXT - 1))
    assert [len(branch) for branch in nearly.branches] == [1, 1]
    assert {node["ended"] for node in nearly.nodes if node["path"]} <= {"full", "stop"}


def test_what_is_out_of_range_is_refused(explorer):
    with pytest.raises(ReaderError, match="top_p"):
        GenerationExplorer(tiny("llama"), PROMPT, top_p=2)
    with pytest.raises(ReaderError, match="ids go from"):
        explorer.path = [10**6]
    with pytest.raises(ReaderError):
        GenerationExplorer(tiny("llama"), "")


def test_bundle_has_a_small_escaped_table_and_no_address(explorer):
    for node in explorer._known.values():
        node["alternatives"] = [[i, "<b>&", before, after] for i, _, before, after in node["alternatives"]]
    data, _ = explorer._repr_mimebundle_()
    assert WIDGET in data
    assert len(data["text/html"]) < 3000
    assert "&lt;b&gt;&amp;" in data["text/html"] and "<b>" not in data["text/html"]
    assert data["text/html"].count('scope="row"') == AHEAD
    assert data["text/plain"] == (
        "GenerationExplorer(temperature=1.4, top_p=0.8, repetition_penalty=1.3, 0 tokens written)"
    )


def test_one_module_that_fetches_nothing():
    source = bundle(FOLDER / "generation.js")
    assert 'from "./' not in source and "http" not in source
    assert source.count("export function element(") == 1
    assert static_html(GenerationExplorer(tiny("gpt2"), PROMPT, top_k=3)).count("</script>") == 1


@pytest.mark.parametrize("arch", ["gpt2", "qwen3", "gemma3"])
def test_other_architectures_and_greedy(arch):
    explorer = GenerationExplorer(tiny(arch), "天气", temperature=0)
    assert {node["n_kept"] for node in explorer.nodes if not node["ended"]} == {1}
    assert torch.tensor(explorer.branches[0]).shape[0] == AHEAD or node_at(explorer, explorer.branches[0])["ended"]


def test_a_prompt_of_ids_is_taken_as_it_is():
    explorer = GenerationExplorer(tiny("llama"), torch.tensor([5, 9, 2]))
    assert len(explorer.prompt_tokens) == 3
    with pytest.raises(ReaderError, match="whole numbers"):
        GenerationExplorer(tiny("llama"), [5, 9.5, 2])
