"""Hostile and broken pages. For each: the deadline holds, the next route is scanned, the process count returns to its
base, memory is bounded.

Where the kinds come from, beside the list of known faults (projects' trackers; the pages are ours):

| kind | from |
|---|---|
| big console messages, big strings | Playwright 22621, 20348, 32336; playwright-dotnet 2132 |
| enormous elements, tables, many nodes | axe-core 3923, 2445, 908, 1985 |
| deep trees | axe-core 886, 2602; whatwg/html 11784 |
| frames that come, go and change their process under a call | Puppeteer 10715; Playwright 2282; Lighthouse 14074 |
| frames that hang or are too many | axe-core 4651, 4802; axe-core-npm 675 |
| pages that never fire `load` | Playwright 36148; BackstopJS 944; pa11y 274, 658 |
| dialogs and questions for a password | playwright-python 1106, 1212 |
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from schemas.outcome import OutcomeKind
from schemas.shape import faults_in, row_of, table_of
from tasks.scan.engine import engine_source
from tasks.scan.memory import private_bytes
from tasks.scan.partial import Visited
from tests.browser.faulty_site import (
    FAULT,
    QUICK,
    Answer,
    Scanner,
    Site,
    browser_processes,
    html,
    planned,
    targets,
    wait_until,
)

O = OutcomeKind  # noqa: E741 - a table of outcomes reads best with a short name
DEADLINE_MS = 3_000
ALLOWANCE_S = 8.0  # for closing what does not close; a machine for tests is a busy one
PEAK_BYTES = 2_500_000_000  # a renderer may take 1.5 GB until it is ended
REST_BYTES = 1_000_000_000
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


@pytest.fixture(scope="module")
def base(scanner: Scanner) -> int:
    """Processes of a browser that has nothing to do."""
    server = Site()
    assert_next_is_fine(server, scanner)
    server.close()
    counts = [len(browser_processes())]

    def is_steady() -> bool:
        time.sleep(0.3)
        counts.append(len(browser_processes()))
        return counts[-1] == counts[-2]

    wait_until(is_steady, 5)
    return counts[-1]


def held_bytes() -> int:
    """Memory of drivers and browsers."""
    return sum(map(private_bytes, browser_processes()))


@contextmanager
def survived(site: Site, scanner: Scanner, base: int, deadline_ms: int) -> Iterator[None]:
    """Hold what is true whatever a page does."""
    peak, is_over = [held_bytes()], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.3):
            peak.append(held_bytes())

    watching = threading.Thread(target=watch)
    watching.start()
    began = time.monotonic()
    try:
        yield
        took = time.monotonic() - began
        assert took < deadline_ms / 1000 + ALLOWANCE_S
        assert_next_is_fine(site, scanner)
        assert wait_until(lambda: len(browser_processes()) <= base + 1), (len(browser_processes()), base)
    finally:
        is_over.set()
        watching.join()
    assert max(peak) < PEAK_BYTES
    assert wait_until(lambda: held_bytes() < REST_BYTES)


def assert_can_be_stored(visited: Visited) -> None:
    """Every record keeps its schema and can be written in a file's encoding."""
    place = {"estate": "e", "run_id": "r", "run_date": "2026-01-01"}
    stamp = {"attempt": 1, "attempt_name": "attempt-1-00000000", "triple_number": 1}
    for name, records in (("outcome", [visited.outcome]), ("occurrence", visited.occurrences),
                          ("rule_result", visited.rule_results)):
        rows = [row_of(record) | place | stamp for record in records]
        assert faults_in(name, table_of(name, rows)) == {}


@pytest.mark.parametrize("case", BREAKS)
def test_a_page_that_breaks_its_own_world(site: Site, scanner: Scanner, base: int, case: str) -> None:
    with survived(site, scanner, base, DEADLINE_MS):
        visited = scanner.visit(site.put("/", html(FAULT, head=f"<script>{BREAKS[case]}</script>")))
    assert ended(visited) == (O.SCANNED, "tested")
    assert targets(visited) in (['["img"]'], ['["main > img"]'], ['["img[src$=\\"pixel.png\\"]"]'])
    assert visited.outcome.engine_version == "4.12.1"


@pytest.mark.parametrize("case", POLICIES)
def test_a_page_with_a_policy(site: Site, scanner: Scanner, base: int, case: str) -> None:
    with survived(site, scanner, base, DEADLINE_MS):
        visited = scanner.visit(site.put("/", html(FAULT, headers=POLICIES[case])))
    assert (*ended(visited), targets(visited)) == (O.SCANNED, "tested", ['["img"]'])


