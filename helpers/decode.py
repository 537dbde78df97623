"""Reads a prompt and goes on token by token, in few operations and without copying what it remembers.

A token of SmolLM2 takes 2,566 calls inside torch; transformers makes 7,065 (5,872 with sdpa). Keys and values lie in
memory that is taken once, for all tokens to come, and the scores of a prompt are not kept. The same arithmetic, sums
in another order: logits agree to 5e-4 in float32.
"""

from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as every_module
from transformers.activations import ACT2FN
from transformers.pytorch_utils import Conv1D

from helpers.layouts import layout_of
from helpers.weights import Norm, activation, block_weights, final_norm, position_vectors, sizes

FAMILIES = ("gpt2", "llama", "mistral", "qwen2", "qwen3")
CHANGING_ROTATION = ("dynamic", "longrope")  # angles that depend on how long the text is by now
PARTS = (nn.Embedding, nn.Linear, nn.LayerNorm, nn.Dropout, nn.ModuleList, Conv1D)
THEIRS = ("torch.nn.", "transformers.")


def can_decode(lm) -> bool:
    """Is this model one that is written here? Float32, every layer looking at all tokens, nothing a reader changed."""
    config, head = lm.model.config, lm.model.get_output_embeddings()
    kinds = set(getattr(config, "layer_types", None) or ()) | {getattr(config, "sliding_window", None) and "sliding"}
    rotation = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    return (
        config.model_type in FAMILIES
        and kinds <= {"full_attention", None}
        and rotation not in CHANGING_ROTATION
        and lm.model.dtype == torch.float32
        and config._attn_implementation in ("eager", "sdpa")  # not a function of the reader's own
        and not (lm.model.training or every_module._global_forward_hooks or every_module._global_forward_pre_hooks)
        and lm.model.get_input_embeddings().max_norm is None
        and getattr(head, "bias", None) is None
        and _blocks_are_alike(lm)
        and _parts_are_as_they_were_made(lm.model)
    )


def _blocks_are_alike(lm) -> bool:
    """As many as the configuration says, all of the same parts: one is looked at for all."""
    blocks = lm.model.get_submodule(layout_of(lm.model).blocks)
    parts = {tuple((name, type(part)) for name, part in block.named_modules()) for block in blocks}
    return len(blocks) == lm.model.config.num_hidden_layers and len(parts) == 1


def _parts_are_as_they_were_made(model) -> bool:
    name = getattr(model.config, "hidden_act", None) or model.config.activation_function
    act = type(ACT2FN[name])  # once: each look-up makes a new module
    return all(_as_it_was_made(module, act) for module in model.modules())


def _as_it_was_made(module, act: type) -> bool:
    """No hook, no other forward put in its place, no foreign class: nothing that only a call of the module honours."""
    kind = type(module)
    known = kind in PARTS or kind is act or kind.__module__.startswith("transformers.models.")
    own = "forward" in vars(module) or not kind.forward.__module__.startswith(THEIRS)
    return known and not own and not (module._forward_hooks or module._forward_pre_hooks)


