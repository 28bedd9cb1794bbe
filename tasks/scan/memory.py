"""The memory of a browser is bounded: a page that eats it is ended, a browser or driver that grew is renewed.

Here: the limits, and the watch over them. Where there is no /proc (macOS) only the browser's own limits hold.
Not here: the life of a browser (`browser.py`).
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterable

from tasks.scan.process import PROC, kill_all, with_descendants

LOG = logging.getLogger("fanfold.scan")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
CHECK_SECONDS = 1.0
RENDERER_BYTES = 1_500_000_000
LASTING_BYTES = 800_000_000  # of the driver, or of the browser's own process: pages can fill these too


async def guard_memory(processes: Iterable[int], retire: Callable[[], None]) -> None:
    """Watch over a browser until this is cancelled.

    A renderer above its limit is killed: its route ends as crashed, all others go on. What outlives the pages is not.

    Args:
        processes: those that outlive the pages. retire: is called when one of them holds too much.
    """
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        if any(private_bytes(pid) > LASTING_BYTES for pid in processes):
            retire()
        for pid in _renderers_above(processes, RENDERER_BYTES):
            LOG.warning("a page took more than %d MB; its process is ended", RENDERER_BYTES // 1_000_000)
            kill_all(with_descendants([pid]))


def private_bytes(pid: int) -> int:
    """Return resident memory of a process without what it shares; 0 when it is gone."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = (PROC / str(pid) / "statm").read_text("ascii").split()
        return (int(fields[1]) - int(fields[2])) * PAGE_BYTES
    return 0


def _renderers_above(roots: Iterable[int], limit_bytes: int) -> list[int]:
    if not PROC.is_dir():
        return []
    return sorted(pid for pid in with_descendants(roots) if private_bytes(pid) > limit_bytes and _is_renderer(pid))


def _is_renderer(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"--type=renderer" in (PROC / str(pid) / "cmdline").read_bytes()
    return False
