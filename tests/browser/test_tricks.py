"""Pages that would look clean, or like another page, to a scanner that does not look twice.

Where the kinds come from (projects' trackers and what was reported there; the pages are ours):

| kind | from |
|---|---|
| content in closed shadow roots is passed over | axe-core 576, 2675 |
| a form's fields answer for its properties | axe-core 1397, 4857; jQuery 1721; turndown 508; DOMPurify 59 |
| elements answer for names of the window | whatwg/html 4112, 10687; webappsec-permissions-policy 349 |
| tested before scripts have drawn the page | github/accessibility-scanner 201; axe-core-npm 92; oobee 803 |
| changes in shadow roots wake no observer of the document | webcomponents/shadydom 260; accented 25 |
| `window.stop()` and navigations that come to nothing: no `load` | Playwright 20247, 10435; Puppeteer 3238 |
| a download while the page loads is taken for the page | Playwright 6101, 5639; playwright-python 3081 |
| no media type, or one that says nothing | Lighthouse 11042, 12096 |
| XHTML refused, or half of it taken for the whole | Lighthouse 11482, 12245, 14142 |
| another status or page than the one asked for is tested | pa11y 538, 166 |
| frames that axe, or the driver's list of frames, does not know | axe-core 4710, 3002; Playwright 2282 |
| pages that are rendered ahead of a visit | WICG/nav-speculation 326 |
"""

from dataclasses import replace

import pytest

from schemas.outcome import OutcomeKind
from schemas.settings import Exclusion
from tasks.scan.partial import Visited
from tests.browser.faulty_site import FAULT, QUICK, SHELL, Answer, Scanner, Site, html, planned, redirect, targets

O = OutcomeKind  # noqa: E741 - a table of outcomes reads best with a short name
IMAGE = ['["img"]']
IN_ROOT = ['[["#host","img"]]']


def ended(visited: Visited) -> tuple[OutcomeKind, str]:
    return visited.outcome.outcome, visited.outcome.reason


def script(text: str) -> str:
    return f"<script>{text}</script>"


def root(mode: str, inner: str, more: str = "") -> str:
    return '<div id="host"></div>' + script(f"const root = host.attachShadow({{mode: '{mode}'}}); {inner}; {more}")


FILL = f"root.innerHTML = `{FAULT}`"
LATE = """let count = 0; const timer = setInterval(() => { HOST.append("x");
    if (++count === 16) { HOST.innerHTML = `<img src="/pixel.png">`; clearInterval(timer) } }, 60)"""
