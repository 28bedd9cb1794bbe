"""The lists of a report: findings, needs review, routes, owners, shards, suppressions, quarantine, dead letters, runs.

Here: which columns and rows. Not here: how a list works (`listing.py`) or looks.
"""

from collections.abc import Callable, Iterable

from schemas.finding import UNKNOWN_IMPACT, Finding
from schemas.report_material import ReportMaterial
from schemas.verdict import Verdict
from tasks.report.facts import NO_OWNER, owner_shares, shard_facts
from tasks.report.inert import cut_text
from tasks.report.listing import Anchor, Cell, CellKind, Column, Listing

IMPACT_ORDER = ("critical", "serious", UNKNOWN_IMPACT, "moderate", "minor")
TARGET_CHARACTERS = 100
LISTED_CRITERIA = 6
OWNERS_CHARACTERS = 60
SECONDS = 1000
OWED = "Routes owed: not settled, and not accepted by the policy."
NUMBER, CODE, ADDRESS, ANCHOR = CellKind.NUMBER, CellKind.CODE, CellKind.ADDRESS, CellKind.ANCHOR
Place = Callable[[Finding], str | None]


def list_findings(material: ReportMaterial, place: Place, *, is_violation: bool) -> Listing:
    """List violations, or what needs review, worst first.

    Args:
        place: where the details of a finding are; None where they were cut.
    """
    findings = [finding for finding in material.verdict.findings if finding.is_violation is is_violation]
    columns = (
        Column("Impact", is_facet=True, order=IMPACT_ORDER), Column("Rule", ANCHOR), Column("Decision", is_facet=True),
        Column("Baseline", is_facet=True), Column("Journey", is_facet=True), Column("Routes", NUMBER),
        Column("Occurrences", NUMBER), Column("Suppressed", NUMBER), Column("Criteria"), Column("Owners"),
        Column("First on", ADDRESS), Column("Selector", CODE))
    name, title = ("findings", "Findings") if is_violation else ("review", "Needs review")
    intro = ("Violations of all routes, one row for each fault however many routes have it. Worst first."
             if is_violation else "What the engine could not decide alone: a person has to look.")
    return Listing(name, title, columns, [_finding_row(finding, place(finding)) for finding in findings], intro,
                   "No violation was found on the routes that were scanned." if is_violation
                   else "Nothing needs review on the routes that were scanned.")


def _finding_row(finding: Finding, href: str | None) -> tuple[Cell, ...]:
    decision = finding.decision.value if finding.decision else ""
    if finding.suppression:
        decision += ", suppressed" if finding.suppression == "suppressed" else ", partly suppressed"
    return (
        finding.impact or UNKNOWN_IMPACT, Anchor(finding.rule, href or ""), decision,
        finding.standing.value.replace("_", " ") if finding.standing else "", finding.journey, finding.route_count,
        finding.occurrence_count, finding.suppressed_count or None, ", ".join(finding.criteria[:LISTED_CRITERIA]),
        cut_text(", ".join(finding.owners), OWNERS_CHARACTERS), finding.example_route,
        cut_text(finding.example_target, TARGET_CHARACTERS))


def list_routes(material: ReportMaterial) -> Listing:
    """List every planned route with its outcome."""
    columns = (
        Column("Route", ADDRESS), Column("Profile", is_facet=True), Column("Outcome", is_facet=True),
        Column("Reason", is_facet=True), Column("Journey", is_facet=True), Column("Owner", is_facet=True),
        Column("Shard", NUMBER), Column("Scan ms", NUMBER), Column("Violations", NUMBER),
        Column("Needs review", NUMBER))
    rows: list[tuple[Cell, ...]] = [
        (row.route, row.auth or "", row.outcome.value, row.reason, row.journey, row.owner or NO_OWNER,
         row.shard_index, row.scan_ms, row.violation_count if row.outcome.was_scanned else None,
         row.needs_review_count if row.outcome.was_scanned else None)
        for row in material.outcomes]
    return Listing("routes", "Routes", columns, rows, "Every route of the plan in exactly one outcome. Counts are of "
                   "occurrences; a route that was not scanned has none, which does not mean that it is clean.",
                   "The plan has no routes.")


def list_dead_letters(material: ReportMaterial) -> Listing:
    """List the routes that have no scan, and how to fix each."""
    columns = (
        Column("Route", ADDRESS), Column("Outcome", is_facet=True), Column("Reason", is_facet=True),
        Column("How to fix"), Column("Detail"), Column("Status", NUMBER), Column("Final address", ADDRESS),
        Column("Owner", is_facet=True), Column("Shard", NUMBER), Column("Accepted", is_facet=True))
    rows: list[tuple[Cell, ...]] = [
        (letter.route if letter.auth is None else f"{letter.route} as {letter.auth}", letter.outcome.value,
         letter.reason, letter.how_to_fix or "", cut_text(letter.detail or "", 300), letter.status,
         letter.final_url or "", letter.owner or NO_OWNER, letter.shard_index,
         "accepted" if letter.is_accepted else "owed") for letter in material.dead_letters]
    return Listing("dead-letters", "Dead letters", columns, rows, "Routes that are owed a scan. `fanfold resume` scans "
                   "them and nothing else; replay.json is a manifest of them.", "Every route was settled.")


