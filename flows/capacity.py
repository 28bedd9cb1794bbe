"""How much of this machine an audit takes: shard processes at once, and routes at once in each.

Here: the sum (cores and memory, of the container if there is one) and its adjustment to what is asked.
Not here: starting anything.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schemas.plural import plural

ROUTE_MEMORY_BYTES = 250 * 2**20
CGROUP = Path("/sys/fs/cgroup")
MEMORY_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")  # of cgroup v2, then v1; so are the next
CPU_QUOTAS = (("cpu.max",), *((f"{folder}/cpu.cfs_quota_us", f"{folder}/cpu.cfs_period_us")
                              for folder in ("cpu", "cpu,cpuacct")))
CPU_PERIOD_US = 100_000  # the kernel's, where none is told
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


def usable_cores(cgroup: Path = CGROUP) -> int:
    """Return the cores that this process may use, of the container where its quota is less.

    Part of a core counts as one: a core that idles costs more than one that waits for its next period.

    Args:
        cgroup: where the kernel tells the container's limits.

    Source: Linux kernel, "Control Group v2" (`cpu.max`), "CFS Bandwidth Control".
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for names in CPU_QUOTAS:
        quota_us, period_us, *_ = [*_words(cgroup, names), str(CPU_PERIOD_US), ""]
        if quota_us.isdigit() and period_us.isdigit() and int(period_us):
            return max(1, min(cores, -(-int(quota_us) // int(period_us))))
    return cores


def usable_memory_bytes(cgroup: Path = CGROUP) -> int:
    """Return the memory of the machine, or of the container where that is less.

    Args:
        cgroup: where the kernel tells the container's limits.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in MEMORY_LIMITS:
        for text in _words(cgroup, (name,)):
            if text.isdigit():
                return min(machine, int(text))
    return machine


def _words(cgroup: Path, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the words of files; of those that are not there, none."""
    for name in names:
        try:
            yield from (cgroup / name).read_text("ascii").split()
        except (OSError, ValueError):
            continue
