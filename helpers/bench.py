"""`python -m helpers bench --device cuda`: the whole device check in about three minutes, as Markdown.

Equality (a trace beside transformers' own outputs, this device beside the CPU), forward passes by length,
decode steps, peak memory; in float32, and on a CUDA device also in the type it computes fastest.
"""

import argparse
import platform
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import transformers

from helpers.errors import ReaderError
from helpers.generate import generate
from helpers.memory import peak_bytes, reset_peak
from helpers.model import LoadedModel, load_model, pick_device
from helpers.reference import reference
from helpers.timing import now
from helpers.trace import trace

PROMPT = "The capital of France is"
LENGTHS = {"cpu": (16, 64, 256, 512), "cuda": (16, 64, 256, 1024, 4096), "mps": (16, 64, 256, 1024)}
LONGEST_TRACE = 1024  # a trace of 4,096 tokens would hold 37 GB of scores and patterns
ALLOWED = 1e-3  # float32 logits of SmolLM2 reach 38; two devices sum in different orders
BUDGET_S = 4.0  # for one median
DIFFERENT = "DIFFERENT"


def main(arguments: list[str]) -> int:
    """Run the check that the command line asks for, print and write its table; 1 where an equality fails."""
    parser = argparse.ArgumentParser(prog="python -m helpers bench", description=__doc__)
    best = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=tuple(LENGTHS), default=best)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--out", type=Path, help="file to write (default: benchmarks/device-DEVICE.md)")
    asked = parser.parse_args(arguments)
    pick_device(asked.device)  # a machine without it is told so before anything is measured
    lines = [line for part in (head, equality, speed) for line in part(asked.model, asked.device)]
    out = asked.out or Path("benchmarks" if Path("benchmarks").is_dir() else "") / f"device-{asked.device}.md"
    write(out, "\n".join(lines) + "\n")
    return int(any(line.endswith(f"{DIFFERENT} |") for line in lines))


def head(model: str, device: str) -> Iterator[str]:
    """What was measured, and on what."""
    processor = f"{platform.machine()}, {torch.get_num_threads()} threads"
    chip = torch.cuda.get_device_name() if device == "cuda" else processor
    yield say(f"# {model} on {device} ({chip})\n")
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    yield say(f"{versions}, Python {platform.python_version()}; times are medians after a warm-up.")


def equality(model: str, device: str) -> Iterator[str]:
    """One line a comparison: the largest difference beside the allowed one."""
    lm, on_cpu = load_model(model, device=device), load_model(model, device="cpu")
    seen, theirs = trace(lm, PROMPT), reference(lm, lm.encode(PROMPT))
    yield say("\n| float32, the same prompt | largest difference | allowed | |\n|---|---|---|---|")
    off = torch.tensor([differ(seen[key], theirs[key]) for key in theirs]).max().item()  # a NaN stays one
    yield compare("trace and transformers' own outputs", off, 0.0)
    off = differ(seen["logits"], trace(on_cpu, PROMPT)["logits"])
    yield compare(f"logits, {device} and CPU", off, ALLOWED)
    cached, plain = (generate(lm, PROMPT, max_new_tokens=20, cache=cache).token_ids for cache in (True, False))
    yield compare("20 greedy tokens with and without cache: ids", unequal(cached, plain), 0)


def speed(model: str, device: str) -> Iterator[str]:
    """One line for each kind of weights and number of tokens: median times and peak memory."""
    yield say("\n| weights | tokens | forward ms | trace ms | decode ms a token | peak MB |")
    yield say("|---|---|---|---|---|---|")
    for dtype in ("float32", "auto") if device == "cuda" else ("float32",):
        lm = load_model(model, device=device, dtype=dtype)
        text = lm.encode(PROMPT)
        for n_tokens in LENGTHS[device]:
            ids = (text * (n_tokens // len(text) + 1))[:n_tokens]
            reset_peak(lm.device)
            row = f"| {str(lm.model.dtype)[6:]} | {n_tokens} | {times(lm, ids)}"
            yield say(f"{row} | {peak_bytes(lm.device) / 1e6:,.0f} |")


def times(lm: LoadedModel, ids: list[int]) -> str:
    """Cells with the milliseconds of a forward pass, of a trace, and of a decode step with a KV cache."""
    inputs = torch.tensor([ids], device=lm.device)
    with torch.no_grad():
        forward = median_ms(lm, lambda: lm.model(input_ids=inputs, use_cache=False))
    steps = generate(lm, ids, max_new_tokens=17, seed=0).step_s
    decode = f"{statistics.median(steps) * 1e3:.1f}" if steps else "–"
    traced = f"{median_ms(lm, lambda: trace(lm, ids)):.1f}" if len(ids) <= LONGEST_TRACE else "–"
    return f"{forward:.1f} | {traced} | {decode}"


def median_ms(lm: LoadedModel, run: Callable) -> float:
    """Median of 3 to 20 runs, as many as the budget allows, after a warm-up; synchronized."""
    run()
    taken = []
    while len(taken) < 3 or (sum(taken) < BUDGET_S and len(taken) < 20):
        start = now(lm.device)
        run()
        taken.append(now(lm.device) - start)
    return statistics.median(taken) * 1e3


def unequal(some: list[int], others: list[int]) -> int:
    return sum(a != b for a, b in zip(some, others, strict=True))


def differ(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return (ours.cpu() - theirs.cpu()).abs().max().item()


def compare(what: str, difference: float, allowed: float) -> str:
    """A table row with its verdict."""
    verdict = "fine" if difference <= allowed else DIFFERENT  # also where the difference is not a number
    return say(f"| {what} | {difference:.1g} | {allowed:.1g} | {verdict} |")


def say(line: str) -> str:
    """Print at once: the check takes minutes."""
    print(line, flush=True)
    return line


def write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = f"The table cannot be written to {path} ({error.strerror}): give another --out."
        raise ReaderError(reason) from error
    print(f"\nWritten to {path}.")