def list_owners(material: ReportMaterial) -> Listing:
    """List owners with what is open on their routes."""
    columns = (Column("Owner"), *(Column(label, NUMBER) for label in (
        "Routes", "Routes owed", "Open findings", "Blocking findings", "Violations on routes")))
    rows: list[tuple[Cell, ...]] = [
        (share.owner, share.route_count, share.owed_count, share.finding_count, share.blocking_count,
         share.violation_count) for share in owner_shares(material)]
    return Listing("owners", "Owners", columns, rows, "A finding on routes of several owners counts for each "
                   f"who has a route where it is not suppressed. {OWED}",
                   "The plan has no routes.")


def list_shards(material: ReportMaterial) -> Listing:
    """List shards as planned and as they went."""
    columns = (Column("Shard", NUMBER), Column("Profile", is_facet=True), Column("Routes", NUMBER),
               Column("Routes owed", NUMBER), Column("Planned s", NUMBER), Column("Actual s", NUMBER),
               Column("Actual of planned %", NUMBER), Column("Attempt", NUMBER), Column("Ended by", is_facet=True))
    rows: list[tuple[Cell, ...]] = []
    for fact in shard_facts(material):
        actual = None if fact.actual_ms is None else round(fact.actual_ms / SECONDS)
        share = None if fact.actual_ms is None or not fact.planned_ms else round(100 * fact.actual_ms / fact.planned_ms)
        rows.append((fact.shard_index, fact.auth or "", fact.route_count, fact.owed_count,
                     round(fact.planned_ms / SECONDS), actual, share, fact.attempt, fact.ended_by))
    return Listing("shards", "Shards", columns, rows, "Planned: what the visits are thought to take together, "
                   f"divided by the routes that the shard works on at once. {OWED}", "The plan has no shards.")


def list_suppressions(material: ReportMaterial) -> Listing:
    """List agreements: who suppressed what, why, and until when."""
    columns = (Column("Rule"), Column("Routes", CODE), Column("Selector", CODE), Column("Reason"), Column("Owner"),
               Column("Ticket"), Column("Last day"), Column("In force", is_facet=True), Column("Occurrences", NUMBER))
    rows: list[tuple[Cell, ...]] = [
        (use.rule, use.route, use.selector or "", use.reason, use.owner, use.ticket or "", use.expires,
         "expired" if use.is_expired else "in force" if use.applied_count else "unused", use.applied_count)
        for use in material.verdict.suppressions]
    return Listing("suppressions", "Suppressions", columns, rows, "What does not block, by whose word, and until when. "
                   "Suppressed occurrences stay in the data.", "Nothing is suppressed.")


def list_quarantine(material: ReportMaterial) -> Listing:
    """List records and files that were set aside."""
    columns = (Column("Shard", NUMBER), Column("Kind", is_facet=True), Column("File", CODE), Column("Entry"),
               Column("Why"), Column("Record", CODE))
    rows: list[tuple[Cell, ...]] = [
        (item.shard_index, item.kind, item.file, item.entry or "", item.reason, cut_text(item.record or "", 300))
        for item in material.quarantined]
    return Listing("quarantine", "Quarantine", columns, rows, "Malformed or broken evidence: named, never counted.",
                   "No evidence was set aside.")


def list_trend(material: ReportMaterial) -> Listing:
    """List the runs of the estate that the store holds, newest first."""
    columns = (Column("Run"), Column("Planned at"), Column("Verdict", is_facet=True), Column("Scope", is_facet=True),
               *(Column(label, NUMBER) for label in ("Routes", "Covered", "Findings", "Blocking", "Occurrences",
                                                     "Suppressed")))
    return Listing("trend", "Runs", columns, [_run_row(verdict) for verdict in reversed(runs_of(material))],
                   "Runs of this estate in the store, newest first.", "This is the only run.")


def runs_of(material: ReportMaterial) -> list[Verdict]:
    """Return earlier verdicts and this one, oldest first."""
    return [*material.earlier_verdicts, material.verdict]


def _run_row(verdict: Verdict) -> tuple[Cell, ...]:
    known, coverage = verdict.provenance, verdict.coverage
    return (str(known.get("run_id", "")), str(known.get("planned_at", ""))[:19], verdict.kind.value,
            str(known.get("scope", "")), coverage.in_scope_count, coverage.covered_count, verdict.finding_count,
            verdict.decisions.get("block", 0), verdict.occurrence_count, verdict.suppressed_count)


def list_excluded(material: ReportMaterial) -> Listing:
    """List addresses that the manifest has and the plan leaves out."""
    rows: Iterable[tuple[Cell, ...]] = [(one.url, one.pattern) for one in material.plan.header.excluded]
    return Listing("excluded", "Excluded", (Column("Address", ADDRESS), Column("Pattern", is_facet=True)),
                   list(rows), "Addresses of the manifest that the settings keep audits off.", "None is excluded.")