def test_a_blocked_script_stays_blocked(site: Site, scanner: Scanner) -> None:
    """With the page's policy bypassed the script would run, and the fault would be gone."""
    body = FAULT + '<script>document.querySelector("img").alt = "mended"</script>'
    visited = scanner.visit(site.put("/", html(body, headers={"Content-Security-Policy": "script-src 'none'"})))
    assert (*ended(visited), targets(visited)) == (O.SCANNED, "tested", ['["img"]'])


FLOODS = {
    "dialogs": "for (let i = 0; i < 40; i++) alert(i); onbeforeunload = () => 'stay'; confirm('x'); prompt('y')",
    "big dialogs": "const t = 'x'.repeat(5e6); setInterval(() => alert(t), 5)",
    "popups": "setInterval(() => window.open('/next'), 5)",
    "console": "setInterval(() => { for (let i = 0; i < 300; i++) console.log({a: new Array(100)}) }, 1)",
    "big console": "const t = 'x'.repeat(1e7); setInterval(() => console.log(t), 5)",
    "history": "let n = 0; setInterval(() => { for (let i = 0; i < 50; i++) history.replaceState({}, '', '?' + n++) "
               "}, 1)",
    "big addresses": "let n = 0; setInterval(() => history.replaceState(0, '', '/?' + n++ + 'x'.repeat(1e6)), 5)",
    "downloads": "const a = document.createElement('a'); a.href = '/file'; a.download = 'f'; a.click(); "
                 "setInterval(() => a.click(), 50)",
    "requests that fail": "setInterval(() => { for (let i = 0; i < 100; i++) fetch('http://127.0.0.1:6667/' + i)"
                          ".catch(() => 0) }, 1)",
    "workers": "for (let i = 0; i < 8; i++) new Worker(URL.createObjectURL(new Blob(['while(true);'])))",
    "more and more workers": "const u = URL.createObjectURL(new Blob([''])); "
                             "setInterval(() => { for (let i = 0; i < 9; i++) new Worker(u) }, 1)",
    "frames": "setInterval(() => document.body.appendChild(document.createElement('iframe')).remove())",
    "frames that change their process": "const f = document.createElement('iframe'); f.title = 'f'; let n = 0; "
                                        "document.body.append(f); setInterval(() => { f.src = (n++ % 2 ? "
                                        "'http://localhost:' : 'http://127.0.0.1:') + location.port + '/next' }, 30)",
    "blobs": "const held = []; setInterval(() => held.push(new Blob([new Uint8Array(2e7)])), 20)",
    "service worker": "navigator.serviceWorker.register('/sw.js').catch(() => 0)",
    "document.write": "setInterval(() => document.write('<p>x'), 5)",
}


@pytest.mark.parametrize("case", FLOODS)
def test_a_flood(site: Site, scanner: Scanner, base: int, case: str) -> None:
    site.put("/file", Answer(b"x" * 1000, media_type="application/octet-stream"))
    site.put("/next", html(FAULT))
    flood = f"<script>addEventListener('load', () => {{ {FLOODS[case]} }})</script>"
    url = site.put("/", html(FAULT + flood))
    with survived(site, scanner, base, DEADLINE_MS):
        visited = scanner.visit(url, deadline_ms=DEADLINE_MS)
    assert visited.outcome.outcome in (O.SCANNED, O.PARTIALLY_SCANNED, O.TIMED_OUT, O.CRASHED)
    if visited.outcome.outcome.was_scanned and case != "document.write":  # which writes the fault away
        assert '["img"]' in targets(visited) or '["main > img"]' in targets(visited)


def test_a_flood_does_not_drown_its_neighbour(site: Site, scanner: Scanner, base: int) -> None:
    """It may cost the browser that both are in; then the neighbour is visited again."""
    flood = planned(site.put("/flood", html(f"<script>{FLOODS['requests that fail']}</script>")), deadline_ms=1_500)
    good = planned(site.put("/good", html(FAULT)), deadline_ms=20_000)
    with survived(site, scanner, base, 30_000):
        found = scanner.visit_all([flood, good], replace(QUICK, route_retries=1))
    assert (*ended(found[good.url]), targets(found[good.url])) == (O.SCANNED, "tested", ['["img"]'])


