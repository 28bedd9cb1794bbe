"""The sample estate under the real engine: clean where it says so, and one page for each thing that can be found."""

from flows.sample import PORT, locate_sample, serve_sample
from schemas.manifest import ManifestEntry
from schemas.outcome import OutcomeKind
from schemas.settings import ScanSettings, Settings
from tasks.load import load_manifest
from tests.browser.faulty_site import Scanner, planned

Found = dict[str, tuple[str, list[tuple[str, str | None]]]]
TEMPLATE = ("link-name", "serious")
EXPECTED: Found = {
    "/": ("scanned", []),
    "/opening-hours": ("scanned", []),
    "/join": ("scanned", [("button-name", "critical"), ("label", "critical"), ("label", "critical"),
                          ("select-name", "critical")]),
    "/membership": ("scanned", []),
    "/contact": ("scanned", []),
    "/branches": ("scanned", []),
    "/branches/map": ("scanned", [("image-alt", "critical")]),
    "/events": ("scanned", [("color-contrast", "serious")]),
    "/events/calendar": ("scanned", [("button-name", "critical"), ("button-name", "critical")]),
    "/events/story-time": ("scanned", [("meta-viewport", "moderate")]),
    "/events/quiz-night": ("scanned", []),
    "/whats-on": ("redirected", []),
    "/catalogue": ("scanned", [TEMPLATE]),
    "/catalogue/new-arrivals": ("scanned", [("color-contrast", "serious"), TEMPLATE]),
    **{f"/catalogue/{shelf}": ("scanned", [TEMPLATE]) for shelf in (
        "fiction", "children", "maps", "newspapers", "film", "music", "local-history")},
    "/archive/search": ("scanned", [("list", "serious")]),
    "/news": ("scanned", [("heading-order", "moderate")]),
    "/news/reading-room": ("scanned", [("aria-deprecated-role", "minor")]),
    "/accessibility": ("scanned", []),
    "/documents/annual-report.pdf": ("not_applicable", []),
    "/privacy": ("scanned", []),
    "/volunteering": ("scanned", []),
}


def test_every_page_of_the_sample_has_the_faults_that_it_is_there_for(scanner: Scanner) -> None:
    entries = load_manifest(locate_sample().manifest, Settings()).entries
    with serve_sample(port=0) as base:
        def here(entry: ManifestEntry) -> str:
            return entry.url.replace(f"http://127.0.0.1:{PORT}", base)

        visited = scanner.visit_all(
            [planned(here(entry), ready=entry.ready, expect_selector=entry.expect.selector) for entry in entries],
            ScanSettings())
    found: Found = {}
    for url, visit in visited.items():
        faults = sorted((row.rule, row.impact) for row in visit.occurrences if row.is_violation)
        found[url.removeprefix(base)] = (str(visit.outcome.outcome), faults)
    assert found == EXPECTED
    review = [row.rule for row in visited[f"{base}/events/quiz-night"].occurrences]
    assert review == ["color-contrast"]
    template = {row.fingerprint for visit in visited.values() for row in visit.occurrences if row.rule == "link-name"}
    assert len(template) == 1
    ready, quiet = (visited[base + path].outcome.settled_by for path in ("/catalogue/new-arrivals", "/catalogue"))
    assert ready != quiet
    assert visited[f"{base}/branches/map"].outcome.frames_tested == 2
    assert visited[f"{base}/whats-on"].outcome.outcome is OutcomeKind.REDIRECTED
