"""A web site on loopback for tests: pages from a table, a log of what was requested, and a switch to take it down.

Here: serving. Not here: anything that a test asserts.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

CLEAN = ('<!doctype html><html lang="en"><head><title>{title}</title></head>'
         "<body><main><h1>{title}</h1>{body}</main></body></html>")
FAULT = '<img src="data:,">'


@dataclass(frozen=True)
class Answer:
    """What the site says on a path."""

    body: str = CLEAN.format(title="A page", body="")
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})
    delay_s: float = 0.0
    before: Callable[[], None] | None = None


def page(title: str, body: str = "", before: Callable[[], None] | None = None) -> Answer:
    """A page without faults but those in `body`; `before` is called when it is requested."""
    return Answer(CLEAN.format(title=title, body=body), before=before)


class Site:
    """The site; a context manager. `log` holds the paths of all requests but the icon, in order."""

    def __init__(self, answers: Mapping[str, Answer], host: str = "127.0.0.1") -> None:
        self.answers = dict(answers)
        self.host = host
        self.log: list[str] = []
        self._server: ThreadingHTTPServer | None = None
        self.port = 0

    def __enter__(self) -> "Site":
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def up(self) -> None:
        """Listen, on the port of before if there was one."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = urlsplit(self.path).path
                if path != "/favicon.ico":
                    site.log.append(path)
                answer = site.answers.get(path, Answer("nothing here", 404))
                if answer.before:
                    answer.before()
                time.sleep(answer.delay_s)
                body = answer.body.encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer((self.host, self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def down(self) -> None:
        """Refuse connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def url(self, path: str) -> str:
        return f"http://{self.host}:{self.port}{path}"

    def manifest(self, path: Path, **more: object) -> Path:
        """Write a manifest of all pages, sorted."""
        document = {"estate": "site", "routes": [self.url(name) for name in sorted(self.answers)], **more}
        path.write_text(json.dumps(document), encoding="utf-8")
        return path


def small_site(count: int = 6, faulty: frozenset[int] = frozenset()) -> Site:
    """A site of numbered pages, some with an image without a text."""
    return Site({f"/p{i:02d}": page(f"Page {i}", FAULT if i in faulty else "") for i in range(count)})
