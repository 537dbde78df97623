"""One layer's causal attention, forward: the whole matrix, tiles in torch and in Triton, and torch's own kernels.

    python benchmarks/attention.py --device cuda --out attention.md

Every round asks every way once, and measures the machine's matrix products and memory once, so that a busy moment
hits all alike; a ratio is the median of the rounds' own ratios. Exit status 1 where a way differs from float64.
"""

import argparse
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from helpers.bench import DIFFERENT, compare, differ, say, write
from helpers.errors import ReaderError
from helpers.flash import attend_tiled, spread, tiles
from helpers.flash_counts import naive_traffic, tiled_traffic
from helpers.memory import available_bytes
from helpers.peak import peak_of
from helpers.timing import now

try:
    from helpers import flash_triton
except ReaderError as error:  # no Triton for this system
    print(error)
    flash_triton = None

LENGTHS = {"cpu": (128, 256, 512, 1024, 2048, 4096), "cuda": (512, 1024, 4096, 16384)}
LONGEST_INTERPRETED, LONGEST_IN_TORCH_ON_CUDA = 128, 4096
ALLOWED = {torch.float32: 1e-5, torch.float16: 5e-3}  # float16: a whole matrix of scores is rounded to 11 bits
SDPA = {f"SDPA {name.partition('_')[0].lower()}": getattr(SDPBackend, name) for name in (
    "FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH")}  # fmt: skip
COLUMNS = "length | way | ms | SDPA's ms / ms | peak MB | MB moved, counted | GB/s | GFLOP/s | of the roofline | note"


class Shape(NamedTuple):
    n_heads: int
    n_kv_heads: int
    d_head: int
    dtype: torch.dtype


def shapes(device):
    """SmolLM2's attention; on a GPU also in its fast type, and two shapes that fill it."""
    yield Shape(9, 3, 64, torch.float32)
    if device == "cuda":
        yield from (Shape(*sizes, torch.float16) for sizes in ((9, 3, 64), (16, 16, 64), (16, 16, 128)))


def inputs(shape, n, device):
    generator = torch.Generator().manual_seed(n)
    heads = (shape.n_heads, shape.n_kv_heads, shape.n_kv_heads)
    return [torch.randn(n, h, shape.d_head, generator=generator).to(device, shape.dtype) for h in heads]


def naive(q, k, v):
    """Scores, softmax, mix, each over the whole matrix."""
    scores = torch.einsum("ihd,jhd->hij", q, spread(k, q.shape[1])) * q.shape[-1] ** -0.5
    future = torch.ones(len(q), len(k), dtype=torch.bool, device=q.device).triu(1)
    pattern = scores.masked_fill_(future, -torch.inf).softmax(dim=-1)
    return torch.einsum("hij,jhd->ihd", pattern, spread(v, q.shape[1]))


def sdpa(backend, q, k, v):
    """torch's own, by one of its kernels; RuntimeError where that kernel does not take these inputs."""
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    with sdpa_kernel(backend):
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])
    return mixed[0].transpose(0, 1)


WAYS = {name: partial(sdpa, backend) for name, backend in SDPA.items()}
if flash_triton:
    WAYS["tiles in Triton"] = flash_triton.attend_triton
WAYS |= {"tiles in torch": lambda *qkv: attend_tiled(*qkv)[0], "naive": naive}


def equality(shape, device):
    """{way: function} of those that take these inputs, and a table of their differences from float64."""
    q, k, v = inputs(shape, 100, device)
    exact, here = naive(*(x.cpu().double() for x in (q, k, v))), {}
    lines = [say("| 100 tokens | largest difference from float64 | allowed | |\n|---|---|---|---|")]
    for way, run in WAYS.items():
        try:
            mixed = run(q, k, v)
        except RuntimeError:
            if way not in SDPA:
                raise
            lines.append(say(f"| {way} | not on this device for these inputs | | |"))
            continue
        here[way] = run
        lines.append(compare(way, differ(mixed, exact), ALLOWED[shape.dtype]))
    return here, lines


def left_out(way, shape, n, device):
    """Why a way is not measured at this length, or ""."""
    needed, free = 3 * shape.n_heads * n * n * shape.dtype.itemsize, available_bytes(torch.device(device))
    if way in ("naive", "SDPA math") and needed > 0.8 * free:
        return f"left out: {needed / 1e9:.0f} GB needed, {free / 1e9:.0f} GB free"
    if way == "tiles in Triton" and flash_triton.INTERPRETED and n > LONGEST_INTERPRETED:
        return "left out: no GPU, and the interpreter takes minutes"
    if way == "tiles in torch" and device == "cuda" and n > LONGEST_IN_TORCH_ON_CUDA:
        return "left out: every tile is a dozen launches"
    return ""


def seconds(run, device, repeats=1):
    """Seconds of one run, of `repeats` in a row; on a CPU the process's own, in which other programs have no part."""
    clock = time.process_time if device == "cpu" else partial(now, device)
    start = clock()
    for _ in range(repeats):
        run()
    return (clock() - start) / repeats


def limits(shape, device):
    """What the machine reaches at this moment: operations a second in a matrix product, bytes a second read."""
    n = 8192 if device == "cuda" else 1024
    matrix, numbers = torch.ones(n, n, device=device, dtype=shape.dtype), torch.ones(100_000_000, device=device)
    product = min(seconds(lambda: matrix @ matrix, device) for _ in range(3))
    return 2 * n**3 / product, numbers.nbytes / min(seconds(numbers.sum, device) for _ in range(3))


