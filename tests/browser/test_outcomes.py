"""Every outcome of the design, reached by a real page."""

import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from schemas.outcome import OutcomeKind
from schemas.plan import PlannedRoute
from tasks.scan.access import Access
from tasks.scan.browser import BrowserBuild, find_full_browser
from tasks.scan.engine import engine_source
from tasks.scan.partial import Visited
from tasks.scan.reasons import REASONS
from tests.browser.faulty_site import FAULT, QUICK, Answer, Scanner, Site, html, planned, redirect, targets

O = OutcomeKind  # noqa: E741 - a table of outcomes reads best with a short name
SIGN_IN = '<form><label>Name <input name="n"></label><label>Password <input type="password" name="p"></label></form>'
XHTML = f'''<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title>t</title></head>
    <body><main><h1>A page</h1>{FAULT.replace(">", "/>")}</main></body></html>'''.encode()
LONG_TEXT = "<p>" + "A sentence that says something about the product. " * 40 + "</p>"


def ended(visited: Visited) -> tuple[OutcomeKind, str]:
    return visited.outcome.outcome, visited.outcome.reason


def test_a_page_is_scanned_with_all_that_is_known_of_it(site: Site, scanner: Scanner) -> None:
    visited = scanner.visit(site.put("/a", html(FAULT, title="Höhe 漢字 🚀")), owner="shop", tags=("x",))
    outcome = visited.outcome
    assert ended(visited) == (O.SCANNED, "tested")
    assert (outcome.status, outcome.final_url, outcome.title, outcome.content_type, outcome.settled_by) == (
        200, site.url("/a"), "Höhe 漢字 🚀", "text/html", "quiet")
    assert (outcome.owner, outcome.tags, outcome.visit_count, outcome.frames_tested) == ("shop", ("x",), 1, 1)
    assert outcome.engine_version == "4.12.1"
    assert outcome.how_to_fix is None and outcome.detail is None
    assert None not in (outcome.launch_ms, outcome.navigate_ms, outcome.settle_ms, outcome.engine_ms, outcome.scan_ms)
    assert outcome.violation_count == 1
    (row,) = visited.occurrences
    assert (row.rule, row.impact, row.is_violation, row.target, row.target_text, row.html, row.criteria) == (
        "image-alt", "critical", True, '["img"]', "img", FAULT, ("1.1.1",))
    classes = {result.rule_class for result in visited.rule_results if result.rule == "image-alt"}
    assert classes == {"violation"}
    assert {"pass", "inapplicable"} < {result.rule_class for result in visited.rule_results}


STATUS = {
    404: (O.HTTP_ERROR, "status_404", 1), 403: (O.HTTP_ERROR, "status_403", 1), 401: (O.HTTP_ERROR, "status_401", 1),
    410: (O.HTTP_ERROR, "status_410", 1), 500: (O.HTTP_ERROR, "status_500", 3), 502: (O.HTTP_ERROR, "status_502", 3),
    429: (O.HTTP_ERROR, "status_429", 3),
}


