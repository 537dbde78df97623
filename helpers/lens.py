"""The logit lens: what every depth of the model would say next, had it to stop there.

nostalgebraist, "interpreting GPT: the logit lens" (2020). The page derives it; the explorer needs it for every cell.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from helpers.weights import final_norm, sizes


@dataclass(frozen=True)
class Reading:
    """For every depth (0: the embeddings) and every position asked for.

    ids, probs (1 + n_layers, n_positions, k): the likeliest tokens, likeliest first; bits: the entropy;
    answers (n_positions,): the token the whole model finds likeliest there; its probability and its rank
    (1: likeliest) at each depth are answer_probs and ranks (1 + n_layers, n_positions).
    """

    ids: Tensor
    probs: Tensor
    bits: Tensor
    answers: Tensor
    answer_probs: Tensor
    ranks: Tensor


def read_depths(lm, seen: Mapping[str, Tensor], positions: list[int], k: int = 10) -> Reading:
    """Final norm, vocabulary table and softmax on the stream at every depth, on the CPU, one depth at a time.

    All depths at once would take (1 + n_layers) · n_positions · n_vocab numbers.
    """
    n_layers, norm, table = sizes(lm).n_layers, final_norm(lm), lm.model.get_output_embeddings().weight
    answers = seen["logits"][positions].argmax(dim=-1)
    rows = []
    for key in ["embed", *(f"block{i}" for i in range(n_layers))]:
        log_probs = (norm(seen[key][positions]) @ table.T).float().log_softmax(dim=-1)
        rows.append(_row(log_probs, answers, min(k, log_probs.shape[-1])))
    ids, probs, bits, answer_probs, ranks = (torch.stack(parts).cpu() for parts in zip(*rows, strict=True))
    return Reading(ids, probs, bits, answers.cpu(), answer_probs, ranks)


def _row(log_probs: Tensor, answers: Tensor, k: int) -> tuple[Tensor, ...]:
    top, answer = log_probs.topk(k), log_probs.gather(1, answers[:, None])
    bits = torch.special.entr(log_probs.exp()).sum(dim=-1) / torch.tensor(2.0).log()
    ranks = (log_probs > answer).sum(dim=-1) + 1
    return top.indices, top.values.exp(), bits, answer[:, 0].exp(), ranks
