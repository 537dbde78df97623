"""Where each architecture keeps its parts: module paths in `transformers`, and the trace key of each."""

from dataclasses import dataclass, replace

from torch import nn

from helpers.errors import ReaderError


@dataclass(frozen=True)
class Layout:
    """Module paths of one architecture, counted from a block, except those of `outside`.

    outputs: module → name(s) of what it returns ("" is the block itself);
    inputs: module → name of what enters it;
    within: module without a key of its own → the name that its result is part of;
    outside: module around the blocks → key; rotates: whether positions enter by rotating q and k.
    """

    blocks: str
    outputs: dict[str, str]
    inputs: dict[str, str]
    within: dict[str, str]
    outside: dict[str, str]
    rotates: bool = True

    def key_of(self, path: str) -> str | None:
        """The trace key that shows the output of the module at `path`; None where no key does."""
        if path in self.outside:
            return self.outside[path]
        index, _, part = path.removeprefix(f"{self.blocks}.").partition(".")
        name = {**self.within, **self.outputs}.get(part)
        if name is None or not index.isdecimal():
            return None
        return block_key(int(index), name.split(" ")[0])


def block_key(index: int, name: str) -> str:
    """`block3.q` for (3, "q"); `block3` for (3, ""), the residual stream after the block."""
    return f"block{index}.{name}".rstrip(".")


_OUTSIDE = {
    "": "logits", "model": "final_norm", "model.embed_tokens": "embed", "model.rotary_emb": "block0.q_rot",
    "model.norm": "final_norm", "lm_head": "logits",
}  # fmt: skip
_QKV = {"input_layernorm": "norm1", "self_attn.q_proj": "q", "self_attn.k_proj": "k", "self_attn.v_proj": "v"}
_QK_NORM = {"self_attn.q_norm": "q_rot", "self_attn.k_norm": "k_rot"}
_ADDED = {"self_attn.o_proj": "attn", "post_attention_layernorm": "norm2", "mlp": "mlp", "": ""}
_GATE_UP = {"mlp.gate_proj": "gate", "mlp.up_proj": "up"}

LLAMA = Layout(
    blocks="model.layers",
    outputs={**_QKV, **_ADDED, **_GATE_UP},
    inputs={"post_attention_layernorm": "mid", "mlp.down_proj": "act"},
    within={"self_attn": "attn", "mlp.act_fn": "act", "mlp.down_proj": "mlp"},
    outside=_OUTSIDE,
)
GEMMA3 = replace(
    LLAMA,  # a norm after each part as well: what is added to the stream is that norm's output
    outputs={
        **_QKV, **_GATE_UP, "post_attention_layernorm": "attn", "pre_feedforward_layernorm": "norm2",
        "post_feedforward_layernorm": "mlp", "": "",
    },
    inputs={"pre_feedforward_layernorm": "mid", "mlp.down_proj": "act"},
    within={**LLAMA.within, **_QK_NORM, "self_attn.o_proj": "attn", "mlp": "mlp"},
)  # fmt: skip
MIXTRAL = replace(
    LLAMA,
    outputs={**_QKV, **_ADDED, "mlp.gate": "router expert_weights experts"},
    inputs={"post_attention_layernorm": "mid"},
    within={"self_attn": "attn", "mlp.experts": "mlp", "mlp.experts.act_fn": "act"},
)
GPT2 = Layout(
    blocks="transformer.h",
    outputs={
        "ln_1": "norm1", "attn.c_attn": "q k v", "attn.c_proj": "attn", "ln_2": "norm2", "mlp.c_fc": "up",
        "mlp": "mlp", "": "",
    },
    inputs={"ln_2": "mid", "mlp.c_proj": "act"},
    within={
        "attn": "attn", "attn.attn_dropout": "pattern", "attn.resid_dropout": "attn",
        "mlp.act": "act", "mlp.c_proj": "mlp", "mlp.dropout": "mlp",
    },
    outside={
        "": "logits", "transformer": "final_norm", "transformer.wte": "embed", "transformer.wpe": "embed",
        "transformer.drop": "embed", "transformer.ln_f": "final_norm", "lm_head": "logits",
    },
    rotates=False,
)  # fmt: skip

QWEN3 = replace(LLAMA, within={**LLAMA.within, **_QK_NORM})

LAYOUTS = {
    "gemma3_text": GEMMA3, "gpt2": GPT2, "llama": LLAMA, "mistral": LLAMA, "mixtral": MIXTRAL, "qwen2": LLAMA,
    "qwen3": QWEN3,
}  # fmt: skip


def layout_of(model: nn.Module) -> Layout:
    """The layout of a causal language model of `transformers`; ReaderError where it has none here."""
    kind = model.config.model_type
    if kind not in LAYOUTS:
        raise ReaderError(
            f"trace() does not know where a model of type {kind!r} keeps its parts: "
            f"load a model of one of the types {', '.join(LAYOUTS)}."
        )
    return LAYOUTS[kind]


def head_size(config) -> int:
    """d_head, which some configurations name and others leave to be d_model / n_heads."""
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def covered_modules(lm) -> dict[str, str]:
    """Path of every module of the model that a trace covers → the key that shows its output.

    A module that is missing here computes something that no key shows; a list of modules computes nothing.
    """
    layout = layout_of(lm.model)
    keys = {path: layout.key_of(path) for path, _ in lm.model.named_modules()}
    return {path: key for path, key in keys.items() if key is not None}
