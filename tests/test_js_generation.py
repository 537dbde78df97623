"""The generation explorer's states in JavaScript, on a tree that Python computed."""

import json

from helpers.widgets.generation import GenerationExplorer
from helpers.widgets.static import static_state
from tests.js.test_js import run_node
from tests.tiny import tiny


def test_what_the_browser_does(tmp_path):
    explorer = GenerationExplorer(tiny("llama"), "Hello world", temperature=0.8)
    path = tmp_path / "cases.json"
    log_probs = [explorer.log_prob(branch) for branch in explorer.branches]
    cases = {"state": static_state(explorer), "log_probs": log_probs, "draws": list(draws(explorer))}
    path.write_text(json.dumps(cases), encoding="utf-8")
    run_node("generation.test.mjs", {"GENERATION_CASES": str(path)})


def draws(explorer):
    """What Python takes for some random numbers, far enough from a border for the last bit not to matter."""
    said = []
    explorer.send = lambda message, buffers=None: said.append(message["drawn"])
    rows = sorted(explorer.nodes[0]["alternatives"], key=lambda row: -row[3])[:20]
    for uniform in (0.0, 0.03, 0.21, 0.4, 0.7, 0.95):
        explorer._asked(explorer, {"draw": uniform, "path": []}, None)
        yield {"uniform": uniform, "id": said[-1], "listed": said[-1] in [row[0] for row in rows]}
