"""Progress of an audit: shards report, whoever shows it listens.

Here: the one listener of this process and the bar. Not here: what a shard reports (`tasks/scan/watch.py`).
A terminal gets a bar with an estimate from the plan; piped output gets plain lines.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from schemas.plan import PlanHeader
from schemas.plural import plural
from schemas.terminal import for_terminal
from tasks.scan.watch import Event

PLAIN_SECONDS = 5.0


class Listener(Protocol):
    """Who is told what happens."""

    def stage(self, text: str) -> None:
        """Hear that a stage began or ended."""

    def planned(self, header: PlanHeader, places: int) -> None:
        """Hear of the plan: `places` routes are scanned at once."""

    def shard_event(self, shard_index: int, event: Event) -> None:
        """Hear a line of a shard process."""


class Silence:
    """Shows nothing."""

    def stage(self, text: str) -> None:
        """Ignore it."""

    def planned(self, header: PlanHeader, places: int) -> None:
        """Ignore it."""

    def shard_event(self, shard_index: int, event: Event) -> None:
        """Ignore it."""


class Terminal:
    """A bar where there is a terminal, else a line every few seconds, on standard error."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._lock = threading.Lock()
        self._done = self._total = self._planned_ms = self._done_ms = 0
        self._places = 1
        self._began = self._said = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("routes"),
            TimeElapsedColumn(), TextColumn("{task.fields[left]}"), console=self._console, transient=True,
        )
        self._task = self._bar.add_task("scanning", total=None, left="", visible=False)

    def __enter__(self) -> "Terminal":
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def stage(self, text: str) -> None:
        """Print a line."""
        self._console.print(for_terminal(text), markup=False, highlight=False)

    def planned(self, header: PlanHeader, places: int) -> None:
        """Take totals and estimate from the plan."""
        self._total, self._places = header.route_count, max(1, places)
        self._planned_ms = sum(shard.load_ms for shard in header.shards)
        self._began = self._said = time.monotonic()
        self._bar.update(self._task, total=self._total, visible=True, left=self._left())

    def shard_event(self, shard_index: int, event: Event) -> None:
        """Count ended routes; routes that earlier attempts settled count at once."""
        with self._lock:
            if event.get("event") == "started":
                self._done += int(event["routes"]) - int(event["open"])
            elif event.get("event") == "ended":
                self._done += 1
                self._done_ms += int(event.get("load_ms", 0))
            else:
                return
            self._bar.update(self._task, completed=self._done, left=self._left())
            if not self._console.is_terminal and time.monotonic() - self._said >= PLAIN_SECONDS:
                self._said = time.monotonic()
                print(f"scanned {self._done} of {plural(self._total, 'route')}, {self._left()}", file=sys.stderr,
                      flush=True)

    def _left(self) -> str:
        """Estimate what is left: the plan's load, corrected by how the first part went."""
        left_ms = max(0, self._planned_ms - self._done_ms) / self._places
        spent_ms = (time.monotonic() - self._began) * 1000
        expected_ms = self._done_ms / self._places
        pace = spent_ms / expected_ms if self._done >= 10 and expected_ms else 1.0
        return f"about {in_words(round(left_ms * pace))} left"


def in_words(milliseconds: int) -> str:
    """Say a duration: `40 s`, `4 min`, `2.5 h`."""
    seconds = milliseconds / 1000
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


_listener: Listener = Silence()


def listener() -> Listener:
    """Return who listens in this process."""
    return _listener


@contextmanager
def listening(new: Listener) -> Iterator[None]:
    """Let somebody listen for a while."""
    global _listener
    before, _listener = _listener, new
    try:
        yield
    finally:
        _listener = before
