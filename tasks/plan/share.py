"""Share shards out: how many there are, and how many of them each auth profile gets.

Here: counting. Not here: which route goes where (`tasks/plan/pack.py`).
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from schemas.plural import plural

SHARD_LOAD_MS = 120_000  # what one shard should take: long enough to pay for a browser, short enough to even out
SHARDS_PER_PLACE = 4


@dataclass(frozen=True, slots=True)
class Group:
    """The routes of one auth profile, counted. Profiles never share a shard."""

    route_count: int
    load_ms: int


def count_shards(groups: Mapping[str | None, Group], asked: int | None, shards_at_once: int) -> tuple[int, str]:
    """Decide how many shards there are.

    Args:
        groups: by auth profile; none is empty.
        asked: what the settings ask for, if anything. shards_at_once: shards that are scanned at the same time.

    Returns:
        The count, and why it is that, for people.
    """
    route_count = sum(group.route_count for group in groups.values())
    if asked is None:
        load_ms = sum(group.load_ms for group in groups.values())
        wanted = max(-(-load_ms // SHARD_LOAD_MS), 1)
        why = f"{wanted} for a load of {load_ms / 60_000:.1f} min at {SHARD_LOAD_MS // 60_000} min each"
        most, limit = _lower((route_count, f"{plural(route_count, 'route')} in all"),
                             (SHARDS_PER_PLACE * shards_at_once,
                              f"{plural(shards_at_once, 'shard')} at once, at most {SHARDS_PER_PLACE} each"))
    else:
        wanted, why = asked, f"{asked} asked for"
        most, limit = route_count, f"{plural(route_count, 'route')} in all"
    count = min(wanted, most)
    if count < wanted:
        why += f", lowered to {count}: {limit}"
    if count < len(groups):
        count = len(groups)
        why += f", raised to {count}: no shard mixes auth profiles"
    return count, why


def share_shards(groups: Mapping[str | None, Group], shard_count: int) -> dict[str | None, int]:
    """Give every profile one shard, and each further shard to the profile whose shards are heaviest.

    Args:
        groups: by auth profile; none is empty.
        shard_count: from the number of groups to the number of routes.

    Returns:
        Shards of each profile, in the order of `groups`, never more than it has routes.

    Source: the highest-averages method (D'Hondt), which keeps the largest mean load of a shard smallest.
    """
    shares = dict.fromkeys(groups, 1)
    order = {auth: place for place, auth in enumerate(groups)}
    heaviest = [(-Fraction(group.load_ms), order[auth], auth)
                for auth, group in groups.items() if group.route_count > 1]
    heapq.heapify(heaviest)
    for _ in range(shard_count - len(groups)):
        _, place, auth = heapq.heappop(heaviest)
        shares[auth] += 1
        if shares[auth] < groups[auth].route_count:
            heapq.heappush(heaviest, (-Fraction(groups[auth].load_ms, shares[auth]), place, auth))
    return shares


def _lower(*limits: tuple[int, str]) -> tuple[int, str]:
    return min(limits, key=lambda limit: limit[0])
