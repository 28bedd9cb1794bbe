"""Judge whether the run is whole: every planned route has an outcome, and nothing hides in the sum.

Here: what routes, and what the plan promised of them, do to the verdict. Not here: finding the holes (`coverage`),
whether all shards used one engine and ran the rules (`builds`). A hole is said whatever the findings say.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from schemas.converged import CUT_RESULTS, FAILED_RULES, OWN_FRAMES, is_untested, untested_parts
from schemas.coverage_rules import Accepted
from schemas.gate_input import GateInput
from schemas.outcome import Outcome, OutcomeKind
from schemas.plural import plural
from schemas.route import Journey, RouteKey
from schemas.verdict import Reason, Weight
from tasks.gate.coverage import Holes

ROUNDING = 1e-9  # 29 % of 100 routes is less than 29 in binary
incomplete = partial(Reason.of, Weight.INCOMPLETE)
warn = partial(Reason.of, Weight.WARN)


def judge_routes(given: GateInput, holes: Holes) -> list[Reason]:
    """Find everything about routes that makes the run incomplete, or is to be said of it."""
    checks: tuple[Callable[[GateInput, Holes], Iterable[Reason]], ...] = (
        _check_identity, _check_never_made, _check_unsettled, _check_untested, _check_quarantine, _check_carried,
        _check_not_applicable, _check_size, _check_anything_scanned, _check_acceptances, _check_overrides)
    return [reason for check in checks for reason in check(given, holes)]


def _check_identity(given: GateInput, _: Holes) -> Iterable[Reason]:
    planned = Counter(row.task_id for row in given.plan.routes)
    seen = Counter(row.task_id for row in given.converged.outcomes)
    odd = [task_id for task_id in planned | seen if planned[task_id] != seen[task_id]]
    if odd:
        names = {row.task_id: str(row.key) for row in given.plan.routes}
        yield incomplete(
            "outcomes_differ_from_plan", f"{plural(len(odd), 'route')} without exactly one outcome: the stored "
            "outcomes are not those of this plan. Fold the run again.",
            (names.get(task_id, task_id) for task_id in odd))


def _check_never_made(_: GateInput, holes: Holes) -> Iterable[Reason]:
    if holes.never_made:
        yield incomplete(
            "missing_routes", f"{_share(holes.never_made, holes)} have no outcome: {_by_reason(holes.never_made)}. "
            "Resume the run.", map(_named, holes.never_made))


def _check_unsettled(given: GateInput, holes: Holes) -> Iterable[Reason]:
    limit = given.policy.coverage.max_unsettled
    text = (f"{_share(holes.unsettled, holes)} could not be scanned: {_by_reason(holes.unsettled)}; the policy allows "
            f"{limit}.")
    if len(holes.unsettled) > limit:
        yield incomplete("unsettled_routes", text + " Mend them and resume the run, or accept them by name in the "
                         "policy.", map(_named, holes.unsettled))
    elif holes.unsettled:
        yield warn("unsettled_routes", text, map(_named, holes.unsettled))


def _check_untested(given: GateInput, holes: Holes) -> Iterable[Reason]:
    rules = given.policy.coverage
    by_part = {part: [row for row in holes.untested if part in untested_parts(row)]
               for part in (OWN_FRAMES, CUT_RESULTS, FAILED_RULES)}
    foreign = [row for row in holes.in_scope
               if row.outcome is OutcomeKind.PARTIALLY_SCANNED and not is_untested(row)]
    for code, rows, weight, text in (
            ("untested_frames", by_part[OWN_FRAMES], rules.untested_own_frames,
             "an untested part, as a frame of their own"),
            ("cut_results", by_part[CUT_RESULTS], rules.cut_results, "results that were cut for size"),
            ("failed_rules", by_part[FAILED_RULES], "incomplete", "a rule of the engine that failed"),
            ("untested_other_frames", foreign, rules.untested_other_frames, "an untested frame of another origin")):
        if rows and weight != "ignore":
            yield Reason.of(Weight(weight), code, f"{_share(rows, holes)} have {text}.", map(_named, rows))


def _check_quarantine(given: GateInput, _: Holes) -> Iterable[Reason]:
    items = given.converged.quarantined
    limit = given.policy.coverage.max_quarantined
    text = f"malformed records or files set aside: {len(items)}; the policy allows {limit}."
    examples = [f"{item.file}: {item.reason}" for item in items]
    if len(items) > limit:
        yield incomplete("quarantine", text + " Resume the run: what they hold is scanned again.", examples)
    elif items:
        yield warn("quarantine", text, examples)


def _check_carried(given: GateInput, _: Holes) -> Iterable[Reason]:
    empty = [row for row in given.converged.outcomes
             if row.outcome is OutcomeKind.CARRIED and row.carried_from_run_id is None]
    if empty:
        yield incomplete(
            "carried_without_scan", f"{plural(len(empty), 'route')} out of the delta's scope, never scanned so far. "
            "Take them into the scope.", map(_named, empty))


def _check_not_applicable(given: GateInput, holes: Holes) -> Iterable[Reason]:
    rules = given.policy.coverage
    rows = [row for row in holes.in_scope if row.outcome is OutcomeKind.NOT_APPLICABLE]
    allowed = max(rules.free_not_applicable, int(rules.max_not_applicable * len(holes.in_scope) + ROUNDING))
    if len(rows) > allowed:
        yield incomplete(
            "not_applicable_routes", f"{_share(rows, holes)} turned out to be no page; the policy allows {allowed}. "
            "Does a gateway answer for the site?", map(_named, rows))


def _check_size(given: GateInput, _: Holes) -> Iterable[Reason]:
    header, rules = given.plan.header, given.policy.coverage
    if header.source_failures:
        yield incomplete(
            "source_failures", f"parts of the source that could not be read: {len(header.source_failures)}; the estate "
            "is not smaller for it.", (f"{failure.source}: {failure.reason}" for failure in header.source_failures))
    planned = f"the plan has {plural(header.route_count, 'route')}"
    if header.route_count < rules.min_routes:
        yield incomplete("too_few_routes", f"{planned}; the policy asks for at least {rules.min_routes}.",
                         count=header.route_count)
    last = header.last_full_route_count or 0
    if last - header.route_count > last * rules.max_shrink + ROUNDING:
        yield incomplete(
            "shrunk_estate", f"{planned}, the last full run ({header.last_full_run_id}) had {last}; the policy lets an "
            f"estate shrink by {rules.max_shrink:.0%}. If it is meant, say so with `max_shrink`.",
            count=last - header.route_count)


def _check_anything_scanned(given: GateInput, holes: Holes) -> Iterable[Reason]:
    scanned = [row for row in holes.in_scope if row.outcome.was_scanned]
    unjudged = "the cells that block by default judge nothing."
    if not scanned:
        yield incomplete("nothing_scanned", f"scanned 0 of {plural(len(holes.in_scope), 'route')}: nothing is known of "
                         "this estate.", count=0)
    elif not any(row.journey == Journey.PRIMARY for row in given.converged.outcomes):
        yield incomplete("no_primary_route", f"no route is primary: {unjudged} Name the journeys in the manifest.",
                         count=0)
    elif given.plan.header.scope == "full" and not any(row.journey == Journey.PRIMARY for row in scanned):
        yield incomplete("no_primary_route", f"no primary route was scanned: {unjudged}", count=0)


def _check_acceptances(given: GateInput, holes: Holes) -> Iterable[Reason]:
    used = {entry for _, entry in holes.accepted}
    expired = [entry for entry in given.policy.accepted if entry.is_expired(given.now)]
    unused = [entry for entry in given.policy.accepted if entry not in used and entry not in expired]
    if holes.accepted:
        yield warn("accepted_routes", f"known to be broken and accepted: {plural(len(holes.accepted), 'route')}.",
                   (f"{_named(row)}: {entry.reason} ({entry.owner}, until {entry.until})"
                    for row, entry in holes.accepted))
    if expired:
        yield warn("expired_acceptances", f"entries of `accepted` past their date, which accept nothing: "
                   f"{len(expired)}.",
                   map(_entry_text, expired))
    if unused:
        yield warn("unused_acceptances", f"entries of `accepted` that match no broken route: {len(unused)}; take them "
                   "out.", map(_entry_text, unused))


def _check_overrides(given: GateInput, _: Holes) -> Iterable[Reason]:
    unused = [one.pattern.text for one in given.policy.overrides
              if not any(one.pattern.holds_for(row.route, is_case_folded=given.is_case_folded)
                         for row in given.plan.routes)]
    if unused:
        yield warn("unused_overrides", f"`overrides` of the policy that match no route: {len(unused)}; correct them or "
                   "take them out.", unused)


def _entry_text(entry: Accepted) -> str:
    return f"{entry.pattern.text} as {entry.outcome} ({entry.owner}, until {entry.until})"


def _named(row: Outcome) -> str:
    return f"{RouteKey(row.route, row.auth)} ({row.outcome}, {row.reason})"


def _share(rows: Sequence[Outcome], holes: Holes) -> str:
    return f"{len(rows)} of {plural(len(holes.in_scope), 'route')}"


def _by_reason(rows: Sequence[Outcome]) -> str:
    return ", ".join(f"{name} {count}" for name, count in
                     Counter(f"{row.outcome.value}/{row.reason}" for row in rows).most_common())
