"""Has pip download one wheel from the package index that is set for it, while a progress bar follows.

Only pip speaks to the network, so a mirror or a company index is respected.
"""

import errno
import os
import subprocess
import sys
from pathlib import Path

from tqdm import tqdm

from helpers.errors import ReaderError


def pip_command(requirement: str, folder: Path) -> list[str]:
    """The command that puts the wheel of `requirement`, without its dependencies, into `folder`."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    return [*command, *quiet, "--dest", str(folder), requirement]


def download(requirement: str, folder: Path, bar: tqdm) -> Path:
    """Run pip until the wheel is in `folder`, and return the wheel.

    ReaderError when there is no pip or it fails; OSError when the disk is full.
    """
    # pip's temporary files go there too: the same disk, counted by the bar, and removed with the folder
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    with subprocess.Popen(
        pip_command(requirement, folder),
        env=os.environ | temporary | {"PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as pip:
        try:
            complaint = _wait(pip, folder, bar)
        except BaseException:  # an interrupted cell must not leave pip running
            pip.kill()
            raise
    if pip.returncode:
        raise _trouble(requirement, complaint)
    return next(folder.glob("*.whl"))


def _wait(pip: subprocess.Popen, folder: Path, bar: tqdm) -> str:
    """Wait for pip to end; return what it wrote to stderr."""
    before = bar.n
    while True:
        try:
            return pip.communicate(timeout=0.2)[1]
        except subprocess.TimeoutExpired:
            bar.update(max(0, min(bar.total, before + _largest_new_file(folder)) - bar.n))


def _largest_new_file(folder: Path) -> int:
    """Bytes of the wheel so far; no sum, because pip writes it twice: a temporary file, then a copy."""
    try:
        return max((path.stat().st_size for path in folder.rglob("*") if path.suffix != ".gguf"), default=0)
    except FileNotFoundError:  # pip has just removed a temporary file
        return 0


def _trouble(requirement: str, complaint: str) -> Exception:
    if "No module named pip" in complaint:
        return ReaderError("This Python has no pip to download with: run `python -m ensurepip`, then this again.")
    if os.strerror(errno.ENOSPC) in complaint:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    reasons = [line.removeprefix("ERROR: ") for line in complaint.splitlines() if line.startswith("ERROR: ")]
    return ReaderError(
        f"pip could not download {requirement} ({reasons[-1] if reasons else complaint.strip()}): "
        "check that this machine reaches the package index, then run this again."
    )
