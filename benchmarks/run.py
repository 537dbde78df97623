"""All benchmarks, one after the other, into one table: `python benchmarks/run.py` writes benchmarks/results.md.

About 25 minutes on two cores. `python benchmarks/run.py load attention` runs only these and replaces only their parts
of the file. A peer that is not installed (transformer-lens, xllamacpp) is left out of its table.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import psutil
import torch
import transformers

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results.md"
PARTS = {  # script: what it measures
    "load": "Loading the model",
    "trace": "One forward pass, every tensor kept",
    "decode": "Prefill and decode",
    "attention": "Attention over length",
    "widgets": "Explorers, from a move to the painted picture",
}
HEAD = """\
# Measured

`python benchmarks/run.py`, or one part with its name behind. Medians; ratios are taken within one run, in which every
way is asked in turn. Read the ratios: times depend on the machine and on what else it does.
"""


def machine() -> str:
    """What the figures of a part were measured on, and how busy it was."""
    chip = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine()
    busy = f", load {psutil.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    return f"{date.today()}: {psutil.cpu_count()} cores, {chip}; {versions}{busy}."


def measure(part: str) -> str:
    """The part's section: the script's tables, shown while they come."""
    lines, start = [], machine()
    command = [sys.executable, str(FOLDER / f"{part}.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", cwd=FOLDER.parent) as running:
        for line in running.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if running.returncode:
        sys.exit(f"benchmarks/{part}.py stopped with code {running.returncode}; {RESULTS.name} is as it was.")
    return f"## {PARTS[part]}\n\n{start}\n\n{''.join(lines).strip()}\n"


def kept() -> dict[str, str]:
    """The sections of the file as it is, by their headings."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.is_file() else ""
    found = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = [*PARTS, []]  # argparse compares an empty list with the choices too
    parser.add_argument("parts", nargs="*", choices=choices, metavar="part", help=", ".join(PARTS))
    for part in parser.parse_args().parts or PARTS:
        sections = kept() | {PARTS[part]: measure(part)}
        ordered = [sections[title] for title in PARTS.values() if title in sections]
        RESULTS.write_text("\n".join([HEAD, *ordered]), encoding="utf-8")


if __name__ == "__main__":
    main()
