"""`python -m helpers doctor`: what this machine has, line by line; each line says fine, or what to do."""

import argparse
import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import torch
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from helpers.bundles import BUNDLES
from helpers.errors import ReaderError
from helpers.fetch import cache_dir, is_whole
from helpers.memory import available_bytes
from helpers.runtime import usable_cpus

PACKAGE = "token-journey"
MODEL = "smollm2-135m"
MODEL_BYTES = 1.0e9  # peak of load and first forward pass in float32
FRONT_END = {"anywidget": "anywidget", "@jupyter-widgets/jupyterlab-manager": "jupyterlab_widgets"}
TEST_TOOLS = ("chromium", "node")


@dataclass(frozen=True)
class Finding:
    """One line of the report; an empty `to_do` means fine."""

    subject: str
    found: str
    to_do: str = ""

    def __str__(self) -> str:
        return f"{self.subject:<18} {self.found}: {self.to_do or 'fine'}"


def versions() -> list[Finding]:
    """Python and every package this one depends on, against the versions it asks for."""
    wanted = SpecifierSet(metadata.metadata(PACKAGE)["Requires-Python"])
    here = platform.python_version()
    python = Finding("python", here, "" if wanted.contains(here) else f"Python {wanted} is needed")
    needed = [Requirement(line) for line in metadata.requires(PACKAGE)]
    return [python] + [package(requirement) for requirement in needed if requirement.marker is None]


def package(requirement: Requirement) -> Finding:
    """Whether the package is installed in a version that fits."""
    command = f'run: python -m pip install "{requirement}"'
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return Finding(requirement.name, "missing", command)
    fits = requirement.specifier.contains(version, prereleases=True)
    return Finding(requirement.name, version, "" if fits else command)


def device() -> Finding:
    """What `load_model` computes on when it is not told."""
    if torch.cuda.is_available():
        capability = "{}.{}".format(*torch.cuda.get_device_capability())
        free = available_bytes(torch.device("cuda")) / 1e9
        name = torch.cuda.get_device_name()
        return Finding("device", f"{name}, compute capability {capability}, {free:.1f} GB free")
    found = f"CPU, {min(torch.get_num_threads(), usable_cpus())} threads"
    if torch.backends.mps.is_available():
        found += " (the Apple GPU on request: load_model(device='mps'))"
    return Finding("device", found)


def memory() -> Finding:
    """Free main memory, within a container's limit, against what the model needs."""
    free = available_bytes(torch.device("cpu"))
    low = f"{MODEL} needs {MODEL_BYTES / 1e9:.1f} GB: shut down other kernels and close programs"
    return Finding("memory", f"{free / 1e9:.1f} GB free", "" if free >= MODEL_BYTES else low)


def cache() -> list[Finding]:
    """Whether models can be kept, and whether the default one is there and whole."""
    try:
        folder = cache_dir()
    except ReaderError as error:
        return [Finding("cache", "none", str(error))]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        reason = error.strerror or str(error)
        to_do = "make it writable, or set TOKEN_JOURNEY_HOME to a folder that is"
        return [Finding("cache", f"{folder}: {reason}", to_do)]
    free = shutil.disk_usage(folder).free / 1e9
    return [Finding("cache", f"{folder}, {free:.1f} GB free"), model(folder)]


def model(folder: Path) -> Finding:
    """Whether the default model's file is there and its sha256 right."""
    bundle = BUNDLES[MODEL]
    path = folder / bundle.file_name
    try:
        if is_whole(path, bundle):
            return Finding(MODEL, "fetched and verified")
    except OSError as error:
        return Finding(MODEL, f"cannot be read ({error.strerror or error})", f"make {path} readable, or delete it")
    found = "damaged" if path.exists() else "not fetched"
    return Finding(MODEL, found, f"run: python -m helpers fetch {MODEL}")


def front_end(prefix: Path) -> list[Finding]:
    """Whether JupyterLab, started from the environment at `prefix`, can show the explorers."""
    folder = prefix / "share" / "jupyter" / "labextensions"
    return [
        Finding(f"{package}", "installed for JupyterLab")
        if (folder / extension).is_dir()
        else Finding(
            f"{package}",
            "not where this environment's JupyterLab looks",
            f"run: python -m pip install --force-reinstall {package}; then restart JupyterLab",
        )
        for extension, package in FRONT_END.items()
    ]


def tools_for_tests() -> list[Finding]:
    """Programs that only the browser and JavaScript tests use."""
    return [Finding(tool, shutil.which(tool) or "absent, which only leaves out some tests") for tool in TEST_TOOLS]


def main(arguments: list[str]) -> int:
    """Print every finding; returns 1 where something must be done, else 0."""
    argparse.ArgumentParser(prog="python -m helpers doctor", description=__doc__).parse_args(arguments)
    findings = [*versions(), device(), memory(), *cache(), *front_end(Path(sys.prefix)), *tools_for_tests()]
    print(*findings, sep="\n")
    to_do = sum(bool(finding.to_do) for finding in findings)
    print(f"\n{to_do} to do: see above." if to_do else "\nEverything is fine.")
    return 1 if to_do else 0
