"""Pick the one row per planned route that counts, and add a row where no shard wrote one.

Not here: what a redirect leads to (`redirects`), tables of occurrences (`tables`).
"""

from dataclasses import dataclass, replace

from schemas.evidence import Evidence, Quarantined
from schemas.layout import RunLayout
from schemas.occurrence import canonical_json
from schemas.outcome import ADDED_BY_CONVERGE, Outcome, OutcomeKind
from schemas.plan import Plan, PlannedRoute
from schemas.receipt import EndedBy, Receipt
from schemas.shape import row_of

RECORD_CHARACTERS = 2_000
Triple = tuple[int, str | None, int | None]


@dataclass(frozen=True, slots=True)
class Picked:
    """One outcome per planned route, in the plan's order, and the rows that could not be taken."""

    outcomes: tuple[Outcome, ...]
    quarantined: tuple[Quarantined, ...]


def pick_rows(plan: Plan, evidence: Evidence) -> Picked:
    """Pick the last committed row of each planned route by the triple order of its shard's receipt."""
    planned = {row.task_id: row for row in plan.routes}
    places = triple_places(evidence)
    best: dict[str, tuple[int, Outcome]] = {}
    quarantined = []
    for row in evidence.outcomes:
        place = places.get((row.shard_index, row.attempt_name, row.triple_number))
        reason = _fault_of(row, planned.get(row.task_id), place)
        if reason is not None or place is None:
            quarantined.append(_set_aside(plan, row, reason or ""))
        elif row.task_id not in best or place >= best[row.task_id][0]:
            best[row.task_id] = (place, row)
    unreadable = {item.task_id for item in (*evidence.quarantined, *quarantined)}
    outcomes = tuple(
        counted_as(route, best[route.task_id][1]) if route.task_id in best
        else _added(route, evidence.receipts.get(route.shard_index), is_unreadable=route.task_id in unreadable)
        for route in plan.routes)
    return Picked(outcomes, tuple(quarantined))


def triple_places(evidence: Evidence) -> dict[Triple, int]:
    """Return the place of each triple that counts within its shard: a greater place is newer.

    The receipt says the order. A shard without one keeps what it committed, in the order of its attempts: the run is
    incomplete, but a person sees the work.
    """
    places: dict[Triple, int] = {
        (shard_index, triple.attempt_name, triple.number): place
        for shard_index, receipt in evidence.receipts.items() for place, triple in enumerate(receipt.triples)}
    orphans = {(row.shard_index, row.attempt or 0, row.attempt_name, row.triple_number)
               for row in evidence.outcomes
               if row.shard_index not in evidence.receipts and row.attempt_name and row.triple_number}
    ordered = sorted(orphans, key=lambda o: (o[0], o[1], o[2] or "", o[3] or 0))
    return places | {(shard_index, name, number): place
                     for place, (shard_index, _, name, number) in enumerate(ordered)}


def _fault_of(row: Outcome, route: PlannedRoute | None, place: int | None) -> str | None:
    if route is None:
        return "the route is not in the plan"
    if row.shard_index != route.shard_index:
        return f"the plan gives the route to shard {route.shard_index}"
    if (row.route, row.auth) != (route.route, route.auth):
        return "route and profile are not those of the key"
    if row.outcome in ADDED_BY_CONVERGE:
        return f"`{row.outcome}` is never written by a shard"
    if not route.is_in_scope:
        return "the route is out of the delta's scope"
    if place is None:
        return "no chosen receipt names the triple"
    return None


def counted_as(route: PlannedRoute, row: Outcome) -> Outcome:
    """Return a row with what the plan knows better than a shard, acceptance included."""
    return replace(
        row, url=route.url, journey=route.journey, priority=route.priority, owner=route.owner, tags=route.tags,
        is_accepted=row.outcome.value == route.accepted_outcome, is_in_scope=True,
        accepted_by=route.accepted_reason if row.outcome.value == route.accepted_outcome else None)


def _added(route: PlannedRoute, receipt: Receipt | None, *, is_unreadable: bool) -> Outcome:
    outcome, reason, how_to_fix = _absence(route, receipt, is_unreadable)
    return Outcome(
        task_id=route.task_id, route=route.route, auth=route.auth, url=route.url, journey=route.journey,
        priority=route.priority, owner=route.owner, tags=route.tags, shard_index=route.shard_index,
        outcome=outcome, reason=reason, how_to_fix=how_to_fix, is_in_scope=route.is_in_scope,
        carried_from_run_id=route.carried_from_run_id, carried_date=route.carried_date)


def _absence(route: PlannedRoute, receipt: Receipt | None, is_unreadable: bool) -> tuple[OutcomeKind, str, str | None]:
    if not route.is_in_scope:
        return OutcomeKind.CARRIED, "out_of_scope", None
    if is_unreadable:
        return OutcomeKind.MISSING, "quarantined", "Resume the run: what the shard wrote of the route cannot be read."
    if receipt is None:
        return OutcomeKind.MISSING, "no_receipt", f"Shard {route.shard_index} did not end; retry it."
    if receipt.ended_by is EndedBy.RUN_BUDGET:
        return OutcomeKind.EXPIRED, "run_budget", "Resume the run: its budget starts anew. Or give it more time."
    if receipt.ended_by is EndedBy.CANCELLED:
        return OutcomeKind.MISSING, "cancelled", "Resume the run: its shard was stopped before this route."
    return OutcomeKind.MISSING, "no_row", "Resume the run: the shard ended without a row of this route."


def _set_aside(plan: Plan, row: Outcome, reason: str) -> Quarantined:
    layout = RunLayout(plan.header.estate, plan.header.run_id)
    return Quarantined(
        shard_index=row.shard_index, kind="outcomes", reason=reason, task_id=row.task_id, entry=row.route,
        file=layout.triple(row.shard_index, row.attempt_name or "none", "outcomes", row.triple_number or 0),
        record=canonical_json(row_of(row))[:RECORD_CHARACTERS])
