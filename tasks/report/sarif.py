"""Findings as SARIF 2.1.0: one run, one result per finding.

Here: the document within the limits of hosts that show it. A web page is no file of a repository: the location is a
relative made-up path for each route, and the address stands in message and properties. Not here: coverage in detail.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from schemas.finding import Decision, Finding
from schemas.plural import plural
from schemas.report_material import ReportMaterial
from schemas.verdict import VerdictKind, Weight
from tasks.report.inert import cut_text, plain_text, web_link

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
HOME = "https://github.com/dequelabs/axe-core"
SHOWN_RESULTS = 5_000  # hosts show no more of one run
SHOWN_BYTES = 4_500_000
SHOWN_LOCATIONS = 10
SHOWN_TAGS = 20
MESSAGE_CHARACTERS = 1_000
LEVELS = {"critical": "error", "serious": "error", "moderate": "warning", "minor": "note"}
FINGERPRINT = "fanfold/v1"
_PATH = re.compile(r"https?://([^/?#]*)([^?#]*)", re.IGNORECASE)
_NOT_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def sarif_json(material: ReportMaterial) -> bytes:
    """Return `results.sarif`; what was cut to keep hosts' limits is said in a notification and in the properties."""
    findings = material.verdict.findings
    results = _within_limits([_result(finding) for finding in findings[:SHOWN_RESULTS]])
    shown = findings[:len(results)]
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(material, shown, results)]}
    return (json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n").encode()


def artifact_path(route: str) -> str:
    """Return the made-up relative path of a route: readable, unique by its hash, never absolute or above the root."""
    digest = hashlib.sha256(route.encode("utf-8", "replace")).hexdigest()[:12]
    match = _PATH.match(route)
    words = [match[1], *match[2].split("/")] if match else [route]
    names = [name for word in words if (name := _NOT_NAME.sub("-", word).strip(".-")[:40])]
    return "/".join([*names[:4], f"{digest}.html"])


def _within_limits(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    size, kept = 0, []
    for result in results:
        size += len(json.dumps(result, ensure_ascii=False).encode("utf-8", "replace"))
        if size > SHOWN_BYTES:
            break
        kept.append(result)
    return kept


def _run(material: ReportMaterial, shown: Sequence[Finding], results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    header, verdict = material.plan.header, material.verdict
    cut = len(verdict.findings) - len(shown)
    used = {finding.rule: finding for finding in reversed(shown)}
    rules = [_rule(used[rule]) for rule in sorted(used)]
    index = {rule["id"]: place for place, rule in enumerate(rules)}
    return {
        "tool": {"driver": {"name": "fanfold", "semanticVersion": header.program_version, "informationUri": HOME,
                            "rules": rules}},
        "automationDetails": {"id": f"fanfold/{header.estate}/{header.run_id}"},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": verdict.kind is not VerdictKind.INCOMPLETE,
                         "exitCode": int(verdict.exit_code),
                         "toolExecutionNotifications": list(_notifications(material, cut))}],
        "results": [{**result, "ruleIndex": index[result["ruleId"]]} for result in results],
        "properties": {
            "verdict": verdict.kind.value, "findingCount": verdict.finding_count,
            "occurrenceCount": verdict.occurrence_count, "cutFindingCount": cut,
            "coveredRouteCount": verdict.coverage.covered_count, "routeCount": verdict.coverage.in_scope_count,
            "axeVersion": header.engine.version},
    }


def _notifications(material: ReportMaterial, cut: int) -> Iterable[dict[str, Any]]:
    is_whole = material.verdict.kind is not VerdictKind.INCOMPLETE
    yield _note(material.first_line, "note" if is_whole else "error")
    for reason in material.verdict.reasons:
        if reason.decision is Weight.INCOMPLETE:
            yield _note(f"{reason.code}: {reason.text}", "error")
    if cut:
        yield _note(f"{plural(cut, 'finding')} of {len(material.verdict.findings)} left out, the least grave ones: "
                    f"hosts show at most {SHOWN_RESULTS} results. All are in findings.parquet.", "warning")


def _note(text: str, level: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": plain_text(cut_text(text, MESSAGE_CHARACTERS))}}


def _rule(finding: Finding) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": finding.rule, "shortDescription": {"text": plain_text(finding.help or finding.rule)},
        "defaultConfiguration": {"level": _level(finding)},
        "properties": {"tags": sorted(set(finding.tags))[:SHOWN_TAGS]}}
    if web_link(finding.help_url):
        rule["helpUri"] = finding.help_url
        rule["help"] = {"text": plain_text(f"{finding.help}: {finding.help_url}")}
    return rule


def _level(finding: Finding) -> str:
    return LEVELS.get(finding.impact or "", "error")  # without an impact: as grave as `serious`


def _result(finding: Finding) -> dict[str, Any]:
    counts = f"{plural(finding.occurrence_count, 'occurrence')} on {plural(finding.route_count, 'route')}"
    text = (f"{finding.help} ({counts}). First on {finding.example_route} at {finding.example_target}. "
            f"{finding.failure_summary}")
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        # SARIF 2.1.0 §3.27.10: a result of another kind than `fail` has no level.
        "level": _level(finding) if finding.is_violation else "none",
        "kind": "fail" if finding.is_violation else "review",
        "message": {"text": plain_text(cut_text(text, MESSAGE_CHARACTERS))},
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        "locations": [_location(route, finding) for route in finding.routes[:1] or (finding.example_route,)],
        "relatedLocations": [{"id": number, **_location(route, finding)}
                             for number, route in enumerate(finding.routes[1:SHOWN_LOCATIONS], 1)],
        "occurrenceCount": max(1, finding.occurrence_count),
        "properties": {
            "fingerprint": finding.fingerprint, "decision": finding.decision.value if finding.decision else "none",
            "journey": finding.journey, "routeCount": finding.route_count, "criteria": list(finding.criteria),
            "owners": list(finding.owners[:SHOWN_TAGS]), "exampleRoute": plain_text(finding.example_route),
            "impact": finding.impact or "unknown"},
    }
    if finding.standing is not None:
        result["baselineState"] = "unchanged" if finding.standing == "carried" else "new"
    if finding.suppressed_by is not None and finding.decision is Decision.IGNORE:
        result["suppressions"] = [{"kind": "external", "justification": plain_text(finding.suppressed_by)}]
    return result


def _location(route: str, finding: Finding) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": artifact_path(route)}, "region": {"startLine": 1}},
        "logicalLocations": [{"fullyQualifiedName": plain_text(cut_text(f"{route} {finding.example_target}", 500))}],
        "properties": {"url": plain_text(cut_text(route, 500))},
    }
