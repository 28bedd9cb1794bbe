"""Addresses that lead elsewhere or nowhere: names, ports, certificates, redirects, broken answers."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.outcome import OutcomeKind
from tasks.scan.partial import Visited
from tests.browser.certificates import self_signed
from tests.browser.faulty_site import FAULT, QUICK, Answer, Scanner, Site, html, planned, redirect, targets

O = OutcomeKind  # noqa: E741 - a table of outcomes reads best with a short name
STRICT = replace(QUICK, redirects="strict")


def ended(visited: Visited) -> tuple[OutcomeKind, str]:
    return visited.outcome.outcome, visited.outcome.reason


@pytest.fixture
def tls(tmp_path: Path) -> Iterator[Site]:
    server = Site(self_signed(tmp_path))
    yield server
    server.close()


def test_a_certificate_that_nobody_vouches_for(tls: Site, tmp_path: Path, scanner: Scanner) -> None:
    expired = Site(self_signed(tmp_path, days_left=-1))
    urls = [tls.put("/", html(FAULT)), expired.put("/", html(FAULT)), tls.url("/", "other.localhost")]
    found = scanner.visit_all([planned(url) for url in urls])
    expired.close()
    assert {(*ended(one), one.outcome.visit_count, one.occurrences) for one in found.values()} == {
        (O.UNREACHABLE, "certificate", 1, ())}
    assert all((one.outcome.detail or "").startswith("ERR_CERT_") for one in found.values())
    assert tls.requests == []


def test_tls_that_is_none(site: Site, tls: Site, scanner: Scanner) -> None:
    """Plain text at the port of https, and the reverse."""
    plain = planned(site.url("/").replace("http:", "https:"))
    wrapped = planned(tls.url("/").replace("https:", "http:"))
    found = scanner.visit_all([plain, wrapped])
    assert [ended(found[one.url]) for one in (plain, wrapped)] == [
        (O.UNREACHABLE, "certificate"), (O.UNREACHABLE, "connection_lost")]


def test_www_is_no_other_host(site: Site, scanner: Scanner) -> None:
    """Browsers look for every name below `localhost` on this machine."""
    site.put("/shop", html(FAULT))
    site.put("/old", lambda _, headers: redirect(f"http://site.localhost:{site.port}/shop"))
    site.put("/add", lambda _, headers: redirect(f"http://www.site.localhost:{site.port}/shop"))
    site.put("/same", lambda _, headers: html(FAULT) if headers["Host"].startswith("www.") else redirect(
        f"http://www.site.localhost:{site.port}/same"))
    old, add = planned(site.url("/old", "www.site.localhost")), planned(site.url("/add", "site.localhost"))
    same = planned(site.url("/same", "site.localhost"))
    for route, scan, final in ((old, QUICK, site.url("/shop", "site.localhost")),
                               (add, QUICK, site.url("/shop", "www.site.localhost")),
                               (same, STRICT, site.url("/same", "www.site.localhost"))):
        visited = scanner.visit_all([route], scan)[route.url]
        assert (*ended(visited), visited.outcome.final_url, targets(visited)) == (
            O.SCANNED, "tested", final, ['["img"]'])
    both = scanner.visit_all([same, planned(site.url("/same", "www.site.localhost"))])
    assert (*ended(both[same.url]), both[same.url].occurrences) == (O.REDIRECTED, "other_route", ())
    away = planned(site.put("/away", redirect(f"http://shop.localhost:{site.port}/shop")))
    assert ended(scanner.visit_all([away])[away.url]) == (O.WRONG_PAGE, "host_not_allowed")


BROKEN = {  # answers that no browser shows
    "no answer": (Answer(raw=b""), (O.UNREACHABLE, "connection_lost")),
    "no protocol": (Answer(raw=b"SSH-2.0-OpenSSH\r\n"), (O.UNREACHABLE, "invalid_response")),
    "two lengths": (Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
                    (O.UNREACHABLE, "invalid_response")),
    "two places": (Answer(raw=b"HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\n\r\n"),
                   (O.UNREACHABLE, "invalid_response")),
    "endless headers": (Answer(raw=b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 400_000),
                        (O.UNREACHABLE, "invalid_response")),
    "a lie about packing": (html("x", headers={"Content-Encoding": "gzip"}), (O.UNREACHABLE, "invalid_response")),
    "half a chunk": (Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
                                b"ff\r\n<h1>half"), (O.UNREACHABLE, "incomplete_body")),
    "a redirect without a place": (html(FAULT, status=302), (O.HTTP_ERROR, "status_302")),
    "many choices": (html(FAULT, status=300), (O.HTTP_ERROR, "status_300")),
    "a status of its own": (html(FAULT, status=999), (O.HTTP_ERROR, "status_999")),
    "to a file": (redirect("file:///etc/hostname"), (O.UNREACHABLE, "bad_redirect")),
    "to data": (redirect("data:text/html,hi"), (O.UNREACHABLE, "bad_redirect")),
    "to a page of the browser": (redirect("chrome://version"), (O.UNREACHABLE, "bad_redirect")),
    "to no host": (redirect("http://"), (O.UNREACHABLE, "bad_redirect")),
    "to another program": (redirect("mailto:a@b.test"), (O.UNREACHABLE, "bad_redirect")),
    "a question for a password": (html(FAULT, status=401, headers={"WWW-Authenticate": 'Basic realm="x"'}),
                                  (O.HTTP_ERROR, "status_401")),
    "a hint first": (Answer(raw=b"HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\n\r\nHTTP/1.1 404 Not Found"
                                b"\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\nx"),
                     (O.HTTP_ERROR, "status_404")),
}


def test_broken_answers(site: Site, scanner: Scanner) -> None:
    routes = {name: planned(site.put("/" + name.replace(" ", "-"), answer)) for name, (answer, _) in BROKEN.items()}
    found = scanner.visit_all(routes.values())
    assert {name: ended(found[route.url]) for name, route in routes.items()} == {
        name: expected for name, (_, expected) in BROKEN.items()}
    assert all(one.outcome.how_to_fix and not one.occurrences for one in found.values())


def test_http_leads_to_https(site: Site, tls: Site, scanner: Scanner) -> None:
    """It is no fault, also where redirects are watched; a page that is in the plan under both is scanned once."""
    tls.put("/a", html(FAULT))
    plain, wrapped = planned(site.put("/a", redirect(tls.url("/a"), 301))), planned(tls.url("/a"))
    trusting = replace(STRICT, verify_tls=False)
    visited = scanner.visit_all([plain], trusting)[plain.url]
    assert (*ended(visited), visited.outcome.final_url, targets(visited)) == (
        O.SCANNED, "tested", tls.url("/a"), ['["img"]'])
    both = scanner.visit_all([plain, wrapped], trusting)
    assert (*ended(both[plain.url]), both[plain.url].outcome.redirected_to) == (
        O.REDIRECTED, "other_route", wrapped.task_id)
    assert ended(both[wrapped.url]) == (O.SCANNED, "tested")
    assert ended(scanner.visit_all([plain])[plain.url]) == (O.UNREACHABLE, "certificate")


def test_a_host_that_is_down_is_given_up(scanner: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some failures nothing is tried twice, after more the host is only probed; others go on."""
    monkeypatch.setattr("tasks.scan.visit.RETRY_WAIT_SECONDS", (0.01,))
    monkeypatch.setattr("tasks.scan.breaker.FAILURES_WITHOUT_RETRY", 2)
    monkeypatch.setattr("tasks.scan.breaker.FAILURES_WITHOUT_VISIT", 3)
    down, up = Site(), Site()
    routes = [planned(down.url(f"/{number}")) for number in range(6)]
    down.close()
    alive = planned(up.put("/", html(FAULT)))
    found = scanner.visit_all([*routes, alive], replace(QUICK, route_retries=1), in_flight=1)
    up.close()
    reasons = [(*ended(found[route.url]), found[route.url].outcome.visit_count) for route in routes]
    refused, given_up = (O.UNREACHABLE, "connection_refused"), (O.UNREACHABLE, "host_gave_up")
    assert {one[:2] for one in reasons} == {refused, given_up}
    assert sum(one[:2] == given_up for one in reasons) >= 2
    assert ended(found[alive.url]) == (O.SCANNED, "tested")
