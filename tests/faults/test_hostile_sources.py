"""Sources that mean harm, from a real server: bounded in time, size and count; a child's harm is the child's alone.

Each case is met twice: as the source itself (bad input, nothing written) and as one child of a sound index (its
siblings are planned, the failure is named, the run is incomplete).
"""

import gzip
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from flows.cli import exit_code_of
from flows.journey import fold_run, plan_run
from flows.request import AuditRequest
from schemas.settings import ScanSettings, Settings, SourceSettings
from schemas.verdict import ExitCode
from tasks.freeze import read_plan
from tasks.load import load_manifest
from tests.faults.conftest import Legs
from tests.site import Site, page

SECRET_FILE = "root:x:0:0"
QUICK = Settings(source=SourceSettings(timeout_ms=2_000))


def sitemap(*addresses: str) -> bytes:
    return b"<urlset>" + b"".join(f"<url><loc>{one}</loc></url>".encode() for one in addresses) + b"</urlset>"


def index(*addresses: str) -> bytes:
    listed = (f"<sitemap><loc>{one}</loc></sitemap>" for one in addresses)
    return f"<sitemapindex>{''.join(listed)}</sitemapindex>".encode()


class Server(ThreadingHTTPServer):
    """Answers by path with bytes, or with what a function does to the request; counts what it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        self.answers: dict[str, bytes | Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_port}{path}"

    def handle_error(self, request: object, client_address: object) -> None:
        """The client hangs up on purpose."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        answer = self.server.answers.get(self.path)
        if callable(answer):
            answer(self)
            return
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Type", "text/html")  # says nothing of what it is
        self.send_header("Content-Length", str(len(answer or b"")))
        self.end_headers()
        self.wfile.write(answer or b"")

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.closing.set()
    made.shutdown()
    thread.join()
    made.server_close()


def entities(levels: int) -> bytes:
    """A document of a few hundred bytes that would unfold to 10 to the power of `levels`."""
    listed = "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, levels))
    return (f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "0123456789">{listed}]>'
            f"<urlset><url><loc>https://e.test/&e{levels - 1};</loc></url></urlset>").encode()


