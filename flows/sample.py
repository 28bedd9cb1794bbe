"""Serve the sample estate: a small town library with faults of every kind, for a first audit and for tests.

Here: finding the pages, a server on a fixed loopback address, and a table of the answers that are no plain files.
Not here: auditing it (`flows/audit.py`). The address is fixed because the manifest names it; the port is shared, so
that two audits of the sample can run at once. For people: `python -m flows.sample`.
"""

import errno
import mimetypes
import socketserver
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from schemas.errors import bad_input

HERE = Path(__file__).resolve().parent
PLACES = (HERE / "sample_pages", HERE.parent / "data" / "sample")
HOST, PORT = "127.0.0.1", 8791
REDIRECTS: Mapping[str, str] = {"/whats-on": "/events"}
DELAYS_SECONDS: Mapping[str, float] = {"/archive/search": 1.5}
CONTENT_TYPES: Mapping[str, str] = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
                                    ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
NOT_FOUND = b'<!doctype html><html lang="en"><title>Not found</title><main><h1>No such page</h1></main></html>'


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """What `fanfold audit` needs to audit the sample: the folder, and the three files beside its pages."""

    folder: Path

    @property
    def manifest(self) -> str:
        return str(self.folder / "manifest.json")

    @property
    def policy(self) -> str:
        return str(self.folder / "policy.yaml")

    @property
    def history(self) -> str:
        return str(self.folder / "history.json")


def locate_sample() -> SampleFiles:
    """Find the sample: in an installed package beside this module, in a checkout under `data/`.

    Raises:
        ContractError: it is in neither place.
    """
    for place in PLACES:
        if (place / "manifest.json").is_file():
            return SampleFiles(place)
    raise bad_input("sample estate", "its pages are missing", f"them in {PLACES[0]} or {PLACES[1]}",
                    "Install the package again.")


def is_sample_file(path: str) -> bool:
    """Say whether a path is that of the sample's manifest, policy or history."""
    return any(path in (files.manifest, files.policy, files.history) for files in map(SampleFiles, PLACES))


@cache
def load_pages(folder: Path) -> Mapping[str, tuple[str, bytes]]:
    """Read every page once: content type and body by path. No request reaches the file system."""
    pages: dict[str, tuple[str, bytes]] = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        path = "/" + file.relative_to(folder).as_posix()
        kind = CONTENT_TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        pages[path.removesuffix(".html").removesuffix("/index") or "/"] = (kind, file.read_bytes())
    return pages


class SampleHandler(BaseHTTPRequestHandler):
    """Answers GET and HEAD from memory."""

    server: "SampleServer"

    def do_GET(self) -> None:
        """Answer a redirect, a page, or 404, after the delay that the table has for the path."""
        path = urlsplit(self.path).path.rstrip("/") or "/"
        time.sleep(DELAYS_SECONDS.get(path, 0.0))
        if path in REDIRECTS:
            self._answer(HTTPStatus.FOUND, "text/plain", b"", location=REDIRECTS[path])
        elif path in self.server.pages:
            self._answer(HTTPStatus.OK, *self.server.pages[path])
        else:
            self._answer(HTTPStatus.NOT_FOUND, CONTENT_TYPES[".html"], NOT_FOUND)

    def do_HEAD(self) -> None:
        """Answer as GET does, without the body."""
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: an audit has its own log."""

    def _answer(self, status: HTTPStatus, kind: str, body: bytes, location: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if location is not None:
            self.send_header("Location", location)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class SampleServer(ThreadingHTTPServer):
    """A server whose port may be shared with another audit of the sample by the same user."""

    allow_reuse_port = True
    request_queue_size = 128

    def __init__(self, port: int, pages: Mapping[str, tuple[str, bytes]]) -> None:
        self.pages = pages
        super().__init__((HOST, port), SampleHandler)

    def server_bind(self) -> None:
        # Not HTTPServer's own: it asks the name service for the name of the host, which can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Forgive a browser that hangs up; anything else is a fault of ours and is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def answer_waiting(self) -> None:
        """Answer what the kernel gave to this socket: a sharer of the port would see these connections reset."""
        self.timeout = 0
        waiting = True

        def stop() -> None:
            nonlocal waiting
            waiting = False

        self.handle_timeout = stop  # type: ignore[method-assign]
        while waiting:
            self.handle_request()


@contextmanager
def serve_sample(port: int = PORT) -> Iterator[str]:
    """Serve the sample on loopback for as long as the block lasts.

    Args:
        port: of the manifest; 0 takes a free one (the addresses of the manifest then do not fit).

    Yields:
        The base address, without a slash at its end.

    Raises:
        ContractError: the port belongs to another program.
    """
    pages = load_pages(locate_sample().folder / "pages")
    try:
        server = SampleServer(port, pages)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise bad_input("sample estate", f"port {port} of {HOST} belongs to another program", "a free port",
                        f"End the program that listens there (`ss -ltnp 'sport = :{port}'`), then start again."
                        ) from None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="sample", daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.answer_waiting()
        server.server_close()


def main() -> None:
    """Serve the sample until Ctrl-C."""
    with serve_sample() as base:
        print(f"The sample estate is at {base}/ (Ctrl-C ends it).")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
