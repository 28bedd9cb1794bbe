"""End a shard process and everything that it started.

Here: walking the process tree and killing it whole; browsers lead process groups of their own, so one group is not all.
Not here: deciding when (`watch.py`).
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")


def end_tree(child: subprocess.Popen[bytes]) -> None:
    """Close the child's standard input, kill it with all its descendants, and wait for it."""
    if child.stdin:
        with contextlib.suppress(OSError):
            child.stdin.close()
    tree = [child.pid, *descendants(child.pid)] if child.poll() is None else []
    for pid in tree:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def descendants(pid: int) -> list[int]:
    """List the processes below one."""
    children: dict[int, list[int]] = {}
    for own, parent in _parents():
        children.setdefault(parent, []).append(own)
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def children(pid: int) -> set[int]:
    """Return the processes right below one."""
    return {own for own, parent in _parents() if parent == pid}


def _parents() -> Iterator[tuple[int, int]]:
    """Yield every process with its parent: from /proc on Linux (slim images have no `ps`), else from `ps`."""
    if PROC.is_dir() and (PROC / "self" / "stat").exists():
        for folder in PROC.iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):
                    fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                    yield int(folder.name), int(fields[1])
        return
    listing = subprocess.run(["/bin/ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
    for row in listing.splitlines():
        own, parent = map(int, row.split())
        yield own, parent
