"""The tests' own rules hold: no other machine is reached from any process, and in CI no test is skipped."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from jupyter_client.manager import start_new_kernel

ROOT = Path(__file__).parents[1]
# an address that is kept for documentation: it is nobody's
ASK = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)"
SENTENCE = "Tests run offline"


def test_this_process_reaches_no_other_machine():
    with pytest.raises(OSError, match=SENTENCE):
        socket.create_connection(("192.0.2.1", 80), timeout=5)
    with pytest.raises(OSError, match=SENTENCE):
        socket.getaddrinfo("example.org", 80)
    with pytest.raises(OSError, match=SENTENCE):
        urlopen("https://example.org", timeout=5)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, pytest.raises(OSError, match=SENTENCE):
        udp.sendto(b"hello", ("192.0.2.1", 53))


def test_a_process_that_a_test_starts_reaches_none_either():
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, encoding="utf-8")
    assert done.returncode == 1
    assert SENTENCE in done.stderr


def test_a_kernel_reaches_none_either():
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        reply = client.execute_interactive(ASK, timeout=60, output_hook=lambda message: None)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert SENTENCE in reply["content"]["evalue"]


def test_this_machine_can_be_reached():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5),
    ):
        assert server.accept()[1][0] == "127.0.0.1"


@pytest.fixture
def run_skipping(tmp_path):
    """Run, under the root conftest.py, one test and one file that skip themselves."""
    shutil.copy(ROOT / "conftest.py", tmp_path)
    shutil.copytree(ROOT / "tests" / "offline", tmp_path / "tests" / "offline")
    shutil.copy(ROOT / "tests" / "close_figures.py", tmp_path / "tests")
    skips = "import pytest\ndef test_a(): pytest.skip('no browser')\n@pytest.mark.xfail\ndef test_b(): assert 0\n"
    (tmp_path / "test_function.py").write_text(skips, encoding="utf-8")
    skips = "import pytest\npytest.skip('no node', allow_module_level=True)\n"
    (tmp_path / "test_module.py").write_text(skips, encoding="utf-8")

    def run(ci):
        command = [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", str(tmp_path)]
        environment = {**os.environ, "CI": ci}
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, encoding="utf-8")

    return run


def test_in_ci_a_skip_is_a_failure_with_its_reason(run_skipping):
    done = run_skipping(ci="true")
    assert done.returncode != 0
    assert "nothing may be missing: Skipped: no node" in done.stdout
    assert "nothing may be missing: Skipped: no browser" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 failed, 1 xfailed, 1 error")


def test_on_a_readers_machine_a_skip_stays_a_skip(run_skipping):
    done = run_skipping(ci="")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("2 skipped, 1 xfailed")
