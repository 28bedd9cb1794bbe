"""Judge whether the run is whole: every planned route has an outcome, and nothing hides in the sum.

Here: routes and what the plan promised of them. Not here: whether all shards used one engine and ran the rules
(`builds`), findings (`cells`). A hole is said whatever the findings say.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from schemas.converged import is_owed, is_untested
from schemas.coverage_rules import Accepted
from schemas.gate_input import GateInput
from schemas.outcome import Outcome, OutcomeKind
from schemas.route import Journey, RouteKey
from schemas.verdict import SHOWN_EXAMPLES, SHOWN_GROUPS, Coverage, GroupCoverage, Reason, Weight

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
                if (entry := given.policy.acceptance_of(row.route, row.outcome, given.now)) is not None}
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


def judge_routes(given: GateInput, holes: Holes) -> list[Reason]:
    """Find everything about routes that makes the run incomplete, or is to be said of it."""
    checks: tuple[Callable[[GateInput, Holes], Iterable[Reason]], ...] = (
        _check_identity, _check_never_made, _check_unsettled, _check_untested, _check_quarantine, _check_carried,
        _check_not_applicable, _check_size, _check_anything_scanned, _check_acceptances)
    return [reason for check in checks for reason in check(given, holes)]


def incomplete(code: str, text: str, examples: Iterable[str], count: int | None = None) -> Reason:
    """Make a reason for an incomplete run; the count is that of the examples unless given."""
    listed = sorted(examples)
    return Reason(code, Weight.INCOMPLETE, text, len(listed) if count is None else count,
                  tuple(listed[:SHOWN_EXAMPLES]))


def warn(code: str, text: str, examples: Iterable[str], count: int | None = None) -> Reason:
    """Make a warning."""
    listed = sorted(examples)
    return Reason(code, Weight.WARN, text, len(listed) if count is None else count, tuple(listed[:SHOWN_EXAMPLES]))


def plural(count: int, noun: str) -> str:
    """Say a count with its noun: `1 finding`, `2 findings`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _check_identity(given: GateInput, _: Holes) -> Iterable[Reason]:
    planned = Counter(row.task_id for row in given.plan.routes)
    seen = Counter(row.task_id for row in given.converged.outcomes)
    odd = [task_id for task_id in planned | seen if planned[task_id] != seen[task_id]]
    if odd:
        names = {row.task_id: str(row.key) for row in given.plan.routes}
        yield incomplete("outcomes_differ_from_plan", f"{plural(len(odd), 'route')} without exactly one outcome: the stored "
                         "outcomes are not those of this plan. Fold the run again.",
                         (names.get(task_id, task_id) for task_id in odd))


def _check_never_made(given: GateInput, holes: Holes) -> Iterable[Reason]:
    if holes.never_made:
        yield incomplete("missing_routes", f"{_share(holes.never_made, holes)} have no outcome: "
                         f"{_by_reason(holes.never_made)}. Resume the run.", map(_named, holes.never_made))


def _check_unsettled(given: GateInput, holes: Holes) -> Iterable[Reason]:
    if not holes.unsettled:
        return
    limit = given.policy.coverage.max_unsettled
    text = f"{_share(holes.unsettled, holes)} could not be scanned: {_by_reason(holes.unsettled)}"
    if len(holes.unsettled) > limit:
        yield incomplete("unsettled_routes", f"{text}; the policy allows {limit}. Mend them and resume the run, or "
                         "accept them by name in the policy.", map(_named, holes.unsettled))
    else:
        yield warn("unsettled_routes", f"{text}; the policy allows {limit}.", map(_named, holes.unsettled))


def _check_untested(given: GateInput, holes: Holes) -> Iterable[Reason]:
    rules = given.policy.coverage
    cut = [row for row in holes.untested if row.is_cut]
    framed = [row for row in holes.untested if not row.is_cut or row.has_untested_own_frame]
    for code, rows, rule, text in (
            ("untested_frames", framed, rules.untested_own_frames, "have a frame of their own that was not tested"),
            ("cut_results", cut, rules.cut_results, "have results that were cut for size")):
        if rows:
            make = incomplete if rule == "incomplete" else warn
            yield make(code, f"{_share(rows, holes)} {text}.", map(_named, rows))
    foreign = [row for row in holes.in_scope
               if row.outcome is OutcomeKind.PARTIALLY_SCANNED and not is_untested(row)]
    if foreign and rules.untested_other_frames == "warn":
        yield warn("untested_other_frames", f"{_share(foreign, holes)} have a frame of another origin that was not "
                   "tested.", map(_named, foreign))


