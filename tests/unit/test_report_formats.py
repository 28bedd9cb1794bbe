"""JUnit, SARIF, CSV and Markdown: valid, inert, and of one mind with the verdict."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import xmlschema
from jsonschema import Draft7Validator

from schemas.finding import Decision
from schemas.plural import plural
from schemas.policy import parse_policy
from schemas.report_material import ReportMaterial
from schemas.suppression import parse_suppressions
from tasks.report import csv_table, junit, render_report, sarif
from tasks.report.facts import owed_routes
from tests.small_estate import evidence_of, outcome, plan_of, route
from tests.small_report import calm_material, hostile_material, interrupted_material, material_of

OFFICIAL = Path(__file__).parents[2].parent / "shared" / "official-schemas"
needs_official = pytest.mark.skipif(not OFFICIAL.is_dir(), reason="the publishers' schemas are not beside the project")
MATERIALS = [calm_material, interrupted_material, hostile_material]


def suites_of(material: ReportMaterial) -> dict[str, ET.Element]:
    root = ET.fromstring(junit.junit_xml(material))
    return {suite.attrib["name"]: suite for suite in root}


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def sarif_run(material: ReportMaterial) -> dict:
    (run,) = json.loads(sarif.sarif_json(material))["runs"]
    return run


@needs_official
@pytest.mark.parametrize("make", MATERIALS)
def test_junit_keeps_the_schema_of_ant(make):
    xmlschema.XMLSchema(OFFICIAL / "junit.xsd").validate(io.BytesIO(junit.junit_xml(make())))


@needs_official
@pytest.mark.parametrize("make", MATERIALS)
def test_sarif_keeps_its_schema(make):
    schema = json.loads((OFFICIAL / "sarif-schema-2.1.0.json").read_text("utf-8"))
    assert [error.message for error in Draft7Validator(schema).iter_errors(json.loads(sarif.sarif_json(make())))] == []


def test_junit_has_a_failure_where_the_gate_blocks_and_a_skip_where_it_does_not():
    suite = suites_of(calm_material())["fanfold.findings"]
    cases = {(case.attrib["name"].split()[0], child.tag, child.attrib["message"]) for case in suite
             if case.tag == "testcase" for child in case}
    assert cases == {
        ("image-alt", "failure", "critical violation: Say it (2 routes, 3 occurrences)"),
        ("color-contrast", "skipped", "warn: serious violation: Say it (1 route, 1 occurrence)"),
        ("region", "skipped", "ignore: moderate violation: Say it (1 route, 1 occurrence)"),
        ("color-contrast", "skipped", "warn: unknown needs review: Say it (1 route, 1 occurrence)")}


def test_junit_passes_the_coverage_case_of_a_whole_run():
    (case,) = [case for case in suites_of(calm_material())["fanfold.coverage"] if case.tag == "testcase"]
    assert (case.attrib["name"], list(case)) == ("coverage", [])


def test_junit_has_an_error_that_lists_what_is_missing():
    coverage, *routes = [case for case in suites_of(interrupted_material())["fanfold.coverage"]
                         if case.tag == "testcase"]
    (error,) = coverage
    assert error.tag == "error"
    assert error.attrib["message"].startswith("INCOMPLETE (INTERRUPTED: 1 of 2 shards were not finished): ")
    assert "http_error (status_404): https://e.test/broken" in error.text
    assert re.search(r"missing \(\w+\): https://e.test/lost", error.text)
    assert [(case.attrib["name"], case[0].tag, case[0].attrib["type"]) for case in routes] == [
        ("https://e.test/broken", "error", "http_error"), ("https://e.test/lost", "error", "missing")]


def marks_of(material: ReportMaterial) -> list[tuple[str, str]]:
    """Kind and message of every case that did not pass."""
    return [(child.tag, child.attrib["message"]) for suite in suites_of(material).values() for case in suite
            if case.tag == "testcase" for child in case]


def test_junit_is_green_where_the_policy_lets_holes_pass():
    """A CI system must say what the exit code says; a route without a scan is still no test that passed."""
    kept, slow = route("/"), route("/slow")
    plan = plan_of(kept, slow)
    policy = parse_policy({"coverage": {"max_unsettled": 1}}, "policy.yaml", None)
    material = material_of(plan, evidence_of(plan, [outcome(kept), outcome(slow, "timed_out")]), policy=policy)
    assert material.verdict.exit_code == 0
    assert marks_of(material) == [("skipped", "timed_out: timed_out")]


def test_junit_is_green_where_the_policy_only_reports():
    policy = parse_policy({"report_only": True}, "policy.yaml", None)
    material = calm_material(policy=policy)
    assert material.verdict.exit_code == 0
    assert ("skipped", "would block: critical violation: Say it (2 routes, 3 occurrences)") in marks_of(material)
    assert {tag for tag, _ in marks_of(material)} == {"skipped"}


def test_junit_is_red_where_something_else_than_a_finding_blocks():
    page = route("/")
    plan = plan_of(page)
    suppressions = parse_suppressions({"suppressions": [{
        "rule": "region", "route": "glob:/", "reason": "redesign", "owner": "web", "expires": "2001-01-31"}]},
        "suppressions.yaml", None)
    given = {"suppressions": suppressions,
             "policy": parse_policy({"suppressions": {"expired": "block"}}, "policy.yaml", None)}
    material = material_of(plan, evidence_of(plan, [outcome(page)]), **given)
    assert (material.verdict.exit_code, material.verdict.finding_count) == (1, 0)
    assert marks_of(material) == [("failure", material.first_line)]
    (failure,) = suites_of(material)["fanfold.verdict"].iter("failure")
    assert failure.text.startswith("expired_suppressions: ")


def test_junit_is_red_where_what_blocks_is_not_shown(monkeypatch):
    monkeypatch.setattr(junit, "SHOWN_CASES", 0)
    assert [tag for tag, _ in marks_of(calm_material())] == ["failure"]


def test_junit_says_used_and_allowed():
    properties = {item.attrib["name"]: item.attrib["value"]
                  for item in suites_of(calm_material())["fanfold.findings"].find("properties")}
    assert properties["cell critical on primary"] == "block: 1 finding, 3 occurrences, 1 of 0"


def test_sarif_results_carry_our_fingerprints_and_no_address_as_a_place():
    material = hostile_material()
    run = sarif_run(material)
    assert [result["partialFingerprints"] for result in run["results"]] == [
        {"fanfold/v1": finding.fingerprint} for finding in material.verdict.findings]
    uris = [place["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]
            for place in [*result["locations"], *result["relatedLocations"]]]
    assert uris and all(re.fullmatch(r"([A-Za-z0-9_][A-Za-z0-9._-]*/)*[0-9a-f]{12}\.html", uri) for uri in uris)


@pytest.mark.parametrize(("route", "start"), [
    ("https://e.test/..%2f..%2fetc/../passwd", "e.test/2f..-2fetc/passwd/"),
    ("https://e.test/a", "e.test/a/"), ("file:///etc/passwd", "file-etc-passwd/"), ("", ""),
    ("https://e.test/" + "y" * 3000, "e.test/" + "y" * 40 + "/")])
def test_sarif_paths_stay_inside(route, start):
    path = sarif.artifact_path(route)
    assert re.fullmatch(re.escape(start) + r"[0-9a-f]{12}\.html", path)
    assert not any(part in ("", ".", "..") for part in path.split("/"))


def test_sarif_paths_of_two_routes_differ_even_without_case():
    routes = ["https://e.test/A", "https://e.test/a", "https://e.test/a?x=1", "https://e.test/a as admin"]
    assert len({sarif.artifact_path(route).lower() for route in routes}) == len(routes)


def test_sarif_says_what_was_cut(monkeypatch):
    monkeypatch.setattr(sarif, "SHOWN_RESULTS", 2)
    material = calm_material()
    run = sarif_run(material)
    assert [result["partialFingerprints"]["fanfold/v1"] for result in run["results"]] == [
        finding.fingerprint for finding in material.verdict.findings[:2]]
    assert run["properties"]["cutFindingCount"] == 2
    assert "2 findings of 4 left out" in run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]


def test_sarif_cuts_by_size(monkeypatch):
    monkeypatch.setattr(sarif, "SHOWN_BYTES", 3000)
    run = sarif_run(calm_material())
    assert 0 < len(run["results"]) < 4 and run["properties"]["cutFindingCount"] == 4 - len(run["results"])


def test_sarif_of_an_incomplete_run_is_no_success():
    invocation = sarif_run(interrupted_material())["invocations"][0]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    assert invocation["toolExecutionNotifications"][0]["level"] == "error"
    assert invocation["toolExecutionNotifications"][0]["message"]["text"].startswith("INCOMPLETE (INTERRUPTED")


def test_sarif_tells_suppressed_and_reviewed_apart():
    told = {result["ruleId"]: (result["kind"], result["level"], [one["justification"] for one in
                               result.get("suppressions", [])]) for result in sarif_run(calm_material())["results"]
            if result["ruleId"] != "color-contrast"}
    assert told == {"image-alt": ("fail", "error", []), "region": ("fail", "warning", ["redesign (web, W-1)"])}


def test_no_cell_of_a_csv_starts_a_formula():
    files = csv_table.csv_files(hostile_material())
    cells = [cell for data in files.values() for row in rows_of(data) for cell in row.values()]
    assert not [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@", "\t", "\r", "|"))]
    assert "'=HYPERLINK(\"http://evil.test\",\"x\")" in cells


def test_csv_has_every_text_in_utf8():
    files = csv_table.csv_files(hostile_material())
    texts = {row["example_html"] for row in rows_of(files["findings.csv"])}
    assert "Ünïcødé 漢字 🚀" in texts
    assert files["findings.csv"].startswith(b"\xef\xbb\xbf")


def test_a_large_csv_comes_in_parts_that_hold_every_route_once(monkeypatch):
    monkeypatch.setattr(csv_table, "PART_BYTES", 300)
    material = calm_material()
    files = csv_table.csv_files(material)
    parts = [name for name in files if name.startswith("routes")]
    assert parts[:2] == ["routes.csv", "routes-2.csv"]
    assert [row["route"] for name in parts for row in rows_of(files[name])] == [row.route for row in material.outcomes]


@pytest.mark.parametrize("make", MATERIALS)
def test_markdown_starts_with_the_verdict(make):
    material = make()
    first = render_report(material)["summary.md"].decode().splitlines()[0]
    assert first.startswith(f"# {material.verdict.kind.value.upper()}")


def test_markdown_is_inert():
    text = render_report(hostile_material())["summary.md"].decode()
    assert not re.search(r"<(script|img|svg)|!\[|\]\(|https?://|(?<!\\)\*evil|@everyone", text)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    pipes = {line.replace("\\|", "").count("|") for line in tables if "sign" in line or "wrong" in line}
    assert pipes <= {3, 5}


@pytest.mark.parametrize("make", MATERIALS)
def test_all_formats_count_alike(make):
    material = make()
    verdict = material.verdict
    files = render_report(material)
    suites = {suite.attrib["name"]: suite.attrib for suite in ET.fromstring(files["junit.xml"])}
    run = json.loads(files["results.sarif"])["runs"][0]
    findings = rows_of(files["findings.csv"])
    routes = rows_of(files["routes.csv"])
    markdown = files["summary.md"].decode()
    page = files["index.html"].decode()
    blocking = sum(finding.decision is Decision.BLOCK for finding in verdict.findings)
    occurrences = sum(finding.occurrence_count for finding in verdict.findings)
    assert verdict.finding_count == len(verdict.findings)
    assert verdict.occurrence_count == occurrences
    assert int(suites["fanfold.findings"]["tests"]) == verdict.finding_count
    assert int(suites["fanfold.findings"]["failures"]) == blocking
    owed = len(owed_routes(material))
    is_incomplete = verdict.exit_code == 2
    assert int(suites["fanfold.coverage"]["errors"]) == owed + is_incomplete
    assert len(run["results"]) == verdict.finding_count
    assert sum(result["occurrenceCount"] for result in run["results"]) == occurrences
    assert Counter(result["properties"]["decision"] for result in run["results"]) == verdict.decisions
    assert [row["fingerprint"] for row in findings] == [finding.fingerprint for finding in verdict.findings]
    assert sum(int(row["occurrence_count"]) for row in findings) == occurrences
    assert Counter(row["outcome"] for row in routes) == verdict.coverage.by_outcome
    assert f"{plural(verdict.finding_count, 'finding')}, {plural(occurrences, 'occurrence')}, " in markdown
    assert f">{verdict.finding_count}</dd>" in page and f" ({plural(occurrences, 'occurrence')})" in page
    assert f"<dd>{blocking}</dd>" in page


def test_settings_are_said_as_they_are_written():
    page = render_report(calm_material())["settings.html"].decode()
    assert '<th scope="row">scan.rules</th><td class="code"><code>target-size: true</code></td>' in page
    assert '<th scope="row">scan.verify_tls</th><td class="code"><code>true</code></td>' in page
    assert ('<th scope="row">suppressions 1</th><td class="code"><code>rule: region, route: glob:/, reason: redesign, '
            "owner: web, ticket: W-1, expires: 2027-01-31, is_expired: false, applied_count: 1</code></td>") in page
    main = page[page.index("<main"):]
    assert [word for word in ("&#39;", ">True<", ">None<") if word in main] == []


def test_names_are_fixed_words_and_numbers():
    names = list(render_report(hostile_material()))
    assert len({name.lower() for name in names}) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*(-\d+)?\.(html|csv|xml|sarif|md)", name) for name in names)


def test_the_same_material_gives_the_same_bytes():
    assert render_report(calm_material()) == render_report(calm_material())


def test_nothing_of_a_page_can_break_utf8():
    material = calm_material()
    finding = replace(material.verdict.findings[0], example_html="\ud800 half", help="\udfff", example_target="\ud83d")
    broken = replace(material, verdict=replace(material.verdict, findings=(finding,)))
    for data in render_report(broken).values():
        data.decode("utf-8")


def test_a_large_run_keeps_every_file_small():
    """40 000 routes: what a browser, a mailbox and a host of results still take."""
    material = calm_material()
    row, finding = material.outcomes[0], material.verdict.findings[0]
    routes = [f"https://www.long-name-of-a-site.test/section-{n % 40}/page-{n:05d}?q=%C3%BC" for n in range(40_000)]
    outcomes = tuple(replace(row, route=route, owner=f"team {n % 30}") for n, route in enumerate(routes))
    findings = tuple(
        replace(finding, fingerprint=f"{n:016x}", routes=tuple(routes[n * 20:n * 20 + 60]), route_count=60,
                example_html="<p class=\"&\">" * 70, failure_summary="Fix <any> of & these\n" * 20)
        for n in range(600))
    files = render_report(replace(material, outcomes=outcomes, verdict=replace(material.verdict, findings=findings)))
    assert {name: len(data) for name, data in files.items() if len(data) > 5_000_000} == {}
    assert len(files["index.html"]) < 2_000_000
    listed = [route for name in sorted(files) if re.fullmatch(r"routes(-\d+)?\.html", name)
              for route in re.findall(r'\["(https://[^"]+)"', files[name].decode().partition("application/json")[2])]
    assert set(listed) == set(routes)
    assert len(listed) == len(routes)
