"""Loads a real model: one of the two bundled ones, any id of the Hugging Face Hub, or a local folder."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from reprlib import repr as short

import torch
from transformers import GenerationConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from helpers.bundled_tokenizer import build_tokenizer
from helpers.bundles import BUNDLES
from helpers.errors import ReaderError
from helpers.fetch import cache_dir, fetch
from helpers.gguf_file import GgufFile
from helpers.gguf_model import build_model
from helpers.hub import load_from_hub
from helpers.runtime import cap_threads
from helpers.sampling_checks import check_ids

DTYPES = ("float32", "float16", "bfloat16", "float64")

__all__ = ["LoadedModel", "cache_dir", "load_model", "prompt_ids"]


@dataclass(frozen=True, eq=False, repr=False)
class LoadedModel:
    """A model ready to run (evaluation mode, no gradients, eager attention), with its tokenizer."""

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    config: PreTrainedConfig
    device: torch.device

    def __repr__(self) -> str:
        return f"LoadedModel({self.name!r}, {self.model.dtype}, {self.device})"

    @property
    def n_places(self) -> float:
        """How many tokens fit into the context window; infinite where the configuration names no limit."""
        return getattr(self.config, "max_position_embeddings", None) or math.inf

    @property
    def n_vocab(self) -> int:
        """How many token ids the model knows: the rows of its embedding table."""
        return self.model.get_input_embeddings().num_embeddings

    def encode(self, text: str) -> list[int]:
        """Token ids as the model's own tokenizer makes them; Gemma's begin with `<bos>`.

        ReaderError on what is no text, on empty text, and on more tokens than the context window has places.
        """
        if not isinstance(text, str):
            raise ReaderError(f"The prompt is {short(text)}, which is no text: put it between quotation marks.")
        if not text:
            raise ReaderError("The prompt is empty: the model needs at least one token, so put some text there.")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ReaderError("The prompt holds half of a character (a lone surrogate): type or paste it again.")
        ids = self.tokenizer.encode(text)
        if not ids:
            raise ReaderError(f"{self.name} has no token for anything in this prompt: add some text to it.")
        if max(ids) >= self.n_vocab:
            raise ReaderError(
                f"The tokenizer of {self.name} gives the token {max(ids)}, which the model, with its {self.n_vocab} "
                "tokens, does not know: they do not belong together, so get the complete model."
            )
        return self._fitting(ids)

    def _fitting(self, ids: list[int]) -> list[int]:
        if len(ids) > self.n_places:
            said = f"The prompt has {len(ids)} tokens, but {self.name} has {self.n_places} places: shorten it."
            raise ReaderError(said)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these token ids, special tokens written out. ReaderError on ids that the model lacks."""
        return self.tokenizer.decode(check_ids("ids", ids, self.n_vocab), clean_up_tokenization_spaces=False)


def prompt_ids(lm: LoadedModel, prompt: str | Sequence[int]) -> list[int]:
    """The token ids of a prompt that is a text, or a list, a tensor or an array (n_tokens,) of token ids.

    ReaderError: `lm` is no loaded model, an empty prompt, one longer than the context window, ids that `lm` lacks.
    """
    if not isinstance(lm, LoadedModel):
        kind = type(lm).__name__
        raise ReaderError(f"First comes the model, lm = load_model(), then the prompt; here a {kind} comes first.")
    if isinstance(prompt, str):
        return lm.encode(prompt)
    ids = check_ids("prompt (a text or token ids)", prompt, lm.n_vocab)
    if not ids:
        raise ReaderError("The list of token ids is empty: the model needs at least one.")
    return lm._fitting(ids)


def load_model(
    name: str = "smollm2-135m", device: str | None = None, dtype: torch.dtype | str | None = None
) -> LoadedModel:
    """Load the model `name`: "smollm2-135m", "gemma3-270m", an 'owner/model' of the hub, or a folder.

    device: "cuda", "cpu" or "mps"; None takes CUDA where there is one, else the CPU.
    dtype: None is float32, where our numbers equal the model's; "auto" is what the device computes fastest.
    The same arguments give the same object again. ReaderError says what cannot be loaded, and why.
    """
    where = pick_device(device)
    return _load(str(name), where, pick_dtype(dtype, where))


def pick_device(device: str | None) -> torch.device:
    """The device by its name, or the best one; ReaderError when this machine lacks it."""
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    counts = {"cpu": 1, "cuda": n_gpus, "mps": int(torch.backends.mps.is_available())}
    name = str(("cuda" if n_gpus else "cpu") if device is None else device)
    present = [kind for kind, n in counts.items() if n]
    if name not in present + [f"{kind}:{i}" for kind, n in counts.items() for i in range(n)]:
        here = " and ".join(map(repr, present))
        raise ReaderError(
            f"This machine's PyTorch has no device {name!r}: of 'cpu', 'cuda' and 'mps' it has {here}; "
            "without device=… the best one is taken."
        )
    return torch.device(name)


def pick_dtype(dtype: torch.dtype | str | None, device: torch.device) -> torch.dtype:
    """float32; for "auto" on CUDA bfloat16 from compute capability 8 on, and float16 below it.

    Asked by capability, because `torch.cuda.is_bf16_supported()` is true where bfloat16 is only emulated.
    """
    if dtype == "auto" and device.type == "cuda":
        return torch.bfloat16 if torch.cuda.get_device_capability(device)[0] >= 8 else torch.float16
    name = "float32" if dtype is None or dtype == "auto" else str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise ReaderError(f"{dtype!r} is no type for weights: give {', '.join(map(repr, DTYPES))} or 'auto'.")
    return getattr(torch, name)


@cache
def _load(name: str, device: torch.device, dtype: torch.dtype) -> LoadedModel:
    cap_threads()
    torch.set_float32_matmul_precision("highest")  # TF32 would keep 10 of float32's 23 bits
    if name in BUNDLES:
        file = GgufFile(fetch(name))
        tokenizer = build_tokenizer(file.metadata)  # first: what it frees, the model then uses
        model = build_model(file, dtype).to(device)
    else:
        model, tokenizer = load_from_hub(name, device, dtype)
    model.eval().requires_grad_(False)
    model.generation_config = _plain_generation(model.generation_config)
    config = model.config.get_text_config()
    if config._attn_implementation != "eager":
        raise ReaderError(f"{name} cannot hand out its attention pattern ({config._attn_implementation}).")
    return LoadedModel(name, model, tokenizer, config, model.device)


def _plain_generation(config: GenerationConfig) -> GenerationConfig:
    """Only the special ids: a model's own sampling settings would change what the page's settings do."""
    return GenerationConfig(
        bos_token_id=config.bos_token_id, eos_token_id=config.eos_token_id, pad_token_id=config.pad_token_id
    )
