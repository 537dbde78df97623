"""The doctor notices what it is there to notice, and says what to do."""

import json
import sys
from importlib import metadata

import pytest
from packaging.requirements import Requirement

from helpers import doctor
from helpers.__main__ import MODULES, main
from helpers.bundles import BUNDLES
from helpers.errors import ReaderError


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A cache folder of this test's own, with a name that needs care."""
    monkeypatch.setenv("TOKEN_JOURNEY_HOME", str(tmp_path / "mein Ordner 北京"))
    return tmp_path / "mein Ordner 北京"


def test_this_machine_passes(capsys):
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[-1] == "Everything is fine."
    assert all(line.endswith(": fine") for line in lines[:-2])
    subjects = {line.split()[0] for line in lines[:-2]}
    assert {"python", "torch", "transformers", "device", "memory", "cache", "smollm2-135m"} <= subjects


def test_a_home_that_does_not_exist_is_one_line_of_the_report(monkeypatch, capsys):
    monkeypatch.setenv("TOKEN_JOURNEY_HOME", "~nobody-of-this-name/cache")
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "cache              none: TOKEN_JOURNEY_HOME=~nobody-of-this-name/cache begins with a home folder" in out
    assert out.endswith("1 to do: see above.\n")


def test_a_model_that_cannot_be_read(home, monkeypatch):
    def refuse(path, bundle):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor, "is_whole", refuse)
    assert "cannot be read (Permission denied): make" in str(doctor.model(home))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["nonsense"], "invalid choice: 'nonsense' (choose from "),
        ([], "the following arguments are required: command"),
        (["fetch", "nonsense"], "invalid choice: 'nonsense'"),
        (["doctor", "now"], "unrecognized arguments: now"),
    ],
)
def test_a_command_line_that_is_none(line, sentence, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(line)
    assert sentence in capsys.readouterr().err


def test_a_missing_package_stops_a_command_with_one_sentence(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "helpers.doctor")
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == "The package packaging is missing: run `python -m pip install packaging`.\n"


def test_a_module_of_ours_that_is_missing_is_no_mistake_of_the_reader(monkeypatch):
    monkeypatch.setitem(MODULES, "doctor", "helpers.nowhere")
    with pytest.raises(ModuleNotFoundError, match="helpers.nowhere"):
        main(["doctor"])


def test_an_interrupted_command_says_how_to_go_on(monkeypatch, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "main", interrupt)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == "\nStopped. The same command goes on from here.\n"


def test_a_missing_package_gets_the_command_that_installs_it():
    finding = doctor.package(Requirement("no-such-package-here>=1.2"))
    assert str(finding).endswith('missing: run: python -m pip install "no-such-package-here>=1.2"')


def test_one_missing_package_fails_the_whole_report(monkeypatch, capsys):
    real = metadata.version

    def version(name):
        if name == "anywidget":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor.metadata, "version", version)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert 'anywidget          missing: run: python -m pip install "anywidget>=' in out
    assert out.endswith("1 to do: see above.\n")


def test_an_old_version_is_named(monkeypatch):
    monkeypatch.setattr(doctor.metadata, "version", lambda name: "4.57.1")
    finding = doctor.package(Requirement("transformers>=5.15"))
    assert (finding.found, finding.to_do) == ("4.57.1", 'run: python -m pip install "transformers>=5.15"')


def test_a_local_build_counts_as_its_version(monkeypatch):
    monkeypatch.setattr(doctor.metadata, "version", lambda name: "2.13.0+cpu")
    assert doctor.package(Requirement("torch>=2.6")).to_do == ""


def test_low_memory_says_how_much_is_needed(monkeypatch):
    monkeypatch.setattr(doctor, "available_bytes", lambda device: 500_000_000)
    assert "0.5 GB free: smollm2-135m needs 1.0 GB" in str(doctor.memory())
    monkeypatch.setattr(doctor, "available_bytes", lambda device: 2_000_000_000)
    assert doctor.memory().to_do == ""


def test_an_unusable_cache_folder_says_how_to_move_it(tmp_path, monkeypatch):
    in_the_way = tmp_path / "a file"
    in_the_way.write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv("TOKEN_JOURNEY_HOME", str(in_the_way / "cache"))
    [finding] = doctor.cache()
    assert str(in_the_way) in finding.found
    assert finding.to_do == "make it writable, or set TOKEN_JOURNEY_HOME to a folder that is"


def test_a_read_only_cache_folder_is_noticed(home, monkeypatch):
    def refuse(dir):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)  # root may write anywhere
    [finding] = doctor.cache()
    assert "Permission denied" in finding.found


def test_an_absent_and_a_damaged_model_are_told_apart(home):
    [_, absent] = doctor.cache()
    assert (absent.found, absent.to_do) == ("not fetched", "run: python -m helpers fetch smollm2-135m")
    (home / BUNDLES["smollm2-135m"].file_name).write_bytes(b"GGUF, and then the line went dead")
    [_, damaged] = doctor.cache()
    assert damaged.found == "damaged"


def test_explorers_of_another_environment_are_noticed(tmp_path):
    folder = tmp_path / "share" / "jupyter" / "labextensions" / "@jupyter-widgets" / "jupyterlab-manager"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({}), encoding="utf-8")
    anywidget, manager = doctor.front_end(tmp_path)
    assert "force-reinstall anywidget; then restart JupyterLab" in anywidget.to_do
    assert manager.to_do == ""


def test_no_browser_is_fine_for_a_reader(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda tool: None)
    assert all(finding.to_do == "" for finding in doctor.tools_for_tests())


def test_a_readers_mistake_on_the_command_line_is_one_sentence(monkeypatch, capsys):
    def fail(name):
        raise ReaderError("The disk is full: make room.")

    monkeypatch.setattr("helpers.fetch.fetch", fail)
    assert main(["fetch"]) == 1
    assert capsys.readouterr() == ("", "The disk is full: make room.\n")


def test_an_unknown_model_is_refused_with_the_names_there_are(capsys):
    with pytest.raises(SystemExit):
        main(["fetch", "gpt-5"])
    assert "smollm2-135m" in capsys.readouterr().err
