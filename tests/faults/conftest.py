"""Audits without Prefect, leg by leg, whose processes can be killed at any moment."""

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from flows.journey import PlannedRun, fold_run, plan_run, scan_shard_of
from flows.progress import Silence, listening
from flows.request import AuditRequest
from schemas.errors import TransientError
from schemas.verdict import Verdict
from tasks.scan.process import descendants
from tasks.scan.watch import Event, ShardReport
from tasks.store import Store
from tests.processes import command_of, kill
from tests.site import small_site

# What a disturbed run must have in common with an undisturbed one: all that is about the pages, not about the scan.
OUTCOME_COLUMNS = (
    "task_id", "route", "auth", "url", "journey", "priority", "owner", "tags", "shard_index", "outcome", "reason",
    "status", "final_url", "redirected_to", "content_type", "title", "frames_tested", "frames_untested",
    "untested_frames", "is_cut", "violation_count", "needs_review_count", "engine_version", "is_accepted",
)
OCCURRENCE_COLUMNS = (
    "task_id", "route", "auth", "shard_index", "rule", "impact", "is_violation", "target", "target_text", "path",
    "fingerprint", "html", "failure_summary", "tags", "criteria", "help", "help_url",
)
RULE_COLUMNS = ("task_id", "rule", "rule_class", "impact", "node_count")
FINDING_COLUMNS = (
    "fingerprint", "rule", "impact", "is_violation", "journey", "occurrence_count", "route_count", "routes",
    "example_route", "example_target", "example_html", "failure_summary", "tags", "criteria", "help", "help_url",
    "decision",
)


@dataclass
class Legs:
    """One run, leg by leg. `events` are the lines of the shard processes."""

    run: PlannedRun
    events: list[tuple[int, Event]] = field(default_factory=list)
    on_event: Callable[[int, Event], None] = lambda shard_index, event: None

    def scan(self, shard_index: int = 0, flow_attempt: str | None = None) -> ShardReport:
        """Scan a shard once; a death comes out as `TransientError`."""
        legs = self

        class Listener(Silence):
            def shard_event(self, shard_index: int, event: Event) -> None:
                legs.events.append((shard_index, event))
                legs.on_event(shard_index, event)

        run = replace(self.run, flow_attempt=flow_attempt) if flow_attempt else self.run
        with listening(Listener()):
            return scan_shard_of(run, shard_index)

    def scan_until_it_lives(self, shard_index: int = 0, flow_attempt: str | None = None, most: int = 5) -> int:
        """Scan a shard until an attempt ends by itself, as the task runner does; return how many died."""
        for deaths in range(most):
            with contextlib.suppress(TransientError):
                self.scan(shard_index, flow_attempt)
                return deaths
        raise AssertionError(f"the shard died {most} times")

    def fold(self) -> Verdict:
        return fold_run(self.run.ref)

    @property
    def store(self) -> Store:
        return Store(self.run.ref.store)

    def rows(self, name: str, columns: tuple[str, ...]) -> list[dict]:
        """Rows of a table of the run, by the columns that are compared, in an order of their own."""
        table, *_ = self.store.read_table(self.run.ref.layout.file(f"{name}.parquet"))
        return sorted(table.select(list(columns)).to_pylist(), key=repr)

    def dataset(self) -> dict[str, list[dict]]:
        return {"outcomes": self.rows("outcomes", OUTCOME_COLUMNS),
                "occurrences": self.rows("occurrences", OCCURRENCE_COLUMNS),
                "rule_results": self.rows("rule_results", RULE_COLUMNS),
                "findings": self.rows("findings", FINDING_COLUMNS)}


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """A site of six pages, a whole run of it, and what that says of pages: scanned once for a module."""
    folder = tmp_path_factory.mktemp("whole")
    with small_site(6, frozenset({1, 4})) as site, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FANFOLD_STORE", str(folder / "store"))
        request = AuditRequest(source=str(site.manifest(folder / "m.json")), run_id="r1", shards=1)
        legs = Legs(plan_run(request, "r1", "r1-flow-1"))
        legs.scan()
        legs.fold()
        yield site, legs, legs.dataset()


@pytest.fixture
def whole(whole_run, tmp_path, monkeypatch):
    """The module's whole run in a store of the test's own, to be broken: site, legs, expected dataset."""
    site, legs, expected = whole_run
    shutil.copytree(legs.run.ref.store, tmp_path / "store")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FANFOLD_STORE", str(tmp_path / "store"))
    site.log.clear()
    return site, Legs(replace(legs.run, ref=replace(legs.run.ref, store=str(tmp_path / "store")))), expected


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Plan a run of a site; `start(site, run_id, shards)`; `routes` are entries instead of its addresses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FANFOLD_STORE", str(tmp_path / "store"))

    def plan(site, run_id: str = "r1", shards: int = 1, routes: list[object] | None = None, **more: object) -> Legs:
        manifest = site.manifest(tmp_path / "m.json", **({"routes": routes} if routes else {}))
        request = AuditRequest(source=str(manifest), run_id=run_id, shards=shards, **more)
        return Legs(plan_run(request, run_id, f"{run_id}-flow-1"))

    return plan


def shard_processes() -> list[int]:
    """Ids of the shard processes below this test."""
    return [pid for pid in descendants(os.getpid()) if "tasks.scan" in command_of(pid)]


def kill_later(choose: Callable[[], list[int]], delay_s: float) -> threading.Thread:
    """Kill, after a while, the processes that `choose` names then."""
    def wait_and_kill() -> None:
        time.sleep(delay_s)
        kill(choose())

    thread = threading.Thread(target=wait_and_kill, daemon=True)
    thread.start()
    return thread
