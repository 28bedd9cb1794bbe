"""Readiness as data: a condition of the page's scripts, and steps that are taken before a page is judged."""

import json
from dataclasses import replace
from typing import Any

import pytest

from schemas.outcome import OutcomeKind
from tasks.scan.access import Access
from tasks.scan.partial import Visited
from tests.browser.faulty_site import FAULT, QUICK, Answer, Scanner, Site, html, planned, redirect, targets

O = OutcomeKind  # noqa: E741 - a table of outcomes reads best with a short name
IMAGE = ['["img"]']
PATIENT = replace(QUICK, settle_budget_ms=10_000)
STRICT = {"Content-Security-Policy": "default-src 'none'; script-src 'nonce-a'; img-src 'self'; trusted-types 'none'; "
                                     "require-trusted-types-for 'script'"}


def steps(*documents: dict[str, Any]) -> str:
    return json.dumps(documents)


def ended(visited: Visited) -> tuple[OutcomeKind, str, str | None]:
    return visited.outcome.outcome, visited.outcome.reason, visited.outcome.detail


def result(visited: Visited) -> tuple[OutcomeKind, str, list[str]]:
    return visited.outcome.outcome, visited.outcome.reason, targets(visited)


LATER = """<script>globalThis.app = {}; setTimeout(() => { app.isDone = true;
    document.body.append(Object.assign(document.createElement("img"), { src: "/pixel.png" })) }, 700)</script>"""


def test_a_condition_sees_what_the_scripts_of_the_page_see(site: Site, scanner: Scanner) -> None:
    """The page is quiet before its content is there: only the condition knows. So it is where policies are strict."""
    url = site.put("/", html(LATER))
    strict = site.put("/strict", html(LATER.replace("<script", '<script nonce="a"'), headers=STRICT))
    assert result(scanner.visit(url)) == (O.SCANNED, "tested", [])
    for one in (url, strict):
        visited = scanner.visit(one, ready_when="app.isDone")
        assert (*result(visited), visited.outcome.settled_by) == (O.SCANNED, "tested", IMAGE, "ready")


HOLDS = {
    "a promise": "new Promise((done) => setTimeout(done, 50, 'yes'))",
    "await": "(await app.load()).ok",
    "a comment behind it": "app.ok // as set by the shop",
    "an object": "app",
    "it throws at first": "++app.count > 2 || app.no.such.thing",
}


@pytest.mark.parametrize("case", HOLDS)
def test_conditions_that_hold(site: Site, scanner: Scanner, case: str) -> None:
    url = site.put("/", html("<script>globalThis.app = { ok: true, count: 0, load: async () => app }; "
                             "globalThis.Boolean = () => false; Promise.prototype.then = null</script>"))
    assert ended(scanner.visit(url, ready_when=HOLDS[case])) == (O.SCANNED, "tested", None)


NEVER = {
    "false": ("0 > 1", "ready_when_false", "was false"),
    "throws": ("no.such.name", "ready_when_false", "threw ReferenceError: no is not defined"),
    "throws a text": ("(() => { throw 'Jane' })()", "ready_when_false", "threw Jane"),
    "rejects": ("Promise.reject(new TypeError('x'))", "ready_when_false", "threw TypeError: x"),
    "an error of syntax when it runs": ("JSON.parse('{')", "ready_when_false", None),
    "no expression": ("if (app) true", "ready_when_invalid", "SyntaxError: Unexpected token 'if'"),
    "half an expression": ("app &&", "ready_when_invalid", "SyntaxError: Unexpected token ')'"),
    "never ends": ("(() => { for (;;); })()", "ready_when_false", "did not come to an end"),
    "never ends later": ("(async () => { await 0; for (;;); })()", "ready_when_false",
                         "did not come to an end"),
    "a promise for ever": ("new Promise(() => 0)", "ready_when_false", "did not come to an end"),
}


def test_conditions_that_never_hold(site: Site, scanner: Scanner) -> None:
    """Each ends the visit with the browser's word, and none holds up the next one."""
    pages = {case: planned(site.put(f"/{number}", html(FAULT)), ready_when=NEVER[case][0])
             for number, case in enumerate(NEVER)}
    found = scanner.visit_all(pages.values(), replace(QUICK, settle_budget_ms=600))
    for case, route in pages.items():
        outcome, reason, detail = ended(found[route.url])
        assert (outcome, reason) == (O.NOT_READY, NEVER[case][1]), case
        assert detail == NEVER[case][2] or (NEVER[case][2] is None and "SyntaxError" in (detail or "")), case
        assert found[route.url].outcome.how_to_fix and found[route.url].occurrences == ()
    masked = scanner.visit(pages["throws a text"].url, replace(QUICK, settle_budget_ms=300, evidence="masked"),
                           ready_when="(() => { throw Object.assign(new RangeError('Jane'), {}) })()")
    assert masked.outcome.detail == "threw RangeError"


