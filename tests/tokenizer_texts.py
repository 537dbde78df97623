"""1,000 varied texts on which a tokenizer can go wrong, and the digests by which token ids are compared."""

import hashlib
import random

WORDS = (
    "The capital of France is Paris, isn't it? I'd say they're naïve; Straße, señor, coöperate e\u0301tude. "
    "HELLO wOrLd don'T we'LL _snake_case camelCase kebab-case http://a.b/c?d=e&f=%20 me@x.org C++ 3rd 21st"
).split()
CHINESE = (
    "我想吃苹果 天气很好，我们去公园吧。 一二三四五 語言模型 《红楼梦》 ：；！？ 龘 𠮷 ２０２６年 你好world 3月14日"
).split()
OTHER_SCRIPTS = "Привет мир こんにちは カタカナ 안녕하세요 مرحبا שלום हिन्दी ไทย Ελληνικά Tiếng Việt ﬁ ﷺ".split()
EMOJI = "😀 👩‍👩‍👧‍👦 🌧️ 🇫🇷 👍🏽 ❤️ ☃ ✅ 1️⃣ 🏴‍☠️".split()
NUMBERS = "0 7 42 1999 3.14159 1,234,567 -5 1e-10 0x1F 2026-11-30 12:34:56 ½ ² Ⅷ ٣ 99% $1.50 1000000000000".split()
CODE = (
    "def f(x):\n    return x**2\n",
    "for (int i = 0; i < n; i++) { a[i] += 1; }",
    '{"key": [1, 2.5, null, true]}',
    "SELECT * FROM t WHERE id=1;--",
    "<div class='a'>&lt;b&gt;</div>",
    "\tif x != y:\n\t\tprint(f'{x!r}')\n\n\n",
    "$$\\frac{a}{b}$$",
    "| a | b |\n|---|---|\n",
)
SPACES = (
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    " \n ",
    "\u00a0",
    "\u3000",
    "\u200b",
    " " * 40,
    "\t\t\t",
    "\n" * 5,
)
SPECIAL = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<bos>", "<eos>", "<start_of_turn>user", "<end_of_turn>",
    "<unused7>", "<|im_end", "<repo_name>", "[multimodal]", "</s>", "<h1>", "<0x0A>",
    "<|im_start|>user\nHi<|im_end|>\n",
)  # fmt: skip
ODD = (
    "▁",
    "Ġ",
    "\ufeff",
    "\u0301",
    "\ufffd",
    "\u2028",
    "\U0010ffff",
    "\x7f",
    "\x01",
    "\u202e",
    "ﾊ",
    "Å",
    "A\u030a",
)
KINDS = (WORDS, CHINESE, OTHER_SCRIPTS, EMOJI, NUMBERS, CODE, SPACES, SPECIAL, ODD)
GLUE = ("", "", " ", " ", "  ", "\n")


def texts(count: int = 1000) -> list[str]:
    """The same non-empty texts each time: every fragment once alone, then mixtures of 1 to 14 fragments."""
    chance = random.Random(0)
    alone = [fragment for kind in KINDS for fragment in kind]
    return (alone + [_mixture(chance) for _ in range(count)])[:count]


def _mixture(chance: random.Random) -> str:
    kinds = [KINDS[int(chance.random() * len(KINDS))] for _ in range(3)]
    fragments = []
    for _ in range(1 + int(chance.random() * 14)):
        kind = kinds[int(chance.random() * 3)]
        fragments += [kind[int(chance.random() * len(kind))], GLUE[int(chance.random() * len(GLUE))]]
    return "".join(fragments)


def digest(ids: list[int]) -> str:
    """Eight hexadecimal digits that stand for these token ids."""
    return hashlib.sha256(repr(list(ids)).encode()).hexdigest()[:8]
