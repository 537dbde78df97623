"""What the checks of notebook 08 give a reader's functions: the model's own tensors, and others by the same rules."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from helpers.exercises.flash_answers import Part
from helpers.exercises.flash_block_answers import remember
from helpers.flash import spread

EXTREME = 800.0  # a score whose exp is infinite, in float64 too


def heads(seen: Mapping[str, Tensor], layer: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values as they enter attention, float32, one key and value for each head."""
    names = (("q_rot", "q"), ("k_rot", "k"), ("v",))
    q, k, v = (next(seen[f"block{layer}.{one}"] for one in some if f"block{layer}.{one}" in seen) for some in names)
    return q.float(), spread(k.float(), q.shape[1]), spread(v.float(), q.shape[1])


def cut_in_two(q: Tensor, k: Tensor, v: Tensor, first_row: int, cut: int) -> tuple[Part, Part]:
    """What the rows remember of the keys before and from `cut`, causal; all heads' rows one below the other."""
    column = torch.arange(len(k), device=q.device)
    later = column > first_row + torch.arange(len(q), device=q.device)[:, None]
    scores = torch.einsum("ihd,jhd->hij", q, k) / q.shape[-1] ** 0.5
    halves = (scores.masked_fill(later | hidden, -torch.inf) for hidden in (column >= cut, column < cut))
    each = ([remember(*head) for head in zip(half, v.transpose(0, 1), strict=True)] for half in halves)
    return tuple(tuple(map(torch.cat, zip(*heads, strict=True))) for heads in each)


def random_parts(
    like: Tensor, rows: int, n_a: int, n_b: int, d_head: int, level=0.0, top=None, hidden=None
) -> tuple[Part, Part]:
    """Two reproducible random parts of n_a and n_b keys, their scores near `level`.

    `top`: the maximum of all; `hidden` (rows, 2): where a part has seen nothing.
    """
    generator = torch.Generator().manual_seed(rows + d_head)
    parts = []
    for i, n_k in enumerate((n_a, n_b)):
        scores = level + 3.0 * torch.randn(rows, n_k, generator=generator)
        if top is not None:
            scores = torch.cat([scores.clamp(max=top), torch.full((rows, 1), top)], dim=1)
        if hidden is not None:
            scores[hidden[:, i]] = -torch.inf
        values = torch.randn(scores.shape[1], d_head, generator=generator)
        parts.append(tuple(tensor.to(like.device) for tensor in remember(scores, values)))
    return tuple(parts)


def random_block(like: Tensor, rows: int, n_k: int, d_head: int, first_row: int, block_k: int) -> tuple:
    generator = torch.Generator().manual_seed(rows + n_k)
    q, k, v = (1.5 * torch.randn(n, d_head, generator=generator).to(like.device) for n in (rows, n_k, n_k))
    return q, k, v, first_row, block_k


def far_block(like: Tensor, rows: Sequence[int], keys: Sequence[int], first_row: int) -> tuple:
    """A block whose scores are near EXTREME * rows[i] * keys[j], in tiles of 4 columns.

    They are whole quarters, so that no order of multiplying and adding rounds them.
    """
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randint(-2, 3, (len(levels), 16), generator=generator).float() for levels in (rows, keys))
    q[:, 0] = 80.0 * torch.tensor(rows)
    k[:, 0] = EXTREME / 20.0 * torch.tensor(keys)  # 16 numbers a head: the dot products are divided by 4
    v = torch.randn(len(keys), 16, generator=generator)
    return *(tensor.to(like.device) for tensor in (q, k, v)), first_row, 4
