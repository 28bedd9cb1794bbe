"""fanfold operated as a Prefect deployment: a real server, real workers, the real UI in a real browser.

One run is cut off with its worker before everything else, for the zombie automation needs a minute and a half to see
it; the other tests run on a second worker meanwhile, which shares only the store with the first.
"""

import json
import os
import signal
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from flows.journey import fold_run, plan_run, scan_shard_of
from flows.request import AuditRequest
from schemas.route import RouteKey
from tasks.plan.pack import assign
from tasks.scan.browser import find_browser
from tasks.scan.reap import descendants
from tests.flow.deployed import (
    CHECKOUT,
    DEPLOYMENT,
    Deployed,
    Hook,
    committed,
    dataset,
    processes_of,
    wait_for,
)
from tests.site import FAULT, Site, page

pytestmark = pytest.mark.timeout(600)
SHARDS = 8
COPY = "without-limit"
BROWSER_END_SECONDS = 15
ZOMBIE_SECONDS = 130  # 90 after the last heartbeat, and what a busy server takes to notice


@pytest.fixture(scope="module")
def hook():
    with Hook() as hook:
        yield hook


@pytest.fixture(scope="module")
def deployed(prefect_server, hook, tmp_path_factory):
    folder = tmp_path_factory.mktemp("deployed")
    alerts = (CHECKOUT / "deployments" / "automations.yaml").read_text("utf-8")
    (folder / "alerts.yaml").write_text(alerts.replace("dead-letters-over-100", "dead-letters-over-0"), "utf-8")
    with Deployed(prefect_server, folder) as deployed:
        deployed.deploy()
        deployed.copy_deployment(COPY)
        install = ("flows", "automations", "install", "--file", str(folder / "alerts.yaml"))
        deployed.run(*install, "--webhook", hook.address, "--allow-private")
        deployed.again = deployed.run(*install).stdout
        yield deployed
    assert processes_of(folder) == []


@dataclass
class CutRun:
    """A run of four pages, one of which holds the scan up until it is let go."""

    run_id: str
    site: Site
    go_on: threading.Event

    def addresses(self) -> set[str]:
        return {self.site.url(path) for path in self.site.answers}


def begin_cut_run(deployed, estate, stack) -> CutRun:
    """Start a run and come back while one of its pages is loading and others are done."""
    reached, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        reached.set()
        go_on.wait(60)

    answers = {f"/p{i}": page(f"Page {i}", FAULT if i == 1 else "") for i in range(5)} | {
        "/slow": page("Slow", before=hold)}
    site = stack.enter_context(Site(answers))
    site.manifest(deployed.root / f"{estate}.json", estate=estate)
    run_id = deployed.start(COPY, {"source": f"{estate}.json", "shards": 2})
    assert reached.wait(120), deployed.logs(run_id)
    others = len(answers) - 1
    wait_for(lambda: len(set(site.log)) > others, 60)
    time.sleep(3)  # the last of them are tested, not only requested
    return CutRun(run_id, site, go_on)


def finish_cut_run(deployed, estate, cut) -> set[str]:
    """Let the page go, forget what was requested, and return what the partials hold."""
    wait_for(lambda: not processes_of(deployed.folder, "tasks.scan"), 30)
    kept = committed(deployed.store, estate, cut.run_id)
    assert kept, "the shards kept nothing of what they had finished"
    cut.go_on.set()
    cut.site.log.clear()
    return kept


def assert_only_the_rest(cut, kept) -> None:
    assert {cut.site.url(path) for path in cut.site.log} == cut.addresses() - kept


@pytest.fixture(scope="module")
def stack():
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def zombie(deployed, stack):
    """A run whose worker and flow were killed together in the middle; then a second worker."""
    deployed.start_worker("first")
    cut = begin_cut_run(deployed, "zombie", stack)
    deployed.kill_worker_and_flow("first")
    killed_at = datetime.now(UTC)
    kept = finish_cut_run(deployed, "zombie", cut)
    deployed.start_worker("second")
    return cut, kept, killed_at


