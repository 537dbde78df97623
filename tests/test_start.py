"""start.py: what it decides, without installing anything."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
import start  # noqa: E402


@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_supported_pythons_are_accepted(minor):
    assert start.python_problem((3, minor, 0), True, "Linux", "x86_64") is None


@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        (((3, 10, 14), True, "Linux", "x86_64"), "This is Python 3.10, but 3.11 to 3.14 is needed"),
        (((3, 15, 0), True, "Windows", "AMD64"), "This is Python 3.15"),
        (((3, 12, 1), False, "Windows", "x86"), "32-bit"),
        (((3, 12, 1), True, "Darwin", "x86_64"), "Intel Macs"),
    ],
)
def test_an_unfit_python_gets_one_sentence(machine, sentence):
    problem = start.python_problem(*machine)
    assert sentence in problem
    assert "\n" not in problem


def test_an_old_python_can_parse_the_script():
    ast.parse((ROOT / "start.py").read_text(encoding="utf-8"), feature_version=(3, 6))


def test_only_the_standard_library_is_imported():
    tree = ast.parse((ROOT / "start.py").read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_a_missing_venv_module_names_the_debian_package():
    assert "apt install python3.12-venv" in start.venv_problem(["ensurepip"], (3, 12, 3))
    assert start.venv_problem([], (3, 12, 3)) is None


def test_a_full_disk_is_said_in_numbers():
    assert "needs 2.5 GB of disk, but 1.2 GB are free" in start.disk_problem(1_200_000_000, "cpu")
    assert start.disk_problem(2_600_000_000, "cpu") is None
    assert "needs 8.0 GB" in start.disk_problem(2_600_000_000, "gpu")


@pytest.mark.parametrize("extra, gpu, needed", [("", False, "2.5"), ("test", False, "3.5"), ("test", True, "8.0")])
def test_each_set_up_asks_for_the_disk_that_it_takes(extra, gpu, needed, monkeypatch):
    usage = type("Usage", (), {"free": 1_000_000_000})
    monkeypatch.setattr(start.shutil, "disk_usage", lambda folder: usage)
    monkeypatch.setattr(start.platform, "system", lambda: "Linux")
    monkeypatch.setattr(start, "has_nvidia_gpu", lambda: gpu)
    with pytest.raises(SystemExit, match=f"needs {needed} GB of disk"):
        start.install(extra)


def test_linux_without_gpu_tries_two_cpu_builds_before_the_cuda_one():
    local, cpu_index, plain = start.torch_attempts("Linux", gpu=False)
    assert local == ["torch==2.13.0+cpu"]
    assert cpu_index[:3] == ["torch==2.13.0+cpu", "--extra-index-url", start.CPU_INDEX]
    assert plain == ["torch==2.13.0"]


@pytest.mark.parametrize(("system", "gpu"), [("Linux", True), ("Darwin", False), ("Windows", False)])
def test_elsewhere_the_plain_build_is_right(system, gpu):
    assert start.torch_attempts(system, gpu) == [["torch==2.13.0"]]


@pytest.fixture
def fake_pip(monkeypatch):
    """Record what would be installed; everything fails but the last attempt."""
    asked = []

    def install(arguments, **options):
        asked.append(arguments)
        return 0 if arguments == [start.TORCH] else 1

    monkeypatch.setattr(start, "pip_install", install)
    monkeypatch.setattr(start.platform, "system", lambda: "Linux")
    return asked


def test_the_cuda_build_is_the_last_resort_and_announced(fake_pip, capsys, monkeypatch):
    monkeypatch.setattr(start, "check_disk", lambda kind: None)
    start.install_torch(gpu=False)
    assert [arguments[0] for arguments in fake_pip] == ["torch==2.13.0+cpu"] * 2 + ["torch==2.13.0"]
    assert "3 GB to download" in capsys.readouterr().out


def test_no_cuda_build_on_a_disk_too_small_for_it(fake_pip, monkeypatch):
    usage = type("Usage", (), {"free": 5_000_000_000})
    monkeypatch.setattr(start.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(SystemExit, match=r"needs 8.0 GB of disk, but 5.0 GB are free"):
        start.install_torch(gpu=False)


@pytest.fixture
def checkout(tmp_path):
    """A folder with the two files that decide what is installed, under a name that needs quoting."""
    root = tmp_path / "mein Ordner 北京"
    (root / ".venv").mkdir(parents=True)
    for name in ("pyproject.toml", "constraints.txt"):
        (root / name).write_bytes((ROOT / name).read_bytes())
    return root


def test_a_finished_installation_is_not_repeated_until_its_files_change(checkout):
    venv, mark = checkout / ".venv", start.fingerprint(checkout)
    assert not start.is_installed(venv, "", mark)
    start.write_stamps(venv, "", mark)
    assert start.is_installed(venv, "", mark)
    assert not start.is_installed(venv, "test", mark)
    (checkout / "constraints.txt").write_text("torch==9\n", encoding="utf-8")
    assert not start.is_installed(venv, "", start.fingerprint(checkout))


def test_the_tests_installation_includes_the_readers(checkout):
    venv, mark = checkout / ".venv", start.fingerprint(checkout)
    start.write_stamps(venv, "test", mark)
    assert start.is_installed(venv, "", mark)


def test_a_moved_checkout_is_installed_again(checkout, tmp_path):
    before = start.fingerprint(checkout)
    moved = checkout.rename(tmp_path / "elsewhere")
    assert start.fingerprint(moved) != before


def test_an_interrupted_environment_is_made_anew(checkout, monkeypatch):
    monkeypatch.setattr(start, "PYTHON", checkout / ".venv" / "bin" / "python")
    assert not start.venv_works()


def test_help_names_both_commands_and_installs_nothing():
    command = [sys.executable, str(ROOT / "start.py"), "--help"]
    text = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    assert "python start.py test" in text
    assert "notebooks/00_journey.ipynb" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tset"], "does not know 'tset'. Did you mean test?"),
        (["--test"], "does not know '--test'. Did you mean test?"),
        (["--nolab"], "does not know '--nolab'. Did you mean --no-lab?"),
        (["lab"], "does not know 'lab'."),
        ([""], "does not know ''."),
        (["notebooks/03_attention.ipynb"], "does not know 'notebooks/03_attention.ipynb'."),
        (["--no-lab", "--port=9999"], "--no-lab stands alone"),
    ],
)
def test_an_unknown_word_is_said_before_anything_is_done(arguments, sentence, monkeypatch):
    monkeypatch.setattr(start, "set_up", lambda extra: pytest.fail("must not set anything up"))
    with pytest.raises(SystemExit, match=re.escape(sentence)) as stopped:
        start.main(arguments)
    if "does not know" in sentence:
        assert start.HELP in str(stopped.value)


OF_JUPYTERLAB = [["--no-browser"], ["--port", "9999"], ["--help-all"], ["--ip=0.0.0.0"], ["-y"], ["--debug"]]


@pytest.mark.parametrize("arguments", [[], ["--no-lab"], ["test"], ["test", "-x", "tests"], *OF_JUPYTERLAB])
def test_known_words_and_options_of_jupyterlab_are_taken(arguments):
    assert start.words_problem(arguments) is None


def test_without_lab_the_last_line_says_how_to_go_on(monkeypatch, capsys):
    monkeypatch.setattr(start, "set_up", lambda extra: None)
    monkeypatch.setattr(start, "open_lab", lambda options: pytest.fail("must not be opened"))
    assert start.main(["--no-lab"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("All is set up. Next: `python start.py` opens")


def test_one_failing_step_fails_the_test_command(monkeypatch):
    monkeypatch.setattr(start, "run", lambda *command: int("check" in command))
    assert start.run_tests([]) == 1
    monkeypatch.setattr(start, "run", lambda *command: -11 if "pytest" in command else 0)
    assert start.run_tests([]) == -11
    monkeypatch.setattr(start, "run", lambda *command: 0)
    assert start.run_tests([]) == 0
