"""What is known of a browser's processes: which there are, when each began; and their end.

Here: reading /proc. Where there is none (macOS) nothing is known. Not here: how much they hold (`memory.py`).
"""

import contextlib
import os
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path

from tasks.scan.reap import descendants

PROC = Path("/proc")


def with_descendants(roots: Iterable[int]) -> set[int]:
    """Return processes and all that are below them.

    Each look at the tree reads every process of the machine: what lies below another root is not looked up again.
    """
    found: set[int] = set()
    for root in sorted(roots):
        if root not in found and (not PROC.is_dir() or (PROC / str(root)).exists()):
            found |= {root, *descendants(root)}
    return found


def beginnings(pids: Iterable[int]) -> dict[int, str]:
    """Say when each process began: a number that was given away again is another process."""
    return {pid: _began(pid) for pid in pids}


def kill_all(processes: Mapping[int, str]) -> None:
    """Kill processes and what is below them, but none that took over a number since."""
    own = [pid for pid, began in processes.items() if _began(pid) == began]
    for pid in with_descendants(own):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _began(pid: int) -> str:
    with contextlib.suppress(OSError, IndexError):
        return (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    return ""