AHEAD = '<script type="speculationrules">{"prerender": [{"urls": ["PAGE"], "eagerness": "immediate"}]}</script>'
SEEN = {  # each has one fault, which a hasty look passes over
    "in a closed root": (root("closed", FILL), IN_ROOT),
    "in a declared closed root": (
        f'<div id="host"><template shadowrootmode="closed">{FAULT}</template></div>', IN_ROOT),
    "in a closed root within an open one": (
        root("open", "root.innerHTML = '<p id=p></p>'",
             f"root.firstChild.attachShadow({{mode: 'closed'}}).innerHTML = `{FAULT}`"), ['[["#host","#p","img"]]']),
    "in a closed element of its own": ('<x-a id="host"></x-a>' + script(
        "customElements.define('x-a', class extends HTMLElement { connectedCallback() { "
        f"this.attachShadow({{mode: 'closed'}}).innerHTML = `{FAULT}` }} }})"), IN_ROOT),
    "late in an open root": (root("open", LATE.replace("HOST", "root")), IN_ROOT),
    "late in a closed root": (root("closed", LATE.replace("HOST", "root")), IN_ROOT),
    "a closed root that comes late": ('<div id="host"></div>' + script(
        "let n = 0; const t = setInterval(() => { document.body.append('x'); if (++n < 16) return; clearInterval(t); "
        f"host.attachShadow({{mode: 'closed'}}).innerHTML = `{FAULT}` }}, 60)"), IN_ROOT),
    "late in a frame": ('<iframe title="f" id="f" src="/late"></iframe>', ['["#f","img"]']),
    "behind names of ours": (FAULT + "".join(
        f'<div id="{name}"></div><a id="{name}" name="{name}">x</a>' for name in (
            "fanfold", "fanfoldWatch", "fanfoldPath", "fanfoldClosed", "axe", "module", "exports", "define")), IMAGE),
    "beside forms with names of the document": (FAULT + "".join(
        f'<form name="{name}"></form>' for name in (
            "documentElement", "body", "head", "title", "createElement", "createTreeWalker", "getElementById", "fonts",
            "querySelectorAll", "getAnimations", "adoptedStyleSheets", "readyState", "contentType")), IMAGE),
    "beside a form with names of elements": (f"<form>{FAULT}" + "".join(
        f'<input aria-label="x" name="{name}">' for name in (
            "children", "firstChild", "attributes", "shadowRoot", "id", "className", "ownerDocument", "localName",
            "tagName", "contains", "closest", "style", "hidden", "action", "length", "elements")) + "</form>", IMAGE),
    "on a prototype that is spoilt": (FAULT + script(
        "Object.prototype.then = () => 0; Object.prototype.enabled = false; Object.prototype.rules = {}; "
        "Object.prototype.x = Element.prototype.y = 1"), IMAGE),
    "behind a debugger's trap": (FAULT + script("setInterval(() => { debugger }, 1)"), IMAGE),
    "after the page was written anew": (script(
        "onload = () => setTimeout(() => { document.open(); "
        f"document.write(`<main>{FAULT}`); document.close() }}, 60)"),
        IMAGE),
    "on a page that prints, asks and waits": (FAULT + script(
        "print(); navigator.geolocation.getCurrentPosition(() => 0); Notification.requestPermission(); fetch('/sse'); "
        "new EventSource('/sse'); new WebSocket('ws://' + location.host + '/sse')"), IMAGE),
    "on a page that tries to close": (FAULT + script("close(); onload = () => setTimeout(close, 30)"), IMAGE),
    "on a page that loads a file": (FAULT + script("onload = () => { location = '/file' }"), IMAGE),
    "on a page that goes nowhere": (FAULT + script("onload = () => { location = '/nothing' }"), IMAGE),
    "on a page that calls another program": (FAULT + script("onload = () => { location = 'mailto:a@b.test' }"), IMAGE),
    "on a page that renders others ahead": (
        FAULT + AHEAD.replace("PAGE", "/next"), IMAGE),
    "on a page whose pictures ask for a password": (
        '<img src="/pixel.png"><img alt="x" src="/locked">', ['["img[src$=\\"pixel.png\\"]"]']),
    "on a page deep within itself": (script(
        "let n = document.querySelector('main'); for (let i = 0; i < 400; i++) n = n.appendChild("
        f"document.createElement('b')); n.innerHTML = `{FAULT}`"), IMAGE),
}


def test_faults_are_seen(site: Site, scanner: Scanner) -> None:
    site.put("/late", html(script(LATE.replace("HOST", "document.body"))))
    site.put("/file", Answer(b"x", media_type="application/octet-stream"))
    site.put("/nothing", Answer(status=204, media_type=None))
    site.put("/sse", Answer(b"data: x\n\n", media_type="text/event-stream", endless=b": x\n" * 100))
    site.put("/locked", html("", status=401, headers={"WWW-Authenticate": 'Basic realm="x"'}))
    site.put("/next", html(""))
    routes = {name: planned(site.put("/" + name.replace(" ", "-"), html(body)), deadline_ms=60_000)
              for name, (body, _) in SEEN.items()}
    patient = replace(QUICK, settle_quiet_ms=500, settle_budget_ms=15_000)  # what is late takes longer than that
    visited = scanner.visit_all(routes.values(), patient)
    assert {name: (*ended(visited[route.url]), targets(visited[route.url]), visited[route.url].outcome.final_url)
            for name, route in routes.items()} == {
        name: (O.SCANNED, "tested", expected, routes[name].url) for name, (_, expected) in SEEN.items()}