def test_selector_and_condition_must_both_hold(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html("<p id='there'>x</p><script>globalThis.ok = true</script>"))
    scan = replace(QUICK, settle_budget_ms=300)
    found = {(ready, when): ended(scanner.visit(url, scan, ready=ready, ready_when=when))
             for ready in ("#there", "#gone") for when in ("ok", "!ok")}
    assert found == {
        ("#there", "ok"): (O.SCANNED, "tested", None),
        ("#there", "!ok"): (O.NOT_READY, "ready_when_false", "was false"),
        ("#gone", "ok"): (O.NOT_READY, "ready_missing", "#gone"),
        ("#gone", "!ok"): (O.NOT_READY, "ready_missing", "#gone")}


def bare(body: str, head: str = "") -> Answer:
    return Answer(f'<!doctype html><html lang="en"><title>t</title>{head}<body>{body}'.encode())


BLANK = {
    "a script that is gone": '<div id="root"></div><script src="/gone.js"></script>',
    "nothing": "",
    "hidden": f'<style>body {{ visibility: hidden }}</style><main><h1>A</h1>{FAULT}</main>',
    "not drawn": f'<main style="display: none"><h1>A</h1>{FAULT}</main><noscript>x</noscript>',
    "a frame that counts": '<div id="root"></div><iframe title="x" width="1" height="1" src="/inner"></iframe>',
    "taken away": f"{FAULT}<script>onload = () => document.documentElement.remove()</script>",
    "a root of nothing": '<div id="h"></div><script>h.attachShadow({ mode: "closed" }).innerHTML = "<p></p>"</script>',
}
LITTLE = {
    "a word": "x", "a picture": FAULT, "a drawing": '<svg width="9" height="9"></svg>', "a canvas": "<canvas></canvas>",
    "a frame": '<iframe title="f" src="/inner"></iframe>', "a film": '<video src="/x"></video>',
    "an object": '<object data="/pixel.png" aria-label="x"></object>', "a button": '<button aria-label="x"></button>',
    "a part of what is hidden": '<div style="visibility: hidden">x<p style="visibility: visible">y</p></div>',
    "what is faded out": '<div style="opacity: 0">x</div>',
    "in a closed root": '<div id="h"></div><script>h.attachShadow({ mode: "closed" }).innerHTML = "<p>x</p>"</script>',
    "without a box": '<div style="display: contents">x</div>',
}


def test_a_blank_page_is_not_clean(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(""))
    routes = {name: planned(site.put("/" + name.replace(" ", "-"), bare(body)))
              for name, body in (BLANK | LITTLE).items()}
    frames = planned(site.put("/frames", Answer(
        b'<html lang="en"><title>t</title><frameset><frame title="f" src="/inner"></frameset>')))
    scan = replace(QUICK, settle_budget_ms=600)
    found = scanner.visit_all([*routes.values(), frames], scan)
    assert {name: ended(found[route.url])[:2] for name, route in routes.items()} == {
        **dict.fromkeys(BLANK, (O.NOT_READY, "nothing_there")), **dict.fromkeys(LITTLE, (O.SCANNED, "tested"))}
    assert ended(found[frames.url])[:2] == (O.SCANNED, "tested")
    blank = routes["nothing"].url
    for vouched in ({"ready": "body"}, {"ready_when": "true"}, {"expect_selector": "body"}):
        assert ended(scanner.visit(blank, scan, **vouched))[:2] == (O.SCANNED, "tested")
    assert ended(scanner.visit(blank, scan, expect_title="t"))[:2] == (O.NOT_READY, "nothing_there")


DRAWN_LATE = {
    "by a script": '<div id="root"></div><script>setTimeout(() => { root.innerHTML = `IMG` }, 900)</script>',
    "behind a flicker": ('<style id="s">body { opacity: 0 !important }</style><div id="root"></div>'
                         "<script>setTimeout(() => { s.remove(); root.innerHTML = `IMG` }, 900)</script>"),
    "in a closed root": ('<div id="h"></div><script>const r = h.attachShadow({ mode: "closed" });'
                         "setTimeout(() => { r.innerHTML = `IMG` }, 900)</script>"),
}


