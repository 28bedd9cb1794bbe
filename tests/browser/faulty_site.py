"""A site on loopback made of tiny faulty pages, and a scanner that visits them in a real browser.

Here: what the browser tests share. Not here: the pages themselves (each test holds its own).
"""

import asyncio
import contextlib
import gc
import os
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from schemas.address import identity_of
from schemas.errors import ContractError
from schemas.plan import PlannedRoute
from schemas.route import RouteKey
from schemas.settings import IdentitySwitches, ScanSettings
from tasks.scan.access import Access
from tasks.scan.browser import Browser, BrowserBuild
from tasks.scan.engine import engine_source, read_engine
from tasks.scan.partial import Visited
from tasks.scan.process import descendants, with_descendants
from tasks.scan.visit import Visitor
from tests.processes import command_of

Result = TypeVar("Result")
FAULT = '<img src="/pixel.png">'  # image-alt, critical
SHELL = ('<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{head}</head>'
         "<body>{body}</body></html>")
PIXEL = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"


@dataclass(frozen=True)
class Answer:
    """What the site answers at a path."""

    body: bytes = b""
    status: int = 200
    media_type: str | None = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    claims_bytes: int | None = None  # says it is longer than it is, then hangs up
    raw: bytes | None = None  # the whole answer as it goes over the wire, then hangs up
    endless: bytes | None = None  # after the body, 200 times a second, until somebody hangs up


def html(body: str, title: str = "A page", head: str = "", lang: str = "en", **rest: Any) -> Answer:
    """Make a page that has no fault of its own but what the body holds."""
    page = SHELL.format(title=title, head=head, body=f"<main><h1>A page</h1>{body}</main>")
    return Answer(page.encode("utf-8", "surrogatepass"), **rest)


def redirect(to: str, status: int = 302) -> Answer:
    """Send the visitor on."""
    return Answer(status=status, headers={"Location": to})


class Site:
    """A threaded server; a path may hold a function of the request's count and headers.

    Args:
        tls: makes it speak https.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.scheme = "https" if tls else "http"
        self.pages: dict[str, Answer | Callable[[int, Mapping[str, str]], Answer]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self._release = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                with contextlib.suppress(OSError):
                    site.answer(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_port

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def put(self, path: str, answer: "Answer | Callable[[int, Mapping[str, str]], Answer]") -> str:
        """Serve an answer at a path and return its address."""
        self.pages[path] = answer
        return self.url(path)

    def count(self, path: str) -> int:
        return sum(seen == path for seen, _ in self.requests)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.partition("?")[0]
        self.requests.append((handler.path, dict(handler.headers.items())))
        found = self.pages.get(handler.path, self.pages.get(path))
        if callable(found):
            count = sum(seen.partition("?")[0] == path for seen, _ in self.requests)
            found = found(count, dict(handler.headers.items()))
        if found is None:
            found = Answer(PIXEL, media_type="image/gif") if path.startswith("/pixel") else html("gone", status=404)
        if found.wait_s:
            self._release.wait(found.wait_s)
        if found.raw is not None or found.endless is not None:
            handler.close_connection = True
        if found.raw is not None:
            handler.wfile.write(found.raw)
            return
        handler.send_response(found.status)
        if found.media_type is not None:
            handler.send_header("Content-Type", found.media_type)
        for name, value in found.headers.items():
            handler.send_header(name, value)
        if found.endless is None and found.status not in (204, 304):
            handler.send_header("Content-Length", str(found.claims_bytes or len(found.body)))
        handler.end_headers()
        handler.wfile.write(found.body)
        while found.endless is not None and not self._release.wait(0.005):
            handler.wfile.write(found.endless)
        if found.claims_bytes:
            handler.close_connection = True

    def close(self) -> None:
        self._release.set()
        self._server.shutdown()
        self._server.server_close()


def planned(url: str, **changes: Any) -> PlannedRoute:
    """Make the plan's row of an address."""
    key = RouteKey(identity_of(url, IdentitySwitches()), changes.get("auth"))
    values: dict[str, Any] = {
        "task_id": key.task_id, "route": key.route, "auth": None, "url": url, "aliases": (), "journey": "primary",
        "journey_is_explicit": False, "priority": 2, "owner": None, "tags": (), "ready": None, "expect_status": None,
        "expect_url": None, "expect_title": None, "expect_selector": None, "shard_index": 0, "position": 0,
        "load_ms": 1_000, "has_history": False, "deadline_ms": 20_000, "was_html": False,
    }
    return PlannedRoute(**values | changes)


