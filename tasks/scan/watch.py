"""Start a shard process, watch it, and end it whole: used by the Prefect task and by a CI leg alike.

Here: the parent's side. The child gets secrets on standard input and ends itself when that pipe closes; it sends a line
for every try that begins or ends; when none came for too long it is killed with everything it started.
Not here: what the child does (`worker.py`, `__main__.py`).
"""

import contextlib
import json
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from schemas.errors import AuditError, ContractError, IntegrityError, Offence, TransientError
from tasks.commit import Shelf, attempt_number
from tasks.scan.ledger import DEATH_FILE, IN_FLIGHT_FILE
from tasks.scan.order import ShardOrder
from tasks.scan.reap import end_tree
from tasks.scan.work import Unsettled

SILENCE_ALLOWANCE_MS = 60_000
STOP_GRACE_SECONDS = 8.0
LOG_TAIL_LINES = 15
EXIT_SETTLED, EXIT_UNSETTLED, EXIT_REFUSED = 0, 2, 3

Event = dict[str, Any]
STOP = threading.Event()  # set when this process is asked to end: every watcher stops its child


@dataclass(frozen=True, slots=True)
class ShardReport:
    """How an attempt ended, as its process said it.

    Attributes:
        unsettled: routes that are neither settled nor accepted, by reason; empty when the shard is settled.
        counts: routes of the shard by outcome. log_tail: last lines of the process's log.
    """

    shard_index: int
    attempt_name: str
    ended_by: str
    counts: Mapping[str, int]
    planned_ms: int
    actual_ms: int
    unsettled: Sequence[Unsettled] = ()
    log_tail: str = ""

    @property
    def is_settled(self) -> bool:
        return not self.unsettled


class CancelledError(AuditError):
    """The shard was stopped because its parent is ending; what was finished is committed. Not retried."""


def next_attempt_name(shelf: Shelf) -> str:
    """Name the next attempt of a shard: its number comes from the store, its hex keeps two writers apart."""
    attempts = shelf.attempts()
    number = attempt_number(attempts[-1]) + 1 if attempts else 1
    return f"attempt-{number}-{secrets.token_hex(4)}"


def watch_shard(
    shelf: Shelf,
    order: ShardOrder,
    longest_deadline_ms: int,
    on_event: Callable[[Event], None] = lambda event: None,
    secret_values: Mapping[str, str] | None = None,
) -> ShardReport:
    """Run one attempt of a shard in a process of its own, to its end.

    Args:
        longest_deadline_ms: longest route deadline of the shard; with no try begun or ended for this and a minute, the
            process is taken for dead.
        on_event: gets every line of the child as a record.

    Raises:
        TransientError: the process died. ContractError: it refused. CancelledError: `STOP` was set.
    """
    child = subprocess.Popen(
        # -P: a folder `tasks` where the audit was started must not be taken for ours.
        [sys.executable, "-P", "-m", "tasks.scan", *order.arguments()],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )
    lines: queue.Queue[bytes | None] = queue.Queue()
    log: deque[str] = deque(maxlen=5_000)
    pumps = [threading.Thread(target=_pump, args=(child.stdout, lines.put), daemon=True),
             threading.Thread(target=_pump, args=(child.stderr, lambda raw: _log(log, raw)), daemon=True)]
    for pump in pumps:
        pump.start()
    summary: Event = {}
    try:
        _hand_over(child, secret_values or {})
        summary = _listen(child, lines, (longest_deadline_ms + SILENCE_ALLOWANCE_MS) / 1000, on_event)
        was_stopped = STOP.is_set()
    finally:
        end_tree(child)
        for pump in pumps:
            pump.join(timeout=5)
        with contextlib.suppress(OSError):
            shelf.store.write(shelf.key(order.attempt_name, "log.txt"), "\n".join(log).encode(), is_durable=False)
    return _judge(shelf, order, child.returncode, summary, was_stopped, "\n".join(list(log)[-LOG_TAIL_LINES:]))