def test_forms_that_hide_what_is_in_them_are_named(site: Site, scanner: Scanner) -> None:
    def form(name: str, more: str = "") -> str:
        return f'<form {more}><input name="{name}" aria-label="x">{FAULT}</form>'

    site.put("/inner", html(form("childNodes")))
    hiding = {"childNodes": form("childNodes"), "nodeType": form("nodeType"), "hasAttribute": form("hasAttribute"),
              "childNodes in a root": root("open", f"root.innerHTML = `{form('childNodes')}`"),
              "childNodes in a frame": '<iframe title="f" src="/inner"></iframe>'}
    endless = {name: form(name) for name in ("parentNode", "parentElement")}
    seen = {"unseen": form("childNodes", "hidden") + FAULT}
    routes = {name: planned(site.put("/" + name.replace(" ", "-"), html(body)))
              for name, body in (hiding | endless | seen).items()}
    visited = scanner.visit_all(routes.values())
    found = {name: (*ended(visited[route.url]), visited[route.url].outcome.detail) for name, route in routes.items()}
    never_ends = "a form has a field named {}: the engine would never end"
    assert found == {
        **{name: (O.PARTIALLY_SCANNED, "form_hidden", f"a field named {name.split()[0]}") for name in hiding},
        **{name: (O.ENGINE_ERROR, "engine_failed", never_ends.format(name)) for name in endless},
        "unseen": (O.SCANNED, "tested", None)}
    assert {visited[routes[name].url].outcome.has_untested_own_frame for name in hiding} == {True}


DIALOG = '<dialog id="d" aria-label="Cookies"><p>We use cookies</p><button onclick="d.close()">OK</button></dialog>'
OPEN = DIALOG + script("d.showModal()")
INERT = """<div id="b" role="dialog" aria-modal="true" aria-label="x"><button onclick="b.remove();
    document.querySelector('main').inert = false">OK</button></div>""" + script(
    "document.querySelector('main').inert = true; document.body.append(b)")
BEHIND = {
    "a modal dialog": (OPEN, "only dialog#d was tested"),
    "one that comes late": (DIALOG + script("setTimeout(() => d.showModal(), 60)"), "only dialog#d was tested"),
    "one of the settings' exclusions": (OPEN.replace("<dialog", '<dialog class="ad"'), "only dialog#d was tested"),
    "a page made inert": (INERT, "only div#b was tested"),
}
BESIDE = {  # the page can be reached, and is tested
    "an open dialog": DIALOG.replace("<dialog", "<dialog open"),
    "an open dialog that covers all": DIALOG.replace(
        "<dialog", '<dialog open style="position:fixed;inset:0;margin:0;width:100%;height:100%"'),
    "a closed dialog": DIALOG,
    "a popover": '<div popover id="d"><p>x</p></div>' + script("d.showPopover()"),
    "a modal dialog that is not seen": OPEN.replace('aria-label', 'style="display:none" aria-label'),
    "an inert part": '<p inert>x</p><div role="dialog" aria-modal="true" aria-label="x">x</div>',
}


def test_what_an_open_modal_hides_is_not_clean(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT + OPEN))
    routes = {name: planned(site.put("/" + name.replace(" ", "-"), html(FAULT + body)))
              for name, body in {**{name: body for name, (body, _) in BEHIND.items()}, **BESIDE}.items()}
    frame = planned(site.put("/frame", html('<iframe title="f" src="/inner"></iframe>')))
    own = planned(site.put("/own", Answer(SHELL.format(title="t", head="", body=(
        f'<dialog id="d" aria-label="x"><h1>x</h1>{FAULT}</dialog>' + script("d.showModal()"))).encode())))
    scan = replace(QUICK, exclude_elements=(Exclusion(".ad"),))
    found = scanner.visit_all([*routes.values(), frame, own], scan)
    assert {name: (*ended(found[route.url]), found[route.url].outcome.detail) for name, route in routes.items()} == {
        **{name: (O.PARTIALLY_SCANNED, "behind_modal", detail) for name, (_, detail) in BEHIND.items()},
        **dict.fromkeys(BESIDE, (O.SCANNED, "tested", None))}
    assert {found[routes[name].url].outcome.has_untested_own_frame for name in BEHIND} == {True}
    assert [targets(found[routes[name].url]) for name in BESIDE] == [IMAGE] * len(BESIDE)
    assert (*ended(found[frame.url]), found[frame.url].outcome.untested_frames) == (
        O.PARTIALLY_SCANNED, "frame_untested", (f"{site.url('/inner')} (behind_modal)",))
    assert (*ended(found[own.url]), targets(found[own.url])) == (O.SCANNED, "tested", IMAGE)


@pytest.mark.parametrize("name", ["a modal dialog", "a page made inert"])
def test_a_modal_that_is_dismissed_hides_nothing(site: Site, scanner: Scanner, name: str) -> None:
    url = site.put("/", html(FAULT + BEHIND[name][0]))
    visited = scanner.visit(url, actions='[{"dismiss": "#d button, #b button"}]')
    assert (*ended(visited), targets(visited)) == (O.SCANNED, "tested", IMAGE)


