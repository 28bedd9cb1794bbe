"""Hostile and broken pages: the deadline holds, the next route is scanned, nothing is left behind."""

import os
import time
from dataclasses import replace

import pytest

from schemas.outcome import OutcomeKind
from schemas.shape import faults_in, row_of, table_of
from tasks.scan.engine import engine_source
from tasks.scan.partial import Visited
from tasks.scan.process import private_bytes, with_descendants
from tests.browser.faulty_site import (
    FAULT,
    QUICK,
    Answer,
    Scanner,
    Site,
    html,
    planned,
    processes,
    targets,
    wait_until,
)

O = OutcomeKind  # noqa: E741 - a table of outcomes reads best with a short name
DEADLINE_MS = 6_000
OWN_ENGINE = """window.axe = {version: "3.0.0", run: async () => ({violations: [], passes: [], incomplete: [],
    inapplicable: []})};"""
BREAKS = {  # pages that break the ground under a script of their own world; each has one fault and must show it
    "Array.from": "Array.from = function () { return [] }",
    "array methods": "for (const name of ['map', 'filter', 'forEach', 'push', 'find', 'some']) "
                     "Array.prototype[name] = function () { return [] }",
    "toJSON": "Object.prototype.toJSON = String.prototype.toJSON = Array.prototype.toJSON = () => 'poisoned'",
    "JSON": "JSON.stringify = () => '{}'; JSON.parse = () => ({})",
    "Promise": "Promise.prototype.then = function () { return this }; window.Promise = function () {}",
    "selectors": "Document.prototype.querySelectorAll = Element.prototype.querySelectorAll = () => []",
    "timers": "window.setTimeout = window.setInterval = window.requestAnimationFrame = () => 0",
    "an engine of its own": OWN_ENGINE,
    "an engine that is locked": OWN_ENGINE + "Object.defineProperty(window, 'axe', {writable: false, configurable: "
                                "false, value: window.axe}); Object.freeze(window.axe)",
    "AMD": "window.define = () => {}; window.define.amd = {}; window.module = {exports: {}}; window.exports = {}",
    "names of fields": "document.write('<img name=querySelector alt=x><form name=title></form><img name=body alt=x>')",
}
POLICIES = {
    "no scripts": {"Content-Security-Policy": "default-src 'none'; img-src *"},
    "trusted types": {"Content-Security-Policy": "default-src 'none'; script-src 'none'; img-src *; "
                                                 "require-trusted-types-for 'script'"},
    "sandbox": {"Content-Security-Policy": "sandbox"},
    "sandbox with scripts": {"Content-Security-Policy": "sandbox allow-scripts"},
    "isolated": {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"},
    "no connections": {"Content-Security-Policy": "connect-src 'none'; frame-src 'none'; object-src 'none'"},
}


def ended(visited: Visited) -> tuple[OutcomeKind, str]:
    return visited.outcome.outcome, visited.outcome.reason


def assert_next_is_fine(site: Site, scanner: Scanner) -> None:
    visited = scanner.visit(site.put("/next", html(FAULT)))
    assert (*ended(visited), targets(visited)) == (O.SCANNED, "tested", ['["img"]'])


def assert_can_be_stored(visited: Visited) -> None:
    """Every record keeps its schema and can be written in a file's encoding."""
    place = {"estate": "e", "run_id": "r", "run_date": "2026-01-01"}
    stamp = {"attempt": 1, "attempt_name": "attempt-1-00000000", "triple_number": 1}
    for name, records in (("outcome", [visited.outcome]), ("occurrence", visited.occurrences),
                          ("rule_result", visited.rule_results)):
        rows = [row_of(record) | place | stamp for record in records]
        assert faults_in(name, table_of(name, rows)) == {}


@pytest.mark.parametrize("case", BREAKS)
def test_a_page_that_breaks_its_own_world(site: Site, scanner: Scanner, case: str) -> None:
    visited = scanner.visit(site.put("/", html(FAULT, head=f"<script>{BREAKS[case]}</script>")))
    assert ended(visited) == (O.SCANNED, "tested")
    assert targets(visited) in (['["img"]'], ['["main > img"]'], ['["img[src$=\\"pixel.png\\"]"]'])
    assert visited.outcome.engine_version == "4.12.1"


@pytest.mark.parametrize("case", POLICIES)
def test_a_page_with_a_policy(site: Site, scanner: Scanner, case: str) -> None:
    visited = scanner.visit(site.put("/", html(FAULT, headers=POLICIES[case])))
    assert (*ended(visited), targets(visited)) == (O.SCANNED, "tested", ['["img"]'])


def test_a_blocked_script_stays_blocked(site: Site, scanner: Scanner) -> None:
    """With the page's policy bypassed the script would run, and the fault would be gone."""
    body = FAULT + '<script>document.querySelector("img").alt = "mended"</script>'
    visited = scanner.visit(site.put("/", html(body, headers={"Content-Security-Policy": "script-src 'none'"})))
    assert targets(visited) == ['["img"]']


FLOODS = {
    "dialogs": "for (let i = 0; i < 40; i++) alert(i); onbeforeunload = () => 'stay'; confirm('x'); prompt('y')",
    "popups": "setInterval(() => window.open('/next'), 5)",
    "console": "setInterval(() => { for (let i = 0; i < 300; i++) console.log({a: new Array(100)}) }, 1)",
    "history": "let n = 0; setInterval(() => { for (let i = 0; i < 50; i++) history.replaceState({}, '', '?' + n++) "
               "}, 1)",
    "downloads": "const a = document.createElement('a'); a.href = '/file'; a.download = 'f'; a.click(); "
                 "setInterval(() => a.click(), 50)",
    "workers": "for (let i = 0; i < 8; i++) new Worker(URL.createObjectURL(new Blob(['while(true);'])))",
    "service worker": "navigator.serviceWorker.register('/sw.js').catch(() => 0)",
}


@pytest.mark.parametrize("case", FLOODS)
def test_a_flood(site: Site, scanner: Scanner, case: str) -> None:
    site.put("/file", Answer(b"x" * 1000, media_type="application/octet-stream"))
    flood = f"<script>addEventListener('load', () => {{ {FLOODS[case]} }})</script>"
    url = site.put("/", html(FAULT + flood))
    began = time.monotonic()
    visited = scanner.visit(url, deadline_ms=15_000)
    assert time.monotonic() - began < 25
    assert ended(visited) in ((O.SCANNED, "tested"), (O.TIMED_OUT, "engine_timeout"), (O.TIMED_OUT, "page_blocked"))
    if ended(visited)[0] is O.SCANNED:
        assert targets(visited) == ['["img"]']
    assert_next_is_fine(site, scanner)


ENDLESS = {
    "at once": "while (true);",
    "after load": "addEventListener('load', () => setTimeout(() => { while (true); }, 50))",
    "promises": "addEventListener('load', () => { const again = () => Promise.resolve().then(again); again() })",
    "when it is looked at": "new MutationObserver(() => { while (true); }).observe(document, {subtree: true, "
                            "attributes: true, childList: true}); setTimeout(() => document.body.append('x'), 100)",
}


@pytest.mark.parametrize("case", ENDLESS)
def test_a_script_without_end(site: Site, scanner: Scanner, case: str) -> None:
    assert_next_is_fine(site, scanner)
    wait_until(lambda: processes() <= 8, 5)
    base = processes()
    url = site.put("/", html(FAULT + f"<script>{ENDLESS[case]}</script>"))
    began = time.monotonic()
    visited = scanner.visit(url, deadline_ms=DEADLINE_MS)
    assert time.monotonic() - began < DEADLINE_MS / 1000 + 5
    assert visited.outcome.outcome is O.TIMED_OUT
    assert visited.occurrences == ()
    assert_next_is_fine(site, scanner)
    assert wait_until(lambda: processes() <= base + 1)


def test_many_nodes_are_counted_in_full_and_kept_in_part(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html(FAULT * 1_200))
    visited = scanner.visit(url, deadline_ms=60_000)
    assert ended(visited) == (O.PARTIALLY_SCANNED, "results_cut")
    assert visited.outcome.is_cut
    assert visited.outcome.violation_count >= 1_200
    assert len(targets(visited)) == 1_000
    assert_can_be_stored(visited)


def test_a_hundred_thousand_nodes(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html("<b>x</b>" * 100_000 + FAULT))
    began = time.monotonic()
    visited = scanner.visit(url, deadline_ms=8_000)  # the engine alone may need longer; then the deadline holds
    assert time.monotonic() - began < 15
    assert ended(visited) in ((O.SCANNED, "tested"), (O.TIMED_OUT, "engine_timeout"))
    assert_next_is_fine(site, scanner)


def test_an_attribute_of_20_megabytes(site: Site, scanner: Scanner) -> None:
    make = """<script>const i = new Image(); i.src = "data:image/gif;base64," + "A".repeat(20e6);
        document.querySelector("main").append(i)</script>"""
    visited = scanner.visit(site.put("/", html(make)))
    assert ended(visited) == (O.SCANNED, "tested")
    (row,) = [row for row in visited.occurrences if row.rule == "image-alt"]
    assert len(row.html) <= 1_000 and row.html.startswith('<img src="data:image/gif;base64,AAAA')
    assert_can_be_stored(visited)


def test_text_that_no_file_can_hold(site: Site, scanner: Scanner) -> None:
    body = """<img id="x"><script>document.title = "\\ud800 lone \\0 nul"; x.src = "/p\\udfff.png";
        x.className = "\\ud83d \\0"; x.setAttribute("data-x", "\\udc00\\0".repeat(2000))</script>"""
    visited = scanner.visit(site.put("/", html(body)))
    assert ended(visited) == (O.SCANNED, "tested")
    assert "\N{REPLACEMENT CHARACTER}" in (visited.outcome.title or "")
    assert_can_be_stored(visited)


def test_an_enormous_element(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html('<div style="width:1e9px;height:1e9px">x</div>' + FAULT))
    visited = scanner.visit(url, deadline_ms=8_000)
    assert visited.outcome.outcome in (O.SCANNED, O.CRASHED, O.TIMED_OUT)
    assert_next_is_fine(site, scanner)


def test_a_page_that_eats_memory_ends_alone(site: Site, scanner: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.scan.browser.RENDERER_BYTES", 400_000_000)
    eat = """<script>const held = []; setInterval(() => { const part = new Uint8Array(20e6); part.fill(7);
        held.push(part) }, 20)</script>"""
    good = planned(site.put("/good", html(FAULT)))
    hungry = planned(site.put("/eat", html(eat)), deadline_ms=15_000)
    found = scanner.visit_all([hungry, good], replace(QUICK, settle_quiet_ms=8_000, settle_budget_ms=9_000))
    assert ended(found[hungry.url]) == (O.CRASHED, "renderer_crashed")
    assert ended(found[good.url]) == (O.SCANNED, "tested")


def test_the_engine_that_answers_is_the_pinned_one(site: Site, scanner: Scanner) -> None:
    other = engine_source(None).replace("4.12.1", "4.99.0")
    url = site.put("/", html(FAULT))
    visited = scanner.visit_all([planned(url)], engine_text=other)[url]
    assert ended(visited) == (O.ENGINE_ERROR, "engine_version")
    broken = scanner.visit_all([planned(url)], engine_text="throw new Error('no engine')")[url]
    assert (*ended(broken), "no engine" in (broken.outcome.detail or "")) == (O.ENGINE_ERROR, "engine_failed", True)
    assert (broken.occurrences, broken.rule_results) == ((), ())


def test_many_visits_leave_nothing_behind(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html(FAULT + "<p>" + "x" * 200_000 + "</p>"))
    scanner.visit_all([planned(f"{url}?{number}") for number in range(2)])
    wait_until(lambda: processes() <= 8, 5)
    base, memory = processes(), held_bytes()
    scanner.visit_all([planned(f"{url}?{number}") for number in range(8)])
    assert wait_until(lambda: processes() <= base + 1)
    assert held_bytes() < memory * 1.5 + 100_000_000


def held_bytes() -> int:
    return sum(private_bytes(pid) for pid in with_descendants([os.getpid()]))
