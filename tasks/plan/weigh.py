"""Weigh routes: what each is thought to cost, how long a visit of it may take, and what of the history was of use.

Here: looking up and falling back. Not here: percentiles of samples (`tasks/learn.py`), packing (`tasks/plan/pack.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemas.address import address_for_messages, address_offences, identity_of
from schemas.history import RouteTiming, TimingHistory
from schemas.plural import plural
from schemas.route import Route
from schemas.settings import IdentitySwitches, Settings

UNKNOWN_LOAD_MS = 5_000  # where no route has a history
DEADLINE_FACTOR = 3
UNKNOWN_FACTOR = 2
LEAST_MATCH_RATIO = 0.8
SHOWN_NAMES = 3


@dataclass(frozen=True, slots=True)
class Weight:
    """What the plan knows of one route. `has_history`: the load comes from its own samples."""

    load_ms: int
    has_history: bool
    deadline_ms: int
    was_html: bool


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of all routes, by `task_id`."""

    of: Mapping[str, Weight]
    warnings: tuple[str, ...]


def weigh_routes(routes: Mapping[str, Route], history: TimingHistory, settings: Settings) -> Weights:
    """Weigh every route; the list of routes decides what is planned, history only what it weighs.

    A route costs the p75 of its own samples, or what its last visits burned where the newest sample is a failure, or
    its duration in the plain form. Other routes cost the p75 of the known ones. A visit may take three times the p99.

    Args:
        routes: by `task_id`.
    """
    plain_ms, nameless = _plain_by_identity(history.plain_ms, settings.identity)
    own = {task_id: _own_load(history.routes.get(task_id), plain_ms.get(route.key.route))
           for task_id, route in routes.items()}
    known = sorted(load for load in own.values() if load is not None)
    default_ms = _percentile_75(known) if known else UNKNOWN_LOAD_MS
    weights = {}
    unknown = Weight(max(default_ms, 1), False, _deadline_ms(None, default_ms, settings), False)  # one for all of them
    for task_id, load in own.items():
        timing = history.routes.get(task_id)
        if timing is None and load is None:
            weights[task_id] = unknown
            continue
        has_success = timing is not None and timing.has_success
        longest_ms = timing.p99_ms if timing else plain_ms.get(routes[task_id].key.route)
        weights[task_id] = Weight(
            load_ms=max(default_ms if load is None else load, 1), has_history=load is not None, was_html=has_success,
            deadline_ms=_deadline_ms(longest_ms, default_ms, settings),
        )
    addresses = {route.key.route for route in routes.values()}
    stale = nameless + [timing.route for task_id, timing in history.routes.items() if task_id not in routes]
    stale += [name for name in plain_ms if name not in addresses]
    return Weights(weights, tuple(_warnings(len(routes), len(known), history, sorted(stale))))


def _own_load(timing: RouteTiming | None, plain_ms: int | None) -> int | None:
    """Return what is known of a route; a failure teaches no duration, but it does say what the next one may burn."""
    if timing is not None and timing.last_burned_ms:
        return timing.last_burned_ms
    if timing is not None and timing.p75_ms is not None:
        return timing.p75_ms
    return plain_ms


def _percentile_75(ordered: Sequence[int]) -> int:
    """Return the 75th percentile by linear interpolation, in whole numbers so that no machine rounds otherwise."""
    place, quarters = divmod(3 * (len(ordered) - 1), 4)
    above = ordered[min(place + 1, len(ordered) - 1)]
    return ordered[place] + (quarters * (above - ordered[place]) + 2) // 4


def _deadline_ms(longest_ms: int | None, default_ms: int, settings: Settings) -> int:
    """Return the lease of a visit; a route that nobody ever scanned gets twice the least, for it may be a heavy one."""
    least = settings.route_deadline_min_ms * (UNKNOWN_FACTOR if longest_ms is None else 1)
    wanted = DEADLINE_FACTOR * (default_ms if longest_ms is None else longest_ms)
    return min(max(wanted, least), settings.route_deadline_max_ms)


def _plain_by_identity(plain_ms: Mapping[str, int], switches: IdentitySwitches) -> tuple[dict[str, int], list[str]]:
    """Return durations by identity, the longest where spellings meet, and the names that are no address."""
    by_identity: dict[str, int] = {}
    nameless = []
    for name, duration_ms in plain_ms.items():
        if address_offences(name, name, switches):
            nameless.append(address_for_messages(name, switches))
            continue
        identity = identity_of(name, switches)
        by_identity[identity] = max(duration_ms, by_identity.get(identity, 0))
    return by_identity, nameless


def _warnings(route_count: int, known_count: int, history: TimingHistory, stale: Sequence[str]) -> Iterator[str]:
    yield from history.warnings
    if history.bad_value_count:
        yield (f"values of the timing history that are no durations: {history.bad_value_count}; the default took their"
               " place")
    if (history.routes or history.plain_ms) and known_count < LEAST_MATCH_RATIO * route_count:
        yield (f"the timing history knows {known_count} of {plural(route_count, 'route')}: the balance of the shards is"
               " a guess for the others")
    if stale:
        shown = ", ".join(stale[:SHOWN_NAMES]) + (", …" if len(stale) > SHOWN_NAMES else "")
        yield f"names of the timing history that are no routes of this plan, and ignored: {len(stale)} ({shown})"
