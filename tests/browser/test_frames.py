"""Frames: found, or named as untested; never hanging, never clean."""

import time

import pytest

from schemas.outcome import OutcomeKind
from tasks.scan.engine import engine_source
from tests.browser.faulty_site import FAULT, QUICK, Answer, Scanner, Site, html, planned, targets

SCANNED, PARTLY = OutcomeKind.SCANNED, OutcomeKind.PARTIALLY_SCANNED


def summary(visited) -> tuple[OutcomeKind, str, list[str], int]:
    outcome = visited.outcome
    return outcome.outcome, outcome.reason, targets(visited), outcome.frames_untested


def test_a_frame_of_the_same_origin_is_tested(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    visited = scanner.visit(site.put("/", html('<iframe title="f" id="f" src="/inner"></iframe>')))
    assert summary(visited) == (SCANNED, "tested", ['["#f","img"]'], 0)
    assert visited.outcome.frames_tested == 2


def test_a_frame_of_another_site_is_tested(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    other = site.url("/inner", "localhost")
    visited = scanner.visit(site.put("/", html(f'<iframe title="f" id="f" src="{other}"></iframe>')))
    assert summary(visited) == (SCANNED, "tested", ['["#f","img"]'], 0)


def test_frames_within_frames_across_sites_are_tested(site: Site, scanner: Scanner) -> None:
    site.put("/c", html(FAULT))
    site.put("/b", html(FAULT + f'<iframe title="c" id="c" src="{site.url("/c")}"></iframe>'))
    site.put("/a", html(f'<iframe title="b" id="b" src="{site.url("/b", "localhost")}"></iframe>' + FAULT))
    visited = scanner.visit(site.put("/", html('<iframe title="a" id="a" src="/a"></iframe>' + FAULT)))
    assert summary(visited) == (
        SCANNED, "tested", ['["#a","#b","#c","img"]', '["#a","#b","img"]', '["#a","img"]', '["img"]'], 0)
    assert visited.outcome.frames_tested == 4


@pytest.mark.parametrize("sandbox", ["", "allow-scripts", "allow-same-origin", "allow-scripts allow-same-origin"])
def test_a_sandboxed_frame_is_tested(site: Site, scanner: Scanner, sandbox: str) -> None:
    site.put("/inner", html(FAULT))
    visited = scanner.visit(site.put("/", html(f'<iframe title="f" id="f" sandbox="{sandbox}" src="/inner"></iframe>')))
    assert summary(visited) == (SCANNED, "tested", ['["#f","img"]'], 0)


def test_frames_without_an_address_of_their_own_are_tested(site: Site, scanner: Scanner) -> None:
    body = f"""<iframe title="s" id="s" srcdoc='<html lang="en"><title>s</title>{FAULT}'></iframe>
        <iframe title="b" id="b" src="{site.put("/blobber", html(""))}"></iframe><iframe title="w" id="w"></iframe>
        <script>document.getElementById("w").contentDocument.body.innerHTML = '{FAULT}'</script>"""
    visited = scanner.visit(site.put("/", html(body)))
    assert summary(visited) == (SCANNED, "tested", ['["#s","img"]', '["#w","img"]'], 0)


def test_a_lazy_frame_far_below_is_loaded_and_tested(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    body = '<div style="height:20000px"></div><iframe title="f" id="f" loading="lazy" src="/inner"></iframe>'
    visited = scanner.visit(site.put("/", html(body)))
    assert summary(visited) == (SCANNED, "tested", ['["#f","img"]'], 0)


def test_a_frame_in_a_shadow_root_is_tested(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    body = """<div id="host"></div><script>document.getElementById("host").attachShadow({mode: "open"})
        .innerHTML = '<iframe title="f" id="f" src="/inner"></iframe>'</script>"""
    visited = scanner.visit(site.put("/", html(body)))
    assert summary(visited) == (SCANNED, "tested", ['[["#host","#f"],"img"]'], 0)


def test_a_frame_that_never_answers_is_named(site: Site, scanner: Scanner) -> None:
    site.put("/never", Answer(wait_s=60))
    page = html('<iframe title="f" id="f" src="/never"></iframe>' + FAULT)
    visited = scanner.visit(site.put("/", page), deadline_ms=8_000)
    assert summary(visited) == (PARTLY, "frame_untested", ['["img"]'], 1)
    (named,) = visited.outcome.untested_frames  # which of the two is seen first depends on how busy the machine is
    assert named in (f"{site.url('/never')} (blank)", f"{site.url('/never')} (deadline)")
    assert visited.outcome.has_untested_own_frame
    assert visited.outcome.settled_by == "load_budget"


def test_a_frame_at_about_blank_with_an_address_is_named(site: Site, scanner: Scanner) -> None:
    site.put("/nothing", Answer(status=204, media_type=None))
    visited = scanner.visit(site.put("/", html('<iframe title="f" id="f" src="/nothing"></iframe>')))
    assert summary(visited) == (PARTLY, "frame_untested", [], 1)
    assert visited.outcome.untested_frames == (f"{site.url('/nothing')} (blank)",)


def test_a_frame_that_refuses_to_be_framed_is_named(site: Site, scanner: Scanner) -> None:
    site.put("/deny", html(FAULT, headers={"X-Frame-Options": "DENY"}))
    other = site.url("/deny", "localhost")
    visited = scanner.visit(site.put("/", html(f'<iframe title="f" id="f" src="{other}"></iframe>')))
    assert summary(visited) == (PARTLY, "frame_untested", [], 1)
    assert not visited.outcome.has_untested_own_frame


def test_a_frame_whose_script_never_ends_is_named_and_does_not_hold_the_page(site: Site, scanner: Scanner) -> None:
    site.put("/loop", html(FAULT + "<script>onload = () => setTimeout(() => { while (true); }, 50)</script>"))
    other = site.url("/loop", "localhost")
    url = site.put("/", html(f'<iframe title="f" id="f" src="{other}"></iframe>' + FAULT))
    began = time.monotonic()
    visited = scanner.visit(url, deadline_ms=25_000)
    assert summary(visited) == (PARTLY, "frame_untested", ['["img"]'], 1)
    assert visited.outcome.untested_frames == (f"{other} (deadline)",)
    assert time.monotonic() - began < 25


def test_frames_that_come_and_go_neither_hang_nor_fail(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    body = """<div id="d"></div><script>setInterval(() => {
        document.getElementById("d").innerHTML = '<iframe title="f" id="f" src="/inner"></iframe>' }, 15)</script>"""
    visited = scanner.visit(site.put("/", html(body)))
    assert visited.outcome.outcome in (SCANNED, PARTLY)
    assert visited.outcome.frames_tested + visited.outcome.frames_untested in (2, 3)  # one that came later is named


def test_frames_that_nobody_can_see_count_for_nothing(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    body = '<iframe src="/inner" style="display:none"></iframe><iframe src="/inner" hidden></iframe>'
    visited = scanner.visit(site.put("/", html(body)))
    assert summary(visited) == (SCANNED, "tested", [], 0)
    assert visited.outcome.frames_tested == 1


def test_a_page_in_an_object_is_named(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    body = '<object data="/inner" type="text/html" width="300" height="200" aria-label="o"></object>'
    visited = scanner.visit(site.put("/", html(body)))
    assert summary(visited) == (PARTLY, "frame_untested", [], 1)
    assert visited.outcome.untested_frames == (f"{site.url('/inner')} (embedded)",)


CLOSED = """<div id="host" {host}></div><script>document.getElementById("host").attachShadow({{mode: "closed"}})
    .innerHTML = `{inner}`</script>"""


def in_closed_root(inner: str, host: str = "") -> str:
    return CLOSED.format(inner=inner, host=host)


def untested(visited) -> list[str]:
    return sorted(visited.outcome.untested_frames)


@pytest.mark.parametrize("beside", ["", FAULT + '<iframe title="f" id="f" src="/inner"></iframe>'])
def test_a_frame_in_a_closed_shadow_root_is_tested(site: Site, scanner: Scanner, beside: str) -> None:
    site.put("/inner", html(FAULT))
    body = in_closed_root(f"<iframe title='c' srcdoc='<title>c</title>{FAULT}'></iframe>") + beside
    visited = scanner.visit(site.put("/", html(body)))
    found = ['["#f","img"]', '["img"]', r'[["#host","iframe[title=\"c\"]"],"img"]'] if beside else [
        '[["#host","iframe"],"img"]']
    assert summary(visited) == (SCANNED, "tested", found, 0)


def test_a_frame_of_another_site_in_a_closed_shadow_root_is_tested(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    other = site.url("/inner", "localhost")
    visited = scanner.visit(site.put("/", html(in_closed_root(f"<iframe title='c' src='{other}'></iframe>"))))
    assert summary(visited) == (SCANNED, "tested", ['[["#host","iframe"],"img"]'], 0)


def test_closed_shadow_roots_within_frames_are_tested(site: Site, scanner: Scanner) -> None:
    """Of the page's own site, of another, and in frames of theirs: each process is looked through by itself."""
    site.put("/deep", html(FAULT))
    site.put("/inner", html(FAULT + in_closed_root(f"{FAULT}<iframe title='c' src='{site.url('/deep')}'></iframe>")))
    other = site.url("/inner", "localhost")
    body = f'<iframe title="f" id="f" src="{other}"></iframe><iframe title="g" id="g" src="/inner"></iframe>'
    visited = scanner.visit(site.put("/", html(body)))
    found = [f'["#{frame}",{target}]' for frame in "fg" for target in (
        '"img"', '["#host","iframe"],"img"', '["#host","img"]')]
    assert summary(visited) == (SCANNED, "tested", found, 0)


def test_a_page_in_an_object_is_named_wherever_it_lies(site: Site, scanner: Scanner) -> None:
    site.put("/deep", html(FAULT))
    inner = "<object data='/deep' type='text/html' width='300' height='200' aria-label='o'></object>"
    site.put("/inner", html(inner))
    bodies = [in_closed_root(inner), in_closed_root(inner).replace("closed", "open"),
              '<iframe title="f" id="f" src="/inner"></iframe>']
    for number, body in enumerate(bodies):
        visited = scanner.visit(site.put(f"/{number}", html(body)))
        assert (*summary(visited), untested(visited)) == (
            PARTLY, "frame_untested", [], 1, [f"{site.url('/deep')} (unreachable)"])
        assert visited.outcome.has_untested_own_frame


HIDDEN = {
    "not displayed": ("<iframe src='/inner' style='display:none'></iframe>", ""),
    "in a hidden host": ("<iframe src='/inner'></iframe>", "hidden"),
    "invisible": ("<iframe src='/inner' style='visibility:hidden'></iframe>", ""),
    "hidden from assistive technology": ("<iframe src='/inner'></iframe>", 'aria-hidden="true"'),
    "inert": ("<iframe src='/inner'></iframe>", "inert"),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_a_frame_that_nobody_perceives_in_a_closed_shadow_root_counts_for_nothing(
    site: Site, scanner: Scanner, case: str
) -> None:
    site.put("/inner", html(FAULT))
    inner, host = HIDDEN[case]
    assert summary(scanner.visit(site.put("/", html(in_closed_root(inner, host))))) == (SCANNED, "tested", [], 0)


@pytest.mark.parametrize("case", ["aria-hidden='true'", "inert", "style='visibility:hidden'"])
def test_the_engine_passes_the_same_frames_over(site: Site, scanner: Scanner, case: str) -> None:
    site.put("/inner", html(FAULT))
    visited = scanner.visit(site.put("/", html(f'<div {case}><iframe title="f" src="/inner"></iframe></div>')))
    assert (*summary(visited), visited.outcome.frames_tested) == (SCANNED, "tested", [], 0, 1)


def test_a_frame_that_comes_while_the_engine_runs_counts(site: Site, scanner: Scanner) -> None:
    """The frame comes with the engine: after the page was found to have none, before its document is tested."""
    site.put("/inner", html(FAULT))
    route = planned(site.put("/", html(FAULT)))
    frame = "<iframe title='f' id='f' src='/inner'></iframe>"
    comes = f"""if (top === window && !document.querySelector("iframe")) document.querySelector("main")
        .insertAdjacentHTML("beforeend", "{frame}");"""
    visited = scanner.visit_all([route], engine_text=f"{comes}\n{engine_source(None)}")[route.url]
    outcome = visited.outcome  # whether its document has arrived when it is looked at is a race
    assert (outcome.frames_tested, targets(visited), untested(visited)) in (
        (2, ['["#f","img"]', '["img"]'], []), (1, ['["img"]'], [f"{site.url('/inner')} (blank)"]))


@pytest.mark.parametrize("holder", [
    '<object data="{}" type="text/html" width="300" height="200" aria-label="o"></object>',
    '<embed src="{}" type="text/html" width="300" height="200" title="o">'])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_in_an_object_of_any_site_is_named_once(site: Site, scanner: Scanner, holder: str, host: str) -> None:
    site.put("/inner", html(FAULT))
    address = site.url("/inner", host)
    visited = scanner.visit(site.put("/", html(holder.format(address))))
    assert summary(visited) == (PARTLY, "frame_untested", [], 1)
    assert visited.outcome.untested_frames[0].startswith(f"{address} (")


def test_a_picture_in_an_object_is_no_page(site: Site, scanner: Scanner) -> None:
    site.put("/p.svg", Answer(b'<svg xmlns="http://www.w3.org/2000/svg"><title>p</title></svg>',
                              media_type="image/svg+xml"))
    for host in ("127.0.0.1", "localhost"):
        body = f'<object data="{site.url("/p.svg", host)}" type="image/svg+xml" role="img" aria-label="o"></object>'
        assert summary(scanner.visit(site.put("/", html(body)))) == (SCANNED, "tested", [], 0)


def test_a_frameset_is_tested(site: Site, scanner: Scanner) -> None:
    site.put("/inner", html(FAULT))
    frame = '<frameset cols="*"><frame title="f" id="f" src="/inner"></frameset>'
    page = Answer(f'<html lang="en"><title>t</title>{frame}'.encode())
    assert summary(scanner.visit(site.put("/", page))) == (SCANNED, "tested", ['["#f","img"]'], 0)


def test_the_next_route_is_unharmed(site: Site, scanner: Scanner) -> None:
    loop = site.put("/loop", html("<script>onload = () => setTimeout(() => { while (true); }, 20)</script>"))
    good = site.put("/good", html(FAULT))
    found = scanner.visit_all([planned(loop, deadline_ms=3_000), planned(good)], QUICK)
    assert summary(found[good]) == (SCANNED, "tested", ['["img"]'], 0)
    assert found[loop].outcome.outcome is OutcomeKind.TIMED_OUT


def test_more_frames_than_are_tested_are_named(
    site: Site, scanner: Scanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither their number nor their slowness may use up the visit."""
    site.put("/inner", html(FAULT))
    url = site.put("/", html('<iframe title="f" src="/inner"></iframe>' * 4 + FAULT))
    monkeypatch.setattr("tasks.scan.frames.FRAME_LIMIT", 2)
    visited = scanner.visit(url)
    assert (*summary(visited)[:2], len(targets(visited)), untested(visited)) == (
        PARTLY, "frame_untested", 3, [f"{site.url('/inner')} (too_many)"] * 2)
    monkeypatch.setattr("tasks.scan.frames.RESERVED_SHARE", 2.0)
    visited = scanner.visit(url)
    assert (*summary(visited), untested(visited)) == (
        PARTLY, "frame_untested", ['["img"]'], 4, [f"{site.url('/inner')} (deadline)"] * 2 + [
            f"{site.url('/inner')} (too_many)"] * 2)


def test_a_frame_with_more_than_can_be_moved_is_named(
    site: Site, scanner: Scanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.scan.script.PART_CHARACTERS", 1_000)
    site.put("/inner", html(FAULT))
    visited = scanner.visit(site.put("/", html('<iframe title="f" src="/inner"></iframe>' + FAULT)))
    assert (*summary(visited), untested(visited)) == (
        PARTLY, "frame_untested", ['["img"]'], 1, [f"{site.url('/inner')} (too_large)"])


def test_frames_that_come_late_or_wait_to_be_scrolled_to_are_loaded(site: Site, scanner: Scanner) -> None:
    """Also in shadow roots, and frames within frames."""
    site.put("/inner", html(FAULT))
    lazy = "<iframe title='f' id='f' loading='lazy' src='/inner'></iframe>"
    site.put("/outer", html(f'<div style="height:20000px"></div>{lazy}'))
    far = '<div style="height:20000px"></div>'
    bodies = {
        '["#f","img"]': far + f"""<script>setTimeout(() => document.querySelector("main")
            .insertAdjacentHTML("beforeend", `{lazy}`), 90)</script>""",
        '[["#host","#f"],"img"]': far + in_closed_root(lazy).replace("closed", "open"),
        '["#o","#f","img"]': '<iframe title="o" id="o" src="/outer"></iframe>',
    }
    for number, (target, body) in enumerate(bodies.items()):
        assert summary(scanner.visit(site.put(f"/{number}", html(body)))) == (SCANNED, "tested", [target], 0)


ADDRESSES = {
    "data": '<iframe title="x" id="x" src="data:text/html,<html lang=en><title>x</title><img src=x>"></iframe>',
    "blob": """<iframe title="x" id="x"></iframe><script>x.src = URL.createObjectURL(new Blob(
        ["<html lang=en><title>x</title><img src=y>"], {type: "text/html"}))</script>""",
    "javascript": """<iframe title="x" id="x" src="javascript:'<title>x</title><img src=y>'"></iframe>""",
}


@pytest.mark.parametrize("case", ADDRESSES)
def test_frames_of_other_kinds_of_addresses_are_tested(site: Site, scanner: Scanner, case: str) -> None:
    assert summary(scanner.visit(site.put("/", html(ADDRESSES[case])))) == (SCANNED, "tested", ['["#x","img"]'], 0)


def test_frames_that_show_no_page_are_named(site: Site, scanner: Scanner) -> None:
    """A file instead of a page, a host that is not there, a page within itself."""
    file = site.put("/file", Answer(b"x" * 9, media_type="application/octet-stream"))
    gone = "http://nobody.invalid/"
    page = site.put("/", html(f'<iframe title="a" src="{file}"></iframe><iframe title="b" src="{gone}"></iframe>'))
    assert untested(scanner.visit(page)) == [f"{file} (blank)", f"{gone} (error_page)"]
    itself = site.put("/itself", html('<iframe title="i" id="i" src="/itself"></iframe>' + FAULT))
    visited = scanner.visit(itself)  # browsers end it at the second one within
    assert (visited.outcome.outcome, untested(visited)) == (PARTLY, [f"{itself} (blank)"])
    assert targets(visited)[0] == '["#i","img"]'
