"""Whether a Prefect server answers, with whatever lies between and whatever else listens where it should."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from flows.server import client_environment, is_healthy, kept_file, known_server
from flows.surroundings import ask_server

PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY")
REFUSING = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


class Api(BaseHTTPRequestHandler):
    """Answers as a healthy server does."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'"3.4.0"')

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_no_proxy_is_asked_for_a_server_on_this_machine(api, monkeypatch, name):
    monkeypatch.setenv(name, REFUSING)
    assert (is_healthy(api), is_healthy(api.replace("127.0.0.1", "localhost"))) == (True, True)
    assert ask_server(api).version == "3.4.0"


def test_a_proxy_is_asked_for_a_server_elsewhere(api, monkeypatch):
    """The proxy of this test answers in the server's place, as the reader of `http_proxy` expects."""
    monkeypatch.setenv("http_proxy", api.removesuffix("/api"))
    assert is_healthy("http://prefect.invalid/api")


@pytest.mark.parametrize(("before", "after"), [
    ({}, "127.0.0.1"),
    ({"NO_PROXY": "intra.test"}, "intra.test,127.0.0.1"),
    ({"no_proxy": "intra.test"}, "intra.test,127.0.0.1"),
    ({"no_proxy": "a.test, 127.0.0.1"}, "a.test, 127.0.0.1"),
    ({"NO_PROXY": "*"}, "*"),
])
def test_prefects_client_asks_no_proxy_for_this_machine_either(monkeypatch, before, after):
    for name, value in before.items():
        monkeypatch.setenv(name, value)
    told = client_environment("http://127.0.0.1:4200/api")
    assert (told["NO_PROXY"], told["no_proxy"]) == (after, after)
    assert not {"NO_PROXY", "no_proxy"} & set(client_environment("https://prefect.example/api"))


@contextmanager
def listener_that_says(words: bytes) -> Iterator[str]:
    """Something that listens on a port and speaks as it likes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        def answer() -> None:
            while True:
                try:
                    caller, _ = listening.accept()
                except OSError:
                    return
                with caller:
                    caller.recv(4_000)
                    caller.sendall(words)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/api"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.mark.parametrize("words", [
    b"SSH-2.0-OpenSSH_9\r\n", b"", b"\x15\x03\x01\x00\x02\x02\x50", b"HTTP/1.1 no\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
], ids=["another protocol", "nothing", "TLS", "no status", "many headers"])
def test_whatever_else_listens_there_is_no_server(monkeypatch, tmp_path, words):
    """A kept server may be gone and its port with another program: the audit then starts a server of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with listener_that_says(words) as address:
        kept_file().parent.mkdir()
        kept_file().write_text(json.dumps({"address": address, "pid": 1}), "utf-8")
        assert known_server() is None
        assert ask_server(address).fault.startswith("does not answer (")
