"""What a shard attempt has to scan: decided from the plan, what is committed, and what the last fold said.

Here: pure decisions. Not here: reading any of it, or scanning (`tasks/scan/worker.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.outcome import OutcomeKind
from schemas.plan import PlannedRoute

DEATHS_UNTIL_CRASHED = 2

TripleName = tuple[str, int]


@dataclass(frozen=True, slots=True)
class CommittedRow:
    """The newest committed row of a route: its outcome, why and what to do about it, and the triple that holds it."""

    outcome: OutcomeKind
    triple: TripleName
    reason: str
    how_to_fix: str | None


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Routes that an attempt leaves unsettled for one reason.

    Attributes:
        why: outcome and reason (`http_error/status_503`); `missing` alone where there is no row.
    """

    why: str
    how_to_fix: str | None
    addresses: list[str]


@dataclass(frozen=True, slots=True)
class Work:
    """Routes of an attempt.

    Attributes:
        together: scanned first, several at once.
        alone: were in flight when a worker died; scanned last, one at a time.
        crashed: killed their worker too often in this flow attempt; recorded without a visit.
    """

    together: tuple[PlannedRoute, ...] = ()
    alone: tuple[PlannedRoute, ...] = ()
    crashed: tuple[PlannedRoute, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.together or self.alone or self.crashed)


def decide_work(
    routes: Sequence[PlannedRoute],
    committed: Mapping[str, CommittedRow],
    dead_letters: Mapping[str, TripleName | None],
    deaths: Mapping[str, int],
    rescan: frozenset[str] = frozenset(),
) -> Work:
    """Decide what an attempt scans: what is not settled, and what the last fold contradicts.

    Args:
        routes: of the shard, in scan order.
        committed: newest committed row by `task_id`.
        dead_letters: routes of the last fold's dead letters, each with the triple it judged (None: no row was there).
            A route whose newest row is of another triple was scanned since, so that row counts.
        deaths: how often each `task_id` was in flight when its worker died, within this flow attempt.
        rescan: routes that are scanned again whatever is known of them.
    """
    open_routes = [
        route for route in routes
        if route.is_in_scope
        and (route.task_id in rescan or _is_open(route.task_id, committed, dead_letters))
    ]
    counts = {route.task_id: deaths.get(route.task_id, 0) for route in open_routes}
    return Work(
        together=tuple(route for route in open_routes if counts[route.task_id] == 0),
        alone=tuple(route for route in open_routes if 0 < counts[route.task_id] < DEATHS_UNTIL_CRASHED),
        crashed=tuple(route for route in open_routes if counts[route.task_id] >= DEATHS_UNTIL_CRASHED),
    )


def _is_open(
    task_id: str,
    committed: Mapping[str, CommittedRow],
    dead_letters: Mapping[str, TripleName | None],
) -> bool:
    row = committed.get(task_id)
    if row is None:
        return True
    return not row.outcome.is_settled or dead_letters.get(task_id) == row.triple
