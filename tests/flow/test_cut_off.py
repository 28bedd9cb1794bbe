"""A deployed run is cut off in the middle, each in a way of its own, and goes on with what it had."""

import os
import signal
import time

import pytest

from tests.flow.api import moment_of, wait_for
from tests.flow.cut_run import OTHERS, CutRun
from tests.flow.deployed import dataset, processes_of
from tests.site import Answer

pytestmark = pytest.mark.timeout(600)
BROWSER_END_SECONDS = 15
ZOMBIE_SECONDS = 130  # 90 after the last heartbeat, and what a busy server takes to notice


def flow_of(folder) -> int:
    """Return the process of the one flow that runs."""
    (flow,) = processes_of(folder, "prefect.engine")
    return flow


def seconds_until_no_browser(folder) -> float:
    began = time.monotonic()
    wait_for(lambda: not processes_of(folder, "headless"), 30)
    return time.monotonic() - began


def test_a_zombie_is_found_and_its_run_goes_on_with_another_worker(deployed, zombie, calm_dataset):
    """124: worker and flow died together; shards kept what they had; nobody was left to say that the run is dead."""
    cut, killed_at = zombie
    crashed = deployed.ended(cut.run_id, limit_s=150)
    assert (crashed["state_type"], crashed["state"]["message"][:12]) == ("CRASHED", "No heartbeat")
    assert (moment_of(crashed["state"]) - killed_at).total_seconds() < ZOMBIE_SECONDS
    aside = cut.manifest.rename(deployed.folder / "aside.json")  # the second worker has nothing but the store
    deployed.retry(cut.run_id)
    done = deployed.ended(cut.run_id, run_count=2)
    assert done["state_name"] == "Blocked", deployed.logs(cut.run_id)
    cut.assert_only_the_rest_was_requested()
    assert dataset(deployed.store, "zombie", cut.run_id, ["shard_index"]) == calm_dataset(aside, "zombie")


def test_a_flow_outlives_its_worker(working):
    """The worker alone is killed, and with it whoever read the flow's lines: the flow ends with its own verdict.

    One of its pages is not there, so a shard ends Unsettled: that is told as an error and not as information.
    """
    with CutRun(working, "orphaned", {"/gone": Answer("gone", 404)}) as cut:
        flow = flow_of(working.folder)
        working.kill_worker("second")
        working.start_worker("third")
        assert flow_of(working.folder) == flow
        cut.let_go()
        done = working.ended(cut.run_id)
        assert (done["state_name"], done["run_count"]) == ("Incomplete", 1), working.logs(cut.run_id)
        assert "Unsettled" in {task["state_name"] for task in working.task_runs(cut.run_id).values()}
        assert sorted(cut.site.log) == sorted(cut.site.answers), "no page is scanned twice"
        cut.site.log.clear()
        working.retry(cut.run_id)
        same = working.ended(cut.run_id, run_count=2)
        assert (same["state_name"], cut.site.log) == ("Incomplete", ["/gone"])


def test_cancel_ends_every_browser_and_the_command_line_goes_on(working, ui):
    """Cancel in the UI, then `fanfold resume` in a shell."""
    with CutRun(working, "cancelled") as cut:
        assert processes_of(working.folder, "headless")
        ui.goto(f"/runs/flow-run/{cut.run_id}")
        ui.get_by_role("button", name="Cancel", exact=True).click()
        ui.get_by_role("button", name="Confirm", exact=True).click()
        assert seconds_until_no_browser(working.folder) < BROWSER_END_SECONDS
        cut.was_cut()
        assert working.ended(cut.run_id, limit_s=60)["state_name"] == "Cancelled"
        resumed = working.run("flows", "resume", cut.run_id, check=False, FANFOLD_STORE=str(working.store))
        assert resumed.returncode == 1, resumed.stdout + resumed.stderr
        cut.assert_only_the_rest_was_requested()


def test_sigterm_flushes_and_prefects_command_line_goes_on(working):
    """As Kubernetes ends a pod: SIGTERM, then a grace period; then `prefect flow-run retry`."""
    with CutRun(working, "terminated") as cut:
        os.kill(flow_of(working.folder), signal.SIGTERM)
        assert seconds_until_no_browser(working.folder) < BROWSER_END_SECONDS
        cut.was_cut()
        assert len(cut.kept) == OTHERS, "every page that was done is kept"
        assert working.ended(cut.run_id)["state_type"] == "CRASHED"
        time.sleep(10)  # a worker reports a crash a second time: a retry before that is lost
        working.run("prefect", "--no-prompt", "flow-run", "retry", cut.run_id)
        assert working.ended(cut.run_id, run_count=2)["state_name"] == "Blocked"
        cut.assert_only_the_rest_was_requested()
