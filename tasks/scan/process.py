"""What is known of processes: which there are, below which others, when each began; and their end.

Here: one look at the table of all processes. Not here: how much they hold (`memory.py`), ending a shard (`reap.py`).
"""

import contextlib
import os
import signal
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PS = ("/bin/ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "lstart=")


@dataclass(frozen=True, slots=True)
class Process:
    """One process; `began` tells it from another one that is given the same number later."""

    pid: int
    parent: int
    began: str


def children(pid: int) -> set[int]:
    """Return the processes right below one."""
    return {process.pid for process in _processes() if process.parent == pid}


def descendants(pid: int) -> list[int]:
    """List the processes below one."""
    return [below for below in with_descendants([pid]) if below != pid]


def with_descendants(roots: Iterable[int]) -> dict[int, str]:
    """Return the living among processes and all that are below them, each with its beginning."""
    return _below({process.pid: process for process in _processes()}, roots)


def kill_all(processes: Mapping[int, str]) -> None:
    """Kill processes and what is below them, but none that took over a number since."""
    table = {process.pid: process for process in _processes()}
    own = [pid for pid, began in processes.items() if began and pid in table and table[pid].began == began]
    for pid in _below(table, own):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _below(table: Mapping[int, Process], roots: Iterable[int]) -> dict[int, str]:
    inner: dict[int, list[int]] = {}
    for process in table.values():
        inner.setdefault(process.parent, []).append(process.pid)
    found: dict[int, str] = {}
    todo = deque(pid for pid in roots if pid in table)
    while todo:
        pid = todo.popleft()  # parents first: one that sees its child die may start another
        if pid not in found:
            found[pid] = table[pid].began
            todo += inner.get(pid, [])
    return found


def _processes() -> Iterator[Process]:
    """Yield every process: from /proc on Linux (slim images have no `ps`), else (macOS) from `ps`, without itself."""
    return _of_proc() if (PROC / "self" / "stat").exists() else _of_ps()


def _of_proc() -> Iterator[Process]:
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                yield Process(int(folder.name), int(fields[1]), fields[19])


def _of_ps() -> Iterator[Process]:
    with subprocess.Popen(PS, stdout=subprocess.PIPE, text=True) as ps:
        listing = ps.communicate()[0]
    for row in listing.splitlines():
        pid, parent, began = row.split(maxsplit=2)
        if int(pid) != ps.pid:
            yield Process(int(pid), int(parent), began.strip())
