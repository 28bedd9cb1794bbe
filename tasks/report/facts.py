"""What a report says beyond the verdict: owed routes, repairs that pay most, owners, shards.

Here: sums over a run's records. Not here: judging (`tasks/gate/`), how it looks (`page.py`, the other formats).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from schemas.converged import is_owed
from schemas.finding import Decision, Finding
from schemas.outcome import Outcome
from schemas.report_material import ReportMaterial
from schemas.route import RouteKey
from schemas.verdict import CellCount

SHOWN_REPAIRS = 10
NO_OWNER = "(no owner)"


@dataclass(frozen=True, slots=True)
class Repair:
    """A finding and what its repair brings: `clean_count` routes have no other open violation."""

    finding: Finding
    clean_count: int


@dataclass(frozen=True, slots=True)
class OwnerShare:
    """What one owner has: routes, routes that are owed a scan, open and blocking findings on their routes."""

    owner: str
    route_count: int
    owed_count: int
    finding_count: int
    blocking_count: int
    violation_count: int


@dataclass(frozen=True, slots=True)
class ShardFact:
    """A shard as planned and as it went; `actual_ms` is None and `ended_by` says why where there is no receipt.

    `planned_ms` is time like `actual_ms`: the load of its visits over the routes that it worked on at once.
    """

    shard_index: int
    auth: str | None
    route_count: int
    owed_count: int
    planned_ms: int
    actual_ms: int | None
    attempt: int | None
    ended_by: str


@dataclass(frozen=True, slots=True)
class CellRow:
    """One row of the policy's table: the cells of one impact (or kind, or rule) by journey."""

    name: str
    by_journey: Mapping[str, CellCount]


def owed_routes(material: ReportMaterial) -> tuple[Outcome, ...]:
    """Return the routes that the run still owes a scan; accepted ones are known and not owed."""
    accepted = {letter.task_id for letter in material.dead_letters if letter.is_accepted}
    return tuple(row for row in material.outcomes
                 if is_owed(row) and not row.is_accepted and row.task_id not in accepted)


def open_findings(material: ReportMaterial) -> tuple[Finding, ...]:
    """Return violations that somebody must repair: not suppressed, not ignored."""
    return tuple(finding for finding in material.verdict.findings
                 if finding.is_violation and finding.decision is not Decision.IGNORE)


def best_repairs(material: ReportMaterial) -> tuple[Repair, ...]:
    """Return the findings whose repair makes most routes clean, best first; ties go to the wider, then the worse."""
    findings = open_findings(material)
    open_counts = Counter(route for finding in findings for route in finding.open_routes)
    repairs = [Repair(finding, sum(open_counts[route] == 1 for route in finding.open_routes)) for finding in findings]
    repairs.sort(key=lambda repair: (-repair.clean_count, -repair.finding.route_count, repair.finding.order))
    return tuple(repairs[:SHOWN_REPAIRS])


def owner_shares(material: ReportMaterial) -> tuple[OwnerShare, ...]:
    """Return what each owner has, most blocking findings first."""
    owner_of = {str(RouteKey(row.route, row.auth)): row.owner or NO_OWNER for row in material.outcomes}
    routes = Counter(owner_of.values())
    owed = Counter(row.owner or NO_OWNER for row in owed_routes(material))
    violations: Counter[str] = Counter()
    for row in material.outcomes:
        violations[row.owner or NO_OWNER] += row.violation_count
    found: defaultdict[str, int] = defaultdict(int)
    blocking: defaultdict[str, int] = defaultdict(int)
    for finding in open_findings(material):
        for owner in {owner_of[route] for route in finding.open_routes if route in owner_of}:
            found[owner] += 1
            blocking[owner] += finding.decision is Decision.BLOCK
    shares = [OwnerShare(owner, count, owed[owner], found[owner], blocking[owner], violations[owner])
              for owner, count in routes.items()]
    return tuple(sorted(shares, key=lambda share: (-share.blocking_count, -share.finding_count, share.owner)))


def shard_facts(material: ReportMaterial) -> tuple[ShardFact, ...]:
    """Return every shard as planned and as it went."""
    owed = Counter(row.shard_index for row in owed_routes(material))
    at_once: defaultdict[int, int] = defaultdict(int)
    for row in material.outcomes:
        at_once[row.shard_index] = max(at_once[row.shard_index], row.in_flight)
    usual = max(at_once.values(), default=0)
    facts = []
    for load in material.plan.header.shards:
        lane_count = max(1, min(load.route_count, at_once[load.shard_index] or usual))
        receipt = material.receipts.get(load.shard_index)
        facts.append(ShardFact(
            load.shard_index, load.auth, load.route_count, owed[load.shard_index],
            round(load.load_ms / lane_count),
            receipt.actual_ms if receipt else None, receipt.attempt if receipt else None,
            receipt.ended_by.value if receipt else "no receipt"))
    return tuple(facts)


def cell_rows(material: ReportMaterial) -> tuple[CellRow, ...]:
    """Return the policy's table with what each cell met, in the order of the verdict's worst first."""
    rows: dict[str, dict[str, CellCount]] = {}
    for cell in material.verdict.cells:
        rows.setdefault(cell.name.replace(f" on {cell.journey}", "", 1), {})[cell.journey] = cell
    worst_first = ("critical", "serious", "unknown", "moderate", "minor")
    rank = {name: place for place, name in enumerate(worst_first)}
    return tuple(CellRow(name, rows[name]) for name in sorted(rows, key=lambda n: (rank.get(n, len(rank)), n)))