def packed_zeros(mebibytes: int) -> bytes:
    """A small gzip that unpacks to as many MiB."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(mebibytes)) + packer.flush()


def external(of: str) -> bytes:
    return f'<!DOCTYPE x [<!ENTITY a SYSTEM "{of}">]><urlset><url><loc>&a;</loc></url></urlset>'.encode()


def drip(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n<urlset>")
    while not handler.server.closing.wait(0.05):  # type: ignore[attr-defined]
        handler.wfile.write(b" ")


def hang(handler: BaseHTTPRequestHandler) -> None:
    handler.server.closing.wait(30)  # type: ignore[attr-defined]


def endless_body(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n<urlset>")
    while not handler.server.closing.is_set():  # type: ignore[attr-defined]
        handler.wfile.write(b"<url><loc>https://e.test/x</loc></url>" * 10_000)


HOSTILE: dict[str, tuple[object, str]] = {
    "entity bomb": (entities(9), "refused (EntitiesForbidden)"),
    "packed entity bomb": (gzip.compress(entities(9)), "refused (EntitiesForbidden)"),
    "external entity, a file": (external("file:///etc/passwd"), "refused (EntitiesForbidden)"),
    "external entity, an address": (external("http://127.0.0.1:9/"), "refused (EntitiesForbidden)"),
    "external document type": (b'<!DOCTYPE urlset SYSTEM "http://127.0.0.1:9/x.dtd"><urlset/>', "lists no"),
    "gzip bomb": (packed_zeros(200), "unpacks to more than"),
    "gzip bomb in gzip": (gzip.compress(packed_zeros(200)), "unpacks to more than"),
    "cut-off gzip": (gzip.compress(sitemap(*map(str, range(999))))[:-9], "is gzip that is cut off"),
    "broken gzip": (b"\x1f\x8b" + bytes(99), "is broken gzip"),
    "cut-off XML": (sitemap("https://e.test/x")[:-9], "is broken XML"),
    "an error page": (b"<!DOCTYPE html><title>Sorry</title>", "is a web page"),
    "an error text": (b"Service is in maintenance", "is text without addresses"),
    "a feed": (b"<?xml version='1.0'?><rss><channel/></rss>", "is a feed"),
    "binary data": (b"\x89PNG\r\n\x1a\n\0\0\0", "is binary data"),
    "nothing": (b"", "is empty"),
    "never answers": (hang, "TimeoutError"),
    "drips": (drip, "TimeoutError"),
    "never ends": (endless_body, "bytes"),
    "deep": (b"<urlset>" + b"<a>" * 5_000 + b"</a>" * 5_000 + b"</urlset>", "nested more than"),
}


@pytest.mark.parametrize(("answer", "fault"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_child_costs_itself_only(server: Server, answer, fault: str) -> None:
    server.answers = {"/bad.xml": answer, "/good.xml": sitemap("https://e.test/a"),
                      "/": index(server.url("/bad.xml"), server.url("/good.xml"))}
    began = time.monotonic()
    manifest = load_manifest(server.url("/"), QUICK)
    assert time.monotonic() - began < 20
    assert [entry.url for entry in manifest.entries] == ["https://e.test/a"]
    said = [failure.reason for failure in manifest.failures] or list(manifest.warnings)
    assert ([fault in one for one in said], SECRET_FILE in repr(manifest)) == ([True], False), said


@pytest.mark.parametrize(("answer", "fault"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_source_is_bad_input(server: Server, tmp_path, monkeypatch, capsys, answer, fault: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FANFOLD_SOURCE_TIMEOUT", "2s")
    server.answers = {"/s.xml": answer}
    assert exit_code_of(["plan", server.url("/s.xml")]) == ExitCode.BAD_INPUT
    said = capsys.readouterr().err
    assert (fault in said, server.url("/s.xml") in said, SECRET_FILE in said) == (True, True, False), said
    assert list(tmp_path.iterdir()) == []


def test_an_index_without_end_is_asked_for_a_bounded_number_of_children(server: Server) -> None:
    class Endless(dict):  # type: ignore[type-arg]
        def get(self, path: str, default: object = None) -> object:
            if path == "/good.xml":
                return sitemap("https://e.test/a")
            return index(server.url(f"{path}a"), server.url(f"{path}b"))

    begun = index(server.url("/x"), server.url("/good.xml"))
    server.answers = Endless()
    manifest = load_manifest("index.xml", QUICK, read=lambda _: begun)
    assert [entry.url for entry in manifest.entries] == ["https://e.test/a"]
    assert len(server.asked) == 1 + 2 + 4 + 1
    assert {failure.reason for failure in manifest.failures} == {
        "2 of its sitemaps were not read: they are below more than 3 indexes"}


def test_circles_end(server: Server) -> None:
    server.answers = {"/": index(server.url("/i.xml"), server.url("/")), "/s.xml": sitemap("https://e.test/a"),
                      "/i.xml": index(server.url("/"), server.url("/i.xml"), server.url("/s.xml"))}
    manifest = load_manifest(server.url("/"), QUICK)
    assert server.asked == ["/", "/i.xml", "/s.xml"]
    assert ([entry.url for entry in manifest.entries], manifest.failures) == (["https://e.test/a"], ())


def test_children_on_other_hosts_are_not_asked(server: Server) -> None:
    server.answers = {"/": index(server.url("/s.xml", "localhost"), server.url("/s.xml")),
                      "/s.xml": sitemap("https://e.test/a")}
    manifest = load_manifest(server.url("/"), QUICK)
    assert (server.asked, [failure.source for failure in manifest.failures]) == (
        ["/", "/s.xml"], [server.url("/s.xml", "localhost")])
    server.asked.clear()
    allowed = Settings(scan=ScanSettings(hosts=("localhost",)))
    assert load_manifest(server.url("/"), allowed).failures == ()


def test_a_slow_source_ends_with_its_budget(server: Server) -> None:
    children = [server.url(f"/{number}.xml") for number in range(9)]
    server.answers = dict.fromkeys((f"/{number}.xml" for number in range(9)), hang)
    server.answers |= {"/good.xml": sitemap("https://e.test/a"), "/": index(server.url("/good.xml"), *children)}
    began = time.monotonic()
    manifest = load_manifest(server.url("/"), Settings(source=SourceSettings(timeout_ms=300, budget_ms=500)))
    assert time.monotonic() - began < 10
    assert "of its sitemaps were not read: the time of the source was over" in manifest.failures[-1].reason
    assert [entry.url for entry in manifest.entries] == ["https://e.test/a"]


def test_a_failed_child_makes_the_run_incomplete(server: Server, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FANFOLD_STORE", str(tmp_path / "store"))
    with Site({"/a": page("A")}) as site:
        server.answers = {"/": index(server.url("/gone.xml"), server.url("/s.xml")), "/s.xml": sitemap(site.url("/a"))}
        legs = Legs(plan_run(AuditRequest(source=server.url("/"), run_id="r1", estate="site"), "r1", "f1"))
        legs.scan()
        verdict = fold_run(legs.run.ref)
    assert (verdict.kind, verdict.exit_code, verdict.coverage.scanned_count) == ("incomplete", ExitCode.INCOMPLETE, 1)
    (reason,) = verdict.reasons
    assert "/gone.xml: answers with status 404" in reason.examples[0]
    assert [one.source for one in read_plan(legs.store, legs.run.ref.layout).header.source_failures] == [
        server.url("/gone.xml")]


def test_an_estate_that_shrank_or_is_too_small_is_no_smaller_estate(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FANFOLD_STORE", str(tmp_path / "store"))
    (tmp_path / "policy.yaml").write_text("coverage: {min_routes: 4}\n", encoding="utf-8")

    def codes(site: Site, run_id: str, policy: str | None = None) -> list[str]:
        source = str(site.manifest(tmp_path / "m.json"))
        legs = Legs(plan_run(AuditRequest(source=source, run_id=run_id, shards=1, policy=policy), run_id, "f1"))
        legs.scan()
        return [reason.code for reason in fold_run(legs.run.ref).reasons]

    with Site({f"/{name}": page(name) for name in "abcd"}) as site:
        assert codes(site, "r1", "policy.yaml") == []
        del site.answers["/d"]
        assert codes(site, "r2", "policy.yaml") == ["too_few_routes", "shrunk_estate"]
        assert codes(site, "r3") == ["shrunk_estate"]  # an incomplete run is nothing to compare with
