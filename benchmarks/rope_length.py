"""Perplexity of a long real text before and beyond the trained length, with and without scaled frequencies.

    python benchmarks/rope_length.py [n_tokens] [factor]

The text is the reference manual that comes with Python (`pydoc_data.topics`), its topics in alphabetical order, read in
one pass. Notebook 02 runs the same scalings on a short text with a gap and quotes this one. Slow on a CPU: minutes.
"""

import math
import platform
import sys
import time
from pydoc_data.topics import topics

import torch
from torch.nn.functional import cross_entropy

from helpers import load_model
from helpers.rope import turning

WINDOW = 2048


def scalings(lm, factor):
    """{name: (change of the frequencies, attention factor)}, as on the page."""
    pair, trained = torch.arange(lm.config.head_dim // 2), lm.config.max_position_embeddings

    def yarn(f):
        kept = ((trained * f / (2 * torch.pi) - 1) / 31).clamp(0, 1)
        return kept * f + (1 - kept) * f / factor

    return {
        "no scaling": (lambda f: f, 1.0),
        "YaRN": (yarn, 0.1 * math.log(factor) + 1),
        "NTK-aware": (lambda f: f * factor ** (-2 * pair / (2 * len(pair) - 2)), 1.0),
        "linear": (lambda f: f / factor, 1.0),
    }


@torch.inference_mode()
def perplexities(lm, ids):
    """Perplexity of each window of 2,048 tokens, given all that stands before it."""
    states = lm.model.base_model(torch.tensor([ids], device=lm.device), use_cache=False).last_hidden_state[0]
    table, losses = lm.model.get_output_embeddings().weight, []
    for start in range(0, len(ids) - 1, WINDOW):
        right = torch.tensor(ids[start + 1 : start + WINDOW + 1], device=lm.device)
        parts = zip(states[start : start + len(right)].split(256), right.split(256), strict=True)
        losses.append(sum(cross_entropy(h @ table.T, y, reduction="sum").item() for h, y in parts) / len(right))
    return [math.exp(loss) for loss in losses]


def main(n_tokens=16384, factor=4.0):
    lm = load_model()
    lm.model.set_attn_implementation("sdpa")  # eager attention would hold n_tokens² numbers a head
    ids = lm.tokenizer.encode("\n\n".join(topics[name] for name in sorted(topics)))[:n_tokens]
    print(f"{lm.name}, {lm.device}, Python {platform.python_version()}, {len(ids):,} tokens, factor {factor:g}")
    for name, (change, attention_factor) in scalings(lm, factor).items():
        begun = time.perf_counter()
        with turning(lm, change, attention_factor):
            windows = " ".join(f"{value:8.1f}" for value in perplexities(lm, ids))
        print(f"{name:10} {windows}   ({time.perf_counter() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main(*(int(a) if i == 0 else float(a) for i, a in enumerate(sys.argv[1:])))