def counted(way, shape, n, device):
    """Bytes that a way moves, by helpers.flash_counts; None for kernels whose tiles are not known here."""
    sizes = (shape.n_heads, shape.n_kv_heads, shape.d_head, shape.dtype.itemsize)
    if way == "naive":
        return naive_traffic(n, n, *sizes).total
    if way == "tiles in torch":
        return tiled_traffic(list(tiles(n, n)), *sizes, shared=True).total
    if way == "tiles in Triton":  # a block's rows are those of all heads that share keys
        group, tile = shape.n_heads // shape.n_kv_heads, flash_triton.INTERPRETER
        if device == "cuda":
            tile = flash_triton.tiling(shape.d_head, shape.dtype, n * group, torch.cuda.get_device_capability())
        return tiled_traffic(list(tiles(n, n, tile.block_q // group, tile.block_k)), *sizes, shared=True).total
    return None


def measure(ways, shape, n, device, n_rounds):
    """{way: seconds of each round}, and the limits of each round."""
    qkv = inputs(shape, n, device)
    runs = {way: partial(run, *qkv) for way, run in ways.items()}
    repeats = {}
    for way, run in runs.items():
        run()  # the first one compiles, or fills the caches
        repeats[way] = max(1, int(0.01 / seconds(run, device)))
    found, bounds = {way: [] for way in ways}, []
    for _ in range(n_rounds):
        bounds.append(limits(shape, device))
        for way, run in runs.items():
            found[way].append(seconds(run, device, repeats[way]))
    return found, bounds, {way: peak_of(run, device) for way, run in runs.items()}


def rows(ways, shape, n, device, n_rounds):
    """Table rows of one length."""
    reasons = {way: left_out(way, shape, n, device) for way in ways}
    chosen = {way: run for way, run in ways.items() if not reasons[way]}
    found, bounds, peaks = measure(chosen, shape, n, device, n_rounds)
    base = next(times for way, times in found.items() if way in SDPA)
    for way in ways:
        if reasons[way]:
            yield say(f"| {n} | {way} | {'– | ' * 7}{reasons[way]} |")
            continue
        median, moved = statistics.median(found[way]), counted(way, shape, n, device)
        ratio = statistics.median(theirs / ours for theirs, ours in zip(base, found[way], strict=True))
        traffic = f"{moved / 1e6:,.1f} | {moved / median / 1e9:,.2f}" if moved else "– | –"
        interpreted = way == "tiles in Triton" and flash_triton.INTERPRETED
        note = "interpreter: for correctness, its time says nothing" if interpreted else ""
        rates = f"{traffic} | {work(shape, n) / median / 1e9:,.1f} | {roofline(found[way], bounds, shape, n):.1%}"
        yield say(f"| {n} | {way} | {median * 1e3:,.3f} | {ratio:.2f} | {peaks[way] / 1e6:,.1f} | {rates} | {note} |")


def work(shape, n):
    """Operations of the two products; a row sees itself and those before, and only these pairs count."""
    return 4 * shape.d_head * shape.n_heads * n * (n + 1) / 2


def roofline(times, bounds, shape, n):
    """Share of what a machine at its measured limits would reach that reads q, k and v once and writes once."""
    least = 2 * n * (shape.n_heads + shape.n_kv_heads) * shape.d_head * shape.dtype.itemsize
    reach = (max(work(shape, n) / product, least / memory) for product, memory in bounds)
    return statistics.median(bound / taken for bound, taken in zip(reach, times, strict=True))


READ = """\
Above 1 in the column of ratios: faster than the first SDPA way of the table. On a CPU one thread works, and the times
are the processor's own. Peak: the tensors made, the result among them; on a CPU without what torch's own kernels hold
within themselves. Bytes are counted by helpers/flash_counts.py as if no cache caught any, so GB/s may pass the memory's
own; only pairs that the mask lets through count as operations.
"""


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=tuple(LENGTHS), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--lengths", type=int, nargs="+")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)  # the processor's seconds of several threads would add up
    lines = [say(READ)]
    for shape in shapes(asked.device):
        lines.append(say(title(shape, asked)))
        ways, verdicts = equality(shape, asked.device)
        lines += [*verdicts, say(f"\n| {COLUMNS} |\n|{'---|' * 10}")]
        for n in asked.lengths or LENGTHS[asked.device]:
            lines += rows(ways, shape, n, asked.device, asked.rounds)
    if asked.out:
        write(asked.out, "\n".join(lines) + "\n")
    return int(any(line.endswith(f"{DIFFERENT} |") for line in lines))


def title(shape, asked):
    """What is measured, and what the machine reaches."""
    kind = f"{shape.n_heads} heads over {shape.n_kv_heads}, d_head {shape.d_head}, {str(shape.dtype)[6:]}"
    product, memory = limits(shape, asked.device)
    reach = f"matrix products reach {product / 1e9:,.0f} GFLOP/s, memory {memory / 1e9:,.0f} GB/s"
    return f"\n**{kind}**, on {asked.device}, {asked.rounds} rounds; {reach}.\n"


if __name__ == "__main__":
    sys.exit(main())
