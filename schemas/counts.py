"""What a verdict counts: coverage, cells of the policy, changes against the baseline, uses of suppressions.

Here: the records. Not here: the verdict that holds them (`schemas/verdict.py`), counting (`tasks/gate/`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

SHOWN_GROUPS = 10


@dataclass(frozen=True, slots=True)
class GroupCoverage:
    """How well one host, section (host and first path segment) or shard is covered."""

    kind: str
    name: str
    planned_count: int
    hole_count: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """Routes by what happened to them; `by_outcome` sums up to `planned_count`.

    Attributes:
        in_scope_count: planned routes without those that a delta run carries.
        covered_count: settled or accepted ones among them, without holes. by_reason: holes, as `outcome/reason`.
        worst_groups: at most `SHOWN_GROUPS`, most holes first.
    """

    planned_count: int
    in_scope_count: int
    covered_count: int
    scanned_count: int
    accepted_count: int
    by_outcome: Mapping[str, int]
    by_reason: Mapping[str, int]
    worst_groups: tuple[GroupCoverage, ...] = ()


@dataclass(frozen=True, slots=True)
class CellCount:
    """What one cell of the policy met.

    Attributes:
        name: which cell (`critical on primary`, `rule region on primary`).
        impact: `unknown` where the engine gives none. allowed: findings that do not block yet; None: no limit here.
        finding_count, occurrence_count: without what is suppressed; for `block_new`, new ones are counted apart.
    """

    name: str
    kind: str
    impact: str
    journey: str
    action: str
    finding_count: int
    occurrence_count: int
    blocking_count: int
    allowed: int | None = None

    @property
    def text(self) -> str:
        """Say used and allowed: `2 of 5`."""
        return str(self.finding_count) if self.allowed is None else f"{self.blocking_count} of {self.allowed}"


@dataclass(frozen=True, slots=True)
class Regression:
    """Occurrences against the baseline; totals inform, they never cancel.

    Attributes:
        new_count: more than the baseline has at that route. new_on_clean_count: of those, on routes that were clean.
        fixed_count: fewer, on routes fully scanned now with the rule on.
        carried_count: still there. unverified_count: in the baseline, not looked at by this run.
        gone_count: of routes that left the manifest, named in `gone_routes`.
        new_rule_count: of rules that the baseline's engine did not run.
    """

    new_count: int
    new_on_clean_count: int
    fixed_count: int
    carried_count: int
    unverified_count: int
    gone_count: int
    new_rule_count: int
    gone_route_count: int
    gone_routes: tuple[str, ...]
    baseline_run_id: str
    baseline_date: str


@dataclass(frozen=True, slots=True)
class SuppressionUse:
    """One suppression as written and what it did in this run."""

    rule: str
    route: str
    selector: str | None
    reason: str
    owner: str
    ticket: str | None
    expires: str
    is_expired: bool
    applied_count: int
