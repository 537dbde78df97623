"""Tiny random models of every supported architecture: `transformers`' own code, no download, 0.1 s each.

from tests.tiny import ARCHS, tiny
lm = tiny("gemma3")
"""

import functools

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from helpers.model import LoadedModel

ARCHS = ("llama", "gemma3", "qwen2", "qwen3", "mistral", "gpt2", "mixtral")
D_MODEL, D_HEAD, D_MLP, N_LAYERS, N_HEADS, N_KV_HEADS, CONTEXT, WINDOW = 32, 8, 48, 2, 4, 2, 128, 4

_WORDS = (" the", " capital", " of", " France", " is", "Hello", " world", "ing")
_CONFIG = {
    "llama": transformers.LlamaConfig,
    "gemma3": transformers.Gemma3TextConfig,
    "qwen2": transformers.Qwen2Config,
    "qwen3": transformers.Qwen3Config,
    "mistral": transformers.MistralConfig,
    "mixtral": transformers.MixtralConfig,
}
_CHAT = "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '<eos>' }}{% endfor %}"


def tiny_tokenizer(bos=False):
    """Byte-level: 256 bytes, the words above, their beginnings, specials; `bos` puts `<bos>` first."""
    vocab, merges = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []
    for word in _WORDS:
        left, *rest = word.replace(" ", "Ġ")
        for c in rest:
            merges.append((left, c))
            left += c
            vocab.setdefault(left, len(vocab))
    core = Tokenizer(models.BPE(vocab, list(dict.fromkeys(merges))))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(["<pad>", "<bos>", "<eos>"])
    if bos:
        first = ("<bos>", core.token_to_id("<bos>"))
        core.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[first])
    names = {"pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>", "chat_template": _CHAT}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=core, **names)


def tiny_config(arch, tokenizer):
    """The configuration of `arch`, at the sizes named above; Gemma 3 and Mistral with a sliding window."""
    ids = {f"{k}_token_id": getattr(tokenizer, f"{k}_token_id") for k in ("pad", "bos", "eos")}
    common = {"vocab_size": len(tokenizer), "initializer_range": 0.2, "attn_implementation": "eager", **ids}
    if arch == "gpt2":
        sizes = {"n_embd": D_MODEL, "n_layer": N_LAYERS, "n_head": N_HEADS, "n_inner": D_MLP}
        return transformers.GPT2Config(**common, **sizes, n_positions=CONTEXT)
    sizes = {
        "hidden_size": D_MODEL, "intermediate_size": D_MLP, "num_hidden_layers": N_LAYERS, "head_dim": D_HEAD,
        "num_attention_heads": N_HEADS, "num_key_value_heads": N_KV_HEADS, "max_position_embeddings": CONTEXT,
    }  # fmt: skip
    own = {
        "llama": {"tie_word_embeddings": True},
        "gemma3": {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]},
        "mistral": {"sliding_window": WINDOW},
        "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None},
    }
    return _CONFIG[arch](**common, **sizes, **own.get(arch, {}))


@functools.cache
def tiny(arch, device="cpu"):
    """A LoadedModel with seeded random weights, float32, eager attention; the same object each time."""
    tokenizer = tiny_tokenizer(bos=arch == "gemma3")
    config = tiny_config(arch, tokenizer)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        for parameter in model.parameters():
            if parameter.dim() == 1:  # norm weights and biases start as constants, which would hide a mistake
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
    model = model.to(device).eval().requires_grad_(False)
    return LoadedModel(f"tiny-{arch}", model, tokenizer, config, torch.device(device))
