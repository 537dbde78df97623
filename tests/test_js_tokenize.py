"""The tokenizer explorer's JavaScript against Python and the library, on 1,000 texts and two vocabularies."""

import json

from helpers.bpe import merge_steps, read_bpe
from helpers.tokens import group_characters, special_positions, token_bytes, token_labels
from helpers.widgets.static import static_state
from helpers.widgets.tokenize import TokenizeExplorer
from tests.js.test_js import run_node
from tests.tiny import tiny_tokenizer
from tests.tokenizer_texts import texts


def cases(name, tokenizer):
    """One vocabulary as the browser gets it, and what Python says of every text."""
    state = static_state(TokenizeExplorer(tokenizer))
    state["triple_bytes"] = state["triple_bytes"]["base64"]
    bpe = read_bpe(tokenizer)
    return {"name": name, "state": state, "texts": [_case(tokenizer, bpe, text) for text in texts()]}


def _case(tokenizer, bpe, text):
    steps = list(merge_steps(bpe, text))
    ids = tokenizer.encode(text)
    plain = not special_positions(tokenizer, ids)  # around these Python cuts its runs without looking
    return {
        "text": text,
        "ids": ids,
        "ranks": [rank for rank, _ in steps[1:]],
        "lengths": [len(after) for _, after in steps],
        "middle": steps[(len(steps) - 1) // 2][1],
        "labels": token_labels(tokenizer, ids),
        "raw": [token_bytes(tokenizer, i).hex(" ") for i in ids],
        "runs": [run for _, run in group_characters(tokenizer, ids)] if plain else None,
    }


def test_what_the_browser_computes(lm, tmp_path):
    path = tmp_path / "cases.json"
    every = [cases("SmolLM2", lm.tokenizer), cases("tiny", tiny_tokenizer())]
    path.write_text(json.dumps(every), encoding="utf-8")
    run_node("tokenize.test.mjs", {"TOKENIZE_CASES": str(path)})
