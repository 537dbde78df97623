"""Right answers of the embedding exercises, and the slips readers make, each with the hint that helps."""

from functools import partial

import torch
from torch import Tensor


def nearest(table: Tensor, i: int, k: int, length=True, own=False, largest=True, far=False) -> Tensor:
    """Ids of the k rows nearest to row i by cosine, nearest first; the keywords plant a slip."""
    unit = table / table.norm(dim=-1, keepdim=True) if length else table
    fits = -(table - table[i]).norm(dim=-1) if far else unit @ unit[i]
    if not own:
        fits[i] = -torch.inf if largest else torch.inf
    return fits.topk(k, largest=largest).indices


def over_columns(table: Tensor, i: int, k: int) -> Tensor:
    return nearest(table / table.norm(dim=0), i, k, length=False)


def turn(x: Tensor, positions: Tensor, theta: float, sign=1, half=False, both=2, place=None, flat=False) -> Tensor:
    """Pairs (2 i, 2 i + 1) turned by position * theta ** (-2 i / d_head); the keywords plant a slip."""
    d_head = x.shape[-1]
    pair = torch.arange(d_head // 2, device=x.device)
    frequency = torch.full_like(pair, 1.0, dtype=x.dtype) if flat else theta ** (-both * pair / d_head)
    at = positions if place is None else place(positions)
    angle = sign * (at[:, None] * frequency)[:, None]  # (n_tokens, 1, d_head / 2)
    a, b = x.chunk(2, dim=-1) if half else (x[..., 0::2], x[..., 1::2])
    a, b = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
    return torch.cat((a, b), dim=-1) if half else torch.stack((a, b), dim=-1).flatten(-2)


def laid_apart(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    right = turn(x, positions, theta)
    return torch.cat((right[..., 0::2], right[..., 1::2]), dim=-1)


def overwritten(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    """In place: the second number of a pair is made from the first one as it has become."""
    pair = torch.arange(x.shape[-1] // 2, device=x.device)
    angle = (positions[:, None] * theta ** (-2 * pair / x.shape[-1]))[:, None]
    b = x[..., 1::2]
    a = x[..., 0::2] * angle.cos() - b * angle.sin()
    return torch.stack((a, a * angle.sin() + b * angle.cos()), dim=-1).flatten(-2)


def sinusoidal(n_tokens: int, d_model: int) -> Tensor:
    """The position vectors of Vaswani et al. (2017), (n_tokens, d_model)."""
    pair = torch.arange(d_model // 2)
    angle = torch.arange(n_tokens)[:, None] / 10_000 ** (2 * pair / d_model)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)


def moved(vectors: Tensor, k: int, sign=1, both=2, flat=False) -> Tensor:
    """Sinusoidal vectors as they are k positions later; the keywords plant a slip."""
    d_model = vectors.shape[-1]
    pair = torch.arange(d_model // 2, device=vectors.device)
    frequency = torch.ones(len(pair), device=vectors.device) if flat else 10_000.0 ** (-both * pair / d_model)
    angle = sign * k * frequency
    sin, cos = vectors[:, 0::2], vectors[:, 1::2]
    later = sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()
    return torch.stack(later, dim=-1).flatten(1)


def exchanged(vectors: Tensor, k: int) -> Tensor:
    right = moved(vectors, k)
    return torch.stack((right[:, 1::2], right[:, 0::2]), dim=-1).flatten(1)


def next_rows(vectors: Tensor, k: int) -> Tensor:
    return vectors.roll(-k, dims=0)


def halves(vectors: Tensor, k: int) -> Tensor:
    sin, cos = vectors.chunk(2, dim=-1)
    mixed = moved(torch.stack((sin, cos), dim=-1).flatten(1), k)
    return torch.cat((mixed[:, 0::2], mixed[:, 1::2]), dim=-1)


def alibi(n_heads: int, n_tokens: int, first=1, sign=-1, reach=8, both_ways=False, fill=-torch.inf) -> Tensor:
    """-slope * distance for earlier tokens, -inf for later ones; the keywords plant a slip."""
    slopes = 2.0 ** (-reach / n_heads * torch.arange(first, first + n_heads))
    distance = torch.arange(n_tokens)[:, None] - torch.arange(n_tokens)
    bias = sign * slopes[:, None, None] * (distance.abs() if both_ways else distance)
    future = torch.ones(n_tokens, n_tokens, dtype=torch.bool).triu(1)
    return bias if fill is None else bias.masked_fill(future, fill)


near_slip, turn_slip, moved_slip, alibi_slip = (partial(partial, f) for f in (nearest, turn, moved, alibi))

TWIN = "two rows with one direction: leave row i out by its number, not by its place in the order"

NEAREST_MISTAKES = [
    ("the nearest row is row i itself: leave it out, then take k.", near_slip(own=True)),
    (
        "these are the largest dot products, in which long vectors win: divide every row by its length first.",
        near_slip(length=False),
    ),
    (
        "the nearest is row i itself, and long vectors win: leave i out, divide every row by its length.",
        near_slip(length=False, own=True),
    ),
    ("these are the rows farthest away: the cosine of near ones is large.", near_slip(largest=False)),
    (
        "these are nearest by distance; the cosine asks for the direction only: divide every row by its length.",
        near_slip(far=True),
    ),
    (
        "these are cosines: the numbers of the rows were asked for, as topk(k).indices has them.",
        lambda table, i, k: torch.nn.functional.cosine_similarity(table[nearest(table, i, k)], table[i], dim=-1),
    ),
    ("you divided the columns by their lengths: each row has one length, norm(dim=-1).", over_columns),
]

TURN_MISTAKES = [
    ("you turn the wrong way: the first number becomes a cos - b sin, the second a sin + b cos.", turn_slip(sign=-1)),
    (
        "you paired number i with i + d_head / 2, as the model does; this exercise pairs neighbours, 2 i with 2 i + 1.",
        turn_slip(half=True),
    ),
    ("the numbers are right, but all first ones come before all second ones: lay them side by side.", laid_apart),
    ("you count positions from 1: use the positions that are given.", turn_slip(place=lambda p: p + 1)),
    (
        "take the positions from the argument: they need not be 0, 1, 2, …",
        turn_slip(place=lambda p: torch.arange(len(p), device=p.device)),
    ),
    (
        "take the positions from the argument, and the first position of a text is 0, not 1.",
        turn_slip(place=lambda p: torch.arange(1, len(p) + 1, device=p.device)),
    ),
    (
        "you wrote over the first number of each pair before the second was made from it: keep both until then.",
        overwritten,
    ),
    ("every pair has a frequency of its own: theta to the power of -2 i / d_head.", turn_slip(flat=True)),
    ("the exponent is -2 i / d_head: the 2 is missing, or i counts numbers and not pairs.", turn_slip(both=1)),
    ("the exponent's sign is wrong: frequencies fall from 1 on.", turn_slip(both=-2)),
]

MOVED_MISTAKES = [
    (
        "you moved them back: either a sign is wrong, or sine and cosine are exchanged; the even places hold sines.",
        moved_slip(sign=-1),  # to exchange them in what comes in and in what goes out is the same
    ),
    ("sine and cosine are exchanged in what you return: sines go to the even places.", exchanged),
    ("the exponent is -2 i / d_model for pair i: the 2 is missing.", moved_slip(both=1)),
    ("every pair has a frequency of its own: 10,000 to the power of -2 i / d_model.", moved_slip(flat=True)),
    ("these are rows of the same table: positions past its end must work as well.", next_rows),
    ("sines and cosines alternate here; you took the first half for the sines.", halves),
]

ALIBI_MISTAKES = [
    (
        "later tokens must be -inf: below any other number there may be scores.",
        alibi_slip(fill=-1e9),
    ),
    (
        "later tokens must be -inf: below any other number there may be scores.",
        alibi_slip(fill=-1e4),
    ),
    ("that is the distance alone: each head multiplies it by a slope of its own.", alibi_slip(reach=0)),
    ("the slopes start at 2 to the power of -8 / n_heads: heads are counted from 1.", alibi_slip(first=0)),
    ("what is far must lose: subtract slope times distance.", alibi_slip(sign=1)),
    (
        "the slopes depend on the number of heads: 2 to the power of -8 h / n_heads for head h.",
        lambda n_heads, n_tokens: alibi(n_heads, n_tokens, reach=n_heads),
    ),
    ("later tokens must be -inf: as it stands, they get a bonus.", alibi_slip(fill=None)),
    ("later tokens must be -inf: as it stands, they can be seen.", alibi_slip(fill=None, both_ways=True)),
    ("later tokens must be -inf: with 0 they would be as near as the token itself.", alibi_slip(fill=0.0)),
]
