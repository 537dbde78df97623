"""The tiles of `helpers.flash` as one GPU kernel, in Triton: scores never leave the chip (forward pass only).

FlashAttention-2 (Dao, 2023, arXiv:2307.08691). Where there is no CUDA device the same kernel runs in Triton's
interpreter: numpy, one tile after the other, right but slow. The keys are not split (FlashDecoding): one query over a
long cache keeps only as many of the GPU's processors busy as there are KV heads.
"""

import math
import os
from typing import NamedTuple

import torch
from torch import Tensor

from helpers.errors import ReaderError

if not torch.cuda.is_available():
    # Triton reads this when a kernel is decorated, and for its own functions when it is first imported. A "0" set
    # outside stays: it compiles the kernel for a GPU that is not here.
    os.environ.setdefault("TRITON_INTERPRET", "1")

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise ReaderError(
        'This needs Triton, which exists for Linux: run `python -m pip install "token-journey[gpu]"` there; '
        "elsewhere helpers.flash.attend_tiled works on the same tiles."
    ) from error

# Decorated again, here: transformers may have imported Triton, and Triton decorated its own, before the line above.
_max, _sum = triton.jit(tl.max.fn), triton.jit(tl.sum.fn)


@triton.jit
def _load(places, row, number, n_rows, D_HEAD: tl.constexpr, RAGGED: tl.constexpr):
    """A tile of numbers, (rows, D_PADDED); 0 past the last row or number, tested only where there may be such."""
    if number.shape[0] > D_HEAD:
        return tl.load(places, (row[:, None] < n_rows) & (number[None, :] < D_HEAD), 0.0)
    if RAGGED:
        return tl.load(places, row[:, None] < n_rows, 0.0)
    return tl.load(places)


