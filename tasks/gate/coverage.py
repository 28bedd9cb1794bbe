"""Find the holes in a run's coverage, and count what happened to its routes.

Here: which routes are not covered, and which of them the policy accepts. Not here: what a hole does to the verdict
(`routes`), whether all shards used one engine (`builds`).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from schemas.converged import is_owed
from schemas.counts import SHOWN_GROUPS, Coverage, GroupCoverage
from schemas.coverage_rules import Accepted
from schemas.gate_input import GateInput
from schemas.outcome import Outcome, OutcomeKind

NEVER_MADE = (OutcomeKind.MISSING, OutcomeKind.EXPIRED)


@dataclass(frozen=True, slots=True)
class Holes:
    """Routes in scope that are not covered, parted by what the policy says of them."""

    in_scope: tuple[Outcome, ...]
    accepted: tuple[tuple[Outcome, Accepted], ...]
    never_made: tuple[Outcome, ...]
    unsettled: tuple[Outcome, ...]
    untested: tuple[Outcome, ...]

    @property
    def rows(self) -> tuple[Outcome, ...]:
        return self.never_made + self.unsettled + self.untested


def find_holes(given: GateInput) -> Holes:
    """Part the routes in scope; only an entry in force accepts one, and never a route without an outcome."""
    in_scope = tuple(row for row in given.converged.outcomes if row.outcome is not OutcomeKind.CARRIED)
    owed = [row for row in in_scope if is_owed(row)]
    accepted = {row.task_id: entry for row in owed
                if (entry := given.policy.acceptance_of(row.route, row.outcome, given.now,
                                                        is_case_folded=given.is_case_folded)) is not None}
    rest = [row for row in owed if row.task_id not in accepted]
    return Holes(
        in_scope=in_scope, accepted=tuple((row, accepted[row.task_id]) for row in owed if row.task_id in accepted),
        never_made=tuple(row for row in rest if row.outcome in NEVER_MADE),
        unsettled=tuple(row for row in rest if not row.is_settled and row.outcome not in NEVER_MADE),
        untested=tuple(row for row in rest if row.is_settled))


def count_coverage(given: GateInput, holes: Holes) -> Coverage:
    """Count routes by what happened to them, and name the groups that are worst off."""
    outcomes = given.converged.outcomes
    return Coverage(
        planned_count=len(given.plan.routes), in_scope_count=len(holes.in_scope),
        covered_count=len(holes.in_scope) - len(holes.rows),
        scanned_count=sum(row.outcome.was_scanned for row in outcomes), accepted_count=len(holes.accepted),
        by_outcome=_sorted_counts(row.outcome.value for row in outcomes),
        by_reason=_sorted_counts(f"{row.outcome.value}/{row.reason}" for row in holes.rows),
        worst_groups=_worst_groups(holes))


def _sorted_counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _worst_groups(holes: Holes) -> tuple[GroupCoverage, ...]:
    planned = Counter(group for row in holes.in_scope for group in _groups_of(row))
    lacking = Counter(group for row in holes.rows for group in _groups_of(row))
    worst = sorted(lacking, key=lambda group: (-lacking[group], -lacking[group] / planned[group], group))
    return tuple(GroupCoverage(*group, planned[group], lacking[group]) for group in worst[:SHOWN_GROUPS])


def _groups_of(row: Outcome) -> tuple[tuple[str, str], ...]:
    parts = urlsplit(row.route)
    section = parts.path.split("/")[1] if "/" in parts.path else ""
    return (("host", parts.netloc), ("section", f"{parts.netloc}/{section}"), ("shard", f"{row.shard_index:04d}"))
