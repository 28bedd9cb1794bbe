"""The report in a real browser: inert, accessible in both modes, and usable by keyboard alone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from schemas.report_material import ReportMaterial
from tasks.report import render_report
from tasks.scan.browser import find_browser
from tests.small_estate import evidence_of, occurrence, outcome, plan_of, route
from tests.small_report import HOSTILE, calm_material, hostile_material, interrupted_material, material_of

AXE = next(Path(axe_playwright_python.__file__).parent.rglob("axe.min.js")).read_text("utf-8")
RUN_AXE = """() => axe.run({
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  rules: {'target-size': {enabled: true}}})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=find_browser(None).path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails its test where anything is sent, refused, or thrown."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    heard: list[str] = []
    opened.on("console", lambda message: heard.append(f"console: {message.text}"))
    opened.on("pageerror", lambda error: heard.append(f"error: {error}"))
    opened.on("dialog", lambda dialog: heard.append("dialog"))
    opened.on("request", lambda request: None if request.url.startswith("file:") else heard.append(request.url))
    yield opened
    context.close()
    assert heard == []


def write(folder: Path, material: ReportMaterial, *, is_single: bool = False) -> list[str]:
    files = render_report(material, is_single=is_single)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [name for name in files if name.endswith(".html")]


def rows(page: Page) -> list[str]:
    return page.locator("tbody tr").all_inner_texts()


@pytest.mark.parametrize(("make", "scheme", "is_single"), [
    (calm_material, "light", False), (calm_material, "dark", True),
    (interrupted_material, "light", True), (interrupted_material, "dark", True)])
def test_every_page_passes_the_engine_in_both_modes(page, tmp_path, make, scheme, is_single):
    """The single page has everything that the folder has, so the second mode need not look at each page again."""
    page.emulate_media(color_scheme=scheme)
    violations = {}
    for name in write(tmp_path, make(), is_single=is_single):
        page.goto((tmp_path / name).as_uri())
        page.evaluate(AXE)
        found = page.evaluate(RUN_AXE)["violations"]
        violations[name] = [(one["id"], node["html"]) for one in found for node in one["nodes"]]
    assert violations == {name: [] for name in violations}


def test_page_text_stays_text(page, tmp_path):
    names = [*write(tmp_path, hostile_material()), *write(tmp_path, hostile_material(), is_single=True)]
    for name in dict.fromkeys(names):
        page.goto((tmp_path / name).as_uri())
        page.wait_for_load_state()
        assert page.evaluate("window.__x") is None
        hrefs = page.evaluate("[...document.querySelectorAll('[href]')].map((a) => a.protocol)")
        assert set(hrefs) <= {"file:", "http:", "https:"}
        assert page.locator("img, iframe, object, embed, form, [onerror], [onload]").count() == 0
    page.goto((tmp_path / "details.html").as_uri())
    shown = page.locator("pre").all_inner_texts()
    assert all(any(text in pre for pre in shown) for text in HOSTILE if text.isprintable())


def test_the_policy_comes_right_after_the_character_set(page, tmp_path):
    names = write(tmp_path, calm_material())
    for name in names:
        page.goto((tmp_path / name).as_uri())
        first, second = page.evaluate("[...document.head.children].slice(0, 2).map((e) => e.outerHTML)")
        assert first == '<meta charset="utf-8">'
        assert second.startswith('<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src')
        assert "unsafe" not in second


def test_the_policy_refuses_a_script_that_got_in(browser, tmp_path):
    """Were an escape forgotten, the policy would still hold."""
    write(tmp_path, calm_material())
    index = tmp_path / "findings.html"
    forgotten = "<script>window.__x=1</script><img src=x onerror='window.__x=1'></main>"
    index.write_text(index.read_text("utf-8").replace("</main>", forgotten), "utf-8")
    opened = browser.new_page()
    opened.goto(index.as_uri())
    assert opened.evaluate("window.__x") is None
    opened.close()


def test_the_first_screen_says_the_verdict_and_where_to_go(page, tmp_path):
    write(tmp_path, interrupted_material())
    page.goto((tmp_path / "index.html").as_uri())
    assert page.title().startswith("INCOMPLETE (INTERRUPTED: 1 of 2 shards were not finished)")
    assert page.locator("#verdict").inner_text() == "INCOMPLETE (INTERRUPTED: 1 of 2 shards were not finished)"
    letters = page.locator("section[aria-labelledby=letters] tbody tr").all_inner_texts()
    assert [line.split("\t")[:3] for line in letters] == [
        ["https://e.test/broken", "http error", "status 404"],
        ["https://e.test/lost", "missing", letters[1].split("\t")[2]]]
    assert "Take the route out of the manifest." in letters[0]


