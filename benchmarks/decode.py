"""Prefill and decode: `generate` beside transformers' own and llama.cpp, in one run, all asked in turn.

    python benchmarks/decode.py --prompts 16 256 1024 --tokens 24 --rounds 7 --out decode.md

Every round asks every way once and reads the memory's speed once, so that a busy moment hits all alike; a ratio
(above 1: faster than transformers with sdpa) is the median of the rounds' own ratios. llama.cpp computes with the
4-bit file, the others in float32. "Products alone" are a token's matrix products with nothing between them: no step
made of torch's operations takes less. A step's share of the memory's speed counts the weights and the cache it reads.
"""

import argparse
import itertools
import json
import math
import statistics
import time
from pathlib import Path
from urllib.request import Request, urlopen

import torch

from helpers import generate, load_model
from helpers.bundles import BUNDLES
from helpers.fetch import fetch
from helpers.kv_cache import cache_bytes, forward_with_cache, new_cache
from helpers.timing import now
from helpers.weights import block_weights, sizes

TEXT = (Path(__file__).parents[1] / "data" / "texts" / "english.txt").read_text(encoding="utf-8")
ALONE = "products alone"


class Clock:
    """A streamer for transformers' generate that notes when each token arrives; the first call is the prompt."""

    def __init__(self, device):
        self.device, self.times = device, []

    def put(self, _):
        self.times.append(now(self.device))

    def end(self):
        pass


def ours(lm, ids, n_new):
    """(seconds until the first token, median seconds of a further one), by this package."""
    made = generate(lm, ids, max_new_tokens=n_new)
    return made.prefill_s, statistics.median(made.step_s)


def transformers(lm, ids, n_new, attention):
    """The same by transformers' generate, with one of its attention implementations."""
    lm.model.set_attn_implementation(attention)
    clock, given = Clock(lm.device), torch.tensor([ids], device=lm.device)
    start = now(lm.device)
    lm.model.generate(
        given, attention_mask=torch.ones_like(given), max_new_tokens=n_new, do_sample=False, streamer=clock
    )
    lm.model.set_attn_implementation("eager")
    steps = [after - before for before, after in zip(clock.times[1:], clock.times[2:], strict=False)]
    return clock.times[1] - start, statistics.median(steps)


def llama_cpp(address, ids, n_new):
    """The same by llama.cpp's server, as it times itself; no prompt cache."""
    question = {"prompt": ids, "n_predict": n_new, "temperature": 0, "cache_prompt": False, "ignore_eos": True}
    request = Request(f"{address}/completion", json.dumps(question).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=600) as answer:
        timings = json.load(answer)["timings"]
    return timings["prompt_ms"] / 1e3, timings["predicted_per_token_ms"] / 1e3


def start_llama_cpp(model, threads):
    """A llama.cpp server on this model's file, and the object that keeps it alive; None where it is not installed."""
    try:
        import xllamacpp
    except ImportError:
        return None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(fetch(model))
    parameters.port, parameters.n_ctx, parameters.n_parallel, parameters.verbosity = 0, 8192, 1, 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    return xllamacpp.Server(parameters)


def products_of(lm):
    """The function (ids, n_new) -> (no time, median seconds of one token's matrix products)."""
    blocks = [vars(block_weights(lm, i)).values() for i in range(sizes(lm).n_layers)]
    matrices = [m for block in blocks for m in block if isinstance(m, torch.Tensor) and m.dim() == 2]
    matrices.append(lm.model.get_output_embeddings().weight)
    vectors = {m.shape[1]: torch.randn(m.shape[1], device=lm.device) for m in matrices}

    @torch.inference_mode()
    def products(_, n_new):
        times = [now(lm.device)]
        for _ in range(n_new):
            for m in matrices:
                torch.mv(m, vectors[m.shape[1]])
            times.append(now(lm.device))
        return math.nan, statistics.median(after - before for before, after in itertools.pairwise(times))

    return products


def bandwidth(numbers):
    """Bytes a second at which this machine reads memory: one product with `numbers`, larger than a processor's cache.

    Of the ways tried (sum, dot, copy, products with short and long rows), long rows read fastest.
    """
    start = time.perf_counter()
    torch.mv(numbers, numbers[0])
    return numbers.nbytes / (time.perf_counter() - start)


def cached_bytes(lm, ids):
    """Bytes of keys and values that a step after `ids` reads."""
    cache = new_cache(lm)
    forward_with_cache(lm, ids, cache, last_only=True)
    return cache_bytes(cache)


def rounds(lm, ways, n_prompt, n_new, n_rounds):
    """{way: [(prefill seconds, step seconds), ...]}, the memory's speed in each round, and the bytes of the cache."""
    ids = (lm.encode(TEXT) * (n_prompt // 500 + 1))[:n_prompt]
    numbers, found, speeds = torch.ones(10_000, 10_000), {way: [] for way in ways}, []
    for number in range(n_rounds + 1):  # the first one warms up
        measured = {way: run(ids, n_new) for way, run in ways.items()}
        speed = max(bandwidth(numbers) for _ in range(2))
        if number:
            speeds.append(speed)
            for way, times in measured.items():
                found[way].append(times)
    return found, speeds, cached_bytes(lm, ids)


def table(lm, found, speeds, n_cache_bytes, n_prompt):
    """Markdown rows: medians, ratios to transformers, and the share of what the memory allows."""
    weights = sum(parameter.nbytes for parameter in lm.model.parameters())
    base = found["transformers, sdpa"]
    for way, times in found.items():
        prefill, step = (statistics.median(column) for column in zip(*times, strict=True))
        ratios = [statistics.median(b[i] / t[i] for b, t in zip(base, times, strict=True)) for i in (0, 1)]
        read = weights + (0 if way == ALONE else n_cache_bytes)
        share = statistics.median(read / t[1] / speed for t, speed in zip(times, speeds, strict=True))
        limit = "–" if way == "llama.cpp, 4 bit" else f"{share:.0%}"
        cells = f"{prefill * 1e3:,.0f} | {ratios[0]:.2f} | {step * 1e3:.1f} | {ratios[1]:.2f} | {limit}"
        yield f"| {n_prompt} | {way} | {cells} |".replace("nan", "–")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--prompts", type=int, nargs="+", default=[16, 256, 1024])
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    lm = load_model(asked.model)
    ways = {"ours": lambda ids, n: ours(lm, ids, n), ALONE: products_of(lm)}
    for attention in ("sdpa", "eager"):
        ways[f"transformers, {attention}"] = lambda ids, n, a=attention: transformers(lm, ids, n, a)
    server = start_llama_cpp(asked.model, asked.threads) if asked.model in BUNDLES else None
    if server:
        ways["llama.cpp, 4 bit"] = lambda ids, n: llama_cpp(server.listening_address, ids, n)
    lines = [say(f"{lm.name}, {asked.threads} threads, {asked.rounds} rounds of {asked.tokens} tokens\n")]
    lines.append(say("| prompt | way | prefill ms | ratio | step ms | ratio | of the memory's speed |"))
    lines.append(say("|---|---|---|---|---|---|---|"))
    for n_prompt in asked.prompts:
        measured = rounds(lm, ways, n_prompt, asked.tokens, asked.rounds)
        lines += map(say, table(lm, *measured, n_prompt))
    if asked.out:
        asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def say(line):
    """Print at once: a long prompt takes minutes."""
    print(line, flush=True)
    return line


if __name__ == "__main__":
    main()
