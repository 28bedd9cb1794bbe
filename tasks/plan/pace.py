"""Pace: how many routes of a host are scanned at once, and what the packed shards take on the clock.

Here: a shard's part of the limits, estimates, and the warnings of both. Not here: holding a browser back
(`tasks/scan/`), packing (`tasks/plan/pack.py`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemas.address import host_of
from schemas.host import is_loopback
from schemas.plan import PlannedRoute

SHOWN_HOSTS = 3
UNREACHED = "routes that are not reached make the run incomplete"


@dataclass(frozen=True, slots=True)
class Places:
    """How much is scanned at once.

    Attributes:
        shards_at_once: shards. in_flight: routes in one shard.
        per_host: routes of one host over all shards, 0 for any number; loopback is never held back.
    """

    shards_at_once: int
    in_flight: int
    per_host: int

    @property
    def host_part(self) -> int:
        """A shard's part of `per_host`: at least one route, 0 for any number. Shards know nothing of each other."""
        return max(self.per_host // self.shards_at_once, 1) if self.per_host else 0


def paced_load_ms(shard: Sequence[PlannedRoute], places: Places) -> int:
    """Return the load of a shard, stretched where politeness lets fewer routes of a host run at once than fit.

    A simple bound: each host alone, as if its routes had to wait for nothing but each other. Divided by `in_flight` it
    is the time on the clock.
    """
    load_ms = sum(row.load_ms for row in shard)
    at_once = places.host_part
    if at_once == 0 or at_once >= places.in_flight:
        return load_ms
    by_host: dict[str, int] = defaultdict(int)
    for row in shard:
        by_host[host_of(row.route)] += row.load_ms
    polite = [-(-host_ms * places.in_flight // at_once) for host, host_ms in by_host.items() if not is_loopback(host)]
    return max([load_ms, *polite])


def politeness_warnings(shards: Sequence[Sequence[PlannedRoute]], places: Places) -> Iterator[str]:
    """Say where more routes of a host can be scanned at once than `per_host`: each shard at once scans at least one."""
    if places.per_host == 0 or places.shards_at_once <= places.per_host:
        return
    shard_counts = Counter(host for shard in shards for host in {host_of(row.route) for row in shard})
    crowded = sorted(host for host, count in shard_counts.items() if count > places.per_host and not is_loopback(host))
    if crowded:
        most = min(places.shards_at_once, max(shard_counts[host] for host in crowded))
        shown = ", ".join(crowded[:SHOWN_HOSTS]) + (" …" if len(crowded) > SHOWN_HOSTS else "")
        yield (f"`per_host` ({places.per_host}) is not kept: {most} shards at once scan routes of {shown}, one each at "
               f"the least. Lower `shards_at_once` to {places.per_host}, or make fewer shards")


def budget_warnings(shards: Sequence[Sequence[PlannedRoute]], places: Places, budget_ms: int | None) -> Iterator[str]:
    """Say which shards, or that the run as a whole, will outlast the run budget. What is not reached is not scanned."""
    if budget_ms is None:
        return
    heaviest = [max(shard, key=lambda row: row.load_ms) for shard in shards]
    paced = [paced_load_ms(shard, places) for shard in shards]
    clock = [max(-(-load_ms // places.in_flight), row.load_ms) for load_ms, row in zip(paced, heaviest, strict=True)]
    worst = max(range(len(shards)), key=lambda index: clock[index])
    over_count = sum(clock_ms > budget_ms for clock_ms in clock)
    run_ms = max(-(-sum(clock) // min(places.shards_at_once, len(shards))), clock[worst])
    if over_count:
        yield (f"{over_count} of {len(shards)} shards are estimated to outlast the run budget of {_seconds(budget_ms)}:"
               f" shard {worst} takes about {_seconds(clock[worst])}, its heaviest route"
               f" {_seconds(heaviest[worst].load_ms)} ({heaviest[worst].route}); {UNREACHED}")
    elif run_ms > budget_ms:
        yield (f"the run is estimated to take {_seconds(run_ms)}, longer than its budget of {_seconds(budget_ms)};"
               f" {UNREACHED}")


def _seconds(duration_ms: int) -> str:
    return f"{duration_ms / 1000:.0f} s"
