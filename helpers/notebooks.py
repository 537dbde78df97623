"""Which notebooks there are, and `python -m helpers build`, which executes their sources and writes them."""

import argparse
import re
import time
from dataclasses import dataclass
from pathlib import Path

from helpers.errors import ReaderError
from helpers.language import LANGUAGES, language
from helpers.notebooks_check import checked_text

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
MAX_BYTES = 1_000_000  # of one notebook: larger ones open slowly, and GitHub stops showing them
STAGES = {  # name of the notebook: its label in the path strip, in each of LANGUAGES
    "00_journey": ("journey", "旅程"),
    "01_tokenize": ("tokenize", "分词"),
    "02_embed": ("embed", "嵌入"),
    "03_attention": ("attention", "注意力"),
    "04_ffn": ("FFN", "前馈网络"),
    "05_logits": ("logits", "logits"),
    "06_sampling": ("sampling", "采样"),
    "07_kv_cache": ("KV cache", "KV 缓存"),
    "08_flash_attention": ("FlashAttention", "FlashAttention"),
    "09_serving": ("serving", "推理服务"),
    "10_speculative": ("speculative decoding", "投机解码"),
    "11_quantization": ("quantization", "量化"),
    "12_clinic": ("clinic", "故障诊室"),
    "13_performance_map": ("performance map", "性能地图"),
}


@dataclass(frozen=True)
class Stage:
    """One stop of the journey; `link` is relative to its language's folder, None without a notebook."""

    number: int
    name: str
    label: str
    link: str | None


def stages(lang: str | None = None, folder: Path = NOTEBOOKS) -> list[Stage]:
    """All stages in order, labelled in `lang` (default: the reader's language)."""
    lang = lang or language()
    labels = {name: both[LANGUAGES.index(lang)] for name, both in STAGES.items()}
    return [Stage(int(name[:2]), name, label, _link(name, lang, folder)) for name, label in labels.items()]


def _link(name: str, lang: str, folder: Path) -> str | None:
    source = source_path(name, folder)
    if not source.exists():
        return None
    return f"{name}.ipynb" if lang in languages_of(source) else f"../{name}.ipynb"


def source_path(name: str, folder: Path = NOTEBOOKS) -> Path:
    return folder / "source" / f"{name}.py"


def built_path(name: str, lang: str, folder: Path = NOTEBOOKS) -> Path:
    """Where the built notebook of a language stands."""
    return (folder if lang == "en" else folder / lang) / f"{name}.ipynb"


def languages_of(source: Path) -> list[str]:
    """The languages that the markdown cells of a source are written in."""
    text = source.read_text(encoding="utf-8")
    return [lang for lang in LANGUAGES if re.search(rf'^# %% \[markdown\].*"{lang}"', text, re.MULTILINE)]


def names(folder: Path = NOTEBOOKS) -> list[str]:
    """The notebooks that have a source, in order."""
    return sorted(source.stem for source in folder.glob("source/[0-9][0-9]_*.py"))


def find(target: str, folder: Path = NOTEBOOKS) -> str:
    """The full name of the notebook that `target` (3, 03, attention or 03_attention) means."""
    known = names(folder)
    for name in known:
        number, _, title = name.partition("_")
        if target in (name, title) or (target.isdecimal() and int(target) == int(number)):
            return name
    raise ReaderError(f"There is no notebook {target!r}: choose one of {', '.join(known)}.")


def build(target: str, folder: Path = NOTEBOOKS) -> list[Path]:
    """Execute one notebook in each of its languages, then write what came out; a failure writes nothing.

    Raises ReaderError: unknown notebook, failing cell, an output that must not be committed, over 1 MB.
    """
    name = find(target, folder)
    checked_text(source_path(name, folder))
    languages, texts = languages_of(source_path(name, folder)), {}
    if not languages:
        raise ReaderError(f"{name} has no prose, so there is no language to build: begin it with a title.")
    notebooks_run, notebooks_source = _builders()
    for lang in languages:
        notebook = notebooks_source.read(name, lang, folder)
        notebooks_run.execute(notebook, name, lang, folder)
        texts[built_path(name, lang, folder)] = _sized(notebooks_source.dumps(notebook), name)
    for path, text in texts.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return list(texts)


def _builders() -> tuple:
    """The modules that build; they need the extra `test`, which a reader has not."""
    try:
        from helpers import notebooks_run, notebooks_source
    except ModuleNotFoundError as error:
        raise ReaderError(
            f"To build notebooks, the package {error.name} is missing: run `python -m pip install -e '.[test]'` "
            "in the folder of Token Journey."
        ) from error
    return notebooks_run, notebooks_source


def _sized(text: str, name: str) -> str:
    size = len(text.encode())
    if size > MAX_BYTES:
        raise ReaderError(f"{name} has {size / 1e6:.1f} MB, the limit is 1 MB: show fewer figures.")
    return text


def main(argv: list[str]) -> int:
    """`python -m helpers build 00 attention`: build these notebooks, or all; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m helpers build", description="Execute notebooks.")
    parser.add_argument("notebook", nargs="*", help="number or name, such as 3 or attention (default: all)")
    targets = parser.parse_args(argv).notebook or names()
    for target in targets:
        find(target)  # a misspelt last one is said before the first is built
    for target in targets:
        start = time.perf_counter()
        written = build(target)
        took = time.perf_counter() - start
        print(f"{', '.join(path.name for path in written)}: built in {took:.0f} s")
    return 0
