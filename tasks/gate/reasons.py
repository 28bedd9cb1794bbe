"""Put what was decided on findings into words, and say what the verdict stands on.

Here: reasons, summary, provenance. Not here: deciding (`cells`), coverage (`coverage` and `builds` have their own
words).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from schemas.baseline import identity_of_plan
from schemas.counts import Coverage, SuppressionUse
from schemas.finding import Decision, Finding, Standing
from schemas.gate_input import GateInput
from schemas.occurrence import FINGERPRINT_VERSION
from schemas.plural import plural
from schemas.verdict import SHOWN_EXAMPLES, Reason, VerdictKind, Weight
from tasks.gate.cells import Judged


def describe_findings(given: GateInput, decided: Sequence[Judged], blocking: Mapping[str, int]) -> list[Reason]:
    """Say which cells block, which are within their limit or only warn, and what is new on clean routes."""
    routes = {row.task_id: str(row.key) for row in given.plan.routes}
    cells: dict[tuple[str, Decision], list[Judged]] = defaultdict(list)
    for item in decided:
        if item.open_count and item.decision is not Decision.IGNORE:
            cells[item.cell_name, item.decision].append(item)
    reasons = []
    for (name, decision), items in sorted(cells.items()):
        by_cell = [item for item in items if not item.is_regression or item.cell.action.can_block]
        if decision is Decision.BLOCK and by_cell:
            reasons.append(_reason("findings_block", Weight.BLOCK, by_cell, routes,
                                   f"{name} ({by_cell[0].cell.action}): {_counts(by_cell)}{_limit(by_cell, blocking)}"))
        elif decision is Decision.WARN:
            reasons.append(_reason("findings_warn", Weight.WARN, items, routes,
                                   f"{name} ({items[0].cell.action}): {_counts(items)}{_limit(items, blocking)}"))
    regressions = [item for item in decided if item.is_regression]
    if regressions:
        reasons.append(_reason("new_on_clean_route", Weight.BLOCK, regressions, routes,
                               f"new on routes that the baseline knows as clean: {_counts(regressions)}"))
    return sorted(reasons, key=lambda reason: reason.decision is not Weight.BLOCK)


def describe_baseline(given: GateInput) -> Iterable[Reason]:
    """Say what to know of a baseline that is used: another engine, or routes that left."""
    baseline, engine = given.baseline, given.plan.header.engine
    if baseline is None:
        return
    if baseline.engine_digest != engine.digest:
        yield Reason.of(Weight.WARN, "baseline_of_other_engine",
                        f"the baseline was made with engine {baseline.engine_version}, this run with {engine.version}; "
                        "findings of rules that it had not are `new rule`.",
                        {info.rule for info in engine.rules if info.is_on} - baseline.rules)
    excluded = {one.what for one in given.plan.header.scan.exclude_elements}
    if excluded != baseline.exclude_elements:
        yield Reason.of(Weight.WARN, "baseline_of_other_exclusions",
                        "the baseline was made with other exclusions of elements: faults in what is left out now are "
                        "unverified, and faults in what is tested again are new.",
                        excluded ^ baseline.exclude_elements)


def _counts(items: Sequence[Judged]) -> str:
    findings = len({item.key for item in items})
    return f"{plural(findings, 'finding')} ({plural(sum(item.open_count for item in items), 'occurrence')})"


def _limit(items: Sequence[Judged], blocking: Mapping[str, int]) -> str:
    cell = items[0].cell
    if not cell.action.can_block or cell.allowed == 0:
        return ""
    return f"; {blocking.get(items[0].cell_name, 0)} of {cell.allowed} allowed"


def _reason(code: str, weight: Weight, items: Sequence[Judged], routes: Mapping[str, str], text: str) -> Reason:
    spots: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for item in items:
        finding = (item.sighting.rule, item.sighting.fingerprint)
        spots[finding] += item.open_count
        route = routes.get(item.sighting.task_id, item.sighting.task_id)
        first[finding] = min(first.get(finding, route), route)
    worst = sorted(spots, key=lambda finding: (-spots[finding], finding))
    examples = tuple(f"{rule} {fingerprint}: {spots[rule, fingerprint]} times, first on {first[rule, fingerprint]}"
                     if spots[rule, fingerprint] > 1 else f"{rule} {fingerprint}: on {first[rule, fingerprint]}"
                     for rule, fingerprint in worst[:SHOWN_EXAMPLES])
    return Reason(code, weight, text + ".", len(spots), examples)


def summarize(kind: VerdictKind, coverage: Coverage, findings: Sequence[Finding], reasons: Sequence[Reason]) -> str:
    """Say the verdict in a few sentences. Of an estate of which nothing was scanned it never says that it is clean."""
    lines = [f"{kind.value.capitalize()}: scanned {coverage.scanned_count} of "
             f"{plural(coverage.planned_count, 'route')}, "
             f"{coverage.covered_count} of {coverage.in_scope_count} in scope are covered"
             + (f", {coverage.accepted_count} of them accepted as broken." if coverage.accepted_count else ".")]
    if coverage.scanned_count == 0:
        return " ".join([*lines, "Nothing is known of this estate."])
    decisions = Counter(finding.decision for finding in findings)
    occurrence_count = sum(finding.occurrence_count for finding in findings)
    suppressed_count = sum(finding.suppressed_count or 0 for finding in findings)
    lines.append(f"{plural(len(findings), 'finding')} ({plural(occurrence_count, 'occurrence')}"
                 + (f", {suppressed_count} of them suppressed" if suppressed_count else "") + "): "
                 f"{decisions[Decision.BLOCK]} block, {decisions[Decision.WARN]} warn, "
                 f"{decisions[Decision.IGNORE]} ignored or wholly suppressed.")
    new = sum(finding.standing is Standing.NEW for finding in findings)
    if any(finding.standing is not None for finding in findings):
        lines.append(f"{plural(new, 'is', 'are')} new against the baseline.")
    if any(reason.decision is Weight.WOULD_BLOCK for reason in reasons):
        lines.append("The policy only reports: the findings would block.")
    return " ".join(lines)


def provenance_of(given: GateInput, uses: Sequence[SuppressionUse]) -> dict[str, Any]:
    """Name everything that the verdict stands on, as plain data."""
    header = given.plan.header
    first = given.receipts[min(given.receipts)] if given.receipts else None
    return {
        "estate": header.estate, "run_id": header.run_id, "plan_id": header.plan_id, "scope": header.scope,
        "planned_at": header.created_at, "judged_on": given.now[:10], "source": header.source,
        "manifest_digest": header.manifest_digest, "program_version": header.program_version,
        "engine": {"version": header.engine.version, "digest": header.engine.digest,
                   "options_digest": header.engine.options_digest},
        "browser_version": header.browser_version or (first.browser_version if first else None),
        "identity": identity_of_plan(header), "fingerprint_version": FINGERPRINT_VERSION,
        "standard": given.policy.standard, "level": given.policy.level, "digests": dict(sorted(given.digests.items())),
        "baseline": None if given.baseline is None else {"run_id": given.baseline.run_id, "date": given.baseline.date,
                                                         "engine_version": given.baseline.engine_version},
        "accepted": [asdict(entry) | {"pattern": entry.pattern.text, "outcome": entry.outcome.value}
                     for entry in given.policy.accepted],
        "suppressions": [asdict(use) for use in uses],
        **({"scan": {"exclude_elements": [str(one) for one in header.scan.exclude_elements]}}
           if header.scan.exclude_elements else {}),
    }
