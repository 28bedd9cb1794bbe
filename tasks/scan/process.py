"""What is known of a browser's processes: when each began, how much memory it holds.

Here: reading /proc. Where there is none (macOS) nothing is known, and only the browser's own limits hold.
Not here: what follows from it (`browser.py`).
"""

import contextlib
import os
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path

from tasks.scan.reap import descendants

PROC = Path("/proc")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


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


def renderers_above(roots: Iterable[int], limit_bytes: int) -> list[int]:
    """List renderer processes below some processes that hold more private memory than a limit."""
    if not PROC.is_dir():
        return []
    return sorted(pid for pid in with_descendants(roots) if private_bytes(pid) > limit_bytes and _is_renderer(pid))


def private_bytes(pid: int) -> int:
    """Return resident memory of a process without what it shares; 0 when it is gone."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = (PROC / str(pid) / "statm").read_text("ascii").split()
        return (int(fields[1]) - int(fields[2])) * PAGE_BYTES
    return 0


def _began(pid: int) -> str:
    with contextlib.suppress(OSError, IndexError):
        return (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    return ""


def _is_renderer(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"--type=renderer" in (PROC / str(pid) / "cmdline").read_bytes()
    return False
