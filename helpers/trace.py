"""One forward pass, every named tensor: `seen = trace(lm, "The capital of")`, `seen["block0.pattern"]`."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from textwrap import shorten

import torch
from torch import Tensor

from helpers.errors import ReaderError
from helpers.layouts import covered_modules, head_size, layout_of
from helpers.memory import available_bytes
from helpers.model import LoadedModel, prompt_ids
from helpers.recording import recording
from helpers.tokens import token_labels

__all__ = ["Trace", "covered_modules", "trace"]


class UnknownKey(ReaderError, KeyError):
    """A trace has no tensor of this name; a KeyError too, so that `in` and `get` work as for any mapping."""

    __str__ = ValueError.__str__  # KeyError would put the sentence in quotes


def _no_such_key(key, keys: list[str]) -> str:
    near = get_close_matches(str(key), keys, n=1, cutoff=0.0)[0]
    return f"This trace has no tensor {key!r}: did you mean {near!r}? list(seen) names all {len(keys)}."


class Trace(Mapping[str, Tensor]):
    """Every tensor of one forward pass, in data-flow order; no batch axis, on the model's device.

    token_ids: what went in; tokens: their labels; name: the model's; prompt: the text, None for ids.
    """

    def __init__(self, tensors: Mapping, token_ids: list, tokens: list, name: str, prompt=None):
        self.token_ids, self.tokens, self.name, self.prompt = token_ids, tokens, name, prompt
        self._tensors = tensors

    def __getitem__(self, key: str) -> Tensor:
        if not isinstance(key, str) or key not in self._tensors:
            raise UnknownKey(_no_such_key(key, list(self._tensors)))
        return self._tensors[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def caption(self, what: str, layer: int | None = None, head: int | None = None) -> str:
        """Where a figure's numbers come from: what they are, block and head, model, dtype, prompt."""
        place = [f"{kind} {i}" for kind, i in (("block", layer), ("head", head)) if i is not None]
        prompt = "" if self.prompt is None else f"prompt “{shorten(self.prompt, 60, placeholder=' …')}”"
        dtype = str(self["logits"].dtype).removeprefix("torch.")
        return ", ".join(filter(None, [what[:1].upper() + what[1:], *place, self.name, dtype, prompt])) + "."

    def __repr__(self) -> str:
        return f"Trace of {self.name}: {len(self.token_ids)} tokens, {len(self)} tensors"


def trace(lm: LoadedModel, prompt: str | Sequence[int]) -> Trace:
    """Run the model once on text or token ids, keep every tensor; row i of `logits` predicts token i + 1.

    | key | shape |
    |---|---|
    | embed | (n_tokens, d_model) |
    | block{i}.norm1 | (n_tokens, d_model) |
    | block{i}.q .k .v | (n_tokens, n_heads or n_kv_heads, d_head), before rotation |
    | block{i}.q_rot .k_rot | the same, as they enter the scores; absent in GPT-2, which rotates nothing |
    | block{i}.scores .pattern | (n_heads, n_tokens, n_tokens), scaled, -inf where masked; after softmax |
    | block{i}.mixed | (n_tokens, n_heads, d_head) |
    | block{i}.attn .mid .norm2 | (n_tokens, d_model) |
    | block{i}.router .expert_weights .experts | (n_tokens, n_experts), (n_tokens, k) twice: k are chosen |
    | block{i}.gate .up .act | (n_tokens, d_mlp), of experts (n_tokens, k, d_mlp); no gate in GPT-2 |
    | block{i}.mlp, block{i} | (n_tokens, d_model) |
    | final_norm, logits | (n_tokens, d_model), (n_tokens, n_vocab) |

    In float32 they equal what `transformers` computes with eager attention (and eager experts) bit for bit.
    ReaderError: an empty or too long prompt, ids that the vocabulary lacks, an unknown architecture,
    too little memory, logits that are not finite.
    """
    token_ids = prompt_ids(lm, prompt)
    layout = layout_of(lm.model)
    _check_memory(lm, len(token_ids))
    ids = torch.tensor([token_ids], device=lm.device)
    with torch.no_grad(), recording(lm.model, layout) as kept:
        out = lm.model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)
    tensors = {**kept.tensors, "logits": out.logits[0]}
    _check_finite(lm.name, tensors)
    text = prompt if isinstance(prompt, str) else None
    return Trace(tensors, token_ids, token_labels(lm.tokenizer, token_ids), lm.name, text)


def trace_bytes(lm: LoadedModel, n_tokens: int) -> int:
    """Bytes that the tensors of a trace take up, at most; scores and pattern grow with n_tokens squared."""
    c = lm.model.config
    n_kv_heads = getattr(c, "num_key_value_heads", None) or c.num_attention_heads
    d_mlp = getattr(c, "intermediate_size", None) or getattr(c, "n_inner", None) or 4 * c.hidden_size
    heads = 3 * (c.num_attention_heads + n_kv_heads) * head_size(c)
    per_token = 6 * c.hidden_size + heads + 3 * d_mlp * getattr(c, "num_experts_per_tok", 1)
    blocks = c.num_hidden_layers * (n_tokens * per_token + 2 * c.num_attention_heads * n_tokens**2)
    return (blocks + n_tokens * (2 * c.hidden_size + c.vocab_size)) * lm.model.dtype.itemsize


def _check_memory(lm: LoadedModel, n_tokens: int) -> None:
    needed, free = trace_bytes(lm, n_tokens), available_bytes(lm.device)
    if needed > free:
        fit = bisect_right(range(n_tokens), free, key=lambda n: trace_bytes(lm, n)) - 1
        raise ReaderError(
            f"To keep every tensor of {n_tokens:,} tokens takes {needed / 1e9:.2g} GB, "
            f"and {free / 1e9:.2g} GB of memory are free: "
            f"shorten the prompt (about {max(fit, 0):,} tokens fit), or stop other notebooks."
        )


def _check_finite(name: str, tensors: dict[str, Tensor]) -> None:
    extremes = torch.stack(tensors["logits"].aminmax())  # isfinite() would need as much memory again
    if not extremes.isfinite().all():
        named = ((key, t) for key, t in tensors.items() if not key.endswith("scores"))  # masked with -inf
        first = next(key for key, t in named if not t.isfinite().all())
        raise ReaderError(
            f"{name} gave logits that are not finite (the first such values are in {first!r}), "
            f"so nothing shown here would be true: load it with device='cpu', dtype=torch.float32."
        )
