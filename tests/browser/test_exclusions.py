"""Elements that the settings leave out: not tested, counted, and never a whole page; what remains is as it was."""

from dataclasses import replace

import pytest

from schemas.outcome import OutcomeKind
from schemas.settings import Exclusion
from tests.browser.faulty_site import FAULT, QUICK, Scanner, Site, html, targets

WIDGET = '<div class="widget"><p>Not ours</p><img src="/pixel.png" id="theirs"></div>'
OURS = '<img src="/pixel.png" id="ours">'
SCANNED, ENGINE_ERROR = OutcomeKind.SCANNED, OutcomeKind.ENGINE_ERROR


def without(*exclusions: "Exclusion | str"):
    made = tuple(one if isinstance(one, Exclusion) else Exclusion(one) for one in exclusions)
    return replace(QUICK, exclude_elements=made)


def summary(visited):
    outcome = visited.outcome
    return outcome.outcome, outcome.reason, targets(visited), outcome.excluded_count, outcome.excluded_by


def test_what_matches_is_not_tested_with_all_that_is_in_it(site: Site, scanner: Scanner) -> None:
    url = site.put("/", html(OURS + WIDGET + WIDGET.replace("theirs", "more")))
    assert summary(scanner.visit(url, without(".widget", ".absent"))) == (
        SCANNED, "tested", ['["#ours"]'], 2, (".widget",))
    assert summary(scanner.visit(url)) == (SCANNED, "tested", ['["#more"]', '["#ours"]', '["#theirs"]'], 0, ())


def test_elements_within_elements_count_once(site: Site, scanner: Scanner) -> None:
    visited = scanner.visit(site.put("/", html(OURS + WIDGET)), without("img#theirs", ".widget, .widget p"))
    assert summary(visited) == (SCANNED, "tested", ['["#ours"]'], 1, (".widget, .widget p", "img#theirs"))


def test_what_remains_is_as_it_was(site: Site, scanner: Scanner) -> None:
    body = f'<nav id="react-k3j9"><ul><div>{FAULT}</div></ul></nav>{WIDGET}<p style="color:#999">pale</p>'
    url = site.put("/", html(body))
    whole, part = scanner.visit(url), scanner.visit(url, without(".widget"))
    theirs = [row for row in whole.occurrences if "theirs" in row.target]
    assert [row for row in whole.occurrences if row not in theirs] == part.occurrences
    assert len(theirs) == 1
    assert {row.rule for row in whole.rule_results} == {row.rule for row in part.rule_results}


def test_patterns_say_on_which_routes(site: Site, scanner: Scanner) -> None:
    scan = without(Exclusion(".widget", ("glob:/shop/**",)), Exclusion("#absent", ("re:/about",)))
    urls = [site.put(path, html(OURS + WIDGET)) for path in ("/shop", "/about")]
    assert [summary(scanner.visit(url, scan))[2:] for url in urls] == [
        (['["#ours"]'], 1, (".widget",)), (['["#ours"]', '["#theirs"]'], 0, ())]


def test_frames_within_are_neither_tested_nor_untested(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    site.put("/never", html("gone", headers={"X-Frame-Options": "DENY"}))
    other = site.url("/never", "localhost")
    body = (OURS + '<iframe title="f" id="f" src="/inner"></iframe>'
            f'<div class="ad"><iframe title="a" src="/inner"></iframe><iframe title="b" src="{other}"></iframe>'
            '<object data="/inner" type="text/html" aria-label="o" width="9" height="9"></object></div>')
    visited = scanner.visit(site.put("/", html(body)), without(".ad"))
    assert summary(visited) == (SCANNED, "tested", ['["#f","img"]', '["#ours"]'], 1, (".ad",))
    assert (visited.outcome.frames_tested, visited.outcome.frames_untested) == (2, 0)


def test_a_frame_that_is_itself_left_out(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    visited = scanner.visit(site.put("/", html('<iframe class="ad" title="f" src="/inner"></iframe>' + OURS)),
                            without("iframe.ad"))
    assert summary(visited) == (SCANNED, "tested", ['["#ours"]'], 1, ("iframe.ad",))
    assert (visited.outcome.frames_tested, visited.outcome.frames_untested) == (1, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_elements_in_frames_are_left_out_too(site: Site, scanner: Scanner, host: str) -> None:
    site.put("/inner", html(OURS + WIDGET))
    body = WIDGET + f'<iframe title="f" id="f" src="{site.url("/inner", host)}"></iframe>'
    visited = scanner.visit(site.put("/", html(body)), without(".widget"))
    assert summary(visited) == (SCANNED, "tested", ['["#f","#ours"]'], 2, (".widget",))
    assert visited.outcome.frames_tested == 2


def test_elements_in_open_shadow_roots_are_left_out_too(site: Site, scanner: Scanner) -> None:
    body = f"""<div id="host"></div>{OURS}<script>document.getElementById("host").attachShadow({{mode: "open"}})
        .innerHTML = `<img src="/pixel.png" id="inside">{WIDGET}`</script>"""
    visited = scanner.visit(site.put("/", html(body)), without(".widget"))
    assert summary(visited) == (SCANNED, "tested", ['["#ours"]', '[["#host","#inside"]]'], 1, (".widget",))


@pytest.mark.parametrize("selector", ["html", "body", "*", ":root", "body > *", "main, footer", "main > *",
                                      "main *:not(script)"])
def test_a_page_of_which_nothing_is_left_is_not_clean(site: Site, scanner: Scanner, selector: str) -> None:
    url = site.put("/", html(OURS + "<p>text</p><script>1</script><p hidden>unseen</p>"))
    assert summary(scanner.visit(url, without(selector)))[:3] == (ENGINE_ERROR, "nothing_left", [])


def test_a_little_that_is_left_is_tested(site: Site, scanner: Scanner) -> None:
    body = OURS + '<div style="display:contents"><span>left</span></div>'
    assert summary(scanner.visit(site.put("/", html(body)), without("h1", "#ours")))[:3] == (SCANNED, "tested", [])


def test_a_frame_of_which_nothing_is_left_is_untested(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT).__class__(b"<html lang=en><title>t</title><body class=all><img src=/pixel.png>"))
    visited = scanner.visit(site.put("/", html(OURS + '<iframe title="f" src="/inner"></iframe>')), without("body.all"))
    assert visited.outcome.outcome is OutcomeKind.PARTIALLY_SCANNED
    assert visited.outcome.untested_frames == (f"{site.url('/inner')} (nothing_left)",)


def test_a_page_of_its_own_names_cannot_hide_what_is_left_out(site: Site, scanner: Scanner) -> None:
    """Forms and documents answer with their own fields for plain names."""
    body = ('<form><input name="shadowRoot" aria-label="b"></form>'
            '<img name="querySelectorAll" src="/pixel.png" alt=""><img name="body" src="/pixel.png" alt="">'
            '<img name="documentElement" src="/pixel.png" alt="">' + OURS + WIDGET)
    visited = scanner.visit(site.put("/", html(body)), without(".widget"))
    assert summary(visited) == (SCANNED, "tested", ['["#ours"]'], 1, (".widget",))


def test_what_is_no_selector_is_named_with_the_setting(site: Site, scanner: Scanner) -> None:
    visited = scanner.visit(site.put("/", html(OURS)), without("div:nonsense(1)"))
    assert summary(visited)[:3] == (ENGINE_ERROR, "exclusion_invalid", [])
    assert visited.outcome.detail == "div:nonsense(1)"
    assert "scan.exclude_elements" in (visited.outcome.how_to_fix or "")
    assert visited.outcome.visit_count == 1
