"""A Hugging Face Hub on this machine: serves the folder root/owner/model as the model `owner/model`."""

import hashlib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

COMMIT = "a" * 40


@contextmanager
def fake_hub(root: Path):
    """Yields the hub's address, and the list of the paths that are asked for, which grows."""
    asked = []
    handler = type("Handler", (_Handler,), {"root": root, "asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self._answer()

    def do_HEAD(self):
        self._answer()

    def log_message(self, *what):
        """Nothing on stderr."""

    def _answer(self):
        self.asked.append(self.path)
        match self.path.partition("?")[0].strip("/").split("/"):
            case [""]:
                self._send(200, b"a hub")
            case ["api", "models", owner, model]:
                self._send(200, b'{"id": "%s/%s", "siblings": []}' % (owner.encode(), model.encode()))
            case [owner, model, "resolve", _, *rest] if not (self.root / owner / model).is_dir():
                self._send(404, error="RepoNotFound")
            case [owner, model, "resolve", _, *rest] if (file := self.root.joinpath(owner, model, *rest)).is_file():
                self._send(200, file.read_bytes())
            case _:
                self._send(404, error="EntryNotFound")

    def _send(self, status, content=b"", error=None):
        self.send_response(status)
        if error:
            self.send_header("X-Error-Code", error)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)
