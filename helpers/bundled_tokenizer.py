"""Builds the bundled models' tokenizers from their GGUF metadata, as the models' own tokenizers cut text.

transformers' GGUF route is not used: it drops SmolLM2's splitting of digits.
"""

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # llama.cpp's token types
SPACE = "▁"  # how SentencePiece writes a space inside a piece


def build_tokenizer(metadata: dict) -> PreTrainedTokenizerFast:
    """The tokenizer of a bundled file; it puts `<bos>` in front where the model wants it (Gemma does)."""
    build = {"smollm": _byte_level, "default": _sentencepiece}[metadata["tokenizer.ggml.pre"]]
    pieces = metadata["tokenizer.ggml.tokens"]
    tokenizer = build(metadata)
    types = np.array(metadata["tokenizer.ggml.token_type"])
    for special in (True, False):
        ids = np.flatnonzero(types == (CONTROL if special else USER_DEFINED))
        tokenizer.add_tokens([AddedToken(pieces[i], special=special, normalized=False) for i in ids])
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **_special_tokens(metadata)
    )
    wrapped.chat_template = metadata.get("tokenizer.chat_template")
    return wrapped


def _special_tokens(metadata: dict) -> dict[str, str]:
    pieces = metadata["tokenizer.ggml.tokens"]
    ids = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    return {f"{short}_token": pieces[metadata[f"tokenizer.ggml.{long}_token_id"]] for short, long in ids.items()}


def _byte_level(metadata: dict) -> Tokenizer:
    """SmolLM2: every digit alone, then byte-level BPE with the file's merges."""
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=_ids(metadata), merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _sentencepiece(metadata: dict) -> Tokenizer:
    """Gemma: BPE over whole text, spaces written as ▁, bytes for what has no piece, `<bos>` in front."""
    bos, bos_id = _special_tokens(metadata)["bos_token"], metadata["tokenizer.ggml.bos_token_id"]
    bpe = models.BPE(
        vocab=_ids(metadata), merges=_merges(metadata), unk_token="<unk>", fuse_unk=True, byte_fallback=True
    )
    tokenizer = Tokenizer(bpe)
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, bos_id)]
    )
    return tokenizer


def _ids(metadata: dict) -> dict[str, int]:
    return {piece: i for i, piece in enumerate(metadata["tokenizer.ggml.tokens"])}


def _merges(metadata: dict) -> list[tuple[str, str]]:
    """SentencePiece's rule as merges: of all neighbours that form a piece, join the best-scored."""
    pieces, types = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    normal = {piece for piece, kind in zip(pieces, types, strict=True) if kind == NORMAL}
    best_first = np.argsort(-np.array(metadata["tokenizer.ggml.scores"]), kind="stable")
    return [
        (piece[:cut], piece[cut:])
        for piece in (pieces[i] for i in best_first if types[i] == NORMAL)
        for cut in range(1, len(piece))
        if piece[:cut] in normal and piece[cut:] in normal
    ]