def test_findings_are_searched_filtered_and_sorted_by_keyboard(page, tmp_path):
    write(tmp_path, calm_material())
    page.goto((tmp_path / "findings.html").as_uri())
    assert [row.split("\t")[1] for row in rows(page)] == ["image-alt", "color-contrast", "region"]
    page.get_by_label("Search").focus()
    page.keyboard.type("CONTRAST news")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.get_by_role("status").inner_text() == "Rows 1 to 1 of 1 (of 3)"
    page.get_by_label("Search").fill("")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_label("Decision").focus()
    page.keyboard.type("warn")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_label("Decision").select_option(label="all")
    page.get_by_role("button", name="Rule").focus()
    page.keyboard.press("Enter")
    assert [row.split("\t")[1] for row in rows(page)] == ["color-contrast", "image-alt", "region"]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert [row.split("\t")[1] for row in rows(page)] == ["region", "image-alt", "color-contrast"]
    page.get_by_role("button", name="Impact").press("Enter")
    assert [row.split("\t")[0] for row in rows(page)] == ["critical", "serious", "moderate"]


def test_a_finding_leads_to_its_details(page, tmp_path):
    write(tmp_path, calm_material())
    page.goto((tmp_path / "findings.html").as_uri())
    page.get_by_role("link", name="image-alt").press("Enter")
    article = page.locator("article:target")
    assert article.locator("h3").inner_text() == "critical image-alt: Say it"
    article.locator("summary").press("Enter")
    assert article.locator("details li").all_inner_texts() == ["https://e.test/", "https://e.test/shop"]
    assert article.locator("pre").first.inner_text() == "<img>"


def test_every_link_inside_the_report_leads_somewhere(page, tmp_path):
    for is_single in (False, True):
        for name in write(tmp_path, calm_material(), is_single=is_single):
            page.goto((tmp_path / name).as_uri())
            for href in page.evaluate("[...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))"):
                if href.startswith("https://"):
                    continue
                file, _, anchor = href.partition("#")
                target = tmp_path / (file or name)
                assert target.is_file()
                assert not anchor or f'id="{anchor}"' in target.read_text("utf-8")


def test_a_long_list_turns_its_pages(page, tmp_path):
    material = calm_material()
    row = material.outcomes[0]
    many = tuple(replace(row, route=f"https://e.test/{number:04d}") for number in range(250))
    write(tmp_path, replace(material, outcomes=many))
    page.goto((tmp_path / "routes.html").as_uri())
    assert page.get_by_role("status").inner_text() == "Rows 1 to 100 of 250"
    page.get_by_role("button", name="Next rows").press("Enter")
    assert page.evaluate("document.activeElement.className") == "scroll"
    page.get_by_role("button", name="Next rows").press("Enter")
    shown = [text.split("\t")[0] for text in rows(page)]
    assert shown == [f"https://e.test/{number:04d}" for number in range(200, 250)]
    assert page.get_by_role("button", name="Next rows").is_disabled()


def test_without_scripts_the_first_rows_and_all_sections_are_there(browser, tmp_path):
    write(tmp_path, calm_material())
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto((tmp_path / "findings.html").as_uri())
    assert [line.split("\t")[1] for line in opened.locator("tbody tr").all_inner_texts()] == [
        "image-alt", "color-contrast", "region"]
    assert not opened.locator(".controls").is_visible()
    context.close()


def test_paper_gets_the_content_and_no_controls(page, tmp_path):
    write(tmp_path, calm_material())
    page.emulate_media(media="print", color_scheme="dark")
    page.goto((tmp_path / "findings.html").as_uri())
    seen = {name: page.locator(name).first.is_visible() for name in (".controls", ".sections", "table", "h1")}
    assert seen == {".controls": False, ".sections": False, "table": True, "h1": True}
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_paper_shows_what_is_folded_away_on_the_screen(page, tmp_path):
    """Five faults of one cell are one reason with five examples, of which the screen folds two."""
    home = route("/")
    plan = plan_of(home)
    write(tmp_path, material_of(plan, evidence_of(plan, [outcome(home)], [
        *(occurrence(home, node=f"n{number}") for number in range(5)), occurrence(home, "region", "div", "moderate")])))
    page.goto((tmp_path / "index.html").as_uri())
    folded = "details ul.reasons li, .reasons details li"
    shown = f"[...document.querySelectorAll('{folded}')].map(li => li.checkVisibility({{contentVisibilityAuto: true}}))"
    assert page.evaluate(shown) and not any(page.evaluate(shown))
    page.emulate_media(media="print")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert all(page.evaluate(shown))


def test_a_rule_is_readable_in_a_narrow_window(page, tmp_path):
    page.set_viewport_size({"width": 400, "height": 800})
    write(tmp_path, calm_material())
    page.goto((tmp_path / "index.html").as_uri())
    table = page.locator("section[aria-labelledby='repairs'] table")
    rule, cleared = (table.locator("thead th").nth(place).bounding_box()["width"] for place in (1, 2))
    assert (rule >= 180, cleared <= 100) == (True, True), (rule, cleared)


def test_a_narrow_window_scrolls_tables_and_not_the_page(page, tmp_path):
    page.set_viewport_size({"width": 320, "height": 640})
    for name in write(tmp_path, calm_material()):
        page.goto((tmp_path / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, name
