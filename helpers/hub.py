"""Loads a model from the Hugging Face Hub or a local folder: safetensors only, never code from the model.

The hub is contacted only when the reader asks for its model; `HF_ENDPOINT`, `HF_HUB_OFFLINE` are respected.
"""

import os
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from http.client import HTTPException
from pathlib import Path
from textwrap import shorten
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import torch
import transformers
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
from helpers.model_files import CONFIG, check_folder

ROOM_FOR_WEIGHTS = 0.8  # of a GPU's free memory; the rest is for activations and the cache


def load_from_hub(
    name: str, device: torch.device, dtype: torch.dtype
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model and its tokenizer; `name` is an id of the hub or a folder.

    The model is on `device`, or spread over all GPUs by `accelerate` where that one is too small for it.
    ReaderError when there is no such model, the hub cannot be reached, or it is not a model that we run.
    """
    offline = False
    if is_folder(name):
        check_folder(Path(name))
    else:
        offline = constants.HF_HUB_OFFLINE or not answers(constants.ENDPOINT)
    safe = {"trust_remote_code": False, "local_files_only": offline}
    with _one_sentence(name, "config.json", offline):
        config = AutoConfig.from_pretrained(name, **safe)
    with _one_sentence(name, "tokenizer", offline):
        tokenizer = AutoTokenizer.from_pretrained(name, **safe)
    with _one_sentence(name, "model", offline):
        model, report = AutoModelForCausalLM.from_pretrained(
            name,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are in the report
            dtype=dtype,
            device_map="auto" if is_too_large(config, dtype, device) else None,
            attn_implementation="eager",  # the only one that hands out its attention pattern
            use_safetensors=True,
            **safe,
        )
        _check_report(name, report, config.get_text_config().num_hidden_layers)
        return (model if hasattr(model, "hf_device_map") else model.to(device)), tokenizer


def is_folder(name: str) -> bool:
    """Whether `name` is a model's folder; ReaderError when it is neither that nor like `owner/model`."""
    if name and os.path.isdir(name):  # noqa: PTH112 - Path.is_dir raises where a name is too long
        if not (Path(name) / CONFIG).is_file():
            raise ReaderError(f"The folder {name} holds no {CONFIG}: give the folder of a saved model.")
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
    except URLError as error:  # some Pythons have no certificates, the hub's client brings its own
        return isinstance(error.reason, ssl.SSLError)
    except (OSError, HTTPException):
        return False
    except ValueError as error:
        said = f"HF_ENDPOINT={endpoint!r} is no address: write it with https:// in front, or leave it unset."
        raise ReaderError(said) from error


def is_too_large(config: PreTrainedConfig, dtype: torch.dtype, device: torch.device) -> bool:
    """Whether the weights would leave this GPU no room to compute in."""
    if device.type != "cuda":
        return False
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    n_bytes = sum(weight.numel() for weight in model.parameters()) * dtype.itemsize
    free, _ = torch.cuda.mem_get_info(device)
    return n_bytes > ROOM_FOR_WEIGHTS * free


def _check_report(name: str, report: dict, n_layers: int) -> None:
    """ReaderError where transformers put random numbers in place of weights, or left out the weights of a block."""
    mend = f"get the complete model, or correct its {CONFIG}."
    for key, stored, wanted in sorted(report["mismatched_keys"]):
        raise ReaderError(
            f"The weights of {name} do not fit its {CONFIG}: {key} is {tuple(stored)} in the file, "
            f"and {tuple(wanted)} by the configuration: {mend}"
        )
    if absent := sorted(report["missing_keys"]):  # tied ones excepted
        raise ReaderError(
            f"The files of {name} lack {len(absent)} of the model's tensors ({absent[0]}, …), and random numbers "
            f"would stand in their place: {mend}"
        )
    blocks = [re.search(r"\.(\d+)\.", key) for key in report["unexpected_keys"]]
    if further := [int(block[1]) for block in blocks if block and int(block[1]) >= n_layers]:
        raise ReaderError(
            f"The files of {name} hold the weights of block {max(further)}, but its {CONFIG} has num_hidden_layers = "
            f"{n_layers}, so they would be left out: {mend}"
        )


@contextmanager
def _one_sentence(name: str, part: str, offline: bool) -> Iterator[None]:
    """Whatever transformers raises over a file that it cannot use (a dozen kinds of errors) becomes a ReaderError."""
    try:
        yield
    except ReaderError:
        raise
    except Exception as error:
        raise ReaderError(_trouble(name, part, error, offline)) from error


def _trouble(name: str, part: str, error: Exception, offline: bool) -> str:
    """One sentence for what transformers and the hub's client say in many."""
    said = f"{type(error).__name__} {error}" if isinstance(error, LookupError) else str(error)
    reason = shorten(said, 200, placeholder=" …")
    known = {
        "gated": f"{name} is for readers who accepted its licence: do so on its page, then `hf auth login`.",
        "unknown": f"The hub has no model {name!r}, or it is private: check the spelling and the owner.",
        "offline": f"The hub cannot be reached and {name} is not in the local cache: check the network, "
        "HF_ENDPOINT and HF_HUB_OFFLINE, or use a bundled model.",
        "safetensors": f"{name} has no safetensors weights, and other formats may run code: pick another.",
        "code": f"{name} needs its own code, which is never run here: pick one that transformers knows.",
        "kind": f"{name} is not a decoder-only language model: pick one that continues a text.",
        "unnamed": f"The {CONFIG} of {name} names no model_type: write there which architecture this is.",
        "new": f"transformers {transformers.__version__} does not know the model_type in the {CONFIG} of {name} "
        f"({''.join(re.findall('`[^`]*`', reason)[:1])}): correct it, update transformers, or pick another.",
        "no tokenizer": f"{name} comes without tokenizer.json: save its tokenizer beside the weights, with "
        "tokenizer.save_pretrained(folder).",
        "memory": f"{name} does not fit into the free memory ({reason}): stop other notebooks, or pick a smaller one.",
    }
    general = f"The {part} of {name} cannot be loaded ({reason}): get its files again, or pick another model."
    return known.get(_kind_of_trouble(error, offline), general)


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
        "Should have a `model_type` key": "unnamed",
        "does not recognize this architecture": "new",
        "instantiate the backend tokenizer": "no tokenizer",
        "out of memory": "memory",
        "allocate memory": "memory",
    }
    return next((kind for sign, kind in signs.items() if sign in said), "other")
