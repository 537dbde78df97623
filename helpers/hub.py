"""Loads a model from the Hugging Face Hub or a local folder: safetensors only, never code from the model.

The hub is contacted only when the reader asks for its model; `HF_ENDPOINT`, `HF_HUB_OFFLINE` are respected.
"""

import re
import ssl
from difflib import get_close_matches
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import torch
from huggingface_hub import constants
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from helpers.bundles import BUNDLES
from helpers.errors import ReaderError

ROOM_FOR_WEIGHTS = 0.8  # of a GPU's free memory; the rest is for activations and the cache


def load_from_hub(
    name: str, device: torch.device, dtype: torch.dtype
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model and its tokenizer; `name` is an id of the hub or a folder.

    The model is on `device`, or spread over all GPUs by `accelerate` where that one is too small for it.
    ReaderError when there is no such model, the hub cannot be reached, or it is not a model that we run.
    """
    offline = not is_folder(name) and (constants.HF_HUB_OFFLINE or not answers(constants.ENDPOINT))
    safe = {"trust_remote_code": False, "local_files_only": offline}
    try:
        config = AutoConfig.from_pretrained(name, **safe)
        tokenizer = AutoTokenizer.from_pretrained(name, **safe)
        model, report = AutoModelForCausalLM.from_pretrained(
            name,
            output_loading_info=True,
            dtype=dtype,
            device_map="auto" if is_too_large(config, dtype, device) else None,
            attn_implementation="eager",  # the only one that hands out its attention pattern
            use_safetensors=True,
            **safe,
        )
    except (OSError, ValueError, ImportError) as error:
        raise ReaderError(_trouble(name, error, offline)) from error
    if absent := sorted(report["missing_keys"]):  # transformers fills them with random numbers, tied ones excepted
        raise ReaderError(
            f"The files of {name} lack {len(absent)} of the model's tensors ({absent[0]}, …), and random numbers "
            "would stand in their place: get the complete model, or correct its config.json."
        )
    return (model if hasattr(model, "hf_device_map") else model.to(device)), tokenizer


def is_folder(name: str) -> bool:
    """Whether `name` is a model's folder; ReaderError when it is neither that nor like `owner/model`."""
    if name and Path(name).is_dir():
        if not (Path(name) / "config.json").is_file():
            raise ReaderError(f"The folder {name} holds no config.json: give the folder of a saved model.")
        return True
    if not re.fullmatch(r"\w[\w.-]*/[\w.-]+", name):
        close = get_close_matches(name.lower(), BUNDLES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ReaderError(
            f"No model is called {name!r}: give {' or '.join(map(repr, BUNDLES))}, an 'owner/model' "
            f"of the Hugging Face Hub, or the folder of a saved model.{hint}"
        )
    return False


def answers(endpoint: str) -> bool:
    """Whether the hub can be reached; asked once, because the hub's own client retries for 23 s."""
    try:
        with urlopen(Request(endpoint, method="HEAD"), timeout=10):
            return True
    except HTTPError:
        return True
    except URLError as error:
        return isinstance(
            error.reason, ssl.SSLError
        )  # some Pythons have no certificates, the hub's client brings its own
    except TimeoutError:
        return False


def is_too_large(config: PreTrainedConfig, dtype: torch.dtype, device: torch.device) -> bool:
    """Whether the weights would leave this GPU no room to compute in."""
    if device.type != "cuda":
        return False
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    n_bytes = sum(weight.numel() for weight in model.parameters()) * dtype.itemsize
    free, _ = torch.cuda.mem_get_info(device)
    return n_bytes > ROOM_FOR_WEIGHTS * free


def _trouble(name: str, error: BaseException, offline: bool) -> str:
    """One sentence for what transformers and the hub's client say in many."""
    reason = str(error).strip().splitlines()[0]
    known = {
        "gated": f"{name} is for readers who accepted its licence: do so on its page, then `hf auth login`.",
        "unknown": f"The hub has no model {name!r}, or it is private: check the spelling and the owner.",
        "offline": f"The hub cannot be reached and {name} is not in the local cache: check the network, "
        "HF_ENDPOINT and HF_HUB_OFFLINE, or use a bundled model.",
        "safetensors": f"{name} has no safetensors weights, and other formats may run code: pick another.",
        "code": f"{name} needs its own code, which is never run here: pick one that transformers knows.",
        "kind": f"{name} is not a decoder-only language model: pick one that continues a text.",
    }
    return known.get(_kind_of_trouble(error, offline), f"{name} cannot be loaded: {reason}")


def _kind_of_trouble(error: BaseException, offline: bool) -> str:
    said = str(error)
    if isinstance(error.__cause__, GatedRepoError):
        return "gated"
    if isinstance(error.__cause__, RepositoryNotFoundError):
        return "unknown"
    if offline and isinstance(error, OSError):
        return "offline"
    signs = {
        "model.safetensors": "safetensors",
        "pytorch_model.bin": "safetensors",
        "trust_remote_code": "code",
        "Unrecognized configuration class": "kind",
    }
    return next((kind for sign, kind in signs.items() if sign in said), "other")
