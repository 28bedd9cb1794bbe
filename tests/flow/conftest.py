"""A real Prefect server for the session, the command line as a user starts it, and fanfold deployed with workers.

One run is cut off with its worker before anything else is asked of a worker, for the zombie automation needs a minute
and a half to see it; the other tests run on a second worker meanwhile, and its test goes last.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from flows.journey import fold_run, plan_run, scan_shard_of
from flows.request import AuditRequest
from flows.server import client_environment
from tasks.scan.browser import find_browser
from tests.flow.cut_run import WITHOUT_LIMIT, CutRun
from tests.flow.deployed import CHECKOUT, Deployed, dataset, processes_of
from tests.flow.server import Hook, Server

AUDIT_SECONDS = 300
SHORT_SECONDS = 10  # instead of 26 hours; Prefect takes no less


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name.startswith("test_a_zombie"))


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def prefect_server(server) -> str:
    return server.address


@dataclass
class Fanfold:
    """Starts `fanfold` in a folder of its own with a store of its own."""

    folder: Path
    environment: dict[str, str]

    def __call__(self, *words: object, timeout: float = AUDIT_SECONDS, **environment: str):
        return subprocess.run([sys.executable, "-m", "flows", *map(str, words)], cwd=self.folder, timeout=timeout,
                              env=self.environment | environment, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)

    def start(self, *words: object, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen([sys.executable, "-m", "flows", *map(str, words)], cwd=self.folder, text=True,
                                env=self.environment | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL)

    @property
    def store(self) -> Path:
        return self.folder / "fanfold-store"


@pytest.fixture
def alone(tmp_path):
    """The command line without a server: an audit starts its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "FANFOLD_"))}
    mark = {"TEST_FOLDER": str(tmp_path)}  # all that it starts has it, also its server, whose PREFECT_HOME is another
    return Fanfold(tmp_path, environment | mark | {"PREFECT_HOME": str(tmp_path / "prefect")})


@pytest.fixture
def fanfold(alone, prefect_server):
    """The command line with the session's server."""
    return Fanfold(alone.folder, alone.environment | client_environment(prefect_server))


@pytest.fixture(scope="session")
def hook() -> Iterator[Hook]:
    with Hook() as hook:
        yield hook


@pytest.fixture(scope="session")
def deployed(prefect_server, hook, tmp_path_factory) -> Iterator[Deployed]:
    """What prefect.yaml deploys, and its alerts at a depth and a period that a test can reach; no worker."""
    folder = tmp_path_factory.mktemp("deployed")
    alerts = (CHECKOUT / "deployments" / "automations.yaml").read_text("utf-8")
    assert (alerts.count("dead-letters-over-100:"), alerts.count("within: 93600")) == (1, 2)
    (folder / "alerts.yaml").write_text(alerts.replace("dead-letters-over-100:", "dead-letters-over-0:").replace(
        "within: 93600", f"within: {SHORT_SECONDS}"), "utf-8")
    with Deployed(prefect_server, folder) as deployed:
        deployed.deploy()
        deployed.copy_deployment(WITHOUT_LIMIT)
        install = ("flows", "automations", "install", "--file", str(folder / "alerts.yaml"))
        deployed.run(*install, "--webhook", hook.address, "--allow-private")
        deployed.again = deployed.run(*install).stdout
        yield deployed
    assert processes_of(folder) == []


@pytest.fixture(scope="session")
def zombie(deployed) -> Iterator[tuple[CutRun, datetime]]:
    """A run whose worker and flow were killed together in the middle, and when; then a second worker."""
    deployed.start_worker("first")
    with CutRun(deployed, "zombie") as cut:
        deployed.kill_worker_and_flow("first")
        killed_at = datetime.now(UTC)
        deployed.start_worker("second")
        cut.was_cut()
        yield cut, killed_at


@pytest.fixture(scope="session")
def working(deployed, zombie) -> Deployed:
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


@pytest.fixture
def calm_dataset(tmp_path, monkeypatch):
    """Audit a manifest without Prefect and without a disturbance, in one shard, and return what it says of pages."""
    def audit(manifest: Path, estate: str) -> dict[str, list[str]]:
        monkeypatch.setenv("FANFOLD_STORE", str(tmp_path / "calm"))
        run = plan_run(AuditRequest(source=str(manifest), shards=1), "calm", "calm")
        assert scan_shard_of(run, 0).is_settled
        fold_run(run.ref)
        return dataset(tmp_path / "calm", estate, "calm", left_out=["shard_index"])

    return audit
