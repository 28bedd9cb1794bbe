"""The verdict as JUnit XML, for CI systems that show tests.

Here: which case is what. A route without a scan is an error where it makes the run incomplete, skipped where the policy
lets it pass, and never a test that passed. A finding is a failure where it blocks, else skipped. `verdict` fails
whatever it is that blocks: a finding, one beyond those shown, an expired suppression. So a CI system that counts
failures and errors says what the exit code says. Not here: the whole data.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemas.finding import Decision, Finding
from schemas.outcome import Outcome
from schemas.plural import plural
from schemas.report_material import ReportMaterial
from schemas.verdict import Reason, VerdictKind, Weight
from tasks.report.facts import owed_routes
from tasks.report.inert import cut_text, xml_text

SHOWN_CASES = 2_000  # of each suite: CI systems choke on more, and the file stays under 5 MB
LISTED_ROUTES = 200
MESSAGE_CHARACTERS = 400
TEXT_CHARACTERS = 1_200


@dataclass(frozen=True, slots=True)
class Case:
    """One test case; `tag` is `error`, `failure`, `skipped` or empty for a pass."""

    name: str
    class_name: str
    tag: str = ""
    type: str = ""
    message: str = ""
    text: str = ""
    seconds: float = 0.0


def junit_xml(material: ReportMaterial) -> bytes:
    """Return `junit.xml`: well-formed whatever the pages said, valid against Apache Ant's schema."""
    root = ET.Element("testsuites")
    verdict, owed = material.verdict, owed_routes(material)
    findings = verdict.findings
    is_incomplete = verdict.kind is VerdictKind.INCOMPLETE
    suites = (
        ("coverage", [_coverage_case(material, owed),
                      *(_route_case(row, is_incomplete) for row in owed[:SHOWN_CASES])], len(owed)),
        ("findings", [_finding_case(finding, verdict.is_report_only) for finding in findings[:SHOWN_CASES]],
         len(findings)),
        ("verdict", [_verdict_case(material)], 1),
    )
    for number, (name, cases, whole) in enumerate(suites):
        root.append(_suite(number, name, cases, material, _cut_note(name, whole)))
    ET.indent(root, " ")
    text = ET.tostring(root, "unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _cut_note(name: str, whole: int) -> str:
    if whole <= SHOWN_CASES:
        return ""
    return f"{name}: the first {SHOWN_CASES} of {whole} are shown; all are in the report"


def _suite(number: int, name: str, cases: Sequence[Case], material: ReportMaterial, note: str) -> "ET.Element[str]":
    counts = {tag: sum(case.tag == tag for case in cases) for tag in ("error", "failure", "skipped")}
    suite = ET.Element("testsuite", {
        "name": f"fanfold.{name}", "package": "fanfold", "id": str(number),
        "timestamp": material.plan.header.created_at[:19], "hostname": "localhost", "tests": str(len(cases)),
        "failures": str(counts["failure"]), "errors": str(counts["error"]), "skipped": str(counts["skipped"]),
        "time": f"{sum(case.seconds for case in cases):.3f}"})
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(material):
        ET.SubElement(properties, "property", name=xml_text(key), value=xml_text(value))
    suite.extend(map(_case, cases))
    ET.SubElement(suite, "system-out").text = xml_text("\n".join(filter(None, (material.first_line, note))))
    ET.SubElement(suite, "system-err").text = ""
    return suite


def _properties(material: ReportMaterial) -> Iterator[tuple[str, str]]:
    verdict, header = material.verdict, material.plan.header
    yield "verdict", verdict.kind.value
    yield "estate", header.estate
    yield "run_id", header.run_id
    yield "scope", header.scope
    yield "finding_count", str(verdict.finding_count)
    yield "occurrence_count", str(verdict.occurrence_count)
    yield "covered_count", f"{verdict.coverage.covered_count} of {verdict.coverage.in_scope_count}"
    for cell in verdict.cells:
        yield f"cell {cell.name}", (f"{cell.action}: {plural(cell.finding_count, 'finding')}, "
                                    f"{plural(cell.occurrence_count, 'occurrence')}, {cell.text}")


def _case(case: Case) -> "ET.Element[str]":
    element = ET.Element("testcase", name=_name(case.name), classname=_name(case.class_name),
                         time=f"{case.seconds:.3f}")
    if case.tag:
        given = {"message": xml_text(cut_text(case.message, MESSAGE_CHARACTERS))}
        if case.tag != "skipped":
            given["type"] = case.type
        ET.SubElement(element, case.tag, given).text = xml_text(case.text)
    return element


def _name(text: str) -> str:
    return " ".join(xml_text(cut_text(text, MESSAGE_CHARACTERS)).split())


def _coverage_case(material: ReportMaterial, owed: Sequence[Outcome]) -> Case:
    """The case `coverage`: an error where the run is incomplete, with every reason and the routes that are owed."""
    verdict = material.verdict
    if verdict.kind is not VerdictKind.INCOMPLETE:
        return Case("coverage", "fanfold.coverage")
    reasons = _reasons(verdict.reasons, Weight.INCOMPLETE)
    routes = [f"{row.outcome.value} ({row.reason}): {cut_text(row.route, MESSAGE_CHARACTERS)}"
              for row in owed[:LISTED_ROUTES]]
    more = [f"… and {len(owed) - LISTED_ROUTES} more"] if len(owed) > LISTED_ROUTES else []
    return Case("coverage", "fanfold.coverage", "error", "incomplete", material.first_line,
                "\n".join([*reasons, *routes, *more]))


def _verdict_case(material: ReportMaterial) -> Case:
    """The case `verdict`: a failure where anything blocks, with every reason."""
    verdict = material.verdict
    if blocking := _reasons(verdict.reasons, Weight.BLOCK):
        return Case("verdict", "fanfold.verdict", "failure", "blocked", material.first_line, "\n".join(blocking))
    if would_block := _reasons(verdict.warnings, Weight.WOULD_BLOCK):
        return Case("verdict", "fanfold.verdict", "skipped", "", material.first_line, "\n".join(would_block))
    return Case("verdict", "fanfold.verdict")


def _reasons(reasons: Sequence[Reason], weight: Weight) -> list[str]:
    return [f"{reason.code}: {reason.text}" for reason in reasons if reason.decision is weight]


def _route_case(row: Outcome, is_incomplete: bool) -> Case:
    text = "\n".join(filter(None, (row.detail, row.how_to_fix, f"final address: {row.final_url}"
                                   if row.final_url else None)))
    name = row.route if row.auth is None else f"{row.route} as {row.auth}"
    return Case(name, "fanfold.coverage.route", "error" if is_incomplete else "skipped", row.outcome.value,
                f"{row.outcome.value}: {row.reason}", cut_text(text, TEXT_CHARACTERS), row.burned_ms / 1000)


def _finding_case(finding: Finding, is_report_only: bool) -> Case:
    kind = "violation" if finding.is_violation else "needs review"
    message = (f"{finding.impact or 'unknown'} {kind}: {finding.help} "
               f"({plural(finding.route_count, 'route')}, {plural(finding.occurrence_count, 'occurrence')})")
    text = "\n".join(filter(None, (
        f"first on {finding.example_route}", f"target: {finding.example_target}", finding.example_html,
        finding.failure_summary, f"{finding.suppression}: {finding.suppressed_by}" if finding.suppression else None,
        finding.help_url)))
    is_blocking = finding.decision is Decision.BLOCK and not is_report_only
    decision = finding.decision.value if finding.decision else "not judged"
    decision = "would block" if finding.decision is Decision.BLOCK else decision
    return Case(f"{finding.rule} {finding.fingerprint}{'' if finding.is_violation else ' (needs review)'}",
                f"fanfold.findings.{finding.rule}", "failure" if is_blocking else "skipped",
                finding.impact or "unknown", message if is_blocking else f"{decision}: {message}",
                cut_text(text, TEXT_CHARACTERS))
