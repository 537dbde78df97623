"""Write what Python's sampler says for many logits and settings: the JavaScript tests compare with it.

    python tests/js/make_cases.py cases.json

Each case: `name`, `logits` (null is -inf), `context_ids`, `settings`, `steps` ([[name, probs], ...] of
`sampling_steps`: only what is switched on; "greedy" where temperature is 0) and `probs`, the last step.
"""

import json
import math
import sys
from pathlib import Path

import torch

from helpers.sampling import sampling_steps

OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
ALL_ON = {"temperature": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.02, "repetition_penalty": 1.3}
SETTINGS = (
    {},
    *({name: value} for name, value in ALL_ON.items()),
    ALL_ON,
    ALL_ON | {"temperature": 1.8, "top_k": 0},
    ALL_ON | {"temperature": 0},
    {"temperature": 0.0},
    {"temperature": 0.001},
    {"temperature": 1000.0},
    {"top_k": 1},
    {"top_k": 3},
    {"top_k": 10**6},
    {"top_p": 1e-9},
    {"top_p": 0.5},
    {"min_p": 1.0},
    {"repetition_penalty": 0.5},
    {"repetition_penalty": 10.0, "top_p": 0.6},
)  # fmt: skip


def _logits() -> dict[str, torch.Tensor]:
    noise = torch.randn(300, generator=torch.Generator().manual_seed(0)) * 4
    wide = torch.randn(5000, generator=torch.Generator().manual_seed(1)) * 3
    return {
        "spread": noise,
        "ties": noise.round(),
        "all equal": torch.zeros(8),
        "all negative": noise - 50,
        "masked": noise.masked_fill(noise < 1, -math.inf),
        "two at the top": torch.tensor([1.0, 5.0, 5.0, 0.0]),
        "three tokens": noise[:3],
        "one token": noise[:1],
        "wide": wide,
    }


def _cases():
    for kind, logits in _logits().items():
        for context_ids in ([], [i % len(logits) for i in (0, 1, 1, 2, 0, 250)]):
            for changed in SETTINGS:
                settings = OFF | changed
                done = sampling_steps(logits, context_ids=context_ids, **settings)
                steps = [[name, probs.tolist()] for name, probs in done]
                yield {
                    "name": f"{kind}, {len(context_ids)} in context, {changed}",
                    "logits": [None if x == -math.inf else x for x in logits.tolist()],
                    "context_ids": context_ids,
                    "settings": settings,
                    "steps": steps,
                    "probs": steps[-1][1],
                }


def write(path: Path) -> None:
    """All cases as one JSON list."""
    path.write_text(json.dumps(list(_cases())), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