def finder(routes: Iterable[PlannedRoute]) -> Callable[[str, str | None], str | None]:
    """Find planned routes by identity, as the shard does."""
    known = {route.key: route.task_id for route in routes}

    def find(address: str, auth: str | None) -> str | None:
        try:
            return known.get(RouteKey(identity_of(address, IdentitySwitches()), auth))
        except ContractError:
            return None

    return find


QUICK = ScanSettings(settle_quiet_ms=150, settle_budget_ms=2_000, route_retries=0)


class Scanner:
    """One browser on an event loop of its own thread; visits are plain calls."""

    def __init__(self, build: BrowserBuild, scan: ScanSettings = QUICK) -> None:
        self.build, self._scan = build, scan
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.browser = self.run(self._make())

    async def _make(self) -> Browser:
        return Browser(self.build, self._scan)

    def run(self, work: Coroutine[Any, Any, Result], timeout_s: float = 120.0) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def visit_all(
        self, routes: Iterable[PlannedRoute], scan: ScanSettings = QUICK, in_flight: int = 2,
        access: Access | None = None, phases: list[str] | None = None, engine_text: str | None = None,
    ) -> dict[str, Visited]:
        """Visit routes of one plan, several at once, and return what came out by address."""
        routes = list(routes)
        engine = read_engine(scan.engine_path, scan.rules)
        visitor = Visitor(self.browser, scan, engine, engine_text or engine_source(scan.engine_path), finder(routes),
                          in_flight, access)
        waiting, found = list(reversed(routes)), {}

        async def lane() -> None:
            while waiting:
                route = waiting.pop()
                found[route.url] = await visitor.visit(route, phases.append if phases is not None else lambda _: None)

        async def lanes() -> None:
            await asyncio.gather(*(lane() for _ in range(2 * in_flight)))

        self.run(lanes())
        for visited in found.values():
            _tell(visited)
        return found

    def visit(self, url: str, scan: ScanSettings = QUICK, plan: Iterable[PlannedRoute] = (), **changes: Any) -> Visited:
        """Visit one address; `plan` holds further routes that are known but not visited."""
        route = planned(url, **changes)
        engine = read_engine(scan.engine_path, scan.rules)
        visitor = Visitor(self.browser, scan, engine, engine_source(scan.engine_path), finder([route, *plan]))
        return _tell(self.run(visitor.visit(route)))

    def close(self) -> None:
        self.run(self.browser.__aexit__())
        self.run(_let_go())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()


def _tell(visited: Visited) -> Visited:
    """Print how a visit ended: it is read where a test fails."""
    outcome = visited.outcome
    print(f"{outcome.ended_at} {outcome.url}: {outcome.outcome} ({outcome.reason}) {outcome.detail or ''}")
    return visited


async def _let_go() -> None:
    """Let what is closing close while its loop still runs."""
    await asyncio.sleep(0.1)
    gc.collect()
    await asyncio.sleep(0)


def targets(visited: Visited, rule: str = "image-alt") -> list[str]:
    """List the targets of a rule's violations."""
    return sorted(row.target for row in visited.occurrences if row.rule == rule and row.is_violation)


def browser_processes() -> set[int]:
    """List the processes of drivers below this one and of their browsers; other tests' servers are not among them."""
    below = descendants(os.getpid())
    return set(with_descendants(pid for pid in below if "/driver/node" in command_of(pid)))


def wait_until(is_so: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.05)
    return is_so()
