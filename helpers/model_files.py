"""Looks through the folder of a saved model before transformers does: which file is absent, torn or another's."""

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open

from helpers.errors import ReaderError

CONFIG, WEIGHTS, SHARDS = "config.json", "model.safetensors", "model.safetensors.index.json"
SETTINGS = (CONFIG, "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
MAY_RUN_CODE = ("*.bin", "*.pt", "*.pth", "*.ckpt")
LFS_POINTER = b"version https://git-lfs"


def check_folder(folder: Path) -> None:
    """ReaderError that names the first file which cannot be used, and what to do; headers only, so it takes no time."""
    for path in (folder / name for name in SETTINGS):
        if path.exists():
            read_settings(path)
    for path in weight_files(folder):
        _open_weights(path)


def read_settings(path: Path) -> dict:
    """The JSON object in a file of settings."""
    try:
        settings = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ReaderError(_unusable(path, str(error))) from error
    if not isinstance(settings, dict):
        raise ReaderError(_unusable(path, "it holds no JSON object"))
    return settings


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of the model: one, or the shards that its index names."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if not (folder / SHARDS).is_file():
        raise ReaderError(_no_weights(folder))
    places = read_settings(folder / SHARDS).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise ReaderError(_unusable(folder / SHARDS, "it has no weight_map"))
    return [folder / str(name) for name in sorted(set(map(str, places.values())))]


def _open_weights(path: Path) -> None:
    try:
        with safe_open(path, "pt"):
            return
    except (SafetensorError, OSError) as error:
        raise ReaderError(_unusable(path, str(error))) from error


def _no_weights(folder: Path) -> str:
    others = sorted(path.name for pattern in MAY_RUN_CODE for path in folder.glob(pattern))
    if others:
        return (
            f"The folder {folder} has no {WEIGHTS}, only {others[0]}, a format that may run code when it is read: save "
            "the model again with model.save_pretrained(folder), or pick another."
        )
    return f"The folder {folder} has no weights ({WEIGHTS}): save the model again, or get the complete folder."


def _unusable(path: Path, why: str) -> str:
    if not path.is_file():
        return f"The model's file {path} is missing: get the complete folder again."
    with path.open("rb") as file:
        if file.read(len(LFS_POINTER)) == LFS_POINTER:
            return f"{path} is only Git LFS's pointer to the file: run `git lfs pull` in its folder."
    if not path.stat().st_size:
        return f"The model's file {path} is empty: get it again."
    return f"The model's file {path} is torn, or not what its name says ({why}): get it again."
