"""Pack loads on to shards.

Here: two packers that know nothing of routes. Not here: what a load is (`tasks/plan/weigh.py`), how many shards there
are (`tasks/plan/share.py`).
"""

import hashlib
import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Load:
    """Something to be packed: a unique key and what it costs in milliseconds."""

    key: str
    load_ms: int


def pack_shards(loads: Sequence[Load], shard_count: int) -> list[list[Load]]:
    """Spread loads over shards so that the heaviest shard is as light as a greedy packing makes it (LPT).

    The heaviest load goes first, each on to the shard that is lightest so far; shards of equal weight are told apart by
    how few loads they have, equal loads by their key. The result depends on the set of loads only, not on their order.
    The heaviest shard is at most 4/3 - 1/(3m) times that of the best packing on m shards. O(n log n).

    Args:
        loads: with unique keys; a load below 1 ms counts as 1 ms, so that loads without a cost still spread evenly.
        shard_count: at least 1.

    Returns:
        `shard_count` lists, each with its heaviest load first. None is empty unless there are fewer loads than shards.

    Raises:
        ValueError: the shard count is below 1.

    Source: Graham 1969, "Bounds on multiprocessing timing anomalies".
    """
    if shard_count < 1:
        raise ValueError(f"shard_count is {shard_count}, expected at least 1")
    shards: list[list[Load]] = [[] for _ in range(shard_count)]
    lightest = [(0, 0, index) for index in range(shard_count)]
    for load in sorted(loads, key=lambda load: (-load.load_ms, load.key)):
        weight, count, index = heapq.heappop(lightest)
        shards[index].append(load)
        heapq.heappush(lightest, (weight + max(load.load_ms, 1), count + 1, index))
    return shards


def assign(key_text: str, shard_count: int) -> int:
    """Choose a shard for a key by its hash: the same on every machine and in every run, whatever other keys there are.

    Args:
        key_text: any text. shard_count: at least 1.

    Returns:
        SHA-1 of the UTF-8 text, as a big-endian number, modulo the shard count: 0 to `shard_count` - 1.

    Raises:
        ValueError: the shard count is below 1.
    """
    if shard_count < 1:
        raise ValueError(f"shard_count is {shard_count}, expected at least 1")
    digest = hashlib.sha1(key_text.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest, "big") % shard_count