ENDLESS = {
    "at once": "while (true);",
    "after load": "addEventListener('load', () => setTimeout(() => { while (true); }, 50))",
    "promises": "addEventListener('load', () => { const again = () => Promise.resolve().then(again); again() })",
    "when it is looked at": "new MutationObserver(() => { while (true); }).observe(document, {subtree: true, "
                            "attributes: true, childList: true}); setTimeout(() => document.body.append('x'), 100)",
    "dialogs": "addEventListener('load', () => { while (true) alert(1) })",
    "console": "addEventListener('load', () => { const t = 'x'.repeat(1e7); while (true) console.log(t) })",
    "a request that waits": "const x = new XMLHttpRequest(); x.open('GET', '/never', false); x.send()",
}


@pytest.mark.parametrize("case", ENDLESS)
def test_a_script_without_end(site: Site, scanner: Scanner, base: int, case: str) -> None:
    site.put("/never", Answer(wait_s=60))
    url = site.put("/", html(FAULT + f"<script>{ENDLESS[case]}</script>"))
    with survived(site, scanner, base, DEADLINE_MS):
        visited = scanner.visit(url, deadline_ms=DEADLINE_MS)
    assert (visited.outcome.outcome, visited.occurrences) == (O.TIMED_OUT, ())


def test_a_script_that_stops_only_the_engine(site: Site, scanner: Scanner, base: int) -> None:
    """Our script finishes animations right before the engine: by that a page can tell that it runs."""
    body = FAULT + """<p id="far" style="transition: color 9s; color: #000">x</p><script>setTimeout(() => {
        far.style.color = "#111"; far.getAnimations()[0].finished.then(() => { while (true); }) }, 60)</script>"""
    with survived(site, scanner, base, DEADLINE_MS):
        visited = scanner.visit(site.put("/", html(body)), deadline_ms=DEADLINE_MS)
    assert visited.outcome.outcome is O.TIMED_OUT
    assert visited.outcome.reason in ("engine_timeout", "page_blocked")


LOADS = {  # what never comes, or never ends: outcome, reason, what is said of it
    "a style sheet": (html(FAULT, head='<link rel="stylesheet" href="/never.css">'), "resource_timeout", "/never.css"),
    "a picture": (html(FAULT + '<img alt="x" src="/never.gif">'), "resource_timeout", "/never.gif"),
    "a sheet within a sheet": (html(FAULT, head="<style>@import url(/never.css)</style>"), "load_timeout", "no `load`"),
    "a script": (html(FAULT, head='<script src="/never.js"></script>'), "load_timeout", "never ended"),
    "the page": (Answer(wait_s=60), "load_timeout", "no page"),
    "the page's end": (Answer(b"<!doctype html><title>t</title>", endless=b"<p>x</p>" * 20), "load_timeout", ""),
    "the page's headers": (Answer(raw=b"HTTP/1.1 200 OK\r\nX-A: ", wait_s=60), "load_timeout", "no page"),
}


def test_what_never_comes(site: Site, scanner: Scanner, base: int) -> None:
    for kind in ("css", "gif", "js"):
        site.put(f"/never.{kind}", Answer(wait_s=60))
    routes = {name: planned(site.put("/" + name.replace(" ", "-"), answer), deadline_ms=6_000)
              for name, (answer, _, _) in LOADS.items()}
    with survived(site, scanner, base, 12_000):
        found = scanner.visit_all(routes.values(), in_flight=4)
    for name, (_, reason, said) in LOADS.items():
        outcome = found[routes[name].url].outcome
        assert (name, outcome.outcome) == (name, O.TIMED_OUT)
        assert outcome.reason in (reason, *(["page_blocked"] if name == "the page's end" else [])), outcome
        assert said in (outcome.detail or "") and found[routes[name].url].occurrences == ()