@pytest.mark.parametrize("status", STATUS)
def test_a_status_that_shows_no_page(
    site: Site, scanner: Scanner, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.scan.visit.RETRY_WAIT_SECONDS", (0.01,))
    visited = scanner.visit(site.put("/a", html(FAULT, status=status)), replace(QUICK, route_retries=2))
    assert (*ended(visited), visited.outcome.visit_count) == STATUS[status]
    assert site.count("/a") == STATUS[status][2]
    assert (visited.occurrences, visited.rule_results) == ((), ())


def test_a_server_that_fails_once_is_asked_again(
    site: Site, scanner: Scanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.scan.visit.RETRY_WAIT_SECONDS", (0.01,))
    url = site.put("/a", lambda count, _: html(FAULT, status=500 if count == 1 else 200))
    phases: list[str] = []
    visited = scanner.visit_all([planned(url)], replace(QUICK, route_retries=2), phases=phases)[url]
    assert (*ended(visited), visited.outcome.visit_count) == (O.SCANNED, "tested", 2)
    assert targets(visited) == ['["img"]']
    assert visited.outcome.burned_ms > (visited.outcome.scan_ms or 0)
    assert phases == ["visit 1", "navigating", "wait 0.0 s", "visit 2", "navigating", "settling", "testing"]


FILES = {
    "pdf": (Answer(b"%PDF-1.4", media_type="application/pdf"), (O.NOT_APPLICABLE, "document")),
    "json": (Answer(b"{}", media_type="application/json"), (O.NOT_APPLICABLE, "document")),
    "text": (Answer(b"hello", media_type="text/plain"), (O.NOT_APPLICABLE, "document")),
    "feed": (Answer(b"<rss/>", media_type="application/rss+xml"), (O.NOT_APPLICABLE, "document")),
    "zip": (Answer(b"PK", media_type="application/zip"), (O.NOT_APPLICABLE, "document")),
    "attachment": (html("x", headers={"Content-Disposition": "attachment; filename=a.html"}),
                   (O.NOT_APPLICABLE, "download")),
    "204": (Answer(status=204, media_type=None), (O.NOT_APPLICABLE, "no_content")),
    "gone pdf": (Answer(b"%PDF-1.4", status=404, media_type="application/pdf"), (O.HTTP_ERROR, "status_404")),
    "gone attachment": (html("x", status=404, headers={"Content-Disposition": "attachment"}),
                        (O.HTTP_ERROR, "status_404")),
    "empty error": (Answer(status=404), (O.HTTP_ERROR, "status_404")),
    "question for a password": (html("x", status=401, headers={"WWW-Authenticate": 'Basic realm="x"'}),
                                (O.HTTP_ERROR, "status_401")),
    "page without a type": (Answer(html(FAULT).body, media_type=None), (O.SCANNED, "tested")),
    "page with half a type": (Answer(html(FAULT).body, media_type="text/html charset=utf-8"), (O.SCANNED, "tested")),
    "page with a comma in its type": (
        Answer(html(FAULT).body, media_type="text/html,charset=utf-8"), (O.SCANNED, "tested")),
    "page with two types": (
        Answer(html(FAULT).body, media_type="text/plain", headers={"Content-Type": "text/html"}),
        (O.SCANNED, "tested")),
    "text with two types": (
        Answer(b"hello", media_type="text/html; q=1", headers={"Content-Type": "text/plain"}),
        (O.NOT_APPLICABLE, "document")),
    # The engine makes a canvas for contrasts, and there a document makes no HTML elements: that rule is told.
    "page as xml": (Answer(XHTML, media_type="application/xml"), (O.PARTIALLY_SCANNED, "rule_failed")),
    "page as text that is xml": (
        Answer(XHTML, media_type="text/xml; charset=utf-8"), (O.PARTIALLY_SCANNED, "rule_failed")),
    "half a page as xml": (Answer(XHTML[:-9], media_type="text/xml"), (O.WRONG_PAGE, "browser_error_page")),
    "data as xml": (Answer(b"<a><b>x</b></a>", media_type="text/xml"), (O.NOT_APPLICABLE, "document")),
    "feed as xml": (Answer(b"<rss><channel><title>x</title></channel></rss>", media_type="application/xml"),
                    (O.NOT_APPLICABLE, "document")),
    "picture": (Answer(b'<svg xmlns="http://www.w3.org/2000/svg"/>', media_type="image/svg+xml"),
                (O.NOT_APPLICABLE, "document")),
    "bytes without a type": (Answer(bytes(range(256)) * 9, media_type=None), (O.NOT_APPLICABLE, "download")),
    "short": (Answer(b"<h1>half", claims_bytes=5000), (O.UNREACHABLE, "incomplete_body")),
}


@pytest.fixture(scope="module")
def full_scanner() -> Iterator[Scanner | None]:
    build = find_full_browser()
    made = Scanner(build) if build else None
    yield made
    if made is not None:
        made.close()


def file_routes(site: Site) -> dict[str, PlannedRoute]:
    return {name: planned(site.put("/" + name.replace(" ", "-"), answer)) for name, (answer, _) in FILES.items()}


def test_files_are_no_pages(site: Site, scanner: Scanner) -> None:
    routes = file_routes(site)
    found = scanner.visit_all(routes.values())
    assert {name: ended(found[route.url]) for name, route in routes.items()} == {
        name: expected for name, (_, expected) in FILES.items()}


def test_files_are_the_same_in_the_full_browser(site: Site, full_scanner: Scanner | None) -> None:
    if full_scanner is None:
        pytest.skip("there is no full Chromium on this machine")
    routes = file_routes(site)
    found = full_scanner.visit_all(routes.values())
    assert {name: ended(found[route.url]) for name, route in routes.items()} == {
        name: expected for name, (_, expected) in FILES.items()}


@pytest.mark.parametrize("named", [
    {"was_html": True}, {"ready": "#x"}, {"expect_title": "x"}, {"journey_is_explicit": True},
])
def test_a_file_where_a_page_is_expected(site: Site, scanner: Scanner, named: dict[str, object]) -> None:
    visited = scanner.visit(site.put("/a", Answer(b"{}", media_type="application/json")), **named)
    assert ended(visited) == (O.WRONG_PAGE, "file_instead_of_page")


def test_sign_in_by_server_and_by_script(site: Site, scanner: Scanner) -> None:
    site.put("/login", html(SIGN_IN))
    late = '<script>addEventListener("load", () => setTimeout(() => location.replace("/login"), 300))</script>'
    scan = replace(QUICK, settle_quiet_ms=500)
    routes = [planned(site.put(path, answer), ready=ready) for path, answer, ready in [
        ("/a", redirect("/login?from=a"), None), ("/b", redirect("/login"), None),
        ("/c", html("<script>location.replace('/login')</script>"), None), ("/d", html(late), None),
        ("/e", html('<div id="r"></div>' + late), "#r"),
    ]]
    found = scanner.visit_all([*routes, planned(site.url("/login"))], scan)
    assert [ended(found[route.url]) for route in routes] == [(O.WRONG_PAGE, "sign_in")] * 5
    assert ended(found[site.url("/login")])[0] is O.SCANNED  # asked for by its own address, it is a page


@pytest.mark.parametrize("leave", ["history.replaceState(null, '', '/login')", "location.replace('/login')"])
def test_the_address_is_checked_again_after_the_engine(site: Site, scanner: Scanner, leave: str) -> None:
    """The page leaves with the engine: what it does then comes after every look at the settled page."""
    site.put("/login", html(FAULT))
    route = planned(site.put("/", html(FAULT)))
    visited = scanner.visit_all([route], engine_text=f"{engine_source(None)};{leave};")[route.url]
    assert (*ended(visited), visited.occurrences) == (O.WRONG_PAGE, "sign_in", ())


def test_a_rule_that_raises_makes_the_page_scanned_in_part(site: Site, scanner: Scanner) -> None:
    broken = ";axe._audit.rules.find((rule) => rule.id === 'image-alt').gather = () => { throw new Error('broken') };"
    url = site.put("/", html(FAULT))
    visited = scanner.visit_all([planned(url)], engine_text=engine_source(None) + broken)[url]
    assert (*ended(visited), visited.outcome.is_cut) == (O.PARTIALLY_SCANNED, "rule_failed", True)
    assert "rule image-alt failed: " in (visited.outcome.detail or "")


NOTHING = ";axe.run = (context, options) => new Promise((resolve) => options.reporter([], options, resolve));"


def test_an_engine_that_says_nothing_calls_no_page_clean(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html(FAULT))
    visited = scanner.visit_all([planned(url)], engine_text=engine_source(None) + NOTHING)[url]
    assert (*ended(visited), visited.rule_results) == (O.ENGINE_ERROR, "engine_empty", ())


def test_a_password_field_that_nobody_expects(site: Site, scanner: Scanner) -> None:
    wall = site.put("/members", html(SIGN_IN))
    shop = site.put("/shop", html(SIGN_IN + LONG_TEXT))
    profile = planned(site.put("/mine", html(SIGN_IN + LONG_TEXT)), auth="member")
    proven = planned(site.put("/sure", html(SIGN_IN + "<p id='yes'>x</p>")), expect_selector="#yes")
    hidden = site.put("/hidden", html(f"<div hidden>{SIGN_IN}</div>"))
    found = scanner.visit_all([planned(wall), planned(shop), profile, proven, planned(hidden)])
    assert {url: ended(found[url]) for url in (wall, shop, profile.url, proven.url, hidden)} == {
        wall: (O.WRONG_PAGE, "sign_in"), shop: (O.SCANNED, "tested"), profile.url: (O.WRONG_PAGE, "sign_in"),
        proven.url: (O.SCANNED, "tested"), hidden: (O.SCANNED, "tested")}


def test_expectations(site: Site, scanner: Scanner) -> None:
    soft = site.put("/soft", html("<p id='x'>Not found</p>", title="Page not found"))
    error = site.put("/error", html(FAULT, status=404))
    moved = site.put("/moved", redirect("/soft"))
    site.put("/caf%C3%A9", html("<p>x</p>"))
    cases = [
        (planned(soft, expect_title="Products"), (O.WRONG_PAGE, "expect_title")),
        (planned(soft + "?1", expect_title="not FOUND"), (O.SCANNED, "tested")),
        (planned(soft + "?2", expect_selector="#products"), (O.WRONG_PAGE, "expect_selector")),
        (planned(soft + "?3", expect_selector="#x"), (O.SCANNED, "tested")),
        (planned(soft + "?4", expect_selector="#["), (O.NOT_READY, "ready_invalid")),
        (planned(soft + "?5", expect_status=404), (O.WRONG_PAGE, "expect_status")),
        (planned(error, expect_status=404), (O.SCANNED, "tested")),
        (planned(moved, expect_url=site.url("/soft")), (O.SCANNED, "tested")),
        (planned(site.url("/moved?2"), expect_url=site.url("/soft").upper().replace("SOFT", "%73oft")),
         (O.SCANNED, "tested")),
        (planned(site.url("/café"), expect_url=site.url("/café")), (O.SCANNED, "tested")),
        (planned(moved + "?1", expect_url=site.url("/elsewhere")), (O.WRONG_PAGE, "expect_url")),
    ]
    found = scanner.visit_all([route for route, _ in cases])
    assert [ended(found[route.url]) for route, _ in cases] == [expected for _, expected in cases]


def test_other_hosts(site: Site, scanner: Scanner) -> None:
    site.put("/there", html(FAULT))
    away = site.put("/away", redirect(site.url("/there", "localhost")))
    assert ended(scanner.visit(away)) == (O.WRONG_PAGE, "host_not_allowed")
    visited = scanner.visit(away, replace(QUICK, hosts=("localhost",)))
    assert (*ended(visited), visited.outcome.final_url) == (O.SCANNED, "tested", site.url("/there", "localhost"))
    assert targets(visited) == ['["img"]']


def test_redirects(site: Site, scanner: Scanner) -> None:
    site.put("/new", html(FAULT))
    old, slash, off_plan = site.put("/old", redirect("/new", 301)), site.put("/s", redirect("/s/")), site.put(
        "/off", redirect("/elsewhere"))
    site.put("/s/", html(FAULT))
    site.put("/elsewhere", html(FAULT))
    new = planned(site.url("/new"))
    found = scanner.visit_all([planned(old), new, planned(slash), planned(off_plan)])
    assert (*ended(found[old]), found[old].outcome.redirected_to) == (O.REDIRECTED, "other_route", new.task_id)
    assert found[old].occurrences == ()
    assert ended(found[slash]) == (O.SCANNED, "tested")  # trailing-slash twins are one route
    assert (*ended(found[off_plan]), found[off_plan].outcome.final_url) == (
        O.SCANNED, "tested", site.url("/elsewhere"))
    strict = replace(QUICK, redirects="strict")
    assert ended(scanner.visit(off_plan, strict)) == (O.WRONG_PAGE, "redirect_not_allowed")
    assert ended(scanner.visit(slash, strict)) == (O.SCANNED, "tested")


TAKES = {  # scripts that give a page the address of another route; no other document is loaded
    "at once": "history.replaceState(null, '', '/ok')",
    "late": "setTimeout(() => history.pushState(null, '', '/ok'), 80)",
    "again and again": "let n = 0; setInterval(() => history.replaceState(null, '', ++n % 2 ? '/ok' : '/x'), 30)",
    "by its anchor": "location.hash = '#/ok'",
}


def test_a_page_that_takes_the_address_of_another_route_is_tested(site: Site, scanner: Scanner) -> None:
    ok = planned(site.put("/ok", html("")))
    routes = {name: planned(site.put("/" + name.replace(" ", "-"), html(f"{FAULT}<script>{text}</script>")))
              for name, text in TAKES.items()}
    further = [planned(url) for url in (
        routes["by its anchor"].url + "#/ok", site.put("/old", redirect("/at-once")),
        site.put("/off", redirect("/late?x")), site.put("/led", html("<script>location.replace('/ok')</script>")))]
    found = scanner.visit_all([ok, *routes.values(), *further])
    assert {name: (*ended(found[route.url]), targets(found[route.url])) for name, route in routes.items()} == {
        name: (O.SCANNED, "tested", ['["img"]']) for name in routes}
    assert [(*ended(found[one.url]), found[one.url].outcome.redirected_to) for one in further] == [
        (O.SCANNED, "tested", None), (O.REDIRECTED, "other_route", routes["at once"].task_id),
        (O.SCANNED, "tested", None), (O.REDIRECTED, "other_route", ok.task_id)]
    strict = scanner.visit_all([ok, routes["at once"], routes["late"]], replace(QUICK, redirects="strict"))
    assert [targets(strict[routes[name].url]) for name in ("at once", "late")] == [['["img"]']] * 2


def test_a_page_that_takes_another_address_while_it_is_tested_keeps_its_findings(site: Site, scanner: Scanner) -> None:
    route, other = planned(site.put("/", html(FAULT))), planned(site.put("/ok", html("")))
    leave = "history.replaceState(null, '', '/ok')"
    visited = scanner.visit_all([route, other], engine_text=f"{engine_source(None)};{leave};")[route.url]
    assert (*ended(visited), targets(visited)) == (O.SCANNED, "tested", ['["img"]'])


def test_hash_routes_are_loaded_for_real(site: Site, scanner: Scanner) -> None:
    app = """<div id="v"></div><script>const show = () => {
        document.getElementById("v").innerHTML = location.hash === "#/b" ? '<img src="/pixel.png">' : "fine" };
        onhashchange = show; show()</script>"""
    site.put("/app", html(app))
    for order in (("#/a", "#/b"), ("#/b", "#/a")):
        routes = [planned(site.url("/app" + part)) for part in order]
        found = scanner.visit_all(routes, in_flight=1)
        assert {url.partition("#")[2]: (targets(v), v.outcome.status) for url, v in found.items()} == {
            "/a": ([], 200), "/b": (['["img"]'], 200)}


def test_readiness(site: Site, scanner: Scanner) -> None:
    busy = """<script>setInterval(() => fetch("/pixel"), 100); setTimeout(() => { document.body
        .insertAdjacentHTML("beforeend", '<main id="ready"><img src="/pixel.png"></main>') }, 700)</script>"""
    url = site.put("/busy", Answer(f'<!doctype html><html lang="en"><title>t</title><body>{busy}'.encode()))
    visited = scanner.visit(url, ready="#ready")
    assert (*ended(visited), visited.outcome.settled_by) == (O.SCANNED, "tested", "ready")
    assert targets(visited) == ['["img"]']
    assert ended(scanner.visit(url, ready="#never")) == (O.NOT_READY, "ready_missing")
    assert ended(scanner.visit(url, ready="#[")) == (O.NOT_READY, "ready_invalid")
    growing = "<p id='p'></p><script>setInterval(() => p.append('x'), 20)</script>"
    restless = site.put("/restless", html(growing + FAULT))
    visited = scanner.visit(restless)
    assert (*ended(visited), visited.outcome.settled_by) == (O.SCANNED, "tested", "budget")


def test_what_is_added_late_is_seen(site: Site, scanner: Scanner) -> None:
    body = f"""<div id="d"></div><script>let n = 0; const t = setInterval(() => {{ d.append("x");
        if (++n === 8) {{ d.innerHTML = '{FAULT}'; clearInterval(t) }} }}, 60)</script>"""
    visited = scanner.visit(site.put("/", html(body)))
    assert (*ended(visited), visited.outcome.settled_by, targets(visited)) == (
        O.SCANNED, "tested", "quiet", ['["img"]'])


def test_nobody_there(scanner: Scanner) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cases = {f"http://127.0.0.1:{port}/": (O.UNREACHABLE, "connection_refused"),
             "http://nobody.invalid/": (O.UNREACHABLE, "name_not_resolved"),
             "http://127.0.0.1:6667/": (O.UNREACHABLE, "unsafe_port")}
    found = scanner.visit_all([planned(url) for url in cases])
    assert {url: ended(found[url]) for url in cases} == cases


def test_servers_that_break_off(site: Site, scanner: Scanner) -> None:
    loop = site.put("/loop", redirect("/loop"))
    silent = site.put("/silent", Answer(wait_s=60))
    sheet = site.put("/sheet", html(FAULT, head='<link rel="stylesheet" href="/slow.css">'))
    site.put("/slow.css", Answer(wait_s=60, media_type="text/css"))
    found = scanner.visit_all([planned(loop), planned(silent, deadline_ms=3_000), planned(sheet, deadline_ms=6_000)])
    assert [ended(found[url]) for url in (loop, silent, sheet)] == [
        (O.UNREACHABLE, "redirect_loop"), (O.TIMED_OUT, "load_timeout"), (O.TIMED_OUT, "resource_timeout")]
    assert found[sheet].outcome.detail == f"waits for {site.url('/slow.css')}"


def test_a_page_that_never_rests_in_one_place(site: Site, scanner: Scanner) -> None:
    reload = site.put("/reload", html("<script>setTimeout(() => location.reload(), 60)</script>"))
    refresh = site.put("/refresh", html("", head='<meta http-equiv="refresh" content="0">'))
    found = scanner.visit_all([planned(reload), planned(refresh)])
    assert [ended(found[url]) for url in (reload, refresh)] == [(O.UNSTABLE, "navigates")] * 2


def test_secrets_reach_no_record(site: Site, scanner: Scanner) -> None:
    site.put("/in", html('<img src="/pixel?token=abcdef123">', title="key s3cr3t-value"))
    url = site.put("/go", redirect("/in?token=abcdef123&page=2"))
    access = Access(secrets={"T": "s3cr3t-value"}, headers={"Authorization": "Bearer hhhhheader"})
    route = planned(url + "?id={{secret:T}}")
    visited = scanner.visit_all([route], access=access)[route.url]
    assert (visited.outcome.final_url, visited.outcome.title) == (site.url("/in?token=***&page=2"), "key ***")
    assert "abcdef123" not in repr(visited) and "s3cr3t" not in repr(visited) and "hhhhheader" not in repr(visited)
    asked = dict(site.requests)
    assert "/go?id=s3cr3t-value" in asked
    assert asked["/go?id=s3cr3t-value"]["Authorization"] == "Bearer hhhhheader"


def test_masked_evidence_holds_no_content(site: Site, scanner: Scanner) -> None:
    body = '<p style="color:#aaa">Private words</p><img src="/people/jane.png">'
    url = site.put("/", html(body, title="Jane's page"))
    full = scanner.visit(url)
    assert {row.rule: row.html for row in full.occurrences} == {
        "color-contrast": '<p style="color:#aaa">Private words</p>', "image-alt": '<img src="/people/jane.png">'}
    for evidence in ("masked", "none"):
        visited = scanner.visit(url, replace(QUICK, evidence=evidence))
        assert not any(word in repr(visited.occurrences) for word in ("Jane", "jane", "Private"))
        assert visited.outcome.title == "•"
        assert [row.fingerprint for row in visited.occurrences] == [row.fingerprint for row in full.occurrences]
        assert {row.html for row in visited.occurrences} == (
            {""} if evidence == "none" else {'<p style="•">•</p>', '<img src="•">'})


def test_every_reason_says_what_to_do() -> None:
    silent = [name for name, reason in REASONS.items() if reason.how_to_fix is None]
    assert silent == ["tested"]


def test_a_browser_that_does_not_start(site: Site) -> None:
    broken = Scanner(BrowserBuild("/bin/false", "1", "chromium"))
    try:
        visited = broken.visit(site.put("/", html("")))
        assert ended(visited) == (O.CRASHED, "browser_died")
    finally:
        broken.close()
