"""How a token is shown: its bytes, a label that hides nothing, the characters it makes with others."""

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate

import regex

from helpers.characters import character_ends, show_bytes
from helpers.errors import ReaderError
from helpers.token_chips import Chip, TokenChips


def token_bytes(tokenizer, token_id: int) -> bytes:
    """The exact bytes one token stands for, often not whole characters; ReaderError if there is no such id.

    Joined over the ids of a text they give the text back (after a space, where a tokenizer adds one).
    """
    return _spell(tokenizer, [token_id])[0][0]


def token_labels(tokenizer, ids) -> list[str]:
    """One visible label a token: "␣the", "↵", hex for bytes that make no whole character: "e5 a4".

    A model may have more logits than its tokenizer has tokens: such an id is labelled "no token 151700".
    """
    spell, labels = _speller(tokenizer, len(tokenizer)), []
    for token_id in map(int, ids):
        try:
            labels.append(_label(*spell(token_id)))
        except ReaderError:
            labels.append(f"no token {token_id}")
    return labels


def special_positions(tokenizer, ids) -> list[int]:
    """Positions of control tokens (<bos>, <|im_end|>): one id each, added by the tokenizer or typed."""
    return [i for i, (_, special) in enumerate(_spell(tokenizer, ids)) if special]


def group_characters(tokenizer, ids) -> list[tuple[str, list[int]]]:
    """The shortest runs of tokens that end where a character ends: [("天", [0, 1]), ("␣ok", [2])].

    A character is what a reader sees as one: an emoji with its modifiers, a letter with its accents.
    """
    spelled, groups = _spell(tokenizer, ids), []
    for run in _runs(spelled):
        groups.append((_label(b"".join(spelled[i][0] for i in run), spelled[run[0]][1]), run))
    return groups


def token_chips(tokenizer, ids) -> TokenChips:
    """The tokens as pieces with their ids, those that share a character joined, for a notebook to show."""
    spelled, ids = _spell(tokenizer, ids), list(ids)
    chips = [Chip(_label(*piece), int(token_id), piece[1]) for piece, token_id in zip(spelled, ids, strict=True)]
    return TokenChips([(text, [chips[i] for i in run]) for text, run in group_characters(tokenizer, ids)])


def byte_alphabet() -> dict[str, int]:
    """The printable character that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


def _spell(tokenizer, ids) -> list[tuple[bytes, bool]]:
    """(bytes, is it a control token) of each id."""
    return list(map(_speller(tokenizer, len(tokenizer)), map(int, ids)))


@lru_cache(maxsize=8)
def _speller(tokenizer, n_tokens: int) -> Callable[[int], tuple[bytes, bool]]:
    """A function from an id to (bytes, is it a control token); made anew where tokens were added.

    Kept, since the list of added tokens is long: 60 ms for Gemma, at every token of a stream.
    """
    added, special = tokenizer.added_tokens_decoder, set(tokenizer.all_special_ids)
    special |= {token_id for token_id, token in added.items() if token.special}
    alphabet = byte_alphabet() if _is_byte_level(tokenizer) else None
    literal = special if alphabet is None else added  # SentencePiece writes spaces as ▁ in its added pieces too

    def spell(token_id: int) -> tuple[bytes, bool]:
        piece = _piece(tokenizer, token_id)
        if token_id in literal:
            raw = piece.encode()
        else:
            raw = _sentencepiece(piece) if alphabet is None else bytes(alphabet[mark] for mark in piece)
        return raw, token_id in special

    return spell


def _piece(tokenizer, token_id: int) -> str:
    piece = tokenizer.convert_ids_to_tokens(token_id) if token_id >= 0 else None
    if piece is None:
        raise ReaderError(f"There is no token {token_id}: this tokenizer has ids from 0 to {len(tokenizer) - 1}.")
    return piece


def _is_byte_level(tokenizer) -> bool:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and backend.decoder is not None and b'"ByteLevel"' in backend.decoder.__getstate__()


def _sentencepiece(piece: str) -> bytes:
    if regex.fullmatch(r"<0x[0-9A-F]{2}>", piece):
        return bytes([int(piece[3:5], 16)])
    return piece.replace("▁", " ").encode()


def _label(spelled: bytes, special: bool) -> str:
    return spelled.decode() if special else show_bytes(spelled)


def _runs(spelled) -> list[list[int]]:
    """Token positions, cut wherever a character ends where a token ends, and around every special token."""
    runs, start = [], 0
    specials = [i for i, (_, special) in enumerate(spelled) if special]
    for stop in [*specials, len(spelled)]:
        runs += _cut([piece for piece, _ in spelled[start:stop]], start)
        runs += [[stop]] if stop < len(spelled) else []
        start = stop + 1
    return runs


def _cut(pieces: list[bytes], first: int) -> list[list[int]]:
    ends = character_ends(b"".join(pieces))
    runs, run = [], []
    for position, end in enumerate(accumulate(map(len, pieces)), first):
        run.append(position)
        if end in ends:
            runs, run = [*runs, run], []
    return runs