@pytest.fixture(scope="module")
def working(deployed, zombie):
    """The deployment with its second worker."""
    return deployed


@pytest.fixture(scope="module")
def ui(prefect_server):
    """A browser's page; what it asks for elsewhere than on the server is kept in `ui.foreign`."""
    root = prefect_server.removesuffix("/api")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(None).path,
                                             args=["--no-sandbox"] if os.geteuid() == 0 else [])
        context = browser.new_context(base_url=root, viewport={"width": 1400, "height": 1000})
        tab = context.new_page()
        tab.foreign = []
        tab.on("request", lambda request: None if request.url.startswith((root, "data:", "blob:"))
               else tab.foreign.append(request.url))
        yield tab
        browser.close()


def calm_dataset(manifest: Path, estate: str, store: Path, monkeypatch) -> dict[str, list[str]]:
    """Audit without Prefect and without a disturbance, in one shard."""
    monkeypatch.setenv("FANFOLD_STORE", str(store))
    run = plan_run(AuditRequest(source=str(manifest), shards=1), "calm", "calm")
    assert scan_shard_of(run, 0).is_settled
    fold_run(run.ref)
    return dataset(store, estate, "calm", left_out=["shard_index"])


def paths_of_shard(site: Site, shard_index: int, count: int) -> list[str]:
    """Make up paths which the plan's hash gives to a shard."""
    paths = (f"/s{shard_index}-{number}" for number in range(10_000))
    return [path for path, _ in zip((path for path in paths if assign(RouteKey(site.url(path), None).text, SHARDS)
                                     == shard_index), range(count), strict=False)]


def test_a_failed_shard_is_retried_by_the_button(working, ui, hook, tmp_path, monkeypatch):
    """119: three routes of one of eight shards sit on a host that is down."""
    with Site({}) as up, Site({}) as away:
        for index in range(SHARDS):
            up.answers |= {path: page(path, FAULT if index == 2 else "") for path in paths_of_shard(up, index, 1)}
        away.answers |= {path: page(path) for path in paths_of_shard(away, 3, 3)}
        lost = [away.url(path) for path in away.answers]
        manifest = working.root / "core.json"
        manifest.write_text(json.dumps({"estate": "core", "routes": [*map(up.url, up.answers), *lost]}), "utf-8")
        away.down()

        run_id = working.start(DEPLOYMENT, {"source": "core.json", "shards": SHARDS})
        wait_for(lambda: working.flow_run(run_id)["state_type"] == "RUNNING")
        second = working.start(DEPLOYMENT, {"source": "core.json"})
        failed = working.ended(run_id)
        assert (failed["state_type"], failed["state_name"]) == ("FAILED", "Incomplete"), working.logs(run_id)
        assert working.ended(second, run_count=0)["state_name"] == "Cancelled", "nothing piles up"
        assert {"estate:core", "verdict:incomplete", "nightly"} <= set(failed["tags"])
        assert len(json.dumps(failed["parameters"])) < 10_000
        assert sorted(up.log) == sorted(up.answers)
        assert_tasks_name_their_shard(working.task_runs(run_id, 1), lost)
        assert_stages_are_logged(working.logs(run_id))
        assert_artifacts_are_small(working.artifacts(run_id))

        away.up()
        up.log.clear()
        ui.goto(f"/runs/flow-run/{run_id}")
        ui.get_by_role("button", name="Retry", exact=True).click()
        ui.get_by_role("button", name="Retry", exact=True).nth(1).click()
        done = working.ended(run_id, run_count=2)
        assert (done["state_type"], done["state_name"]) == ("FAILED", "Blocked"), working.logs(run_id)
        assert (up.log, sorted(away.log)) == ([], sorted(away.answers))
        assert {"estate:core", "verdict:blocked"} <= set(done["tags"])
        assert "verdict:incomplete" not in done["tags"]
        assert dataset(working.store, "core", run_id, ["shard_index"]) == calm_dataset(
            manifest, "core", tmp_path / "store", monkeypatch)
        actual = [artifact for artifact in working.artifacts(run_id) if artifact["key"] == "plan-core"][-1]
        assert [row["attempts"] for row in json.loads(actual["data"])] == [2] * SHARDS

        up.log.clear()
        away.log.clear()
        working.retry(run_id)
        same = working.ended(run_id, run_count=3)
        assert (same["state_name"], up.log, away.log) == ("Blocked", [], [])
        assert "there is nothing to rescan" in same["state"]["message"]
        assert f"fanfold gate {run_id} --policy" in same["state"]["message"]
    names = wait_for(lambda: {"Incomplete", "Blocked", "DeadLetters"} <= {call["state"] for call in hook.calls}
                     and hook.calls, 20)
    assert {call["flow_run"] for call in names if call["state"] in ("Incomplete", "Blocked")} >= {run_id}
    assert next(call["dead_letters"] for call in names if call["state"] == "DeadLetters") == 3
    assert ui.foreign == []


