"""GGUF's block types: how many values a block holds, in how many bytes, and what the values are.

Those of SmolLM2 are written out here, because importing `gguf` can take seconds; all others are `gguf`'s.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from helpers.errors import ReaderError

Q4_1 = np.dtype([("scale", "<f2"), ("lowest", "<f2"), ("pairs", "u1", 16)])
Q8_0 = np.dtype([("scale", "<f2"), ("steps", "i1", 32)])


class BlockType(NamedTuple):
    """`dequantize`: stored bytes, uint8 (rows, bytes a row) → values, float32, in the same order."""

    n_values: int
    n_bytes: int
    dequantize: Callable[[np.ndarray], np.ndarray]


def block_type(kind: int) -> BlockType:
    """The block type with this number in GGUF; ReaderError when it is unknown here."""
    if kind in WRITTEN_OUT:
        return WRITTEN_OUT[kind]
    try:
        import gguf
    except ModuleNotFoundError as error:
        raise ReaderError("This model's weights need the package gguf: run `python -m pip install gguf`.") from error
    kind = gguf.GGMLQuantizationType(kind)
    return BlockType(*gguf.GGML_QUANT_SIZES[kind], lambda stored: gguf.dequantize(stored, kind))


def _f32(stored: np.ndarray) -> np.ndarray:
    return stored.view("<f4")


def _q4_1(stored: np.ndarray) -> np.ndarray:
    """Steps 0 to 15 above the block's lowest value; a byte holds one step of each half of the block."""
    blocks = stored.reshape(-1).view(Q4_1)
    values = np.empty((len(blocks), 32), np.float32)
    values[:, :16] = blocks["pairs"] & 15
    values[:, 16:] = blocks["pairs"] >> 4
    values *= blocks["scale"].astype(np.float32)[:, None]
    values += blocks["lowest"].astype(np.float32)[:, None]
    return values


def _q8_0(stored: np.ndarray) -> np.ndarray:
    """Steps -127 to 127 of the block's scale."""
    blocks = stored.reshape(-1).view(Q8_0)
    values = blocks["steps"].astype(np.float32)
    values *= blocks["scale"].astype(np.float32)[:, None]
    return values


WRITTEN_OUT = {
    0: BlockType(1, 4, _f32),
    3: BlockType(32, Q4_1.itemsize, _q4_1),
    8: BlockType(32, Q8_0.itemsize, _q8_0),
}
