"""Answer for one route, rule by rule: why it blocks, or why not.

Here: the answer as rows. Not here: printing them (`flows/`). It repeats no judgement: it asks the parts of the gate.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from schemas.baseline import usable_baseline
from schemas.converged import is_owed
from schemas.errors import bad_input
from schemas.finding import Decision
from schemas.gate_input import GateInput
from schemas.outcome import Outcome
from schemas.route import RouteKey
from tasks.gate.builds import needed_rules
from tasks.gate.cells import Judged, judge_sightings, suppressing, within_limits
from tasks.gate.regression import clean_routes, compare_with_baseline
from tasks.gate.suppressions import Suppressed, apply_suppressions

NEAREST = 5


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """One rule on the route.

    Attributes:
        classes: how it came out (`violation 3`, `pass 12`), or `not run`.
        is_needed: the policy needs its result. decision: None where nothing was found.
        cell: which cell judged, with its action. text: the decision in words.
    """

    rule: str
    classes: str
    is_needed: bool
    occurrence_count: int
    cell: str
    decision: Decision | None
    text: str


@dataclass(frozen=True, slots=True)
class RouteExplanation:
    """What the gate thinks of a route: its coverage in one sentence, and every rule, what blocks first."""

    route: str
    journey: str
    coverage: str
    rules: tuple[RuleExplanation, ...]


def explain_route(given: GateInput, route: str) -> tuple[RouteExplanation, ...]:
    """Explain a route under every profile that sees it.

    Args:
        given: the run and what it is judged by.
        route: address (identity, fetched or another spelling), key as text, or `task_id`.

    Raises:
        ContractError: the plan has no such route, or the baseline cannot be compared with the run.
    """
    keys = {row.task_id for row in given.plan.routes
            if route in (row.task_id, row.route, row.url, str(row.key), *row.aliases)}
    rows = [row for row in given.converged.outcomes if row.task_id in keys]
    if not rows:
        near = [row.route for row in given.plan.routes if route in row.route][:NEAREST]
        raise bad_input("--explain", f"the plan has no route `{route}`", "an address of the manifest",
                        f"Near: {', '.join(near)}" if near else "")
    given = replace(given, baseline=usable_baseline(given.baseline, given.policy.baseline, given.plan.header))
    changes = compare_with_baseline(given, given.baseline) if given.baseline else None
    clean = clean_routes(given, given.baseline) if given.baseline else frozenset()
    judged: dict[str, list[Judged]] = defaultdict(list)
    suppressed = apply_suppressions(given)
    for item in within_limits(judge_sightings(given, changes, clean, suppressed)):
        judged[item.sighting.task_id].append(item)
    needed = needed_rules(given)
    say = partial(_said, given, suppressed)
    return tuple(RouteExplanation(
        route=str(RouteKey(row.route, row.auth)), journey=row.journey, coverage=_coverage(given, row),
        rules=_explain_rules(given, row, judged[row.task_id], needed, say)) for row in rows)


def _coverage(given: GateInput, row: Outcome) -> str:
    said = f"{row.outcome}, {row.reason}" + (f": {row.detail}" if row.detail else "")
    if not is_owed(row):
        return f"{said}. Covered."
    entry = given.policy.acceptance_of(row.route, row.outcome, given.now, is_case_folded=given.is_case_folded)
    if entry is not None:
        return f"{said}. Accepted until {entry.until}: {entry.reason} ({entry.owner})."
    return f"{said}. Not covered: the run is incomplete. {row.how_to_fix or ''}".rstrip()


def _explain_rules(
    given: GateInput, row: Outcome, items: Sequence[Judged], needed: frozenset[str], say: Callable[[Judged], str]
) -> tuple[RuleExplanation, ...]:
    results = given.converged.rule_results
    ran: dict[str, Counter[str]] = defaultdict(Counter)
    mine = results.filter(pc.equal(results["task_id"], pa.scalar(row.task_id))).select(
        ["rule", "rule_class", "node_count"])
    for result in mine.to_pylist():
        ran[result["rule"]][result["rule_class"]] += result["node_count"]
    by_rule: dict[str, list[Judged]] = defaultdict(list)
    for item in items:
        by_rule[item.sighting.rule].append(item)
    rules = [_explain(rule, ran.get(rule), rule in needed, by_rule.get(rule, []), say)
             for rule in {*ran, *by_rule, *needed}]
    return tuple(sorted(rules, key=lambda r: (-r.decision.rank if r.decision else 1, r.rule)))


def _explain(rule: str, classes: Counter[str] | None, is_needed: bool, items: Sequence[Judged],
             say: Callable[[Judged], str]) -> RuleExplanation:
    came_out = "not run" if classes is None else ", ".join(f"{name} {count}" for name, count in sorted(classes.items()))
    if not items:
        text = "nothing found"
        if classes is None:
            text = "not run: what was not run is not clean" if is_needed else "not run, and not needed"
        return RuleExplanation(rule, came_out, is_needed, 0, "", None, text)
    worst = max(items, key=lambda item: item.decision.rank)
    return RuleExplanation(
        rule, came_out, is_needed, sum(item.sighting.count for item in items),
        f"{worst.cell_name}: {worst.cell.action}", worst.decision, "; ".join(dict.fromkeys(map(say, items))))


def _said(given: GateInput, suppressed: Suppressed, item: Judged) -> str:
    """Say one sighting's judgement in words, and by whose word and until when it is suppressed."""
    finding = f"{item.sighting.fingerprint}: "
    agreed = "suppressed " + ", and ".join(f"until {entry.expires}: {entry.by}"
                                           for entry in suppressing(given, [item], suppressed))
    if item.open_count == 0:
        return finding + agreed
    parts = [f"{item.kind}, {item.sighting.impact or 'no impact'} on {item.journey}: {item.decision}"]
    if item.is_regression:
        parts.append("new on a route that was clean")
    elif item.cell.action.can_block and item.decision is Decision.WARN:
        parts.append("known to the baseline" if item.new_count == 0 and item.standing else "within the limit")
    if item.standing is not None:
        parts.append(item.standing.value)
    suppressed_count = item.sighting.count - item.open_count
    return finding + ", ".join(parts) + (f", {suppressed_count} {agreed}" if suppressed_count else "")
