"""Cases over a whole vocabulary, with the kept tokens; make_cases.py has the many small ones."""

from base64 import b64encode

import numpy as np
import torch

from helpers.sampling import sampling_steps, warped_logits

N_VOCAB = 49152
SETTINGS = [
    {},
    dict(temperature=0.05),
    dict(temperature=2.0, min_p=0.05),
    dict(top_k=40, temperature=0.7),
    dict(top_k=100000),
    dict(top_p=0.01),
    dict(top_p=0.99, temperature=1.3),
    dict(min_p=0.001, top_k=500, top_p=0.95, repetition_penalty=1.15),
    dict(repetition_penalty=0.8, temperature=0.9),
    dict(min_p=1.0),
]


def full_cases():
    """[{name, logits, probs in base64, context_ids, settings, kept}, ...]"""
    fine = 3 * torch.randn(N_VOCAB, generator=torch.Generator().manual_seed(0))
    coarse = fine.bfloat16().float()  # as a model in half precision gives them: thousands of ties
    tenths = [dict(top_p=i / 10) for i in range(1, 11)]
    yield from (_case("fine", fine, [3, 7, 7, 4000, int(fine.argmax())], settings) for settings in SETTINGS)
    yield from (_case("coarse", coarse, [int(coarse.argmax())], settings) for settings in SETTINGS)
    yield from (_case("ten equal", torch.zeros(10), [], settings) for settings in tenths)


def _case(kind, logits, context_ids, settings):
    *_, (_, last) = warped_logits(logits, context_ids=context_ids, **settings)
    *_, (_, probs) = sampling_steps(logits, context_ids=context_ids, **settings)
    return {
        "name": f"{kind}, {settings}",
        "logits": _base64(logits),
        "context_ids": context_ids,
        "settings": settings,
        "steps": [],
        "probs": _base64(probs),
        "kept": last.isfinite().nonzero().flatten().tolist(),
    }


def _base64(values):
    return b64encode(values.numpy().astype(np.float32).tobytes()).decode("ascii")