@pytest.mark.parametrize("case", DRAWN_LATE)
def test_a_page_that_is_blank_at_first_is_waited_for(site: Site, scanner: Scanner, case: str) -> None:
    scan = replace(QUICK, settle_budget_ms=2_500)
    visited = scanner.visit(site.put("/", bare(DRAWN_LATE[case].replace("IMG", FAULT))), scan)
    settled_by = "budget" if "root" in case else "quiet"  # a closed root is shown once there is something in it
    assert (*ended(visited)[:2], visited.outcome.settled_by) == (O.SCANNED, "tested", settled_by)
    assert len(targets(visited)) == 1


BANNER = """<div id="consent"><button onclick="consent.remove(); rest.hidden = false">Accept</button></div>
    <div id="rest" hidden>%s</div>"""
SHADOW_BANNER = """<x-consent></x-consent><div id="rest" hidden>%s</div><script>
    const root = document.querySelector("x-consent").attachShadow({ mode: "open" });
    root.innerHTML = "<button>Accept</button>";
    root.firstChild.onclick = () => { root.host.remove(); document.getElementById("rest").hidden = false }</script>"""
LATE_BANNER = """<div id="rest" hidden>%s</div><script>setTimeout(() => document.body.insertAdjacentHTML("beforeend",
    '<div id="consent"><button onclick="consent.remove(); rest.hidden = false">Accept</button></div>'), 400)</script>"""


@pytest.mark.parametrize("banner", [BANNER, LATE_BANNER, SHADOW_BANNER], ids=["there", "late", "in a shadow root"])
def test_a_banner_is_dismissed(site: Site, scanner: Scanner, banner: str) -> None:
    url = site.put("/", html(banner % FAULT))
    assert result(scanner.visit(url)) == (O.SCANNED, "tested", [])
    selector = "x-consent button" if banner is SHADOW_BANNER else "#consent button"
    assert result(scanner.visit(url, actions=steps({"dismiss": selector}))) == (O.SCANNED, "tested", ['["img"]'])


def test_a_banner_that_does_not_come_is_no_fault_and_costs_no_more_than_its_wait(site: Site, scanner: Scanner) -> None:
    visited = scanner.visit(site.put("/", html(FAULT)), actions=steps({"dismiss": "#consent"}))
    assert result(visited) == (O.SCANNED, "tested", IMAGE)
    assert (visited.outcome.settle_ms or 0) < 4_000


TABS = f"""<style>button:hover {{ color: #ddd; background: #fff }}</style>
    <button id="two" onclick="panel.hidden = false">Two</button><div id="panel" hidden>{FAULT}</div>"""


def test_a_fault_behind_a_tab_is_found_with_the_click_and_the_pointer_leaves_no_mark(
    site: Site, scanner: Scanner
) -> None:
    url = site.put("/", html(TABS))
    without, clicked = scanner.visit(url), scanner.visit(url, actions=steps({"click": "#two"}))
    assert [row.rule for row in without.occurrences] == []
    assert [(row.rule, row.target) for row in clicked.occurrences] == [("image-alt", '["img"]')]


SEARCH = """<form id="f"><label>Words <input id="q" name="q"></label><button>Search</button></form><div id="out"></div>
    <script nonce="a">f.onsubmit = (event) => { event.preventDefault(); setTimeout(() => {
        const found = document.createElement("section"); found.id = "found"; found.title = q.value;
        found.append(document.createElement("img")); out.append(found); found.firstChild.src = "/pixel.png" }, 400) }
    </script>"""


@pytest.mark.parametrize("headers", [{}, STRICT], ids=["", "under a strict policy"])
def test_a_form_is_filled_and_sent(site: Site, scanner: Scanner, headers: dict[str, str]) -> None:
    url = site.put("/", html(SEARCH, headers=headers))
    taken = ({"fill": "#q", "value": "atlas"}, {"click": "#f button"}, {"wait": "#found[title=atlas]"})
    assert result(scanner.visit(url, actions=steps(*taken))) == (O.SCANNED, "tested", IMAGE)
    assert result(scanner.visit(url, actions=steps(taken[1], {"wait_ms": 900}))) == (O.SCANNED, "tested", IMAGE)