class Decoder:
    """An empty memory with places for `n_places` tokens: `decoder(ids)` are the logits (n_vocab,) after `ids`.

    The first call reads the whole prompt; each further one takes a single new id.
    """

    def __init__(self, lm, n_places: int):
        size = sizes(lm)
        self.n_tokens, self.d_head = 0, size.d_head
        places = (size.n_kv_heads, size.d_head, n_places)  # neighbouring tokens side by side: fastest for one query
        scalings = [module.scaling for module in lm.model.modules() if hasattr(module, "scaling")]
        self.blocks = [_block(lm, i, scalings[i], places) for i in range(size.n_layers)]
        self.act, self.last_norm = activation(lm), _norm(final_norm(lm))
        self.table, self.out = lm.model.get_input_embeddings().weight, lm.model.get_output_embeddings().weight
        self.added, self.rotation = position_vectors(lm, n_places), _rotation(lm, n_places)

    def __call__(self, ids: list[int]) -> Tensor:
        at, mix = (self.n_tokens, _mix_one) if self.n_tokens else (slice(len(ids)), _mix_prompt)
        x = self.table[ids if mix is _mix_prompt else ids[0]] + self.added[at]  # (n_tokens, d_model) or (d_model,)
        rows = [part[at] for part in self.rotation]
        self.n_tokens += len(ids)
        for w in self.blocks:
            mixed = mix(w, *self._q_k_v(w, w.norm1(x), rows), self.n_tokens)
            if w is self.blocks[-1] and mix is _mix_prompt:  # what follows is asked for the last token only
                x, mixed = x[-1], mixed[-1]
            x = _linear(mixed, w.w_o, x if w.b_o is None else x + w.b_o)
            h = w.norm2(x)
            up = _linear(h, w.w_up, w.b_up)
            act = self.act(up) if w.w_gate is None else self.act(_linear(h, w.w_gate, w.b_gate)) * up
            x = _linear(act, w.w_down, x if w.b_down is None else x + w.b_down)
        return torch.mv(self.out, self.last_norm(x))

    def _q_k_v(self, w, h: Tensor, rows: list[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Each (heads, d_head), or (n_tokens, heads, d_head) for a prompt; queries and keys turned to their places."""
        shape = (*h.shape[:-1], -1, self.d_head)
        q = w.q_norm(_linear(h, w.w_q, w.b_q).view(shape))
        k = w.k_norm(_linear(h, w.w_k, w.b_k).view(shape))
        v = _linear(h, w.w_v, w.b_v).view(shape)
        return (_turned(q, *rows), _turned(k, *rows), v) if rows else (q, k, v)


def _mix_prompt(w, q: Tensor, k: Tensor, v: Tensor, n_tokens: int) -> Tensor:
    """What a block brings to every token of the prompt: (n_tokens, n_heads * d_head)."""
    w.keys[..., :n_tokens], w.values[..., :n_tokens] = k.movedim(0, -1), v.movedim(0, -1)
    q, k, v = (part.transpose(0, 1)[None] for part in (q, k, v))  # (1, heads, n_tokens, d_head)
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=w.scaling, enable_gqa=True)
    return mixed[0].transpose(0, 1).flatten(1)


def _mix_one(w, q: Tensor, k: Tensor, v: Tensor, n_tokens: int) -> Tensor:
    """What a block brings to the newest token: (n_heads * d_head,)."""
    w.keys[..., n_tokens - 1], w.values[..., n_tokens - 1] = k, v
    grouped = q.view(len(k), -1, q.shape[-1]) * w.scaling  # (n_kv_heads, heads that share, d_head)
    pattern = torch.bmm(grouped, w.keys[..., :n_tokens]).softmax(-1)
    return torch.bmm(pattern, w.values[..., :n_tokens].mT).flatten()


def _block(lm, layer: int, scaling: float, places: tuple[int, int, int]) -> SimpleNamespace:
    """The weights of one block, None for a bias it does not have, and its memory of keys and values."""
    w = block_weights(lm, layer)
    vars(w).update({name: None for name, b in vars(w).items() if name.startswith("b_") and not b.any()})
    w.norm1, w.norm2, w.scaling = _norm(w.norm1), _norm(w.norm2), scaling
    w.keys, w.values = (torch.empty(places, device=lm.device) for _ in "kv")
    return w


def _linear(x: Tensor, weight: Tensor, added: Tensor | None) -> Tensor:
    """`x @ weight.T + added` as one operation, for one token (d,) or many (n_tokens, d)."""
    if x.dim() == 1:
        return torch.mv(weight, x) if added is None else torch.addmv(added, weight, x)
    return torch.mm(x, weight.T) if added is None else torch.addmm(added, x, weight.T)


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, dims=-1), sin)


def _norm(norm: Norm):
    """The same norm in fewer operations; a vector's length is √d times its root mean square."""
    d = len(norm.weight)
    if norm.subtracts_mean:
        return lambda x: F.layer_norm(x, (d,), norm.weight, norm.bias, norm.eps)
    weight, small = norm.weight * d**0.5, norm.weight.new_tensor((norm.eps * d) ** 0.5)
    return lambda x: x * weight / torch.linalg.vector_norm(x, dim=-1, keepdim=True).hypot(small)


def _rotation(lm, n_places: int) -> tuple[Tensor, ...]:
    """Cosines and signed sines, each (n_places, 1, d_head); nothing in models that add their positions."""
    if not hasattr(lm.model.base_model, "rotary_emb"):
        return ()
    x = torch.empty(1, device=lm.device)
    cos, sin = (part[0] for part in lm.model.base_model.rotary_emb(x, torch.arange(n_places, device=lm.device)[None]))
    half = cos.shape[-1] // 2
    return cos[:, None], torch.cat([-sin[:, :half], sin[:, half:]], dim=-1)[:, None]