PAGE = SHELL.format(title="t", head="", body=f"<main><h1>A</h1>{FAULT}</main>").encode()
XHTML = ('<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title>t</title></head><body><main><h1>A</h1>'
         '<img src="/pixel.png"/>{}</main></body></html>')
TYPES = {  # what the browser makes of it decides where the server does not say
    "none": (Answer(PAGE, media_type=None), (O.SCANNED, "tested")),
    "any": (Answer(PAGE, media_type="*/*"), (O.SCANNED, "tested")),
    "unknown": (Answer(PAGE, media_type="unknown/unknown"), (O.SCANNED, "tested")),
    "half a word": (Answer(PAGE, media_type="html"), (O.SCANNED, "tested")),
    "none, and text": (Answer(b"Hello.", media_type=None), (O.NOT_APPLICABLE, "document")),
    "none, and a picture": (Answer(b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", media_type=None),
                            (O.NOT_APPLICABLE, "document")),
    "none, and no text": (Answer(bytes(range(256)) * 9, media_type=None), (O.NOT_APPLICABLE, "download")),
    "none, and an error": (Answer(PAGE, status=500, media_type=None), (O.HTTP_ERROR, "status_500")),
    "xhtml": (Answer(XHTML.format("").encode(), media_type="application/xhtml+xml"), (O.SCANNED, "tested")),
    "half of xhtml": (Answer(XHTML.format("<br>").encode(), media_type="application/xhtml+xml"),
                      (O.WRONG_PAGE, "browser_error_page")),
    "utf-16": (Answer(("\ufeff" + PAGE.decode()).encode("utf-16-le"), media_type="text/html"), (O.SCANNED, "tested")),
    "an unknown encoding": (Answer(PAGE, media_type="text/html; charset=nonsense"), (O.SCANNED, "tested")),
    "part of a page": (Answer(PAGE, status=206), (O.SCANNED, "tested")),
    "a very long one": (Answer(PAGE, media_type="x/" + "y" * 60_000), (O.NOT_APPLICABLE, "document")),
}


def test_media_types(site: Site, scanner: Scanner) -> None:
    routes = {name: planned(site.put("/" + name.replace(" ", "-"), answer)) for name, (answer, _) in TYPES.items()}
    found = scanner.visit_all(routes.values())
    assert {name: ended(found[route.url]) for name, route in routes.items()} == {
        name: expected for name, (_, expected) in TYPES.items()}
    assert all(targets(one) == IMAGE for one in found.values() if one.outcome.outcome is O.SCANNED)


ORDINARY = """<svg role="img" aria-label="x"><title>x</title><style><![CDATA[a{}]]></style><use href="#u"/></svg>
    <math><mi>x</mi></math><video controls></video><audio controls></audio><input aria-label="x" value="x">
    <input type="date" aria-label="x"><input type="range" aria-label="x">
    <textarea aria-label="x">x</textarea>
    <select aria-label="x"><optgroup label="g"><option>1</option></optgroup></select>
    <progress aria-label="x"></progress><details><summary>x</summary>x</details>
    <meter aria-label="x"></meter><template><p>x</p></template>
    <noscript>x</noscript><dialog open aria-label="x">x</dialog><!-- < --><img alt="" src="/pixel.png">
    <object data="/pixel.png" aria-label="x"></object>"""


def test_an_ordinary_page_is_not_searched_for_closed_roots(
    site: Site, scanner: Scanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What browsers build for elements of their own is not counted; a copy of the whole tree would cost too much."""
    searched: list[object] = []
    monkeypatch.setattr("tasks.scan.closed._closed_in", lambda root: searched.append(root) or ())
    site.put("/inner", html("<p>x</p>"))
    frames = f"""<iframe title="a" src="/inner"></iframe><iframe title="b" src="{site.url('/inner', 'localhost')}">
        </iframe>""" + root("open", "root.innerHTML = '<p>x</p>'")
    for number, body in enumerate((ORDINARY, frames, root("closed", FILL))):
        assert ended(scanner.visit(site.put(f"/{number}", html(body))))[0] is O.SCANNED
        assert bool(searched) == (number == 2)


AWAY = {  # pages that are not there any more when they are looked at
    "back": (script("history.back()"), (O.WRONG_PAGE, "host_not_allowed")),
    "back after load": (script("onload = () => history.back()"), (O.WRONG_PAGE, "host_not_allowed")),
    "blank": (script("location = 'about:blank'"), (O.WRONG_PAGE, "host_not_allowed")),
    "blob": (script("location = URL.createObjectURL(new Blob(['<title>x</title>'], {type: 'text/html'}))"),
             (O.WRONG_PAGE, "host_not_allowed")),
    "by a header": (html(FAULT, headers={"Refresh": "0; url=/login"}), (O.WRONG_PAGE, "sign_in")),
    "by a frame": ('<iframe title="f" srcdoc="<script>setTimeout(() => { top.location = `/login` }, 60)</script>">'
                   "</iframe>", (O.WRONG_PAGE, "sign_in")),
    "past beforeunload": (script("onbeforeunload = () => 'stay'; setTimeout(() => { location = '/login' }, 60)"),
                          (O.WRONG_PAGE, "sign_in")),
    "to a page rendered ahead": (
        script("setTimeout(() => { location = '/login' }, 300)") + AHEAD.replace("PAGE", "/login"),
        (O.WRONG_PAGE, "sign_in")),
    "to an error": (script("setTimeout(() => location.replace('/gone'), 60)"), (O.HTTP_ERROR, "status_404")),
    "to an error by another host": (script("setTimeout(() => location.replace(OTHER), 60)"),
                                    (O.HTTP_ERROR, "status_404")),
    "to a file that is shown": (script("setTimeout(() => location.replace('/json'), 60)"),
                                (O.NOT_APPLICABLE, "document")),
    "to nobody": (script("setTimeout(() => location.replace('http://nobody.invalid/'), 60)"),
                  (O.UNREACHABLE, "name_not_resolved")),
    "to a sign-in page of another name": (script("history.replaceState(0, '', '/login')"), (O.WRONG_PAGE, "sign_in")),
}


def test_pages_that_lead_away(site: Site, scanner: Scanner) -> None:
    site.put("/login", html("<p>x</p>"))
    site.put("/gone", html(FAULT, status=404))
    site.put("/hop", redirect(site.url("/gone")))
    site.put("/json", Answer(b"{}", media_type="application/json"))
    other = f"'{site.url('/hop', 'localhost')}'"
    routes = {name: planned(site.put("/" + name.replace(" ", "-"), body if isinstance(body, Answer) else html(
        FAULT + body.replace("OTHER", other)))) for name, (body, _) in AWAY.items()}
    visited = scanner.visit_all(routes.values(), replace(QUICK, settle_quiet_ms=500))
    assert {name: (*ended(visited[route.url]), visited[route.url].occurrences) for name, route in routes.items()} == {
        name: (*expected, ()) for name, (_, expected) in AWAY.items()}


def test_a_page_that_hops_for_ever(site: Site, scanner: Scanner) -> None:
    """Whether any of its pages ever loads is a race."""
    url = site.put("/", html(FAULT + script("location.replace('?' + Math.random())")))
    hops = scanner.visit(url, deadline_ms=5_000)
    assert (*ended(hops), hops.occurrences) in (
        (O.UNSTABLE, "navigates", ()), (O.TIMED_OUT, "load_timeout", ()), (O.TIMED_OUT, "page_blocked", ()),
        (O.UNREACHABLE, "navigation_aborted", ()))  # looked at between two pages: one that broke off its own loading


BROKEN_OFF = ("window.stop()", "location = 'mailto:a@b.test'", "location = '/file'")


def test_half_a_page_is_no_page(site: Site, scanner: Scanner) -> None:
    """Browsers end the parsing of a page that navigates while it loads: what comes after the script is not there."""
    site.put("/file", Answer(b"x", media_type="application/octet-stream"))
    routes = [planned(site.put(f"/{number}", html(script(text) + FAULT)), deadline_ms=6_000)
              for number, text in enumerate(BROKEN_OFF)]
    visited = scanner.visit_all(routes, in_flight=3)
    assert {(*ended(one), one.outcome.detail, one.occurrences) for one in visited.values()} == {
        (O.UNREACHABLE, "navigation_aborted", "half a page: it broke off its own loading", ())}