def test_steps_are_taken_where_scripts_are_off(site: Site, scanner: Scanner) -> None:
    body = f"<details><summary>More</summary>{FAULT}</details>"
    url = site.put("/", html(body, headers={"Content-Security-Policy": "sandbox"}))
    assert result(scanner.visit(url, actions=steps({"click": "summary"}))) == (O.SCANNED, "tested", IMAGE)


COVER = '<div id="cover">Jane</div>'
FAILING = {
    "absent": ({"click": "#no"}, "step 2, click #no: nothing that can be seen matches it, after 700 ms"),
    "hidden": ({"fill": "#hidden", "value": "x"},
               "step 2, fill #hidden: nothing that can be seen matches it, after 700 ms"),
    "covered": ({"click": "#covered"}, f"step 2, click #covered: {COVER} intercepts pointer events, after 700 ms"),
    "disabled": ({"click": "#off"}, "step 2, click #off: element is not enabled, after 700 ms"),
    "no field": ({"fill": "h1", "value": "x"}, None),
    "no selector": ({"click": "#["}, None),
    "nothing comes": ({"wait": "#no"}, "step 2, wait #no: nothing that can be seen matches it, after 700 ms"),
    "too long": ({"wait_ms": 30_000}, "step 2, wait 30000 ms: the visit has no time left for it"),
    "covered banner": ({"dismiss": "#covered"},
                       f"step 2, dismiss #covered: {COVER} intercepts pointer events, after 700 ms"),
}
OBSTACLES = """<input id="hidden" hidden aria-label="a"><button id="off" disabled>Off</button>
    <div style="position:relative;width:9em;height:3em"><button id="covered">Covered</button>
    <div id="cover" style="position:absolute;inset:0">Jane</div></div>"""


def test_a_step_that_cannot_be_taken_is_named_with_the_browsers_word(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html(OBSTACLES))
    scan = replace(QUICK, settle_budget_ms=700)
    routes = {case: planned(f"{url}?{case}", actions=steps({"wait": "h1"}, FAILING[case][0])) for case in FAILING}
    found = {case: scanner.visit_all([route], scan)[route.url] for case, route in routes.items()}
    for case, visited in found.items():
        outcome, reason, detail = ended(visited)
        assert (outcome, reason) == (O.NOT_READY, "action_failed"), case
        assert detail == (FAILING[case][1] or detail), case
        assert visited.outcome.visit_count == 1, "a step that fails is not tried again"
    assert "not an <input>" in (found["no field"].outcome.detail or "").lower()
    assert "selector" in (found["no selector"].outcome.detail or "")
    masked = scanner.visit(url, replace(scan, evidence="masked"), actions=steps({"click": "#covered"}))
    assert masked.outcome.detail == "step 1, click #covered: another element intercepts pointer events, after 700 ms"


def test_a_click_that_keeps_the_thread_ends_the_visit_and_no_other(site: Site, scanner: Scanner) -> None:
    stuck = planned(site.put("/", html('<button id="b" onclick="for (;;);">Go</button>')), deadline_ms=4_000,
                    actions=steps({"click": "#b"}))
    fine = planned(site.put("/fine", html(FAULT)), actions=steps({"wait": "h1"}))
    found = scanner.visit_all([stuck, fine])
    assert found[stuck.url].outcome.outcome in (O.NOT_READY, O.TIMED_OUT)
    assert result(found[fine.url]) == (O.SCANNED, "tested", IMAGE)


LINK = '<a id="go" href="{to}">Go there</a>'


def test_where_a_click_leads_is_judged(site: Site, scanner: Scanner) -> None:
    """The route's own page in another state is fine; another page is not, unless it is the expected one."""
    other = planned(site.put("/other", html(FAULT)))
    site.put("/gone", html("gone", status=404))
    site.put("/login", html("<p>Sign in</p>"))
    site.put("/slow", html(FAULT, wait_s=0.8))
    site.put("/to-slow", redirect("/slow"))
    leads = {
        "?tab=2": (O.SCANNED, "tested"), "#anchor": (O.SCANNED, "tested"),
        "/other": (O.WRONG_PAGE, "action_led_away"), "/slow": (O.WRONG_PAGE, "action_led_away"),
        "/to-slow": (O.WRONG_PAGE, "action_led_away"), "/gone": (O.HTTP_ERROR, "status_404"),
        "/login": (O.WRONG_PAGE, "sign_in"), site.url("/other", "localhost"): (O.WRONG_PAGE, "host_not_allowed"),
    }
    routes = {to: planned(site.put(f"/from-{number}", html(LINK.format(to=to))), actions=steps({"click": "#go"}))
              for number, to in enumerate(leads)}
    visits = scanner.visit_all([*routes.values(), other], PATIENT)
    found = {to: visits[route.url] for to, route in routes.items()}
    assert {to: ended(visited)[:2] for to, visited in found.items()} == leads
    assert found["/other"].outcome.detail == f"led to {site.url('/other')}"
    url = site.put("/wizard", html(LINK.format(to="/slow") + '<script>addEventListener("load", () => 0)</script>'))
    expected = scanner.visit(url, PATIENT, plan=[other], expect_url=site.url("/slow"), actions=steps({"click": "#go"}))
    assert result(expected) == (O.SCANNED, "tested", IMAGE)
    stayed = scanner.visit(url, expect_url=site.url("/slow"), actions=steps({"wait": "#go"}))
    assert ended(stayed)[:2] == (O.WRONG_PAGE, "expect_url")


