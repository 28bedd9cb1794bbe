"""Fetch a source or a child sitemap: one bounded answer from an allowed host.

Here: the request, redirects, limits of time and size, and a reason for each failure. Not here: what the bytes mean
(`content.py`), which child comes next (`tree.py`).
"""

import http.client
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote, urljoin, urlsplit

from schemas.address import host_of
from schemas.placeholder import fill_secrets
from schemas.settings import SourceSettings
from tasks.load.content import Limits, SourceError
from tasks.load.hosts import HostRule

REDIRECTS = (301, 302, 303, 307, 308)
REDIRECT_LIMIT = 5
TRANSIENT = (429, 500, 502, 503, 504)
PAUSE_SECONDS = 1.0
CHUNK_BYTES = 1 << 16
_PATH_SAFE = "!$%&'()*+,/:;=?@[]~"

Fetch = Callable[[str, HostRule], bytes]  # an address and the hosts that its redirects may lead to


class _TransientSourceError(SourceError):
    """A failure that a second try may mend."""


def no_secrets(name: str) -> str:
    """Stand in for a source of secrets where there is none."""
    raise SourceError(f"needs the secret {name!r}, and none is known here")


@dataclass(frozen=True)
class HttpFetch:
    """Fetches by HTTP.

    Args:
        settings: time limit, certificates, headers. limits: of size.
        secret: value of a secret by its name. pause: waits before the second try, in seconds.
    """

    settings: SourceSettings
    limits: Limits = field(default_factory=Limits)
    secret: Callable[[str], str] = no_secrets
    pause: Callable[[float], None] = time.sleep

    def __call__(self, address: str, rule: HostRule) -> bytes:
        """Return the body of the answer, as it was packed.

        Raises:
            SourceError: whatever went wrong, with the status or the class of the error.
        """
        target = fill_secrets(address, lambda name: quote(self.secret(name), safe=""))
        try:
            return self._follow(target, rule)
        except _TransientSourceError:
            self.pause(PAUSE_SECONDS)
            return self._follow(target, rule)

    def _follow(self, address: str, rule: HostRule) -> bytes:
        for _ in range(REDIRECT_LIMIT + 1):
            rule.check(address)
            answer = self._in_time(address, rule.is_own_host(address))
            if answer.location is None:
                return answer.body
            address = _led_to(address, answer.location)
        raise SourceError(f"is redirected more than {REDIRECT_LIMIT} times")

    def _in_time(self, address: str, is_own: bool) -> "_Answer":
        """Ask in a thread of its own: no limit inside a request covers its name look-up, handshake and headers."""
        seconds = self.settings.timeout_ms / 1000
        connection = self._connection(address, seconds)
        box: queue.SimpleQueue[_Answer | SourceError] = queue.SimpleQueue()
        opened: list[socket.socket] = []  # http.client forgets its socket while the body is still being read
        headers = self._headers() if is_own else {}
        limit = self.limits.fetched_bytes

        def ask() -> None:
            box.put(_answer(connection, opened, address, headers, limit))

        threading.Thread(target=ask, name="fetch", daemon=True).start()
        try:
            answer = box.get(timeout=seconds)
        except queue.Empty:
            raise _TransientSourceError(f"has not answered in full within {seconds:g} s (TimeoutError)") from None
        finally:
            for sock in opened:
                with suppress(OSError):  # ends the thread where it still waits
                    sock.shutdown(socket.SHUT_RDWR)
        if isinstance(answer, SourceError):
            raise answer
        return answer

    def _connection(self, address: str, seconds: float) -> http.client.HTTPConnection:
        parts = urlsplit(address)
        host = host_of(address).strip("[]")
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, parts.port, timeout=seconds)
        return http.client.HTTPSConnection(host, parts.port, timeout=seconds, context=self._trust())

    def _trust(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.settings.ca_file)
        except OSError as error:
            raise SourceError(f"cannot be asked: certificates of `source.ca_file` cannot be read "
                              f"({type(error).__name__})") from None
        if not self.settings.verify_tls:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _headers(self) -> dict[str, str]:
        return {name: fill_secrets(value, self.secret) for name, value in self.settings.headers}


@dataclass(frozen=True, slots=True)
class _Answer:
    body: bytes
    location: str | None = None


def _led_to(address: str, location: str) -> str:
    try:
        return urljoin(address, location)
    except ValueError:
        raise SourceError("is redirected to what is no address") from None


def _answer(
    connection: http.client.HTTPConnection, opened: list[socket.socket], address: str, headers: dict[str, str],
    limit_bytes: int,
) -> _Answer | SourceError:
    parts = urlsplit(address)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"User-Agent": "fanfold", "Accept-Encoding": "gzip", **headers}
    try:
        connection.connect()
        opened.append(connection.sock)
        connection.request("GET", quote(target, safe=_PATH_SAFE), headers=headers)
        return _read(connection.getresponse(), limit_bytes)
    except SourceError as fault:
        return fault
    except (ssl.SSLCertVerificationError, socket.gaierror) as error:
        return SourceError(f"cannot be reached: {_said(error)} (host {connection.host})")
    except (OSError, http.client.HTTPException) as error:
        return _TransientSourceError(f"cannot be reached: {_said(error)} (host {connection.host})")
    except ValueError as error:  # a secret that no header can hold; its text is not repeated
        return SourceError(f"cannot be asked for ({type(error).__name__})")
    finally:
        connection.close()


def _read(response: http.client.HTTPResponse, limit_bytes: int) -> _Answer:
    if response.status in REDIRECTS and response.headers["Location"]:
        return _Answer(b"", response.headers["Location"])
    if response.status != http.client.OK:
        kind = _TransientSourceError if response.status in TRANSIENT else SourceError
        reason = "".join(filter(str.isprintable, response.reason[:60]))
        raise kind(f"answers with status {response.status} {reason}".rstrip(), "status 200")
    if (packing := response.headers.get("Content-Encoding", "identity").lower()) not in ("identity", "gzip", "x-gzip"):
        raise SourceError(f"is packed as {packing[:40]!r}, which was not asked for", "gzip or nothing")
    pieces, size = [], 0
    while piece := response.read(CHUNK_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > limit_bytes:
            raise SourceError(f"has more than {limit_bytes} bytes")
    if response.length:
        raise _TransientSourceError(f"is cut off: {response.length} bytes are missing (IncompleteRead)")
    return _Answer(b"".join(pieces))


def _said(error: Exception) -> str:
    text = getattr(error, "verify_message", None) or getattr(error, "strerror", None) or str(error)
    return f"{type(error).__name__}: {text}"[:200]
