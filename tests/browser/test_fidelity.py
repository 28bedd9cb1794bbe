"""The same rules, nodes, impacts, summaries and counts as a direct run of the engine in the page's own world."""

import json
from typing import Any

import pytest

from schemas.occurrence import canonical_json
from schemas.outcome import OutcomeKind
from tasks.scan.engine import engine_source, run_options
from tasks.scan.partial import Visited
from tests.browser.faulty_site import FAULT, QUICK, Scanner, Site, html

DIRECT = """async (options) => { const report = await axe.run(document, JSON.parse(options));
    return JSON.stringify(["violations", "incomplete", "passes", "inapplicable"].flatMap((group) =>
        report[group].map((rule) => [group, rule.id, rule.nodes.map((node) =>
            [node.target, node.impact, node.failureSummary])]))) }"""
CLASSES = {"violations": "violation", "incomplete": "incomplete", "passes": "pass", "inapplicable": "inapplicable"}
FAULTY = """<h3>Jump</h3><p style="color:#999">Pale</p>
    <p style="background:linear-gradient(red,blue);color:#fff">Over</p>
    <a href="/x">here</a><a href="/y"></a><button></button><input><select></select><ul><p>no item</p></ul>
    <div role="button" tabindex="5">x</div><div role="nonsense">x</div><table><tr><th></th><td>1</td></tr></table>
    <video></video><iframe></iframe><div aria-hidden="true"><button>x</button></div><dl><li>x</li></dl>
    <label for="none">L</label><div id="twice"></div><div id="twice"></div><svg role="img"></svg>"""
INNER = "<nav></nav><nav></nav><header></header><main></main><h2>Inner</h2>" + FAULTY.replace("<iframe></iframe>", "")
PAGES = {
    "without a fault": "<p>Fine.</p>",
    "all kinds of faults": FAULTY.replace("<iframe></iframe>", ""),
    "shadow roots": f"""<x-a></x-a><script>document.querySelector("x-a").attachShadow({{mode: "open"}}).innerHTML =
        '<x-b></x-b>{FAULT}'; document.querySelector("x-a").shadowRoot.querySelector("x-b")
        .attachShadow({{mode: "open"}}).innerHTML = '<p style="color:#aaa">x</p><button></button>'</script>""",
    "frames": FAULTY + """<iframe src="/inner"></iframe><iframe title="t" id="n" src="/nested"></iframe>
        <iframe title="t" src="OTHER/inner"></iframe><iframe srcdoc="<h1>x</h1><img src=y>"></iframe>
        <iframe src="/inner" hidden></iframe>""",
}


async def run_directly(scanner: Scanner, url: str) -> list[Any]:
    options = {"viewport": {"width": 1280, "height": 720}, "locale": "en-US", "timezone_id": "UTC",
               "reduced_motion": "reduce"}
    async with scanner.browser.context(options) as (context, _):
        page = await context.new_page()
        await page.goto(url)
        for frame in page.frames:
            await frame.evaluate(engine_source(None) + ";axe.configure({allowedOrigins: ['<unsafe_all_origins>']})")
        answer: list[Any] = json.loads(await page.evaluate(DIRECT, run_options(QUICK.rules)))
        return answer


def nodes_of(direct: list[Any]) -> list[tuple[str, bool, str, str | None, str]]:
    return sorted((rule, group == "violations", canonical_json(target), impact, summary)
                  for group, rule, nodes in direct if group in ("violations", "incomplete")
                  for target, impact, summary in nodes)


def nodes_scanned(visited: Visited) -> list[tuple[str, bool, str, str | None, str]]:
    return sorted((row.rule, row.is_violation, row.target, row.impact, row.failure_summary)
                  for row in visited.occurrences)


@pytest.mark.parametrize("case", PAGES)
def test_a_scan_is_a_direct_run(site: Site, scanner: Scanner, case: str) -> None:
    site.put("/inner", html(INNER))
    site.put("/nested", html(f'<iframe title="t" id="i" src="{site.url("/inner", "localhost")}"></iframe>' + FAULTY))
    url = site.put("/", html(PAGES[case].replace("OTHER", site.url("", "localhost"))))
    direct = scanner.run(run_directly(scanner, url))
    visited = scanner.visit(url)
    assert nodes_scanned(visited) == nodes_of(direct)
    assert sorted((row.rule, row.rule_class.value, row.node_count) for row in visited.rule_results) == sorted(
        (rule, CLASSES[group], len(nodes)) for group, rule, nodes in direct)


