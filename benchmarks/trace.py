"""Time and memory of `trace` beside TransformerLens' `run_with_cache`: same model, same prompt, one run.

    python benchmarks/trace.py --tokens 64 512 --runs 9

TransformerLens brings much with it, so install it in an environment of its own (`pip install transformer-lens`); where
it is missing, the plain forward pass is what the others are compared with. Each way runs in a process of its own, all
ready at once and asked in turn: a busy moment hits them alike.
"""

import argparse
import ctypes
import gc
import importlib.util
import multiprocessing
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import torch

from helpers.model import load_model
from helpers.timing import now
from helpers.trace import trace

TEXT = Path(__file__).read_text(encoding="utf-8")


def plain_forward(lm):
    """The same forward pass with nothing kept but the logits."""
    return lambda ids: lm.model(input_ids=torch.tensor([ids], device=lm.device), use_cache=False).logits


def our_trace(lm):
    return lambda ids: trace(lm, ids)


def transformer_lens(lm):
    """TransformerLens around the model that is already loaded."""
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:  # it reads the configuration and the tokenizer from a folder
        lm.config.save_pretrained(folder)
        lm.tokenizer.save_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        bridge = TransformerBridge.boot_transformers(folder, hf_model=lm.model, tokenizer=tokenizer)
    return lambda ids: bridge.run_with_cache(torch.tensor([ids], device=lm.device))


WAYS = {
    "plain forward": plain_forward,
    "trace": our_trace,
}
if importlib.util.find_spec("transformer_lens"):
    WAYS["TransformerLens run_with_cache"] = transformer_lens
BASE = list(WAYS)[-1] if len(WAYS) > 2 else "plain forward"


def worker(way: str, device: str, n_tokens: int, threads: int, pipe) -> None:
    """Answer "memory" with the peak bytes of one run above what was in use, "time" with its seconds."""
    torch.set_num_threads(threads)
    lm = load_model(device=device)
    run, ids = WAYS[way](lm), lm.encode(TEXT)[:n_tokens]
    with torch.no_grad():
        run(ids[:2])
        pipe.send("ready")
        while (question := pipe.recv()) != "stop":
            give_back_freed_memory()
            pipe.send(peak_bytes(lm.device, lambda: run(ids)) if question == "memory" else seconds(lm.device, run, ids))


def give_back_freed_memory() -> None:
    """Return to the system what loading has freed; else a run could use it and would seem to need less."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def seconds(device, run, ids) -> float:
    start = now(device)
    result = run(ids)
    took = now(device) - start
    del result
    return took


def peak_bytes(device, run) -> int:
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        run()
        return torch.cuda.max_memory_allocated(device) - before
    process, done, seen = psutil.Process(), threading.Event(), []

    def watch():
        while not done.is_set():
            seen.append(process.memory_info().rss)
            time.sleep(0.001)

    before, thread = process.memory_info().rss, threading.Thread(target=watch)
    thread.start()
    result = run()
    seen.append(process.memory_info().rss)
    done.set()
    thread.join()
    del result
    return max(seen) - before


def measure(device: str, n_tokens: int, runs: int, threads: int) -> dict[str, tuple[float, int]]:
    """{way: (median seconds, peak bytes)}."""
    context = multiprocessing.get_context("spawn")  # a forked process would share the memory that is measured
    ends, processes = {}, []
    for way in WAYS:
        ends[way], theirs = context.Pipe()
        processes.append(context.Process(target=worker, args=(way, device, n_tokens, threads, theirs), daemon=True))
        processes[-1].start()
        theirs.close()  # so that a process that dies is noticed
        assert ends[way].recv() == "ready"
    peak = {way: ask(end, "memory") for way, end in ends.items()}
    rounds = [{way: ask(end, "time") for way, end in ends.items()} for _ in range(runs)]
    for end, process in zip(ends.values(), processes, strict=True):
        end.send("stop")
        process.join()
    return {way: (statistics.median(r[way] for r in rounds), peak[way]) for way in WAYS}


def ask(pipe, question: str):
    pipe.send(question)
    return pipe.recv()


def main() -> None:
    parser = argparse.ArgumentParser(description="trace beside TransformerLens")
    parser.add_argument("--tokens", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    print(f"| tokens | way | median s | to {BASE} | peak MB above the model | to {BASE} |")
    print("|---|---|---|---|---|---|")
    for n_tokens in asked.tokens:
        found = measure(asked.device, n_tokens, asked.runs, asked.threads)
        base_s, base_bytes = found[BASE]
        for way, (s, size) in found.items():
            times = f"{s:.3f} | {s / base_s:.2f}"
            print(f"| {n_tokens} | {way} | {times} | {size / 1e6:.0f} | {size / base_bytes:.2f} |", flush=True)


if __name__ == "__main__":
    main()
