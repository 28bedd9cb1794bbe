"""Fetching over real sockets: bounded in time and size, on allowed hosts, with a reason for each failure."""

import gzip
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from schemas.errors import ContractError
from schemas.manifest import SourceFailure
from schemas.settings import ScanSettings, Settings, SourceSettings
from tasks.load import load_manifest
from tasks.load.content import Limits, SourceError
from tasks.load.fetch import HttpFetch
from tasks.load.hosts import HostRule

PAGE = b"<urlset><url><loc>https://e.test/a</loc></url></urlset>"
Answer = Callable[[BaseHTTPRequestHandler], None]


def reply(status: int = 200, body: bytes = PAGE, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


class Site(ThreadingHTTPServer):
    """Answers by path; keeps each request's path and headers."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers, self.requests = answers, list[tuple[str, dict[str, str]]]()
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """The client hangs up on purpose."""


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers)))
        self.server.answers[self.path](self)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@contextmanager
def serve(answers: Mapping[str, Answer], context: ssl.SSLContext | None = None) -> Iterator[Site]:
    site = Site(answers)
    if context is not None:
        site.socket = context.wrap_socket(site.socket, server_side=True)
    thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        site.shutdown()
        thread.join()
        site.server_close()


def fetch(address: str, settings: SourceSettings | None = None, *further: str, own: str = "",
          secret: Callable[[str], str] = {"T": "s3cret"}.__getitem__, limits: Limits | None = None) -> bytes:
    fetcher = HttpFetch(settings or SourceSettings(), limits or Limits(), secret, pause=lambda _: None)
    return fetcher(address, HostRule(own or address, further))


def fault_of(address: str, settings: SourceSettings | None = None, *further: str, **more: object) -> str:
    with pytest.raises(SourceError) as caught:
        fetch(address, settings, *further, **more)  # type: ignore[arg-type]
    return caught.value.fault


def load(address: str, settings: SourceSettings | None = None) -> list[str]:
    manifest = load_manifest(address, Settings(source=settings or SourceSettings()), secret={"T": "s3cret"}.__getitem__)
    return [entry.url for entry in manifest.entries]


def test_gzip_is_told_by_its_bytes_whatever_names_and_headers_say() -> None:  # known fault 003
    packed = gzip.compress(PAGE)
    answers = {"/s.xml.gz": reply(), "/t.xml": reply(body=packed), "/u.xml.gz": reply(body=packed,
                                                                                      Content_Encoding="gzip"),
               "/v.xml.gz": reply(body=gzip.compress(packed), Content_Encoding="gzip")}
    with serve(answers) as site:
        assert [load(site.base + path) for path in answers] == [["https://e.test/a"]] * 4


@pytest.mark.parametrize(("answer", "fault"), [
    (reply(401), "answers with status 401 Unauthorized"),
    (reply(404), "answers with status 404 Not Found"),
    (reply(204, b""), "answers with status 204 No Content"),
    (reply(503), "answers with status 503 Service Unavailable"),
    (reply(Content_Encoding="br"), "is packed as 'br', which was not asked for"),
    (reply(Content_Length="90"), "is cut off: 35 bytes are missing (IncompleteRead)"),
    (reply(302, Location="http://localhost:1/"), "is on another host (localhost:1)"),
    (reply(302, Location="file:///etc/passwd"), "is no address that can be fetched"),
    (reply(302, Location="http://[bad/"), "is redirected to what is no address"),
    (reply(302, Location="/a"), "is redirected more than 5 times"),
    (reply(302), "answers with status 302 Found"),
    (reply(body=b"x" * 2_000), "has more than 1000 bytes"),
    (lambda handler: handler.wfile.write(b"nonsense\r\n\r\n"), "cannot be reached: BadStatusLine: nonsense"),
    (lambda handler: None, "cannot be reached: RemoteDisconnected: Remote end closed connection without response"),
])
def test_each_failure_has_its_reason(answer: Answer, fault: str) -> None:  # known fault 012
    with serve({"/a": answer}) as site:
        assert fault_of(f"{site.base}/a", limits=Limits(fetched_bytes=1_000)).split(" (host")[0].rstrip() == fault


def test_a_name_that_does_not_resolve_is_named() -> None:
    fault = fault_of("http://nowhere.invalid/s.xml")
    assert fault.startswith("cannot be reached: gaierror: ")
    assert fault.endswith("(host nowhere.invalid)")


def test_a_port_that_nobody_listens_at_is_named() -> None:
    with serve({}) as site:
        address = site.base
    assert fault_of(address) == "cannot be reached: ConnectionRefusedError: Connection refused (host 127.0.0.1)"


def test_a_root_that_fails_is_bad_input_with_its_status() -> None:
    with serve({"/s.xml": reply(401)}) as site, pytest.raises(ContractError) as caught:
        load(f"{site.base}/s.xml")
    assert str(caught.value) == f"{site.base}/s.xml: answers with status 401 Unauthorized; expected status 200"


def test_a_child_with_a_malformed_redirect_is_one_failure_among_its_siblings() -> None:
    answers: dict[str, Answer] = {"/good.xml": reply(), "/bad.xml": reply(302, Location="http://[bad/")}
    with serve(answers) as site:
        children = "".join(f"<sitemap><loc>{site.base}{path}</loc></sitemap>" for path in ("/bad.xml", "/good.xml"))
        answers["/s.xml"] = reply(body=f"<sitemapindex>{children}</sitemapindex>".encode())
        manifest = load_manifest(f"{site.base}/s.xml", Settings())
        failures = (SourceFailure(f"{site.base}/bad.xml", "is redirected to what is no address"),)
    assert (tuple(entry.url for entry in manifest.entries), manifest.failures) == (("https://e.test/a",), failures)


def test_a_passing_failure_is_tried_again_once() -> None:
    turns = iter([reply(503), reply()])
    with serve({"/s.xml": lambda handler: next(turns)(handler)}) as site:
        assert fetch(f"{site.base}/s.xml") == PAGE
        assert len(site.requests) == 2
    turns = iter([reply(404), reply()])
    with serve({"/s.xml": lambda handler: next(turns)(handler)}) as site:
        assert fault_of(f"{site.base}/s.xml") == "answers with status 404 Not Found"
        assert len(site.requests) == 1


def _drip(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in range(200):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


def _drip_body(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    _drip(handler)


def _hang(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.recv(1)


@pytest.mark.parametrize("answer", [_drip, _drip_body, _hang])
def test_no_server_holds_us_longer_than_its_time(answer: Answer) -> None:
    threads = threading.active_count()
    with serve({"/s.xml": answer}) as site:
        began = time.monotonic()
        fault = fault_of(f"{site.base}/s.xml", SourceSettings(timeout_ms=300))
        assert time.monotonic() - began < 2.0
        assert "TimeoutError" in fault
    ends = time.monotonic() + 5
    while threading.active_count() > threads and time.monotonic() < ends:
        time.sleep(0.02)
    assert threading.active_count() == threads


def test_redirects_stay_where_they_may() -> None:
    with serve({"/b": reply()}) as other, serve({"/a": reply(301, Location=f"{other.base}/b")}) as site:
        assert "is on another host" in fault_of(f"{site.base}/a")
        assert other.requests == []
        assert fetch(f"{site.base}/a", None, f"127.0.0.1:{other.server_port}") == PAGE


def test_headers_and_secrets_go_to_the_own_host_only() -> None:
    settings = SourceSettings(headers=(("Authorization", "Bearer {{secret:T}}"),))
    with serve({"/b": reply()}) as other:
        elsewhere = f"http://localhost:{other.server_port}/b"
        with serve({"/a?token=s3cret": reply(301, Location=elsewhere)}) as site:
            assert fetch(f"{site.base}/a?token={{{{secret:T}}}}", settings, "localhost") == PAGE
        ((_, sent),) = site.requests
        assert sent["Authorization"] == "Bearer s3cret"
        ((_, sent),) = other.requests
        assert "Authorization" not in sent


def test_a_secret_in_an_address_is_encoded() -> None:
    with serve({"/?token=a%26b%2F%23": reply()}) as site:
        assert fetch(f"{site.base}/?token={{{{secret:T}}}}", secret=lambda _: "a&b/#") == PAGE


def test_a_secret_that_nobody_has_is_named_and_nothing_is_asked() -> None:
    def secret(name: str) -> str:
        raise SourceError(f"needs the secret {name!r}")

    with serve({}) as site:
        assert fault_of(f"{site.base}/?token={{{{secret:X}}}}", secret=secret) == "needs the secret 'X'"
        assert site.requests == []


def test_a_secret_that_no_header_can_hold_is_not_repeated() -> None:
    settings = SourceSettings(headers=(("Authorization", "Bearer {{secret:T}}"),))
    with serve({"/": reply()}) as site:
        assert fault_of(site.base, settings, secret=lambda _: "s3cret\r\nX: y") == "cannot be asked for (ValueError)"


def test_paths_that_are_not_ascii_are_sent_encoded() -> None:
    with serve({"/caf%C3%A9%20x?q=%C3%BC": reply()}) as site:
        assert fetch(f"{site.base}/caf\u00e9 x?q=\u00fc#f") == PAGE


@pytest.fixture(scope="module")
def own_signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that only itself vouches for, with its key."""
    from ipaddress import IPv4Address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    certificate = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now,
                                          now + timedelta(days=2)).add_extension(names, critical=False).sign(key,
                                                                                                             hashes.SHA256())
    file = tmp_path_factory.mktemp("tls") / "own.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return file