def _judge(
    shelf: Shelf, order: ShardOrder, code: int, summary: Event, was_stopped: bool, log_tail: str
) -> ShardReport:
    subject = f"shard {order.shard_index}, {order.attempt_name}"
    if was_stopped and summary.get("ended_by") != "finished":
        raise CancelledError(subject, "stopped; what it finished is kept")
    if code == EXIT_REFUSED:
        raise ContractError([Offence(*fields) for fields in summary.get("offences", [(subject, "refused", "", "")])])
    if "counts" not in summary:
        if code not in (EXIT_SETTLED, EXIT_UNSETTLED):  # by its own code it ended for the store's sake, not a page's
            with contextlib.suppress(OSError):
                _record_death(shelf, order)
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        raise TransientError(subject, f"the shard process died ({how})", log_tail)
    return ShardReport(
        order.shard_index, order.attempt_name, summary["ended_by"], summary["counts"], summary["planned_ms"],
        summary["actual_ms"], [Unsettled(**group) for group in summary["unsettled"]], log_tail,
    )


def _record_death(shelf: Shelf, order: ShardOrder) -> None:
    """Count a death for every route that was in flight: the parent lives and had not stopped the child."""
    try:
        in_flight = shelf.store.read_json(shelf.key(order.attempt_name, IN_FLIGHT_FILE))
    except (FileNotFoundError, IntegrityError):
        return
    if in_flight["task_ids"]:
        shelf.store.write_json(shelf.key(order.attempt_name, DEATH_FILE),
                               {"flow_attempt": order.flow_attempt, "task_ids": in_flight["task_ids"]})


def _hand_over(child: subprocess.Popen[bytes], secret_values: Mapping[str, str]) -> None:
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(json.dumps({"secrets": dict(secret_values)}).encode() + b"\n")
        child.stdin.flush()


def _listen(
    child: subprocess.Popen[bytes], lines: "queue.Queue[bytes | None]", silence_s: float,
    on_event: Callable[[Event], None],
) -> Event:
    """Pass events on until the child's output ends; return its summary, or nothing where it was killed for silence."""
    last_sign, stop_at = time.monotonic(), float("inf")
    while time.monotonic() < stop_at:
        if STOP.is_set() and stop_at == float("inf"):
            stop_at = time.monotonic() + STOP_GRACE_SECONDS
            child.terminate()
        try:
            line = lines.get(timeout=0.5)
        except queue.Empty:  # only when all was read: a busy parent must not take lines that wait for silence
            if time.monotonic() - last_sign > silence_s:
                return {}
            continue
        if line is None:
            return {}
        event = _parse(line)
        last_sign = time.monotonic() if _is_sign_of_life(event) else last_sign
        silence_s = max(silence_s, (event.get("longest_deadline_ms", 0) + SILENCE_ALLOWANCE_MS) / 1000)
        if event.get("event") == "summary":
            return _ended(child, event)
        on_event(event)
    return {}


def _ended(child: subprocess.Popen[bytes], summary: Event) -> Event:
    """Let the child end by itself; where it does not, its tree is ended right after."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=STOP_GRACE_SECONDS)
    return summary


def _is_sign_of_life(event: Event) -> bool:
    """Whether a try began or ended, or a declared wait did; other phases of a visit are no sign."""
    if event.get("event") == "phase":
        return str(event.get("phase", "")).startswith(("visit", "wait"))
    return event.get("event") in ("began", "ended", "started")


def _parse(line: bytes) -> Event:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _pump(stream: IO[bytes], put: Callable[[bytes | None], None]) -> None:
    for line in stream:
        put(line)
    put(None)


def _log(log: deque[str], raw: bytes | None) -> None:
    if raw is not None:
        log.append(raw.decode("utf-8", "replace").rstrip()[:2_000])
