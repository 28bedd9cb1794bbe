"""End a shard process and everything that it started.

Here: killing the process tree whole; browsers lead process groups of their own, so one group is not all.
Not here: which processes there are (`process.py`), deciding when (`watch.py`).
"""

import contextlib
import os
import signal
import subprocess

from tasks.scan.process import descendants


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
