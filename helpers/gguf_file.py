"""Reads a GGUF file: its metadata at once, its tensors as numpy arrays one at a time.

The header is parsed here because `gguf`'s own reader takes seconds for it.
Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import mmap
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from helpers.errors import ReaderError
from helpers.gguf_blocks import block_type

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


@dataclass(frozen=True)
class TensorInfo:
    """One tensor: its shape in torch's order, its block type's number, and where in the file it starts."""

    shape: tuple[int, ...]
    kind: int
    start: int


class GgufFile:
    """`metadata`: name → value; `tensors`: name → `TensorInfo`; `read(name)`: one tensor's values.

    ReaderError when the file is not GGUF or ends too early.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                self.metadata, self.tensors = _parse_header(data)
        except (ValueError, KeyError, struct.error) as error:
            raise ReaderError(f"{path.name} is no whole GGUF file ({error}): delete it and fetch it again.") from error

    def stored(self, name: str) -> np.ndarray:
        """The tensor as it lies in the file: uint8 (rows, bytes a row)."""
        tensor = self.tensors[name]
        block = block_type(tensor.kind)
        row_bytes = tensor.shape[-1] // block.n_values * block.n_bytes
        n_bytes = prod(tensor.shape[:-1]) * row_bytes
        stored = np.fromfile(self.path, np.uint8, n_bytes, offset=tensor.start)
        if stored.size < n_bytes:
            raise ReaderError(f"{self.path.name} ends in the middle of {name}: delete it and fetch it again.")
        return stored.reshape(-1, row_bytes)

    def read(self, name: str) -> np.ndarray:
        """The tensor's values as float32, in torch's shape."""
        tensor = self.tensors[name]
        return block_type(tensor.kind).dequantize(self.stored(name)).reshape(tensor.shape)


class _Cursor:
    """Takes one value after the other from the header."""

    def __init__(self, data: mmap.mmap):
        self.data, self.place = data, 0

    def number(self, letter: str) -> Any:
        (value,) = struct.unpack_from("<" + letter, self.data, self.place)
        self.place += struct.calcsize(letter)
        return value

    def string(self) -> str:
        start = self.place + 8
        self.place = start + struct.unpack_from("<Q", self.data, self.place)[0]
        return self.data[start : self.place].decode("utf-8")

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.string()
        return self.array() if kind == ARRAY else self.number(NUMBERS[kind])

    def array(self) -> list:
        kind, length = self.number("I"), self.number("Q")
        if kind in (STRING, ARRAY):
            return [self.value(kind) for _ in range(length)]
        values = struct.unpack_from(f"<{length}{NUMBERS[kind]}", self.data, self.place)
        self.place += length * struct.calcsize(NUMBERS[kind])
        return list(values)


def _parse_header(data: mmap.mmap) -> tuple[dict[str, Any], dict[str, TensorInfo]]:
    if data[:4] != b"GGUF":
        raise ValueError("it does not begin with GGUF")
    cursor = _Cursor(data)
    cursor.place = 8  # the magic word and the version
    n_tensors, n_values = cursor.number("Q"), cursor.number("Q")
    metadata = {cursor.string(): cursor.value(cursor.number("I")) for _ in range(n_values)}
    tensors = [_tensor_info(cursor) for _ in range(n_tensors)]
    alignment = metadata.get("general.alignment", 32)
    first = -(-cursor.place // alignment) * alignment
    return metadata, {name: TensorInfo(shape, kind, first + offset) for name, shape, kind, offset in tensors}


def _tensor_info(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.string()
    fastest_first = [cursor.number("Q") for _ in range(cursor.number("I"))]
    return name, tuple(reversed(fastest_first)), cursor.number("I"), cursor.number("Q")
