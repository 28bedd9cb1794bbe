"""A failed shard of a deployed run is retried, by the button of the UI and after the server was restarted."""

import json
from pathlib import Path

import pytest

from flows.journey import ShardBrief
from flows.settings import capacity_of, settings_in_force
from schemas.route import RouteKey
from tasks.plan.pack import assign
from tests.flow.api import wait_for
from tests.flow.cut_run import WITHOUT_LIMIT
from tests.flow.deployed import DEPLOYMENT, Deployed, dataset
from tests.site import FAULT, Site, page

pytestmark = pytest.mark.timeout(600)
SHARDS = 8


def paths_of_shard(site: Site, shard_index: int, count: int) -> list[str]:
    """Make up paths which the plan's hash gives to a shard."""
    paths = (f"/s{shard_index}-{number}" for number in range(10_000))
    return [path for path, _ in zip((path for path in paths if assign(RouteKey(site.url(path), None).text, SHARDS)
                                     == shard_index), range(count), strict=False)]


class HalfAway:
    """An estate on two hosts: a page for each of eight shards on one, three more of shard 3 on one that goes away."""

    def __init__(self, folder: Path) -> None:
        self.up, self.away = Site({}), Site({})
        self.manifest = folder / "core.json"

    def __enter__(self) -> "HalfAway":
        self.up.up()
        self.away.up()
        for index in range(SHARDS):
            self.up.answers |= {path: page(path, FAULT if index == 2 else "")
                                for path in paths_of_shard(self.up, index, 1)}
        self.away.answers |= {path: page(path) for path in paths_of_shard(self.away, 3, 3)}
        self.lost = [self.away.url(path) for path in self.away.answers]
        routes = [*map(self.up.url, self.up.answers), *self.lost]
        self.manifest.write_text(json.dumps({"estate": "core", "routes": routes}), "utf-8")
        self.away.down()
        return self

    def __exit__(self, *_: object) -> None:
        self.up.down()
        self.away.down()

    def forget(self) -> None:
        self.up.log.clear()
        self.away.log.clear()


def test_a_failed_shard_is_retried_by_the_button(working, ui, hook, calm_dataset):
    """119: three routes of one of eight shards sit on a host that is down."""
    with HalfAway(working.root) as estate:
        run_id = working.start(DEPLOYMENT, {"source": "core.json", "shards": SHARDS})
        wait_for(lambda: working.flow_run(run_id)["state_type"] == "RUNNING")
        second = working.start(DEPLOYMENT, {"source": "core.json"})
        failed = working.ended(run_id)
        assert (failed["state_type"], failed["state_name"]) == ("FAILED", "Incomplete"), working.logs(run_id)
        assert working.ended(second, run_count=0)["state_name"] == "Cancelled", "nothing piles up"
        assert {"estate:core", "verdict:incomplete", "nightly"} <= set(failed["tags"])
        assert sorted(estate.up.log) == sorted(estate.up.answers)
        assert_tasks_name_their_shard(working.task_runs(run_id), estate.lost)
        assert_stages_are_logged(working, run_id)
        assert_artifacts_tell(working, run_id)

        estate.away.up()
        estate.forget()
        ui.goto(f"/runs/flow-run/{run_id}")
        ui.get_by_role("button", name="Retry", exact=True).click()
        ui.get_by_role("button", name="Retry", exact=True).nth(1).click()
        done = working.ended(run_id, run_count=2)
        assert (done["state_type"], done["state_name"]) == ("FAILED", "Blocked"), working.logs(run_id)
        assert (estate.up.log, sorted(estate.away.log)) == ([], sorted(estate.away.answers))
        assert {"estate:core", "verdict:blocked"} <= set(done["tags"])
        assert "verdict:incomplete" not in done["tags"]
        assert dataset(working.store, "core", run_id, ["shard_index"]) == calm_dataset(estate.manifest, "core")
        actual = [artifact for artifact in working.artifacts(run_id) if artifact["key"] == "plan-core"][-1]
        assert [row["attempts"] for row in json.loads(actual["data"])] == [2] * SHARDS
        assert_a_blocked_run_has_nothing_to_retry(working, run_id, estate)
    wait_for(lambda: {"Incomplete", "Blocked"} <= {
        call["state"] for call in hook.calls if call.get("flow_run") == run_id}, 20)
    assert 3 in [call["dead_letters"] for call in wait_for(lambda: hook.named("DeadLetters"), 20)]
    assert ui.foreign == []