def _check_quarantine(given: GateInput, _: Holes) -> Iterable[Reason]:
    items = given.converged.quarantined
    if not items:
        return
    limit = given.policy.coverage.max_quarantined
    text = f"malformed records or files set aside: {len(items)}; the policy allows {limit}."
    examples = [f"{item.file}: {item.reason}" for item in items]
    if len(items) > limit:
        yield incomplete("quarantine", text + " Resume the run: what they hold is scanned again.", examples)
    else:
        yield warn("quarantine", text, examples)


def _check_carried(given: GateInput, _: Holes) -> Iterable[Reason]:
    empty = [row for row in given.converged.outcomes
             if row.outcome is OutcomeKind.CARRIED and row.carried_from_run_id is None]
    if empty:
        yield incomplete("carried_without_scan", f"{plural(len(empty), 'route')} out of the delta's scope, never "
                         "scanned so far. Take them into the scope.", map(_named, empty))


def _check_not_applicable(given: GateInput, holes: Holes) -> Iterable[Reason]:
    rules = given.policy.coverage
    rows = [row for row in holes.in_scope if row.outcome is OutcomeKind.NOT_APPLICABLE]
    allowed = max(rules.free_not_applicable, int(rules.max_not_applicable * len(holes.in_scope)))
    if len(rows) > allowed:
        yield incomplete("not_applicable_routes", f"{_share(rows, holes)} turned out to be no page; the policy allows "
                         f"{allowed}. Does a gateway answer for the site?", map(_named, rows))


def _check_size(given: GateInput, _: Holes) -> Iterable[Reason]:
    header, rules = given.plan.header, given.policy.coverage
    if header.source_failures:
        yield incomplete("source_failures", f"parts of the source that could not be read: "
                         f"{len(header.source_failures)}; the estate is not smaller for it.", (f"{f.source}: {f.reason}" for f in header.source_failures))
    if header.route_count < rules.min_routes:
        yield incomplete("too_few_routes", f"the plan has {plural(header.route_count, 'route')}; the policy asks for at least "
                         f"{rules.min_routes}.", (), header.route_count)
    last = header.last_full_route_count
    if last and header.route_count < last * (1 - rules.max_shrink):
        yield incomplete("shrunk_estate", f"the plan has {plural(header.route_count, 'route')}, the last full run "
                         f"({header.last_full_run_id}) had {last}; the policy allows to shrink by "
                         f"{rules.max_shrink:.0%}. If it is meant, say so with `max_shrink`.", (),
                         last - header.route_count)


def _check_anything_scanned(given: GateInput, holes: Holes) -> Iterable[Reason]:
    scanned = [row for row in holes.in_scope if row.outcome.was_scanned]
    if not scanned:
        yield incomplete("nothing_scanned", f"scanned 0 of {len(holes.in_scope)} routes: nothing is known of this "
                         "estate.", (), 0)
    elif not any(row.journey == Journey.PRIMARY for row in given.converged.outcomes):
        yield incomplete("no_primary_route", "no route is primary: the cells that block by default judge nothing. Name "
                         "the journeys in the manifest.", (), 0)
    elif given.plan.header.scope == "full" and not any(row.journey == Journey.PRIMARY for row in scanned):
        yield incomplete("no_primary_route", "no primary route was scanned: the cells that block by default judge "
                         "nothing.", (), 0)


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
                   f"{len(expired)}.", map(_entry_text, expired))
    if unused:
        yield warn("unused_acceptances", f"entries of `accepted` that match no broken route: {len(unused)}; take them out.",
                   map(_entry_text, unused))


def _entry_text(entry: Accepted) -> str:
    return f"{entry.pattern.text} as {entry.outcome} ({entry.owner}, until {entry.until})"


def _named(row: Outcome) -> str:
    return f"{RouteKey(row.route, row.auth)} ({row.outcome}, {row.reason})"


def _share(rows: Sequence[Outcome], holes: Holes) -> str:
    return f"{len(rows)} of {len(holes.in_scope)} routes"


def _by_reason(rows: Sequence[Outcome]) -> str:
    return ", ".join(f"{name} {count}" for name, count in
                     Counter(f"{row.outcome.value}/{row.reason}" for row in rows).most_common())


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
