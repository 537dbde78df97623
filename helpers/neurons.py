"""What single features of the FFNs write into the stream, and towards which tokens.

A feature j of a block writes `act[j] * w_down[:, j]`. Notebook 04 derives each step; the explorer needs all blocks.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from helpers.errors import ReaderError
from helpers.weights import block_weights, final_norm, sizes

ORDERS = ("push", "strength")
N_TOKENS = 8  # named on each side of a feature
ROWS_AT_ONCE = 4096  # of the vocabulary: bounds the memory of a product with all of it


@dataclass(frozen=True)
class Strongest:
    """The strongest features of every block and position, U different ones in all.

    layer, neuron (U,); norm (U,): length of the column; act (U, n): at each position;
    to_answer (U, n): what activation 1 adds there to the logit of that position's prediction, above the average token;
    up, down (U, 8): token ids nearest to the column's direction, and to the opposite one;
    slots (2, n_layers, n, k): which of the U, strongest first, by |push| and by strength; totals (n_layers, n): the
    whole FFN's push.
    """

    layer: Tensor
    neuron: Tensor
    norm: Tensor
    act: Tensor
    to_answer: Tensor
    up: Tensor
    down: Tensor
    slots: Tensor
    totals: Tensor


def answer_directions(lm, seen, positions) -> Tensor:
    """(n, d_model): its product with a part of the stream is that part's share of logit - mean logit.

    The logit meant is that of the token predicted at each position; the final norm's scale is part of it.
    """
    norm, table = final_norm(lm), lm.model.get_output_embeddings().weight
    last = seen[f"block{sizes(lm).n_layers - 1}"][positions]
    last = last - last.mean(dim=-1, keepdim=True) if norm.subtracts_mean else last
    scale = (last.pow(2).mean(dim=-1, keepdim=True) + norm.eps).sqrt()
    answers = seen["logits"][positions].argmax(dim=-1)
    towards = (table[answers] - table.mean(dim=0)) * norm.weight / scale
    return towards - towards.mean(dim=-1, keepdim=True) if norm.subtracts_mean else towards


def strongest(lm, seen, positions: list[int], k: int) -> Strongest:
    """The k strongest features of each block at each position; ReaderError where experts take the FFN's place."""
    if not hasattr(block_weights(lm, 0), "w_down"):
        raise ReaderError("The neuron explorer shows models with one FFN a block; this one has experts.")
    towards = answer_directions(lm, seen, positions)
    blocks = [_Block(block_weights(lm, i).w_down, seen[f"block{i}.act"][positions], towards) for i in _layers(lm)]
    found = torch.stack([torch.stack([block.largest(order, k) for block in blocks]) for order in ORDERS])
    width = blocks[0].act.shape[1]
    flat = found + width * torch.arange(len(blocks), device=found.device)[:, None, None]
    used, slots = flat.unique(return_inverse=True)
    layer, neuron = used // width, used % width
    columns = torch.cat([block.w_down[:, neuron[layer == i]].T for i, block in enumerate(blocks)])
    up, down = nearest_tokens(lm, columns)
    kept = [(block.act.T[neuron[layer == i]], block.to_answer.T[neuron[layer == i]]) for i, block in enumerate(blocks)]
    act, to_answer = (torch.cat(parts) for parts in zip(*kept, strict=True))
    totals = torch.stack([(block.act * block.to_answer).sum(dim=-1) for block in blocks])
    return Strongest(layer, neuron, columns.norm(dim=-1), act, to_answer, up, down, slots, totals)


def nearest_tokens(lm, directions: Tensor, k: int = N_TOKENS) -> tuple[Tensor, Tensor]:
    """(ids whose logit a direction (m, d_model) raises most for their length, ids that it lowers most), each (m, k).

    Compared is the cosine with each token's row after the final norm's weight, the mean row subtracted: softmax
    cannot tell a push on all tokens from none, and the longest rows would head every list.
    """
    table, weight = lm.model.get_output_embeddings().weight, final_norm(lm).weight
    middle, kept = table.mean(dim=0), {True: [], False: []}
    room = directions.new_empty(len(directions) * ROWS_AT_ONCE)  # used again and again: new blocks would pile up
    for start in range(0, len(table), ROWS_AT_ONCE):
        rows = torch.nn.functional.normalize((table[start : start + ROWS_AT_ONCE] - middle) * weight, dim=-1)
        scores = torch.mm(directions, rows.T, out=room[: len(directions) * len(rows)].view(len(directions), -1))
        for largest, found in kept.items():
            best = scores.topk(min(k, len(rows)), dim=-1, largest=largest)
            found.append((best.values, best.indices + start))
    return tuple(_best(found, min(k, len(table)), largest) for largest, found in kept.items())


class _Block:
    """One block's features at the chosen positions: act and to_answer (n, d_mlp)."""

    def __init__(self, w_down: Tensor, act: Tensor, towards: Tensor):
        self.w_down, self.act, self.to_answer = w_down, act, towards @ w_down

    def largest(self, order: str, k: int) -> Tensor:
        factor = self.to_answer if order == "push" else self.w_down.norm(dim=0)
        return (self.act * factor).abs().topk(k, dim=-1).indices


def _best(found: list[tuple[Tensor, Tensor]], k: int, largest: bool) -> Tensor:
    values, ids = (torch.cat(parts, dim=-1) for parts in zip(*found, strict=True))
    return ids.gather(1, values.topk(k, dim=-1, largest=largest).indices)


def _layers(lm) -> range:
    return range(sizes(lm).n_layers)
