"""The sample estate: everything that its manifest names is served, and the port is shared or refused in plain words."""

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

import pytest

from flows.sample import DELAYS_SECONDS, HOST, REDIRECTS, load_pages, locate_sample, serve_sample
from schemas.errors import ContractError
from schemas.history import TimingHistory
from schemas.policy import parse_policy
from schemas.settings import Settings
from tasks.learn import merge_plain
from tasks.load import load_document, load_manifest, load_timings
from tasks.plan import make_plan
from tests.small_manifest import request_of


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


OPEN = build_opener(_NoRedirect).open


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    with serve_sample(port=0) as address:
        yield address


def ask(address: str) -> tuple[int, str, str]:
    try:
        with OPEN(address, timeout=10) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode("latin-1")
    except HTTPError as error:
        return error.code, error.headers["Content-Type"], error.headers.get("Location") or ""


def test_every_route_of_the_manifest_is_served(base: str) -> None:
    manifest = load_manifest(locate_sample().manifest, Settings())
    paths = [urlsplit(entry.url).path for entry in manifest.entries]
    answers = {path: ask(base + path)[:2] for path in paths if path not in DELAYS_SECONDS}
    html, pdf = (200, "text/html; charset=utf-8"), (200, "application/pdf")
    assert answers == {path: pdf if path.endswith(".pdf") else (302, "text/plain") if path in REDIRECTS else html
                       for path in answers}
    assert set(REDIRECTS) | set(DELAYS_SECONDS) <= set(paths)
    assert set(REDIRECTS.values()) <= set(paths)


def test_links_of_the_pages_lead_somewhere(base: str) -> None:
    pages = load_pages(locate_sample().folder / "pages")
    linked = {link for _, body in pages.values() for link in re.findall(r'(?:href|src|action)="(/[^"]*)"',
                                                                        body.decode("latin-1"))}
    assert {link for link in linked if link not in pages} == set()


def test_what_is_not_there_is_not_found_and_nothing_leaves_the_folder(base: str) -> None:
    assert ask(f"{base}/nothing")[:2] == (404, "text/html; charset=utf-8")
    for path in ("/../manifest.json", "/%2e%2e/manifest.json", "//etc/passwd", "/index.html"):
        assert ask(base + path)[0] == 404


def test_the_slow_page_takes_its_time_and_holds_nobody_up(base: str) -> None:
    began = time.monotonic()
    assert ask(f"{base}/archive/search")[0] == 200
    assert time.monotonic() - began >= 1.5


def test_two_audits_share_the_port_and_the_first_end_leaves_the_second() -> None:
    with serve_sample(port=0) as first:
        port = int(first.rpartition(":")[2])
        with serve_sample(port) as second:
            assert first == second
            assert [ask(first)[0] for _ in range(20)] == [200] * 20
        assert [ask(first)[0] for _ in range(20)] == [200] * 20


def test_a_port_of_another_program_is_refused_in_plain_words() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ContractError,
                           match=f"port {port} of 127.0.0.1 belongs to another program"), serve_sample(port):
            pass


def test_manifest_policy_and_history_are_sound_and_lpt_beats_an_equal_split() -> None:
    sample = locate_sample()
    settings = Settings()
    policy = load_document(Path(sample.policy).read_bytes(), "policy.yaml", "policy")
    assert parse_policy(policy, "policy.yaml", None) == parse_policy({}, "policy.yaml", None)
    manifest = load_manifest(sample.manifest, settings)
    request = request_of(manifest, merge_plain(TimingHistory(), load_timings(sample.history).plain), Settings(shards=4))
    plan = make_plan(request)
    costs = {row.url: row.load_ms for row in plan.routes}
    assert all(row.has_history for row in plan.routes)
    assert {row.journey for row in plan.routes} == {"primary", "secondary"}
    assert {row.priority for row in plan.routes} == {0, 1, 2}
    size = len(costs) // 4
    urls = [entry.url for entry in manifest.entries]
    equal = [sum(costs[url] for url in urls[start:start + size]) for start in range(0, len(urls), size)]
    assert max(equal) > 1.4 * sum(equal) / 4
    assert plan.header.imbalance < 1.05
