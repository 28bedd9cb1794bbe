"""How much of this machine an audit takes: shard processes at once, and routes at once in each.

Here: the sum (cores and memory, of the container if there is one) and its adjustment to what is asked.
Not here: starting anything.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from schemas.plural import plural

ROUTE_MEMORY_BYTES = 250 * 2**20
CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
LANES_PER_SHARD = 2


@dataclass(frozen=True, slots=True)
class Capacity:
    """`shards_at_once` × `in_flight` routes at once; `message` says what was lowered, if anything was."""

    shards_at_once: int
    in_flight: int
    message: str | None = None


def fit_capacity(shards_at_once: int | None, in_flight: int | None, core_count: int, memory_bytes: int) -> Capacity:
    """Fit what is asked (or the cores) to the memory.

    Args:
        shards_at_once, in_flight: as asked; None means as the cores have it.
        core_count: usable cores. memory_bytes: what machine or container allows.
    """
    asked_in_flight = in_flight or min(LANES_PER_SHARD, core_count)
    asked_shards = shards_at_once or max(1, core_count // asked_in_flight)
    allowed = max(1, memory_bytes // ROUTE_MEMORY_BYTES)
    if asked_shards * asked_in_flight <= allowed:
        return Capacity(asked_shards, asked_in_flight)
    fitting_shards = max(1, min(asked_shards, allowed // asked_in_flight))
    fitting_in_flight = min(asked_in_flight, max(1, allowed // fitting_shards))
    return Capacity(
        fitting_shards, fitting_in_flight,
        f"{plural(asked_shards, 'shard')} × {plural(asked_in_flight, 'route')} at once do not fit into "
        f"{memory_bytes // 2**20} MiB (about {ROUTE_MEMORY_BYTES // 2**20} MiB each); lowered to {fitting_shards} × "
        f"{fitting_in_flight}",
    )


def usable_cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_memory_bytes() -> int:
    """Return the memory of the machine, or of the container where that is less."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in CGROUP_LIMITS:
        try:
            text = path.read_text("ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            return min(machine, int(text))
    return machine
