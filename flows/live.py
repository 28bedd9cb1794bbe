"""A run while it goes, in the Prefect UI: a progress artifact, and lines of stages in the flow run's log.

Here: counting what shards report, and sending it every few seconds from a thread of its own, so that a slow server
holds back no shard. Not here: the bar of a terminal (`progress.py`), what is shown at the end (`artifacts.py`).
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import httpx
from prefect.artifacts import create_progress_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactUpdate
from prefect.exceptions import PrefectException
from prefect.logging import get_run_logger

from flows.artifacts import for_show, inert, key_of
from flows.journey import PlannedRun
from flows.progress import Listener, listener, listening
from schemas.plan import PlanHeader
from tasks.scan.watch import Event

SEND_SECONDS = 5.0

Log = logging.Logger | logging.LoggerAdapter[logging.Logger]


class Live:
    """Counts for the UI, and passes everything on to whoever listened before."""

    def __init__(self, run: PlannedRun, through: Listener, log: Log) -> None:
        self._through, self._log = through, log
        self._total = sum(shard.route_count for shard in run.shards)
        self._done: dict[int, int] = defaultdict(int)
        self._started: set[int] = set()
        self._open = 0
        self._shard_count = len(run.shards)
        self._lock = threading.Lock()

    def stage(self, text: str) -> None:
        """Write a line to the flow run's log."""
        self._log.info(text)
        self._through.stage(text)

    def planned(self, header: PlanHeader, places: int) -> None:
        """Pass it on: the plan was shown before."""
        self._through.planned(header, places)

    def shard_event(self, shard_index: int, event: Event) -> None:
        """Count ended routes; a shard process that starts again counts anew."""
        with self._lock:
            if event.get("event") == "started":
                self._done[shard_index] = int(event["routes"]) - int(event["open"])
                self._started.add(shard_index)
                self._open += int(event["open"])
            elif event.get("event") == "ended":
                self._done[shard_index] += 1
        self._through.shard_event(shard_index, event)

    @property
    def percent(self) -> float:
        """Return how much of the plan is done."""
        with self._lock:
            return round(min(100.0, 100 * sum(self._done.values()) / self._total), 1) if self._total else 100.0

    @property
    def had_nothing_open(self) -> bool:
        """Say whether every shard looked and none had anything to scan."""
        return self._open == 0 and len(self._started) == self._shard_count


@contextmanager
def shown_live(run: PlannedRun) -> Iterator[Live]:
    """Show a run in the UI for as long as the block lasts."""
    live = Live(run, listener(), get_run_logger())
    artifact_id = None
    with for_show():
        artifact_id = create_progress_artifact(
            live.percent, key=key_of("progress", run.ref), description=about_progress(run))
    stopped = threading.Event()
    sender = threading.Thread(target=_send, args=(live, artifact_id, stopped), daemon=True)
    sender.start()
    try:
        with listening(live):
            yield live
    finally:
        stopped.set()
        sender.join(timeout=SEND_SECONDS)


def about_progress(run: PlannedRun) -> str:
    """Say what is counted: a run that ends `Incomplete` has visited everything too."""
    return inert(f"Routes of run {run.ref.run_id} that were visited, settled or not: the verdict says how")


def _send(live: Live, artifact_id: UUID | None, stopped: threading.Event) -> None:
    """Send progress where it has changed, and once more at the end; a server that is away gets the next number."""
    sent = 0.0
    while artifact_id is not None:
        is_last = stopped.wait(SEND_SECONDS)
        if live.percent != sent:
            try:
                with get_client(sync_client=True) as client:
                    client.update_artifact(artifact_id, ArtifactUpdate(data=live.percent))
                sent = live.percent
            except (httpx.HTTPError, PrefectException, OSError):
                pass
        if is_last:
            return