HEAVY: dict[str, tuple[str, Callable[[Visited], bool]]] = {  # too much of something; scanned in full, or not at all
    "nodes": ("<b>x</b>" * 100_000 + FAULT, lambda one: one.outcome.outcome in (O.SCANNED, O.TIMED_OUT)),
    "an enormous element": ('<div style="width:1e9px;height:1e9px">x</div>' + FAULT,
                            lambda one: one.outcome.outcome in (O.SCANNED, O.CRASHED, O.TIMED_OUT)),
    "a deep tree": ("<script>let n = document.querySelector('main'); for (let i = 0; i < 5000; i++) n = n.appendChild("
                    f"document.createElement('div')); n.innerHTML = `{FAULT}`</script>",
                    lambda one: one.outcome.outcome in (O.SCANNED, O.CRASHED, O.ENGINE_ERROR)),
    "a table": ("<table>" + ("<tr>" + "<td>x</td>" * 40 + "</tr>") * 200 + "</table>" + FAULT,
                lambda one: one.outcome.outcome in (O.SCANNED, O.TIMED_OUT)),
    "long names": (FAULT + "<script>const i = document.querySelector('img'), t = 'x'.repeat(2e6); i.id = t; "
                   "i.className = t; i.setAttribute('role', t); i.setAttribute('a' + t, t)</script>",
                   lambda one: one.outcome.outcome in (O.SCANNED, O.TIMED_OUT)),
    "a long title": (FAULT + "<script>document.title = 'x'.repeat(2e7)</script>",
                     lambda one: one.outcome.outcome is O.SCANNED and len(one.outcome.title or "") <= 300),
    "a long tag": ("<script>const e = document.createElement('x-' + 'y'.repeat(2e6)); e.innerHTML = '<img>'; "
                   "document.querySelector('main').append(e)</script>", lambda one: one.outcome.outcome is O.SCANNED),
    "frames": ('<iframe title="f" srcdoc="x"></iframe>' * 70 + FAULT,
               lambda one: one.outcome.outcome in (O.PARTIALLY_SCANNED, O.TIMED_OUT)),
    "sites": ("".join(f'<iframe title="f" src="http://s{n}.localhost:PORT/next"></iframe>' for n in range(24)),
              lambda one: one.outcome.outcome in (O.SCANNED, O.PARTIALLY_SCANNED, O.TIMED_OUT)),
}


@pytest.mark.parametrize("case", HEAVY)
def test_too_much_of_something(site: Site, scanner: Scanner, base: int, case: str) -> None:
    body, is_right = HEAVY[case]
    site.put("/next", html(FAULT))
    url = site.put("/", html(body.replace("PORT", str(site.port))))
    with survived(site, scanner, base, DEADLINE_MS):
        visited = scanner.visit(url, deadline_ms=DEADLINE_MS)
    assert is_right(visited), visited.outcome
    assert visited.outcome.outcome is not O.SCANNED or targets(visited)
    assert_can_be_stored(visited)


def test_many_nodes_are_counted_in_full_and_kept_in_part(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html(FAULT * 1_200))
    visited = scanner.visit(url, deadline_ms=60_000)
    assert ended(visited) == (O.PARTIALLY_SCANNED, "results_cut")
    assert visited.outcome.is_cut
    assert visited.outcome.violation_count >= 1_200
    assert len(targets(visited)) == 1_000
    assert_can_be_stored(visited)


def test_an_attribute_of_20_megabytes(site: Site, scanner: Scanner, base: int) -> None:
    make = """<script>const i = new Image(); i.src = "data:image/gif;base64," + "A".repeat(20e6);
        document.querySelector("main").append(i)</script>"""
    with survived(site, scanner, base, 20_000):
        visited = scanner.visit(site.put("/", html(make)))
    assert ended(visited) == (O.SCANNED, "tested")
    (row,) = [row for row in visited.occurrences if row.rule == "image-alt"]
    assert len(row.html) <= 1_000 and row.html.startswith('<img src="data:image/gif;base64,AAAA')
    assert_can_be_stored(visited)


def test_text_that_no_file_can_hold(site: Site, scanner: Scanner, base: int) -> None:
    body = """<img id="x"><script>document.title = "\\ud800 lone \\0 nul"; x.src = "/p\\udfff.png";
        x.className = "\\ud83d \\0"; x.setAttribute("data-x", "\\udc00\\0".repeat(2000))</script>"""
    with survived(site, scanner, base, DEADLINE_MS):
        visited = scanner.visit(site.put("/", html(body)))
    assert ended(visited) == (O.SCANNED, "tested")
    assert "\N{REPLACEMENT CHARACTER}" in (visited.outcome.title or "")
    assert_can_be_stored(visited)


def test_a_page_that_eats_memory_ends_alone(
    site: Site, scanner: Scanner, base: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.scan.memory.RENDERER_BYTES", 400_000_000)
    eat = """<script>const held = []; setInterval(() => { const part = new Uint8Array(20e6); part.fill(7);
        held.push(part) }, 20)</script>"""
    good = planned(site.put("/good", html(FAULT)))
    hungry = planned(site.put("/eat", html(eat)), deadline_ms=15_000)
    with survived(site, scanner, base, 15_000):
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


def test_many_visits_leave_nothing_behind(site: Site, scanner: Scanner, base: int) -> None:
    url = site.put("/", html(FAULT + "<p>" + "x" * 200_000 + "</p>"))
    scanner.visit_all([planned(f"{url}?{number}") for number in range(2)])
    memory = held_bytes()
    scanner.visit_all([planned(f"{url}?{number}") for number in range(8)])
    assert wait_until(lambda: len(browser_processes()) <= base + 1)
    assert held_bytes() < memory * 1.5 + 100_000_000
