"""Decide on a run: one function, one verdict, a reason for each decision.

Here: the order of the judgement. `coverage` finds holes; `routes` and `builds` say whether the run is whole;
`regression` compares with the baseline, `suppressions` matches agreements, `exclusions` says what was kept out,
`cells` judges findings, `reasons` puts it into words; `baseline` writes what later runs are compared with, `explain`
answers for one route.
Not here: files, clocks, Prefect. Pure: the same input gives the same verdict. Next: `tasks/publish.py`.
"""

from collections import Counter
from dataclasses import replace

from schemas.baseline import usable_baseline
from schemas.gate_input import GateInput
from schemas.verdict import EXIT_CODES, FLOW_STATES, Reason, Verdict, VerdictKind, Weight
from tasks.gate.baseline import diff_baseline, make_baseline, prune_baseline
from tasks.gate.builds import judge_builds
from tasks.gate.cells import count_blocking, count_cells, fill_findings, judge_sightings, within_limits
from tasks.gate.coverage import count_coverage, find_holes
from tasks.gate.exclusions import judge_exclusions
from tasks.gate.explain import explain_route
from tasks.gate.reasons import describe_baseline, describe_findings, provenance_of, summarize
from tasks.gate.regression import clean_routes, compare_with_baseline, sum_changes
from tasks.gate.routes import judge_routes
from tasks.gate.suppressions import apply_suppressions, judge_suppressions, list_uses

__all__ = ["decide_verdict", "diff_baseline", "explain_route", "make_baseline", "prune_baseline"]


def decide_verdict(given: GateInput) -> Verdict:
    """Judge a run: coverage first, then findings by impact and journey, the baseline, suppressions.

    What was not scanned is never counted as clean: a hole makes the verdict `incomplete` whatever the findings say,
    and the findings are judged and told all the same. Under `report_only` findings never fail, coverage does.

    Args:
        given: the run and all that it is judged by.

    Returns:
        The verdict with its reasons, and the findings with decision, standing and suppression filled in.

    Raises:
        ContractError: a baseline that cannot be compared with the run, or one that the policy requires and is absent.
    """
    given = replace(given, baseline=usable_baseline(given.baseline, given.policy.baseline, given.plan.header))
    holes = find_holes(given)
    suppressed = apply_suppressions(given)
    changes = compare_with_baseline(given, given.baseline) if given.baseline else None
    clean = clean_routes(given, given.baseline) if given.baseline else frozenset()
    judged = judge_sightings(given, changes, clean, suppressed)
    blocking = count_blocking(judged)
    decided = within_limits(judged)
    reasons = _as_policy_says(given, [
        *judge_builds(given), *judge_routes(given, holes), *describe_findings(given, decided, blocking),
        *describe_baseline(given), *judge_suppressions(given, suppressed), *judge_exclusions(given)])
    kind = _kind_of(reasons)
    coverage = count_coverage(given, holes)
    findings = fill_findings(given, decided, suppressed)
    new_on_clean = sum(item.new_count for item in decided if item.is_regression)
    uses = list_uses(given, suppressed)
    return Verdict(
        kind=kind, exit_code=EXIT_CODES[kind], flow_state=FLOW_STATES[kind], is_report_only=given.policy.report_only,
        summary=summarize(kind, coverage, findings, reasons),
        reasons=tuple(r for r in reasons if r.decision in (Weight.INCOMPLETE, Weight.BLOCK)),
        warnings=tuple(r for r in reasons if r.decision in (Weight.WOULD_BLOCK, Weight.WARN)),
        coverage=coverage, cells=count_cells(given.policy, decided, blocking),
        decisions=dict(sorted(Counter(f.decision.value for f in findings if f.decision).items())),
        finding_count=len(findings), occurrence_count=sum(f.occurrence_count for f in findings),
        suppressed_count=suppressed.by_sighting.total(),
        regression=sum_changes(changes, given, given.baseline, new_on_clean)
        if changes is not None and given.baseline else None,
        suppressions=uses, provenance=provenance_of(given, uses), shard_faults=given.shard_faults, findings=findings)


def _as_policy_says(given: GateInput, reasons: list[Reason]) -> list[Reason]:
    """Turn blocks into would-be blocks under `report_only`; nothing touches what makes a run incomplete."""
    if not given.policy.report_only:
        return reasons
    return [replace(reason, decision=Weight.WOULD_BLOCK) if reason.decision is Weight.BLOCK else reason
            for reason in reasons]


def _kind_of(reasons: list[Reason]) -> VerdictKind:
    weights = {reason.decision for reason in reasons}
    if Weight.INCOMPLETE in weights:
        return VerdictKind.INCOMPLETE
    return VerdictKind.BLOCKED if Weight.BLOCK in weights else VerdictKind.PASSED
