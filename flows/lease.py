"""The lease of a run: keeps two writers apart where it can.

Here: taking, beating, giving back. It is advisory: correctness comes from attempts that are never changed, so a lease
that fails costs a page scanned twice, never a wrong row. Not here: what the writers do.
"""

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from flows.progress import listener
from flows.runs import RunRef
from schemas.errors import IntegrityError
from schemas.layout import RunLayout
from schemas.shape import is_finite
from tasks.store import Store

BEAT_SECONDS = 5.0
STALE_SECONDS = 30.0
POLL_SECONDS = 1.0

Say = Callable[[str], None]


def leased(ref: RunRef) -> AbstractContextManager[None]:
    """Hold the lease of a run; whoever listens is told of other owners."""
    return held_lease(Store(ref.store), ref.layout, listener().stage)


@contextmanager
def held_lease(store: Store, run: RunLayout, say: Say = lambda text: None) -> Iterator[None]:
    """Hold the lease of a run, waiting for another owner as long as it lives.

    Args:
        say: is told when there is somebody to wait for, and when a dead owner's lease is taken over.
    """
    key = run.file("lease.json")
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    _wait_for_others(store, key, say)
    stopped = threading.Event()
    beat = threading.Thread(target=_beat, args=(store, key, owner, stopped), daemon=True)
    beat.start()
    try:
        yield
    finally:
        stopped.set()
        beat.join(timeout=BEAT_SECONDS)
        held = read_lease(store, key)
        if held is not None and held.get("owner") == owner:
            store.remove(key)


def read_lease(store: Store, key: str) -> Mapping[str, Any] | None:
    """Read a lease; None where nobody holds one that can be read."""
    try:
        lease = store.read_json(key)
    except (FileNotFoundError, IntegrityError):
        return None
    beat = lease.get("beat") if isinstance(lease, dict) else None
    return lease if isinstance(beat, int | float) and is_finite(beat) else None


def why_stale(lease: Mapping[str, Any], host: str, now: float) -> str | None:
    """Say why a lease binds nobody, or None while it does. A beat of the future may be of a clock that goes ahead.

    Args:
        host: of the reader: a dead process of the same host is known at once. now: seconds since the epoch.
    """
    age = now - float(lease["beat"])
    if age > STALE_SECONDS:
        return f"its owner was last seen {age:.0f} s ago"
    pid = lease.get("pid")
    if lease.get("host") == host and isinstance(pid, int) and not _is_alive(pid):
        return f"its owner (process {pid}) is dead"
    return None


def _wait_for_others(store: Store, key: str, say: Say) -> None:
    has_said, seen, seen_at = False, None, 0.0
    while (lease := read_lease(store, key)) is not None:
        if lease != seen:
            seen, seen_at = lease, time.monotonic()
        stale = why_stale(lease, socket.gethostname(), time.time())  # noqa: TID251 - the clock belongs to flows
        if stale is None and time.monotonic() - seen_at > STALE_SECONDS:  # whatever its clock says, and ours
            stale = f"its owner has not moved for {STALE_SECONDS:.0f} s"
        if stale is not None:
            say(f"taking over the run's lease: {stale}")
            return
        if not has_said:
            say(f"waiting for {lease.get('owner')}, which works on this run")
            has_said = True
        time.sleep(POLL_SECONDS)


def _beat(store: Store, key: str, owner: str, stopped: threading.Event) -> None:
    host, pid = socket.gethostname(), os.getpid()
    while True:
        with contextlib.suppress(OSError):  # a full disk must not end the audit here
            store.write_json(key, {"owner": owner, "host": host, "pid": pid, "beat": time.time()})  # noqa: TID251
        if stopped.wait(BEAT_SECONDS):
            return


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # the second: no process has such a number
        return False
    except PermissionError:
        return True
    return True