def assert_tasks_name_their_shard(tasks, lost):
    scans = {name: task for name, task in tasks.items() if name.startswith("scan ")}
    assert sorted(scans) == [f"scan shard-{i:04d} of 8 · {4 if i == 3 else 1} routes · about {20 if i == 3 else 5} s"
                             for i in range(SHARDS)]
    assert len(tasks) == SHARDS + 2
    bad = {name: task for name, task in scans.items() if task["state_name"] != "Completed"}
    assert [task["state_name"] for task in bad.values()] == ["Unsettled"]
    message = next(iter(bad.values()))["state"]["message"]
    assert "3 unreachable: " in message
    assert [address for address in lost if address not in message] == []
    assert "log:" in message and "shard 3 finished" in message


def assert_stages_are_logged(lines):
    text = "\n".join(lines)
    assert " of estate core: 11 routes in 8 shards, " in text
    assert "shard-0003 of 8 · 4 routes · about 20 s: 1 scanned, 3 unreachable; planned 20000 ms, took " in text
    assert "decided on 11 routes: incomplete, 1 findings, " in text
    assert len(lines) < 60


def assert_artifacts_are_small(artifacts):
    assert {artifact["key"] for artifact in artifacts} == {"plan-core", "progress-core", "verdict-core"}
    assert max(len(json.dumps(artifact["data"])) for artifact in artifacts) < 100_000
    verdict = next(artifact["data"] for artifact in artifacts if artifact["key"] == "verdict-core")
    assert "image\\-alt" in verdict and "Top findings" in verdict and "fanfold report" in verdict
    assert next(artifact["data"] for artifact in artifacts if artifact["key"] == "progress-core") == 100


def test_a_zombie_is_found_and_its_run_goes_on_with_another_worker(deployed, zombie, tmp_path, monkeypatch):
    """124: worker and flow died together; shards kept what they had; nobody was left to say that the run is dead."""
    cut, kept, killed_at = zombie
    crashed = deployed.ended(cut.run_id, limit_s=150)
    assert (crashed["state_type"], crashed["state"]["message"][:12]) == ("CRASHED", "No heartbeat")
    waited = datetime.fromisoformat(crashed["state"]["timestamp"]) - killed_at
    assert waited.total_seconds() < ZOMBIE_SECONDS
    cut.site.log.clear()
    deployed.retry(cut.run_id)
    done = deployed.ended(cut.run_id, run_count=2)
    assert done["state_name"] == "Blocked", deployed.logs(cut.run_id)
    assert_only_the_rest(cut, kept)
    assert dataset(deployed.store, "zombie", cut.run_id, ["shard_index"]) == calm_dataset(
        deployed.root / "zombie.json", "zombie", tmp_path / "store", monkeypatch)