@triton.jit
def _add_tiles(
    state, queries, position, start, stop, k, v, n_k, scale, k_token, k_number, v_token, v_number,
    D_HEAD: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr, MASKED: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The running state of a block of rows after the tiles of the keys `start` to `stop`; see helpers.flash.add_tile.

    Its maximum is counted in powers of 2, as `scale` includes log2(e): a GPU computes exp through exp2 anyhow.
    """
    maximum, total, mixed = state
    near, number = tl.arange(0, BLOCK_K), tl.arange(0, queries.shape[1])
    for first in range(start, stop, BLOCK_K):
        far, left = tl.cast(first, tl.int64), n_k - first  # 64 bits: times a stride it may pass 2**31
        places = k + far * k_token + near[:, None] * k_token + number[None, :] * k_number
        keys = _load(places, near, number, left, D_HEAD, MASKED)
        scores = tl.dot(queries, keys.T, input_precision="ieee")  # else float32 is cut to TF32's 10 bits
        if MASKED:
            column = first + near[None, :]
            seen = column < n_k
            if CAUSAL:
                seen = seen & (column <= position[:, None])
            if WINDOW is not None:
                seen = seen & (column > position[:, None] - WINDOW)
            scores = tl.where(seen, scores, -float("inf"))
        higher = tl.maximum(maximum, _max(scores, 1) * scale)
        base = higher
        if MASKED:  # a row that has seen nothing yet: -inf - -inf is no number
            base = tl.where(higher == -float("inf"), 0.0, higher)
        shares = tl.exp2(scores * scale - base[:, None])  # a multiply-add, then the exp2
        shrink = tl.exp2(maximum - base)
        places = v + far * v_token + near[:, None] * v_token + number[None, :] * v_number
        values = _load(places, near, number, left, D_HEAD, MASKED)
        total = total * shrink + _sum(shares, 1)
        mixed = tl.dot(shares.to(values.dtype), values, mixed * shrink[:, None], input_precision="ieee")
        maximum = higher
    return maximum, total, mixed


@triton.jit(do_not_specialize=["n_q", "n_k"])  # else a growing cache would compile it again and again
def _attend(
    q, k, v, mixed, n_q, n_k, scale,
    q_token, q_head, q_number, k_token, k_head, k_number, v_token, v_head, v_number, m_token, m_head, m_number,
    GROUP: tl.constexpr, D_HEAD: tl.constexpr, D_PADDED: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """One block of rows of one KV head. A row is a query of one head: row i * GROUP + g is query i of the g-th head.

    So the heads that share keys share each loaded tile, and even a single query fills GROUP rows.
    """
    block = tl.num_programs(0) - 1 - tl.program_id(0)  # the last rows see most: they start first
    kv_head = tl.cast(tl.program_id(1), tl.int64)
    row = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    oldest = block * BLOCK_Q // GROUP
    newest = tl.minimum((block * BLOCK_Q + BLOCK_Q - 1) // GROUP, n_q - 1)
    near, head, number, left = row // GROUP - oldest, row % GROUP, tl.arange(0, D_PADDED), n_q - oldest
    q += tl.cast(oldest, tl.int64) * q_token + kv_head * GROUP * q_head
    places = q + near[:, None] * q_token + head[:, None] * q_head + number[None, :] * q_number
    queries = _load(places, near, number, left, D_HEAD, True)
    k += kv_head * k_head
    v += kv_head * v_head

    # Tiles from `start` to `whole` and from `masked` to `stop` are cut by the mask; those between are not, and need
    # no test; those outside are never touched. All but `stop` are multiples of BLOCK_K.
    offset = n_k - n_q  # the queries are the last positions
    start, whole, masked, stop = 0, 0, n_k // BLOCK_K * BLOCK_K, n_k
    if CAUSAL:
        stop = tl.maximum(newest + offset + 1, 0)
        masked = tl.maximum(oldest + offset + 1, 0) // BLOCK_K * BLOCK_K
    if WINDOW is not None:
        start = tl.maximum(oldest + offset - WINDOW + 1, 0) // BLOCK_K * BLOCK_K
        whole = tl.maximum(newest + offset - WINDOW + BLOCK_K, 0) // BLOCK_K * BLOCK_K
        masked = tl.maximum(whole, masked)
    position = row // GROUP + offset
    state = (
        tl.full([BLOCK_Q], -float("inf"), tl.float32), tl.full([BLOCK_Q], 0.0, tl.float32),
        tl.full([BLOCK_Q, D_PADDED], 0.0, tl.float32),
    )  # fmt: skip
    for cut in tl.static_range(3):
        bounds = (start, whole, masked, stop)
        if cut != 0 or WINDOW is not None:
            state = _add_tiles(
                state, queries, position, bounds[cut], tl.minimum(bounds[cut + 1], stop), k, v, n_k, scale,
                k_token, k_number, v_token, v_number, D_HEAD, CAUSAL, WINDOW, cut != 1, BLOCK_K,
            )  # fmt: skip
    _, total, summed = state
    summed *= (1.0 / tl.where(total > 0, total, 1.0))[:, None]  # a row that sees nothing gives 0
    mixed += tl.cast(oldest, tl.int64) * m_token + kv_head * GROUP * m_head
    places = mixed + near[:, None] * m_token + head[:, None] * m_head + number[None, :] * m_number
    tl.store(places, summed.to(mixed.dtype.element_ty), (near[:, None] < left) & (number[None, :] < D_HEAD))


INTERPRETED = not isinstance(_attend, triton.JITFunction)


class Tiling(NamedTuple):
    """Rows and keys of a tile; groups of 32 threads that work on it; tiles of keys on their way from memory at once."""

    block_q: int
    block_k: int
    warps: int
    stages: int


# By the numbers of a head, padded: tiles that leave the sums in registers, and some room beside them. On tensor cores
# (float16 and bfloat16, compute capability 8 and up) and without.
FAST = {64: Tiling(128, 64, 4, 3), 128: Tiling(128, 64, 8, 3), 256: Tiling(64, 32, 4, 2)}
PLAIN = {64: Tiling(64, 32, 8, 2), 128: Tiling(32, 32, 8, 2), 256: Tiling(16, 32, 4, 2)}
SMALLEST = Tiling(16, 16, 4, 2)  # tl.dot takes no side below 16
INTERPRETER = Tiling(64, 64, 1, 1)


def tiling(d_padded: int, dtype: torch.dtype, n_rows: int, capability: tuple[int, int]) -> Tiling:
    """The tile for this many numbers of a head and rows, on a GPU of this compute capability."""
    tensor_cores = dtype != torch.float32 and capability >= (8, 0)
    found = (FAST if tensor_cores else PLAIN).get(max(d_padded, 64), SMALLEST)
    return found._replace(block_q=min(found.block_q, max(16, triton.next_power_of_2(n_rows))))


def attend_triton(q: Tensor, k: Tensor, v: Tensor, causal: bool = True, window: int | None = None) -> Tensor:
    """Mixed values (n_q, n_heads, d_head), as `attend_tiled` gives them; k and v are (n_k, n_kv_heads, d_head).

    float32, float16 or bfloat16, sums in float32; any strides. The queries are the last positions; `window`: a row
    sees the last `window` keys up to itself; a row that sees nothing gets 0. ReaderError: what it cannot take.
    """
    if problem := _problem(q, k, v, window):
        raise ReaderError(problem)
    (n_q, n_heads, d_head), (n_k, n_kv_heads, _) = q.shape, k.shape
    group, d_padded, mixed = n_heads // n_kv_heads, max(16, triton.next_power_of_2(d_head)), torch.empty_like(q)
    tile = INTERPRETER
    if q.is_cuda:
        tile = tiling(d_padded, q.dtype, n_q * group, torch.cuda.get_device_capability(q.device))
    with torch.cuda.device_of(q):  # Triton launches on the current device
        _attend[triton.cdiv(n_q * group, tile.block_q), n_kv_heads](
            q, k, v, mixed, n_q, n_k, d_head**-0.5 * math.log2(math.e),
            *q.stride(), *k.stride(), *v.stride(), *mixed.stride(),
            group, d_head, d_padded, causal, window, tile.block_q, tile.block_k,
            num_warps=tile.warps, num_stages=tile.stages,
        )  # fmt: skip
    return mixed


def _problem(q: Tensor, k: Tensor, v: Tensor, window: int | None) -> str | None:
    """What the kernel cannot take, why and what to do; None where all is fine."""
    if k.shape != v.shape or q.shape[2] != k.shape[2] or q.shape[1] % k.shape[1]:
        shapes = ", ".join(str(tuple(x.shape)) for x in (q, k, v))
        return f"q, k and v must share d_head, and each KV head serve as many heads as the others; these are {shapes}."
    if not q.dtype == k.dtype == v.dtype or q.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        types = ", ".join(str(x.dtype) for x in (q, k, v))
        return f"The kernel takes float32, float16 or bfloat16, the same for q, k and v; these are {types}."
    if window is not None and window < 1:
        return f"A window holds at least 1 token; this one is {window}."
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        return "The kernel has no way back for gradients: wrap it in torch.no_grad(), or use helpers.flash_backward."
    if not (INTERPRETED or q.is_cuda) or not q.device == k.device == v.device:
        return (
            f"The kernel was compiled for the GPU, but q, k and v are on {q.device}, {k.device}, {v.device}: "
            "move them there with .to('cuda'), or use helpers.flash.attend_tiled."
        )
    if INTERPRETED and q.dtype == torch.bfloat16:
        return "Triton's interpreter multiplies bfloat16 wrongly: without a GPU give it float32, q.float() and so on."
    return None
