"""Write, tighten and compare baselines: always by an explicit command, never from a run that is not whole.

Here: new baselines as values. Not here: their document (`schemas/baseline.py`), what a difference does (`cells`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import attrgetter

from schemas.baseline import Baseline, KnownFinding, check_comparable, identity_of_plan
from schemas.errors import ContractError, bad_input
from schemas.finding import Sighting, impact_rank
from schemas.gate_input import GateInput
from schemas.occurrence import FINGERPRINT_VERSION
from schemas.verdict import Verdict, VerdictKind
from tasks.gate.regression import compare_with_baseline, whole_routes

FindingKey = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class BaselineChange:
    """One finding on one route that differs from the baseline, for people. `change` is a word of the table below."""

    change: str
    rule: str
    fingerprint: str
    is_violation: bool
    route: str
    count: int

    @property
    def order(self) -> tuple[int, str, str, str, bool]:
        return (CHANGES.index(self.change), self.rule, self.fingerprint, self.route, self.is_violation)


CHANGES = ("new", "new_rule", "fixed", "gone", "unverified")


def make_baseline(given: GateInput, verdict: Verdict, previous: Baseline | None = None) -> Baseline:
    """Take what this run saw as known.

    Routes that it scanned wholly are taken anew. For planned routes that it did not scan wholly (accepted as broken,
    out of a delta's scope) the previous baseline stands, never lowered. Routes that left the manifest leave the
    baseline with a full run; a delta run leaves them alone (`prune_baseline` takes them out).

    Args:
        given: the run, with its day. verdict: of this run.
        previous: the baseline in force, if there is one.

    Raises:
        ContractError: the run is incomplete, or a delta run meets a baseline that it cannot be compared with.
    """
    _refuse_incomplete(verdict, "is written")
    header = given.plan.header
    rules = frozenset(info.rule for info in header.engine.rules if info.is_on)
    made = Baseline(
        estate=header.estate, run_id=header.run_id, date=given.now[:10], identity=identity_of_plan(header),
        fingerprint_version=FINGERPRINT_VERSION, engine_version=header.engine.version,
        engine_digest=header.engine.digest, rules=rules, scanned=whole_routes(given),
        findings=_known(given.converged.sightings),
        exclude_elements=frozenset(one.what for one in header.scan.exclude_elements))
    if previous is None:
        return made
    if header.scope == "full" and not _is_comparable(previous, given):
        return made  # nothing of it can be kept; this is how an estate gets a baseline of its own switches
    check_comparable(previous, header)
    return _keep(made, previous, given)


def _keep(made: Baseline, previous: Baseline, given: GateInput) -> Baseline:
    planned = {row.task_id for row in given.plan.routes}
    known = set(previous.scanned) | {task_id for finding in previous.findings for task_id in finding.routes}
    stays = {task_id for task_id in known - set(made.scanned)
             if given.plan.header.scope == "delta" or task_id in planned}
    kept = [replace(finding, routes={task_id: count for task_id, count in finding.routes.items() if task_id in stays})
            for finding in previous.findings]
    still = {task_id: route for task_id, route in previous.scanned.items() if task_id in stays}
    return replace(
        made, scanned={**made.scanned, **still},
        findings=_merge(made.findings, kept),
        # What both engines ran: on routes that stay as they were nobody looked for the rules of the new one.
        rules=made.rules & previous.rules if stays else made.rules,
        exclude_elements=made.exclude_elements & previous.exclude_elements if stays else made.exclude_elements)


def prune_baseline(given: GateInput, verdict: Verdict, baseline: Baseline) -> Baseline:
    """Take out what is fixed and what left the manifest; nothing new comes in, so a baseline only gets stricter.

    Raises:
        ContractError: the run is incomplete, or the baseline cannot be compared with it.
    """
    _refuse_incomplete(verdict, "is pruned")
    check_comparable(baseline, given.plan.header)
    lost = {change.spot: change.fixed_count + change.gone_count
            for change in compare_with_baseline(given, baseline).values()}
    planned = {row.task_id for row in given.plan.routes}
    findings = [replace(known, routes={
        task_id: count - lost[known.fingerprint, known.is_violation, task_id] for task_id, count in known.routes.items()
        if count > lost[known.fingerprint, known.is_violation, task_id]}) for known in baseline.findings]
    return replace(
        baseline, run_id=given.plan.header.run_id, date=given.now[:10],
        scanned={task_id: route for task_id, route in baseline.scanned.items() if task_id in planned},
        findings=tuple(known for known in findings if known.routes))


def diff_baseline(given: GateInput, baseline: Baseline) -> tuple[BaselineChange, ...]:
    """List what differs between a baseline and a run, new findings first; what is still there is not listed.

    Raises:
        ContractError: the two cannot be compared.
    """
    check_comparable(baseline, given.plan.header)
    names = dict(baseline.scanned) | {row.task_id: str(row.key) for row in given.plan.routes}
    listed = []
    for change in compare_with_baseline(given, baseline).values():
        fingerprint, is_violation, task_id = change.spot
        counts = {"new_rule" if change.is_new_rule else "new": change.new_count, "fixed": change.fixed_count,
                  "gone": change.gone_count, "unverified": change.unverified_count}
        listed += [BaselineChange(word, change.rule, fingerprint, is_violation, names.get(task_id, task_id), count)
                   for word, count in counts.items() if count]
    return tuple(sorted(listed, key=attrgetter("order")))


def _refuse_incomplete(verdict: Verdict, verb: str) -> None:
    if verdict.kind is VerdictKind.INCOMPLETE:
        raise bad_input("baseline.json", f"no baseline {verb} from an incomplete run ({verdict.summary})",
                        "a run that covers every route", "Resume the run, or accept broken routes in the policy.")


def _is_comparable(baseline: Baseline, given: GateInput) -> bool:
    try:
        check_comparable(baseline, given.plan.header)
    except ContractError:
        return False
    return True


def _known(sightings: Iterable[Sighting]) -> tuple[KnownFinding, ...]:
    counts: dict[FindingKey, Counter[str]] = defaultdict(Counter)
    worst: dict[FindingKey, Sighting] = {}
    for sighting in sightings:
        key = (sighting.fingerprint, sighting.is_violation)
        counts[key][sighting.task_id] += sighting.count
        worst[key] = max(worst.get(key, sighting), sighting, key=lambda s: impact_rank(s.impact))
    return tuple(KnownFinding(*key, rule=worst[key].rule, impact=worst[key].impact, routes=dict(counts[key]))
                 for key in sorted(counts))


def _merge(made: Iterable[KnownFinding], kept: Iterable[KnownFinding]) -> tuple[KnownFinding, ...]:
    """Join by fingerprint; where both know a route (it was scanned in part) the greater count holds."""
    merged = {(known.fingerprint, known.is_violation): known for known in made}
    for old in kept:
        new = merged.get((old.fingerprint, old.is_violation), replace(old, routes={}))
        routes = {task_id: max(old.routes.get(task_id, 0), new.routes.get(task_id, 0))
                  for task_id in {**old.routes, **new.routes}}
        if routes:
            merged[old.fingerprint, old.is_violation] = replace(
                new, routes=routes, impact=max(old.impact, new.impact, key=impact_rank))
    return tuple(merged[key] for key in sorted(merged))
