"""Makes a transformers model out of a GGUF file of the architectures `llama` (SmolLM2) and `gemma3`.

Where GGUF differs from transformers: tensor names; llama's query and key rows, which lie in the pairs that
rotate together; Gemma's norm weights, which already hold the 1 that its norm adds.
"""

import re
from collections.abc import Callable
from math import prod

import numpy as np
import torch
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM, PreTrainedModel

from helpers.gguf_file import GgufFile

WHOLE_MODEL = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
LLAMA_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
GEMMA3_BLOCK = LLAMA_BLOCK | {
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
GEMMA3_LOCAL_ROPE_THETA, GEMMA3_GLOBAL_EVERY = 10_000.0, 6  # fixed by the architecture, so not in the file


def build_model(file: GgufFile, dtype: torch.dtype) -> PreTrainedModel:
    """The file's model on the CPU with weights of `dtype`, eager attention, in evaluation mode."""
    architecture, config, name_of, convert = {
        "llama": (LlamaForCausalLM, llama_config, LLAMA_BLOCK, _llama_tensor),
        "gemma3": (Gemma3ForCausalLM, gemma3_config, GEMMA3_BLOCK, _gemma3_tensor),
    }[file.metadata["general.architecture"]]
    weights = state_dict(file, name_of, convert, dtype)
    return architecture.from_pretrained(
        None, config=config(file.metadata), state_dict=weights, dtype=dtype, attn_implementation="eager"
    ).eval()


def state_dict(
    file: GgufFile, block: dict[str, str], convert: Callable[[GgufFile, str], np.ndarray], dtype: torch.dtype
) -> dict[str, torch.Tensor]:
    """The file's tensors under transformers' names, read largest first: so the peak of memory is lowest."""
    largest_first = sorted(file.tensors, key=lambda name: -prod(file.tensors[name].shape))
    return {transformers_name(name, block): torch.from_numpy(convert(file, name)).to(dtype) for name in largest_first}


def transformers_name(name: str, block: dict[str, str]) -> str:
    """`blk.3.attn_q.weight` → `model.layers.3.self_attn.q_proj.weight`."""
    if inside := re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name):
        return f"model.layers.{inside[1]}.{block[inside[2]]}.weight"
    return WHOLE_MODEL[name.removesuffix(".weight")] + ".weight"


def _llama_tensor(file: GgufFile, name: str) -> np.ndarray:
    weight = file.read(name)
    heads = {"attn_q": "head_count", "attn_k": "head_count_kv"}.get(name.split(".")[-2])
    if heads is None:
        return weight
    n_heads = file.metadata[f"llama.attention.{heads}"]
    pairs = weight.reshape(n_heads, -1, 2, weight.shape[-1])  # (n_heads, d_head / 2, 2, d_model)
    return pairs.swapaxes(1, 2).reshape(weight.shape)


def _gemma3_tensor(file: GgufFile, name: str) -> np.ndarray:
    return file.read(name) - 1 if name.endswith("norm.weight") else file.read(name)


def llama_config(metadata: dict) -> LlamaConfig:
    """transformers' configuration from the metadata of a `llama` file."""
    n_heads = metadata["llama.attention.head_count"]
    return LlamaConfig(
        **_common(metadata, "llama"),
        head_dim=metadata["llama.embedding_length"] // n_heads,
        rope_parameters={"rope_type": "default", "rope_theta": metadata["llama.rope.freq_base"]},
    )


def gemma3_config(metadata: dict) -> Gemma3TextConfig:
    """transformers' configuration from the metadata of a `gemma3` file."""
    d_head = metadata["gemma3.attention.key_length"]
    rope_theta = {
        "sliding_attention": GEMMA3_LOCAL_ROPE_THETA,
        "full_attention": metadata["gemma3.rope.freq_base"],
    }
    return Gemma3TextConfig(
        **_common(metadata, "gemma3"),
        head_dim=d_head,
        query_pre_attn_scalar=d_head,
        sliding_window=metadata["gemma3.attention.sliding_window"],
        layer_types=[
            "sliding_attention" if layer % GEMMA3_GLOBAL_EVERY else "full_attention"
            for layer in range(1, metadata["gemma3.block_count"] + 1)
        ],
        rope_parameters={kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in rope_theta.items()},
    )


def _common(metadata: dict, prefix: str) -> dict:
    return dict(
        vocab_size=len(metadata["tokenizer.ggml.tokens"]),
        hidden_size=metadata[f"{prefix}.embedding_length"],
        intermediate_size=metadata[f"{prefix}.feed_forward_length"],
        num_hidden_layers=metadata[f"{prefix}.block_count"],
        num_attention_heads=metadata[f"{prefix}.attention.head_count"],
        num_key_value_heads=metadata[f"{prefix}.attention.head_count_kv"],
        max_position_embeddings=metadata[f"{prefix}.context_length"],
        # stored as float32: 9.999999747378752e-06 is 1e-05
        rms_norm_eps=float(str(np.float32(metadata[f"{prefix}.attention.layer_norm_rms_epsilon"]))),
        bos_token_id=metadata["tokenizer.ggml.bos_token_id"],
        eos_token_id=metadata["tokenizer.ggml.eos_token_id"],
        pad_token_id=metadata["tokenizer.ggml.padding_token_id"],
        tie_word_embeddings=True,
    )
