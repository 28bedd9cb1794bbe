"""A run that is cut off in the middle: one of its pages holds the scan up until it is let go, all others are done."""

import json
import threading
from collections.abc import Mapping
from pathlib import Path

from tests.flow.api import wait_for
from tests.flow.deployed import Deployed, committed, processes_of
from tests.site import FAULT, Answer, Site, page

WITHOUT_LIMIT = "without-limit"  # a copy of the nightly deployment of which several runs may go at once
OTHERS = 5


class CutRun:
    """A run of six pages; entered, its slow page is loading and the others are tested.

    Args:
        more: further pages, by path.

    Attributes:
        kept: addresses that lie settled in the store once the run was cut off.
    """

    def __init__(self, deployed: Deployed, estate: str, more: Mapping[str, Answer] | None = None) -> None:
        self.deployed, self.estate = deployed, estate
        self._reached, self._go_on = threading.Event(), threading.Event()
        self.site = Site({f"/p{i}": page(f"Page {i}", FAULT if i == 1 else "") for i in range(OTHERS)} | {
            "/slow": page("Slow", before=self._hold), **(more or {})})
        self.kept: set[str] = set()

    def _hold(self) -> None:
        self._reached.set()
        self._go_on.wait(60)

    def __enter__(self) -> "CutRun":
        self.site.up()
        self.site.manifest(self.manifest, estate=self.estate)
        self.run_id = self.deployed.start(WITHOUT_LIMIT, {"source": self.manifest.name, "shards": 2})
        assert self._reached.wait(120), self.deployed.logs(self.run_id)
        wait_for(lambda: set(self.site.log) == set(self.site.answers) and len(self._in_flight()) == 1, 60)
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()
        self.site.down()

    @property
    def manifest(self) -> Path:
        return self.deployed.root / f"{self.estate}.json"

    def let_go(self) -> None:
        """Let the slow page come."""
        self._go_on.set()

    def was_cut(self) -> None:
        """Wait for the shards to end, note what they kept, let the page go, and forget what was requested."""
        wait_for(lambda: not processes_of(self.deployed.folder, "tasks.scan"), 30)
        self.kept = committed(self.deployed.store, self.estate, self.run_id)
        self.let_go()
        self.site.log.clear()
        assert self.kept, "the shards kept nothing of what they had finished"

    def assert_only_the_rest_was_requested(self) -> None:
        assert {self.site.url(path) for path in self.site.log} == set(map(self.site.url, self.site.answers)) - self.kept

    def _in_flight(self) -> set[str]:
        files = (self.deployed.store / self.estate / "runs" / self.run_id / "partials").glob("*/*/in-flight.json")
        return {task_id for path in files for task_id in json.loads(path.read_text("utf-8"))["task_ids"]}
