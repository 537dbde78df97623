"""A byte-level BPE tokenizer read out of its JSON, and its merges applied one after the other.

Sennrich et al., 2016, arXiv:1508.07909; on bytes as in GPT-2 (Radford et al., 2019).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from helpers.errors import ReaderError
from helpers.tokens import byte_alphabet

Pair = tuple[int, int]
# GPT-2's cuts; \p{White_Space}, since what \s stands for differs between languages
WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\s+(?!\S)|\s+"
WORD = regex.compile(WORDS.replace(r"\s", r"\p{White_Space}").replace(r"\S", r"\P{White_Space}"))
DIGIT_OR_REST = regex.compile(r"\p{N}|\P{N}+")
OTHER_KIND = "This tokenizer cannot be replayed here: it is no byte-level BPE with GPT-2's way of cutting words."


@dataclass(frozen=True)
class ByteLevelBpe:
    """`byte_ids`: byte → id (a byte without an entry is dropped); `merges`: pair of ids → (rank, id made);
    `special`: text → id; `digits_alone`: is every digit a word of its own?"""

    byte_ids: dict[int, int]
    merges: dict[Pair, tuple[int, int]]
    special: dict[str, int]
    digits_alone: bool


def read_bpe(tokenizer) -> ByteLevelBpe:
    """The parts of a transformers tokenizer; ReaderError when it is not of this kind."""
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    model = parts["model"]
    if model["type"] != "BPE" or parts["normalizer"] or not (rules := _rules(parts["pre_tokenizer"])):
        raise ReaderError(OTHER_KIND)
    ids = model["vocab"]
    merges = {
        (ids[left], ids[right]): (rank, ids[left + right])
        for rank, (left, right) in reversed(list(enumerate(model["merges"])))
    }
    return ByteLevelBpe(
        byte_ids={byte: ids[mark] for mark, byte in byte_alphabet().items() if mark in ids},
        merges=merges,
        special={token["content"]: token["id"] for token in parts["added_tokens"]},
        digits_alone="Digits" in rules,
    )


def cut(bpe: ByteLevelBpe, text: str) -> list[int | list[int]]:
    """Special tokens as their ids, words as the lists of their bytes' ids, in the order of the text."""
    longest_first = sorted(bpe.special, key=len, reverse=True)
    parts = regex.split(f"({'|'.join(map(regex.escape, longest_first))})", text) if longest_first else [text]
    found = []
    for i, part in enumerate(parts):
        if i % 2:
            found.append(bpe.special[part])
        else:
            found += [
                [bpe.byte_ids[byte] for byte in word.encode() if byte in bpe.byte_ids]
                for word in words(part, bpe.digits_alone)
            ]
    return found


def words(text: str, digits_alone: bool) -> list[str]:
    """The stretches that no merge may cross."""
    stretches = DIGIT_OR_REST.findall(text) if digits_alone else [text]
    return [word for stretch in stretches for word in WORD.findall(stretch)]


def merge_steps(bpe: ByteLevelBpe, text: str) -> Iterator[tuple[int | None, list[int]]]:
    """(rank of the merge, ids after it), the earliest-learned merge first, from (None, bytes) to the tokens.

    One step joins a pair wherever it stands in the text.
    """
    parts, rank = cut(bpe, text), None
    while True:
        yield rank, [i for part in parts for i in (part if isinstance(part, list) else [part])]
        pairs = {
            pair
            for part in parts
            if isinstance(part, list)
            for pair in zip(part, part[1:], strict=False)
            if pair in bpe.merges
        }
        if not pairs:
            return
        pair = min(pairs, key=bpe.merges.get)
        rank, made = bpe.merges[pair]
        parts = [merged(part, pair, made) if isinstance(part, list) else part for part in parts]


def merged(ids: list[int], pair: Pair, made: int) -> list[int]:
    """`ids` with `made` in place of every `pair`, from the left, without overlap."""
    joined, i = [], 0
    while i < len(ids):
        match = tuple(ids[i : i + 2]) == pair
        joined.append(made if match else ids[i])
        i += 2 if match else 1
    return joined


def _rules(pre_tokenizer: dict | None) -> list[str]:
    """The kinds of a pre-tokenizer's steps when they are those of `words`, else nothing."""
    steps = (pre_tokenizer or {}).get("pretokenizers", [pre_tokenizer or {}])
    kinds = [step.get("type") for step in steps]
    plain = all(step.get("individual_digits", step.get("use_regex")) for step in steps)
    spaced = any(step.get("add_prefix_space") for step in steps)
    return kinds if plain and not spaced and kinds in (["ByteLevel"], ["Digits", "ByteLevel"]) else []