def assert_tasks_name_their_shard(tasks, lost):
    scans = {name: task for name, task in tasks.items() if name.startswith("scan ")}
    in_flight = capacity_of(settings_in_force()[0]).in_flight
    assert sorted(scans) == [f"scan {ShardBrief(i, SHARDS, 4, 20_000, in_flight).title}" if i == 3 else
                             f"scan shard-{i:04d} of 8 · 1 route · about 5 s" for i in range(SHARDS)]
    assert len(tasks) == SHARDS + 2
    bad = {name: task for name, task in scans.items() if task["state_name"] != "Completed"}
    assert [task["state_name"] for task in bad.values()] == ["Unsettled"]
    message = next(iter(bad.values()))["state"]["message"]
    assert "3 unreachable/connection_refused: " in message
    assert "Nothing listens" in message, "what to do about it"
    assert [address for address in lost if address not in message] == []
    assert "log:" in message and "shard 3 finished" in message


def assert_stages_are_logged(working: Deployed, run_id: str):
    lines = working.logs_with(run_id, "decided on 11 routes: incomplete, 1 finding")
    text = "\n".join(lines)
    assert " of estate core: 11 routes in 8 shards, " in text
    shard = ShardBrief(3, SHARDS, 4, 20_000, capacity_of(settings_in_force()[0]).in_flight)
    assert f"{shard.title}: 1 scanned, 3 unreachable; planned {shard.lasts_ms(20_000)} ms, took " in text
    assert len(lines) < 60


def assert_artifacts_tell(working: Deployed, run_id: str):
    def shown(prefix: str):
        return [artifact["data"] for artifact in working.artifacts(run_id) if artifact["key"] == f"{prefix}-core"]

    wait_for(lambda: shown("progress") == [100], 20)
    assert {artifact["key"] for artifact in working.artifacts(run_id)} == {"plan-core", "progress-core", "verdict-core"}
    (verdict,) = shown("verdict")
    assert "image\\-alt" in verdict and "Top findings" in verdict and "fanfold report" in verdict
    assert "## To mend" in verdict and "Nothing listens" in verdict


def assert_a_blocked_run_has_nothing_to_retry(working: Deployed, run_id: str, estate: HalfAway):
    estate.forget()
    working.retry(run_id)
    same = working.ended(run_id, run_count=3)
    assert (same["state_name"], estate.up.log, estate.away.log) == ("Blocked", [], [])
    assert "there is nothing to rescan" in same["state"]["message"]
    assert f"fanfold gate {run_id} --policy" in same["state"]["message"]


def test_the_server_is_restarted_between_failure_and_retry(working, server):
    """The run is known to the server that comes back, the worker waits for it, and only what was lost is requested."""
    with Site({"/a": page("A"), "/b": page("B")}) as up, Site({"/c": page("C")}) as away:
        routes = [*map(up.url, up.answers), *map(away.url, away.answers)]
        (working.root / "restart.json").write_text(json.dumps({"estate": "restart", "routes": routes}), "utf-8")
        away.down()
        run_id = working.start(WITHOUT_LIMIT, {"source": "restart.json", "shards": 2})
        assert working.ended(run_id)["state_name"] == "Incomplete", working.logs(run_id)
        wait_for(lambda: working.told(run_id, "prefect.flow-run.Incomplete"), 30)  # else the run looks like a zombie
        server.restart()
        assert working.flow_run(run_id)["state_name"] == "Incomplete"
        away.up()
        up.log.clear()
        working.retry(run_id)
        done = working.ended(run_id, run_count=2)
        assert (done["state_type"], done["state_name"]) == ("COMPLETED", "Completed"), working.logs(run_id)
        assert (up.log, away.log) == ([], ["/c"])
