"""JupyterLab for the browser tests: a server with folders of its own, and a notebook open in it."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / "artifacts"
QUIET = {"@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False}}
OWN_FOLDERS = ["IPYTHONDIR", "JUPYTERLAB_WORKSPACES_DIR"]
OWN_FOLDERS += [f"JUPYTER_{kind}_DIR" for kind in ("CONFIG", "DATA", "RUNTIME")]


class Lab:
    """A JupyterLab server on 127.0.0.1 that serves `folder`; `stop` ends it with its kernels."""

    def __init__(self, folder):
        self.folder = folder
        self.token = secrets.token_hex(16)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.base = f"http://127.0.0.1:{probe.getsockname()[1]}"
        for name, settings in QUIET.items():
            path = folder / ".settings" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(settings), encoding="utf-8")
        self.log = (folder / ".server.log").open("w", encoding="utf-8")
        streams = {"stdout": self.log, "stderr": self.log}
        self.process = subprocess.Popen(
            self._command(), cwd=folder, env=self._environment(), start_new_session=True, **streams
        )

    def _command(self):
        options = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self.base.rpartition(":")[2],
            "ServerApp.port_retries": 0,
            "ServerApp.root_dir": self.folder,
            "IdentityProvider.token": self.token,
            "LabApp.expose_app_in_browser": True,
        }
        lab = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
        return lab + [f"--{name}={value}" for name, value in options.items()]

    def _environment(self):
        folders = {name: str(self.folder / f".{name.lower()}") for name in OWN_FOLDERS}
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        settings = str(self.folder / ".settings")
        return os.environ | folders | {"JUPYTERLAB_SETTINGS_DIR": settings, "PYTHONPATH": path}

    def wait(self, seconds=60):
        """Return when the server answers; its log is in the message when it does not."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.ask("/api/status")
                return
            except OSError:
                time.sleep(0.2)
        log = (self.folder / ".server.log").read_text(encoding="utf-8")
        raise RuntimeError(f"JupyterLab did not start: {log[-3000:]}")

    def ask(self, path, method="GET"):
        """The server's answer to one request of its API."""
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(self.base + path, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def end_sessions(self):
        """Shut down every kernel."""
        for session in self.ask("/api/sessions"):
            self.ask(f"/api/sessions/{session['id']}", "DELETE")

    def stop(self):
        """End the server and what it started."""
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.log.close()


def write_notebook(path, cells):
    """A notebook of code cells, as `path`."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)
    return path