def test_certificates_are_checked_unless_the_settings_say_otherwise(own_signed: Path) -> None:  # known fault 012
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own_signed)
    with serve({"/s.xml": reply()}, context) as site:
        address = f"https://127.0.0.1:{site.server_port}/s.xml"
        fault = "cannot be reached: SSLCertVerificationError: self-signed certificate (host 127.0.0.1)"
        assert fault_of(address) == fault
        assert load(address, SourceSettings(verify_tls=False)) == ["https://e.test/a"]
        assert load(address, SourceSettings(ca_file=str(own_signed))) == ["https://e.test/a"]
        assert fault_of(address, SourceSettings(ca_file="/nowhere.pem")) == (
            "cannot be asked: certificates of `source.ca_file` cannot be read (FileNotFoundError)")


def test_a_tree_over_real_sockets() -> None:
    answers: dict[str, Answer] = {}
    with serve(answers) as site, serve({"/s.xml": reply()}) as other:
        children = [f"{site.base}/1.xml", f"{site.base}/2.xml", f"http://localhost:{other.server_port}/s.xml"]
        body = b"<sitemapindex>" + b"".join(f"<sitemap><loc>{c}</loc></sitemap>".encode() for c in children)
        answers |= {"/": reply(body=body + b"</sitemapindex>"), "/1.xml": reply(500), "/2.xml": reply()}
        manifest = load_manifest(f"{site.base}/", Settings(scan=ScanSettings(hosts=("localhost",))), fetch=HttpFetch(
            SourceSettings(), pause=lambda _: None))
        assert [entry.where for entry in manifest.entries] == children[1:]
        assert [(failure.source, failure.reason) for failure in manifest.failures] == [
            (children[0], "answers with status 500 Internal Server Error")]
