"""Compare sightings with the baseline: what is new, what is gone, and of what nothing can be said.

Here: counts by fingerprint and route; a fix and a fault never cancel. Not here: what a new fault does (`cells`),
writing a baseline (`baseline`).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from schemas.baseline import Baseline
from schemas.converged import is_untested
from schemas.counts import Regression
from schemas.finding import IMPACT_RANK, Standing, impact_rank
from schemas.gate_input import GateInput
from schemas.outcome import OutcomeKind
from schemas.verdict import SHOWN_EXAMPLES
from tasks.gate.exclusions import newly_left_out

Spot = tuple[str, bool, str]  # fingerprint, is_violation, task_id
LEAST_RANK = IMPACT_RANK["moderate"]


@dataclass(frozen=True, slots=True)
class Change:
    """How one finding on one route differs from the baseline; counts are occurrences."""

    spot: Spot
    rule: str
    new_count: int = 0
    carried_count: int = 0
    fixed_count: int = 0
    unverified_count: int = 0
    gone_count: int = 0
    is_new_rule: bool = False

    @property
    def standing(self) -> Standing:
        """Where the finding stands as far as it is still there."""
        if self.new_count == 0:
            return Standing.CARRIED
        return Standing.NEW_RULE if self.is_new_rule else Standing.NEW


def compare_with_baseline(given: GateInput, baseline: Baseline) -> dict[Spot, Change]:
    """Compare every finding on every route, of the run and of the baseline, by count.

    A fault counts as fixed only where this run scanned the route wholly with the rule on, and left nothing out that the
    baseline has tested; else it is unverified. What belonged to a route that left the manifest is gone.
    """
    counts: Counter[Spot] = Counter()
    rules: dict[Spot, str] = {}
    for sighting in given.converged.sightings:
        spot = (sighting.fingerprint, sighting.is_violation, sighting.task_id)
        counts[spot] += sighting.count
        rules[spot] = sighting.rule
    known = {(finding.fingerprint, finding.is_violation, task_id): count
             for finding in baseline.findings for task_id, count in finding.routes.items()}
    rules |= {(finding.fingerprint, finding.is_violation, task_id): finding.rule
              for finding in baseline.findings for task_id in finding.routes}
    planned = {row.task_id for row in given.plan.routes}
    whole = whole_routes(given).keys() - newly_left_out(given, baseline)
    are_on = {info.rule for info in given.plan.header.engine.rules if info.is_on}
    changes = {}
    for spot, rule in rules.items():
        before, now = known.get(spot, 0), counts[spot]
        lost = max(before - now, 0)
        is_verified = spot[2] in whole and rule in are_on
        is_gone = spot[2] not in planned
        changes[spot] = Change(
            spot, rule, new_count=max(now - before, 0), carried_count=min(before, now),
            fixed_count=lost if is_verified else 0, gone_count=lost if is_gone else 0,
            unverified_count=0 if is_verified or is_gone else lost, is_new_rule=rule not in baseline.rules)
    return changes


def whole_routes(given: GateInput) -> dict[str, str]:
    """Return the routes that this run scanned wholly, `task_id` to address."""
    return {row.task_id: row.route for row in given.converged.outcomes
            if row.outcome is OutcomeKind.SCANNED and not is_untested(row)}


def clean_routes(given: GateInput, baseline: Baseline) -> frozenset[str]:
    """Return the routes that the baseline knows as clean: scanned wholly, no violation of the standard that weighs."""
    tags = {info.rule: info.tags for info in given.plan.header.engine.rules}
    dirty = {task_id for finding in baseline.findings if finding.is_violation
             and given.policy.kind_of(tags.get(finding.rule, ()), is_violation=True) == "violation"
             and impact_rank(finding.impact) >= LEAST_RANK for task_id in finding.routes}
    return frozenset(baseline.scanned) - dirty


def sum_changes(
    changes: Mapping[Spot, Change], given: GateInput, baseline: Baseline, new_on_clean_count: int
) -> Regression:
    """Add up the changes for the verdict."""
    planned = {row.task_id for row in given.plan.routes}
    before = set(baseline.scanned) | {task_id for finding in baseline.findings for task_id in finding.routes}
    gone = sorted(baseline.scanned.get(task_id, task_id) for task_id in before - planned)
    return Regression(
        new_count=sum(c.new_count for c in changes.values() if not c.is_new_rule),
        new_on_clean_count=new_on_clean_count, fixed_count=sum(c.fixed_count for c in changes.values()),
        carried_count=sum(c.carried_count for c in changes.values()),
        unverified_count=sum(c.unverified_count for c in changes.values()),
        gone_count=sum(c.gone_count for c in changes.values()),
        new_rule_count=sum(c.new_count for c in changes.values() if c.is_new_rule),
        gone_route_count=len(gone), gone_routes=tuple(gone[:SHOWN_EXAMPLES]),
        baseline_run_id=baseline.run_id, baseline_date=baseline.date)
