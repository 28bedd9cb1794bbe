"""Judge every sighting by its cell of the policy, and fold the judgements into one decision per finding.

Here: impact by journey, limits, what the baseline and the suppressions change. Not here: coverage, comparing with the
baseline (`regression`), matching suppressions (`suppressions`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from operator import attrgetter

from schemas.cells import IMPACT_ROWS, JOURNEYS, Cell, CellAction
from schemas.counts import CellCount
from schemas.finding import UNKNOWN_IMPACT, Decision, Finding, Sighting, Standing, impact_rank
from schemas.gate_input import GateInput
from schemas.policy import Policy
from schemas.route import Journey
from schemas.suppression import Suppression
from tasks.gate.regression import LEAST_RANK, Change, Spot
from tasks.gate.suppressions import Suppressed, key_of

FindingKey = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Judged:
    """One sighting with all that was decided on it.

    Attributes:
        cell_name, cell: what judged it; `kind` says by which part of the policy.
        open_count: occurrences that no suppression covers; new_count: of those, new against the baseline.
        is_regression: new, of the standard, moderate or worse, on a route that the baseline knows as clean.
        decision: what the cell or the regression says; `within_limits` lowers it.
    """

    sighting: Sighting
    journey: str
    kind: str
    cell_name: str
    cell: Cell
    open_count: int
    new_count: int
    standing: Standing | None
    is_regression: bool
    decision: Decision

    @property
    def key(self) -> FindingKey:
        return (self.sighting.fingerprint, self.sighting.is_violation)


def judge_sightings(
    given: GateInput, changes: Mapping[Spot, Change] | None, clean: frozenset[str], suppressed: Suppressed
) -> list[Judged]:
    """Judge every sighting.

    Where a spot has occurrences of several impacts, those of the highest count as the new ones. Suppressed
    occurrences are taken to be known ones first: a new fault never hides behind a suppressed old one.
    """
    policy = given.policy
    rows = {row.task_id: (row.route, row.journey) for row in given.converged.outcomes}
    tags = {finding.rule: finding.tags for finding in given.converged.findings}
    tags |= {info.rule: info.tags for info in given.plan.header.engine.rules}
    overrides = lru_cache(maxsize=None)(partial(policy.matching_overrides, is_case_folded=given.is_case_folded))
    cells = lru_cache(maxsize=None)(policy.cell_for)
    left = {spot: change.new_count for spot, change in (changes or {}).items()}
    judged = []
    for sighting in sorted(given.converged.sightings, key=lambda s: (s.order[:3], -impact_rank(s.impact))):
        route, journey = rows.get(sighting.task_id, ("", Journey.PRIMARY.value))
        kind = policy.kind_of(tags[sighting.rule], is_violation=sighting.is_violation)
        name, cell = cells(kind, sighting.rule, sighting.impact, journey, overrides(route))
        spot = (sighting.fingerprint, sighting.is_violation, sighting.task_id)
        new = min(left.get(spot, 0), sighting.count)
        left[spot] = left.get(spot, 0) - new
        open_count = sighting.count - suppressed.by_sighting[key_of(sighting)]
        standing = None if changes is None else changes[spot].standing if new else Standing.CARRIED
        is_regression = (
            standing is Standing.NEW and open_count > 0 and sighting.task_id in clean and _weighs(kind, sighting)
            and policy.regression == "block" and cell.action is not CellAction.IGNORE)
        judged.append(Judged(
            sighting=sighting, journey=journey, kind=kind, cell_name=name, cell=cell, open_count=open_count,
            new_count=min(new, open_count), standing=standing, is_regression=is_regression,
            decision=Decision.BLOCK if is_regression else _decide(cell, open_count, standing)))
    return judged


def _weighs(kind: str, sighting: Sighting) -> bool:
    return kind == "violation" and impact_rank(sighting.impact) >= LEAST_RANK


def _decide(cell: Cell, open_count: int, standing: Standing | None) -> Decision:
    if open_count == 0 or cell.action is CellAction.IGNORE:
        return Decision.IGNORE
    blocks = cell.action is CellAction.BLOCK or (
        cell.action is CellAction.BLOCK_NEW and standing in (None, Standing.NEW))
    return Decision.BLOCK if blocks else Decision.WARN


def within_limits(judged: Sequence[Judged]) -> list[Judged]:
    """Lower to a warning what blocks in a cell that lets so many findings pass; a regression is within no limit."""
    blocking = count_blocking(judged)
    return [replace(item, decision=Decision.WARN)
            if item.decision is Decision.BLOCK and not item.is_regression
            and blocking[item.cell_name] <= item.cell.allowed else item for item in judged]


def count_blocking(judged: Iterable[Judged]) -> dict[str, int]:
    """Count the findings that use up the limit of each cell."""
    keys: dict[str, set[FindingKey]] = defaultdict(set)
    for item in judged:
        if item.decision is Decision.BLOCK and item.cell.action.can_block:
            keys[item.cell_name].add(item.key)
    return defaultdict(int, {name: len(found) for name, found in keys.items()})


def count_cells(policy: Policy, judged: Sequence[Judged], blocking: Mapping[str, int]) -> tuple[CellCount, ...]:
    """Count what every cell met: all cells of the standard, and others, of all journeys, where there is anything.

    Args:
        policy: for cells that met nothing. judged: every sighting. blocking: findings against each cell's limit.
    """
    met: dict[tuple[str, str, str], list[Judged]] = defaultdict(list)
    for item in judged:
        if item.open_count:
            met[item.cell_name, item.kind, item.journey].append(item)
    cells = {key: (max((item.sighting.impact for item in items), key=impact_rank) or UNKNOWN_IMPACT, items[0].cell)
             for key, items in met.items()}
    for (name, kind, journey), items in met.items():
        for beside, other, cell in _cells_beside(policy, name, journey, items[0]):
            cells.setdefault((beside, kind, other), (cells[name, kind, journey][0], cell))
    for impact in IMPACT_ROWS:
        for journey in JOURNEYS:
            name, cell = policy.cell_for("violation", "", impact, journey)
            cells[name, "violation", journey] = (impact, cell)
    return tuple(
        CellCount(
            name=name, kind=kind, impact=impact, journey=journey, action=cell.action.value,
            finding_count=len({item.key for item in met[name, kind, journey]}),
            occurrence_count=sum(item.open_count for item in met[name, kind, journey]),
            blocking_count=blocking.get(name, 0), allowed=cell.allowed if cell.action.can_block else None)
        for (name, kind, journey), (impact, cell) in sorted(cells.items(), key=lambda entry: entry[0]))


def _cells_beside(policy: Policy, name: str, journey: str, item: Judged) -> Iterable[tuple[str, str, Cell]]:
    """Return the cells of one row of the policy on all journeys: name, journey, cell."""
    for other in JOURNEYS:
        beside, cell = policy.cell_for(item.kind, item.sighting.rule, item.sighting.impact, other)
        if beside == name.replace(f" on {journey}", f" on {other}"):
            yield beside, other, cell


def fill_findings(given: GateInput, judged: Sequence[Judged], suppressed: Suppressed) -> tuple[Finding, ...]:
    """Write decision, standing and suppression into the findings: the strongest of their sightings, worst first."""
    groups: dict[FindingKey, list[Judged]] = defaultdict(list)
    for item in judged:
        groups[item.key].append(item)
    routes = {row.task_id: str(row.key) for row in given.plan.routes} if suppressed.entries else {}
    filled = []
    for finding in given.converged.findings:
        items = groups[finding.fingerprint, finding.is_violation]
        entries = suppressing(given, items, suppressed)
        is_open = {item.sighting.task_id for item in items if item.open_count}
        filled.append(replace(
            finding, decision=max((item.decision for item in items), key=attrgetter("rank"), default=Decision.WARN),
            standing=_strongest(items), suppressed_by="; ".join(entry.by for entry in entries) or None,
            suppressed_until=min((entry.expires for entry in entries), default=None),
            suppressed_count=sum(item.sighting.count - item.open_count for item in items),
            suppressed_routes=tuple(sorted({routes[item.sighting.task_id] for item in items
                                            if item.sighting.task_id not in is_open}))))
    return tuple(sorted(filled, key=attrgetter("order")))


def suppressing(given: GateInput, items: Iterable[Judged], suppressed: Suppressed) -> list[Suppression]:
    """Return the suppressions that cover occurrences of sightings, in the order of their file."""
    indexes = {index for item in items for index in suppressed.entries.get(key_of(item.sighting), ())}
    return [given.suppressions[index] for index in sorted(indexes)]


def _strongest(items: Sequence[Judged]) -> Standing | None:
    standings = {item.standing for item in items}
    return next((standing for standing in (Standing.NEW, Standing.NEW_RULE, Standing.CARRIED)
                 if standing in standings), None)
