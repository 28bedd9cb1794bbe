"""One attempt of one shard: scan what is open, keep what is finished, leave a receipt.

Here: the order of things within an attempt (lanes, in-flight file, flushes, budget, stop). Not here: what a visit is
(`visit.py`), what is open (`work.py`), how a triple is committed (`tasks/commit.py`), who watches (`watch.py`).
Next: `tasks/collect.py` reads the receipt.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from schemas.address import host_of
from schemas.host import is_loopback
from schemas.outcome import Outcome, OutcomeKind
from schemas.plan import PlannedRoute
from schemas.receipt import EndedBy
from tasks.commit import Shelf
from tasks.scan.clock import utc_now
from tasks.scan.ledger import IN_FLIGHT_FILE
from tasks.scan.partial import FLUSH_ROUTES, FLUSH_SECONDS, Partial, Visited
from tasks.scan.work import CommittedRow, Unsettled, Work

Emit = Callable[[str, dict[str, object]], None]
OnPhase = Callable[[str], None]
Visit = Callable[[PlannedRoute, OnPhase], Awaitable[Visited]]


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds an attempt: routes at once, routes of one host (0: no limit), milliseconds (None: no limit)."""

    in_flight: int
    per_host: int
    budget_ms: int | None


class ShardWorker:
    """Scans the work of one attempt.

    Args:
        emit: sends a heartbeat line to whoever watches.
    """

    def __init__(self, shelf: Shelf, attempt_name: str, partial: Partial, limits: Limits, emit: Emit) -> None:
        self._shelf, self._attempt_name, self._partial = shelf, attempt_name, partial
        self._limits, self._emit = limits, emit
        self._now_in_flight: set[str] = set()
        self._hosts: dict[str, asyncio.Semaphore] = {}
        self._flushed_at = self._began = time.monotonic()
        self._ended_by = EndedBy.FINISHED

    async def run(self, work: Work, visit: Visit, stop: asyncio.Event) -> EndedBy:
        """Scan until the work is done, the budget is spent, or `stop` is set; then flush.

        Args:
            visit: scans one route; never raises for what a page does.
        """
        for route in work.crashed:
            self._keep(Visited(crashed_outcome(route, self._limits.in_flight)))
        stopping = asyncio.create_task(stop.wait())
        try:
            await self._scan(work.together, visit, self._limits.in_flight, stopping)
            await self._scan(work.alone, visit, 1, stopping)
        finally:
            stopping.cancel()
            self._flush()
        return self._ended_by

    async def _scan(
        self, routes: Iterable[PlannedRoute], visit: Visit, lane_count: int, stopping: asyncio.Task[bool]
    ) -> None:
        waiting = deque(routes)
        if not waiting or stopping.done():
            return
        lanes = [asyncio.create_task(self._lane(waiting, visit)) for _ in range(min(lane_count, len(waiting)))]
        everything = asyncio.ensure_future(asyncio.gather(*lanes))
        both: list[asyncio.Future[object]] = [everything, stopping]  # type: ignore[list-item]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if stopping.done() and not everything.done():
            self._ended_by = EndedBy.CANCELLED
            self._flush()  # first: whoever stops us may not wait for the pages to close
            everything.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)
            return
        await everything

    async def _lane(self, waiting: deque[PlannedRoute], visit: Visit) -> None:
        while waiting:
            if self._is_spent:
                self._ended_by = EndedBy.RUN_BUDGET
                return
            route = waiting.popleft()
            async with self._place_at_host(route), self._marked_in_flight(route):
                visited = await visit(route, lambda phase, route=route: self._emit(  # type: ignore[misc]
                    "phase", {"task_id": route.task_id, "phase": phase}))
                outcome = self._keep(visited)
            self._emit("ended", {"task_id": route.task_id, "outcome": outcome.outcome.value, "reason": outcome.reason,
                                 "load_ms": route.load_ms})

    @property
    def _is_spent(self) -> bool:
        budget = self._limits.budget_ms
        return budget is not None and (time.monotonic() - self._began) * 1000 >= budget

    def _keep(self, visited: Visited) -> Outcome:
        outcome = self._partial.add(visited)
        if self._partial.buffered_count >= FLUSH_ROUTES or time.monotonic() - self._flushed_at >= FLUSH_SECONDS:
            self._flush()
        return outcome

    def _flush(self) -> None:
        count = self._partial.flush()
        self._flushed_at = time.monotonic()
        if count:
            self._emit("flushed", {"route_count": count})

    @asynccontextmanager
    async def _marked_in_flight(self, route: PlannedRoute) -> AsyncIterator[None]:
        self._now_in_flight.add(route.task_id)
        self._write_in_flight()
        self._emit("began", {"task_id": route.task_id, "url": route.url})
        yield
        self._now_in_flight.discard(route.task_id)
        self._write_in_flight()

    def _write_in_flight(self) -> None:
        key = self._shelf.key(self._attempt_name, IN_FLIGHT_FILE)
        task_ids = ",".join(f'"{task_id}"' for task_id in sorted(self._now_in_flight))
        self._shelf.store.write(key, f'{{"task_ids": [{task_ids}]}}\n'.encode(), is_durable=False)

    @asynccontextmanager
    async def _place_at_host(self, route: PlannedRoute) -> AsyncIterator[None]:
        host = host_of(route.route)
        if self._limits.per_host == 0 or is_loopback(host):
            yield
            return
        async with self._hosts.setdefault(host, asyncio.Semaphore(self._limits.per_host)):
            yield


def crashed_outcome(route: PlannedRoute, in_flight: int) -> Outcome:
    """Make the outcome of a route that killed its worker too often."""
    now = utc_now()
    return Outcome(
        task_id=route.task_id, route=route.route, auth=route.auth, url=route.url, journey=route.journey,
        priority=route.priority, owner=route.owner, tags=route.tags, shard_index=route.shard_index,
        outcome=OutcomeKind.CRASHED, reason="killed_its_worker",
        detail="the shard's process died twice while this route was in flight",
        how_to_fix="Open the page by hand and look at its memory; exclude or accept it until it is mended, then retry.",
        in_flight=in_flight, started_at=now, ended_at=now,
    )


def unsettled_among(
    routes: Iterable[PlannedRoute], rows: Mapping[str, CommittedRow | Outcome]
) -> list[Unsettled]:
    """Return routes of a shard that are neither settled nor accepted by the policy, by outcome and reason."""
    groups: dict[str, Unsettled] = {}
    for route in routes:
        row = rows.get(route.task_id)
        kind = row.outcome if row else OutcomeKind.MISSING
        if route.is_in_scope and not kind.is_settled and kind.value != route.accepted_outcome:
            why = f"{kind.value}/{row.reason}" if row else kind.value
            groups.setdefault(why, Unsettled(why, row.how_to_fix if row else None, [])).addresses.append(route.url)
    return [groups[why] for why in sorted(groups)]