def test_steps_go_on_where_the_page_went_on_and_none_is_taken_twice(site: Site, scanner: Scanner) -> None:
    """A reload in the middle, as banners do it, and a form over two documents."""
    reload = """<button onclick="sessionStorage.n = 1 + (+sessionStorage.n || 0); location.reload()">OK</button>
        <script>if (sessionStorage.n == 1)
            document.body.insertAdjacentHTML("beforeend", '<img src="/pixel.png" id="after">')</script>"""
    url = site.put("/", html(reload))
    visited = scanner.visit(url, actions=steps({"click": "button"}, {"wait": "#after"}))
    assert result(visited) == (O.SCANNED, "tested", ['["#after"]'])
    assert site.count("/") == 2


def test_a_secret_is_typed_on_the_own_host_only_and_shown_nowhere(site: Site, scanner: Scanner) -> None:
    """Fields that show what was typed, and an error that repeats it."""
    show = '<label>Code <input id="q"></label><p id="seen" style="color:#bbb"></p><script>q.oninput = () => {' \
           "seen.textContent = q.value; document.title = q.value }</script>"
    url = site.put("/", html(show))
    access = Access(secrets={"T": "s3cr3t-value"})
    route = planned(url, actions=steps({"fill": "#q", "value": "{{secret:T}}"}))
    visited = scanner.visit_all([route], access=access)[url]
    assert (*ended(visited)[:2], visited.outcome.title) == (O.SCANNED, "tested", "***")
    assert [row.html for row in visited.occurrences] == ['<p id="seen" style="color:#bbb">***</p>']
    failing = planned(url + "?2", actions=steps({"fill": "#no", "value": "{{secret:T}}"}))
    assert "s3cr3t" not in repr(visited) + repr(scanner.visit_all([failing], access=access))
    site.put("/from", redirect(site.url("/", "localhost")))
    away = planned(site.url("/from"), actions=route.actions)
    led = scanner.visit_all([away], access=access, scan=replace(QUICK, hosts=("localhost",)))[away.url]
    assert ended(led) == (O.NOT_READY, "action_failed",
                          "step 1, fill #q: a secret is typed on the route's own host only")


def test_a_file_where_steps_are_to_be_taken_is_a_wrong_page(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html("x", media_type="application/pdf"))
    assert ended(scanner.visit(url, actions=steps({"click": "#a"})))[:2] == (O.WRONG_PAGE, "file_instead_of_page")


def test_the_page_that_a_click_leads_to_is_waited_for(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html(LINK.format(to="?2")))
    site.put("/?2", html(f'<script src="/slow.js"></script>{FAULT}'))
    site.put("/slow.js", Answer(b"", media_type="text/javascript", wait_s=1.2))
    assert result(scanner.visit(url, PATIENT, actions=steps({"click": "#go"}))) == (O.SCANNED, "tested", IMAGE)


@pytest.mark.parametrize("changes", [{}, {"actions": steps({"click": "#go"})}], ids=["by a script", "by a step"])
def test_a_page_that_goes_on_to_one_that_never_loads(site: Site, scanner: Scanner, changes: dict[str, str]) -> None:
    leave = "" if changes else "<script>setTimeout(() => go.click(), 300)</script>"
    url = site.put("/", html(LINK.format(to="?2") + leave))
    site.put("/?2", html('<img alt="" src="/never.png">'))
    site.put("/never.png", Answer(wait_s=60))
    visited = scanner.visit(url, PATIENT, deadline_ms=8_000, ready="img", **changes)
    assert ended(visited) == (O.TIMED_OUT, "resource_timeout", f"waits for {site.url('/never.png')}")