FADES = {  # so long that none is over by itself when the engine looks
    "transition": ("#f { opacity: 0; transition: opacity 60s } #f.on { opacity: 1 }", "f.className = 'on'"),
    "animation": ("#f { animation: in 60s both } @keyframes in { from { opacity: 0 } to { opacity: 1 } }", ""),
    "delayed animation": (
        "#f { animation: in 1s 5s both } @keyframes in { from { opacity: .1 } to { opacity: 1 } }", ""),
    "script": ("", "let o = 0; f.style.opacity = 0; const t = setInterval(() => { f.style.opacity = o += .1; "
                   "if (o >= 1) clearInterval(t) }, 60)"),
    "web animation": ("", "f.animate([{opacity: 0}, {opacity: 1}], {duration: 60000, fill: 'both'})"),
    "again and again": ("", "setInterval(() => f.animate([{opacity: .1}, {opacity: .3}], 400), 400)"),
    "without end": ("", "f.animate([{opacity: .1}, {opacity: .9}], {duration: 900, iterations: Infinity})"),
    "restarted": ("#f.on { animation: in 2s both } @keyframes in { from { opacity: 0 } to { opacity: 1 } }",
                  "setInterval(() => { f.className = ''; f.offsetTop; f.className = 'on' }, 1900); f.className = 'on'"),
}
FADING = """<style>{style}</style><p id="f">Words that fade in</p>
    <script>addEventListener("load", () => {{ {script} }})</script>"""
IN_SHADOW = """<x-a></x-a><script>const root = document.querySelector("x-a").attachShadow({{ mode: "{mode}" }});
    root.innerHTML = `<style>{style}</style><p id="f">Words that fade in</p>`; const f = root.getElementById("f");
    addEventListener("load", () => {{ {script} }})</script>"""


@pytest.mark.parametrize("case", FADES)
def test_a_fade_makes_no_contrast_finding(site: Site, scanner: Scanner, case: str) -> None:
    style, script = FADES[case]
    expect_no_finding(scanner.visit(site.put("/", html(FADING.format(style=style, script=script)))))


@pytest.mark.parametrize("case", ["animation", "web animation", "again and again"])
@pytest.mark.parametrize("mode", ["open", "closed"])
def test_a_fade_in_a_shadow_root_makes_none_either(site: Site, scanner: Scanner, mode: str, case: str) -> None:
    style, script = FADES[case]
    body = IN_SHADOW.format(mode=mode, style=style, script=script)
    expect_no_finding(scanner.visit(site.put("/", html(body))))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_fade_in_a_frame_makes_none_either(site: Site, scanner: Scanner, host: str) -> None:
    """In the document of the frame, and in a shadow root there."""
    frames = []
    for number, case in enumerate(("animation", "web animation", "again and again")):
        style, script = FADES[case]
        site.put(f"/plain-{number}", html(FADING.format(style=style, script=script)))
        site.put(f"/shadow-{number}", html(IN_SHADOW.format(mode="open", style=style, script=script)))
        frames += [f'<iframe title="{kind} {number}" src="{site.url(f"/{kind}-{number}", host)}"></iframe>'
                   for kind in ("plain", "shadow")]
    visited = scanner.visit(site.put("/", html("".join(frames))))
    expect_no_finding(visited)
    assert visited.outcome.frames_tested == len(frames) + 1


def expect_no_finding(visited: Visited) -> None:
    assert (visited.outcome.outcome, visited.outcome.reason) == (OutcomeKind.SCANNED, "tested"), visited.outcome
    assert [(row.rule, row.failure_summary) for row in visited.occurrences if row.rule == "color-contrast"] == []
    contrast = {row.rule_class.value for row in visited.rule_results if row.rule == "color-contrast"}
    assert contrast == {"pass"}, visited.outcome