def test_cancel_ends_every_browser_and_the_command_line_goes_on(working, ui, stack):
    """Cancel in the UI, then `fanfold resume` in a shell."""
    cut = begin_cut_run(working, "cancelled", stack)
    assert processes_of(working.folder, "headless")
    ui.goto(f"/runs/flow-run/{cut.run_id}")
    ui.get_by_role("button", name="Cancel", exact=True).click()
    ui.get_by_role("button", name="Confirm", exact=True).click()
    began = time.monotonic()
    wait_for(lambda: not processes_of(working.folder, "headless"), 30)
    assert time.monotonic() - began < BROWSER_END_SECONDS
    kept = finish_cut_run(working, "cancelled", cut)
    assert working.ended(cut.run_id, limit_s=60)["state_name"] == "Cancelled"
    resumed = working.run("flows", "resume", cut.run_id, check=False, FANFOLD_STORE=str(working.store))
    assert resumed.returncode == 1, resumed.stdout + resumed.stderr
    assert_only_the_rest(cut, kept)


def test_sigterm_flushes_and_the_run_goes_on(working, stack):
    """As Kubernetes ends a pod: SIGTERM, then a grace period."""
    cut = begin_cut_run(working, "terminated", stack)
    shards = processes_of(working.folder, "tasks.scan")
    flow = next(pid for pid in processes_of(working.folder, "prefect") if shards[0] in children_of(pid))
    os.kill(flow, signal.SIGTERM)
    began = time.monotonic()
    wait_for(lambda: not processes_of(working.folder, "headless"), 30)
    assert time.monotonic() - began < BROWSER_END_SECONDS
    kept = finish_cut_run(working, "terminated", cut)
    assert len(kept) == 5, "every page that was done is kept"
    assert working.ended(cut.run_id)["state_type"] == "CRASHED"
    time.sleep(10)  # a worker reports a crash a second time: a retry before that is lost
    working.retry(cut.run_id)
    assert working.ended(cut.run_id, run_count=2)["state_name"] == "Blocked"
    assert_only_the_rest(cut, kept)


def children_of(pid: int) -> list[int]:
    below = descendants(pid)
    return [child for child in below if not any(child in descendants(other) for other in below)]


def test_parameters_are_a_typed_form_and_are_checked(deployed, ui):
    """125: parameters name things; what is unknown or of a wrong type is refused before anything runs."""
    nightly = deployed.deployment()
    assert (nightly["version"], nightly["concurrency_limit"] or nightly["global_concurrency_limit"]["limit"]) == (
        "0.1.0", 1)
    assert nightly["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    assert [schedule["schedule"]["cron"] for schedule in nightly["schedules"]] == ["30 1 * * *"]
    for request in ({"source": "a.json", "unknown": 1}, {"source": "a.json", "shards": "four"}, {}, {"source": ""}):
        answer = deployed.ask("POST", f"deployments/{nightly['id']}/create_flow_run",
                              {"parameters": {"request": request}})
        assert answer.status_code == 409, request
    ui.goto(f"/deployments/deployment/{nightly['id']}/run")
    for field in AuditRequest.model_fields.values():
        plain = field.description.partition("`")[0].strip()  # the form renders markdown
        ui.get_by_text(plain).first.wait_for(timeout=10_000)


def test_a_parameter_never_names_a_path_of_the_worker(working):
    runs = [working.start(COPY, {"source": source}) for source in ("/etc/hostname", "../outside.json")]
    states = [working.ended(run_id)["state"] for run_id in runs]
    assert [(state["name"], "leaves the configured root" in state["message"]) for state in states] == [
        ("BadInput", True)] * 2


def test_alerts_are_installed_once(deployed):
    names = [automation["name"] for automation in deployed.post("automations/filter", {})]
    assert sorted(name for name in names if name.startswith("fanfold")) == [
        "fanfold blocked", "fanfold crashed", "fanfold dead letters", "fanfold incomplete", "fanfold no run",
        "fanfold zombie"]
    assert deployed.again.count("replaced: ") == 6
