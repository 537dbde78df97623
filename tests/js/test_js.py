"""Runs the JavaScript tests under Node."""

import json
import os
import subprocess
from pathlib import Path

from tests.js import make_cases
from tests.js.full_cases import full_cases
from tests.needs import needs

HERE = Path(__file__).parent


def test_sampling_mathematics(tmp_path):
    small, full = tmp_path / "small.json", tmp_path / "full.json"
    make_cases.write(small)
    full.write_text(json.dumps(list(full_cases())), encoding="utf-8")
    paths = {"SMALL_CASES": str(small), "FULL_CASES": str(full)}
    run_node("sampling.test.mjs", paths)


def run_node(name, environment):
    """Run one test file of this folder; what Node says is the failure's message."""
    command = [needs("node"), "--test", str(HERE / name)]
    environment = os.environ | environment
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
