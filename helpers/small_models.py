"""Small models with random weights in the shape of larger ones: to see a mechanism, never to see what it learned."""

import functools

import torch
import transformers

from helpers.model import LoadedModel

D_MODEL, N_LAYERS, N_HEADS, D_MLP, N_EXPERTS, N_ACTIVE = 64, 2, 4, 96, 8, 2


@functools.cache
def random_model(lm: LoadedModel, kind: str) -> LoadedModel:
    """A model of `kind` "gpt2" or "mixtral", seeded random weights, that reads the same token ids as `lm`.

    Two blocks of d_model 64; Mixtral's have 8 experts, 2 for each token. float32, eager attention.
    """
    config = _CONFIGS[kind](lm.config)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        for parameter in model.parameters():
            if parameter.dim() == 1:  # norms and biases start as constants: as if they did nothing
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
    model = model.to(lm.device).eval().requires_grad_(False)
    return LoadedModel(f"{kind} shape with random weights", model, lm.tokenizer, model.config, lm.device)


def _gpt2(config) -> transformers.GPT2Config:
    sizes = {"n_embd": D_MODEL, "n_layer": N_LAYERS, "n_head": N_HEADS, "n_inner": 4 * D_MODEL}
    return transformers.GPT2Config(**_common(config), **sizes, n_positions=config.max_position_embeddings)


def _mixtral(config) -> transformers.MixtralConfig:
    sizes = {
        "hidden_size": D_MODEL, "num_hidden_layers": N_LAYERS, "num_attention_heads": N_HEADS,
        "num_key_value_heads": N_HEADS // 2, "intermediate_size": D_MLP, "num_local_experts": N_EXPERTS,
        "num_experts_per_tok": N_ACTIVE, "sliding_window": None,
        "max_position_embeddings": config.max_position_embeddings,
    }  # fmt: skip
    return transformers.MixtralConfig(**_common(config), **sizes)


def _common(config) -> dict:
    """Shared by both; ids of special tokens are not needed and would have to lie inside the vocabulary."""
    ids = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    return {"vocab_size": config.vocab_size, "initializer_range": 0.2, "attn_implementation": "eager", **ids}


_CONFIGS = {"gpt2": _gpt2, "mixtral": _mixtral}
