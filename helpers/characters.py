"""Bytes and characters as a reader can see them: nothing invisible, nothing replaced."""

from itertools import accumulate

import regex

MARKS = {" ": "␣", "\n": "↵", "\t": "→"}
# no shape of their own, or they move what stands around them; U+FFFD looks like a fault of the page
INVISIBLE = regex.compile(r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2800\ufffd]")
EMOJI = regex.compile(r"\p{Extended_Pictographic}|\p{Regional_Indicator}|[0-9#*]\ufe0f\u20e3")
ACCENT, CLUSTER = regex.compile(r"\p{M}"), regex.compile(r"\X")
STRETCH = regex.compile(r"[\udc80-\udcff]+|[^\udc80-\udcff]+")


def show_bytes(raw: bytes) -> str:
    """UTF-8 as visible text, the rest as hex: b" \\xf0\\x9f" is "␣ f0 9f"."""
    return " ".join(piece.hex(" ") if text is None else visible(text) for piece, text in segments(raw))


def visible(text: str) -> str:
    """Text with marks for blanks, "U+200B" for what has no shape of its own, "◌" under a lone accent."""
    if text.isascii() and text.isprintable():  # most of a vocabulary
        return text.replace(" ", MARKS[" "])
    return "".join(map(_visible_cluster, clusters(text)))


def clusters(text: str) -> list[str]:
    """What a reader counts as characters: a letter with its accents, an emoji with its modifiers (UAX 29)."""
    return CLUSTER.findall(text)


def character_ends(raw: bytes) -> set[int]:
    """Byte offsets at which a character, or a stretch of bytes that is not UTF-8, ends."""
    lengths = []
    for piece, text in segments(raw):
        lengths += [len(piece)] if text is None else [len(cluster.encode()) for cluster in clusters(text)]
    return set(accumulate(lengths))


def segments(raw: bytes) -> list[tuple[bytes, str | None]]:
    """Bytes cut into stretches that are UTF-8 (with their text) and stretches that are not (None)."""
    # surrogateescape turns each byte that is not UTF-8 into a lone surrogate, and back
    text = raw.decode("utf-8", "surrogateescape")
    stretches = STRETCH.findall(text)
    return [(s.encode("utf-8", "surrogateescape"), None if "\udc80" <= s[0] <= "\udcff" else s) for s in stretches]


def _visible_cluster(cluster: str) -> str:
    if EMOJI.match(cluster):  # joiners and selectors are part of an emoji's spelling
        return cluster
    bare = bool(INVISIBLE.match(cluster) or ACCENT.match(cluster))
    return "".join(_visible_character(character, bare) for character in cluster)


def _visible_character(character: str, bare: bool) -> str:
    """`bare`: no letter stands there to carry an accent."""
    if character in MARKS:
        return MARKS[character]
    if INVISIBLE.match(character):
        return f"U+{ord(character):04X}"
    return f"◌{character}" if bare and ACCENT.match(character) else character
