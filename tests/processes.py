"""Processes as tests look for them: by command, and by a mark that their environment carries."""

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")


def command_of(pid: int) -> str:
    """Return a process's command with its arguments; nothing where it is gone."""
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def marked(mark: object, word: str = "") -> list[int]:
    """List living processes that carry a mark (mostly a folder) in their environment and a word in their command."""
    return [int(entry.name) for entry in PROC.glob("[0-9]*")
            if _is_marked(entry, os.fsencode(str(mark))) and word in command_of(int(entry.name))]


def _is_marked(entry: Path, mark: bytes) -> bool:
    with contextlib.suppress(OSError):
        state = (entry / "stat").read_bytes().rpartition(b") ")[2][:1]
        return mark in (entry / "environ").read_bytes() and state != b"Z"
    return False


def kill(pids: Iterable[int]) -> None:
    """Kill processes; those that are gone are no fault."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
