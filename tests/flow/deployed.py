"""fanfold as a Prefect deployment, for tests: the checkout's own prefect.yaml, workers, and what was kept.

Here: starting and ending all of it. Not here: what a test asserts. Nothing that is started here outlives the block it
was started in: `Deployed` ends its workers with all that is below them.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from flows.server import client_environment
from tasks.scan.process import descendants
from tests.faults.conftest import FINDING_COLUMNS, OCCURRENCE_COLUMNS, OUTCOME_COLUMNS, RULE_COLUMNS
from tests.flow.api import RUN_SECONDS, Api
from tests.processes import command_of, kill, marked

CHECKOUT = Path(__file__).parents[2]
POOL = "fanfold"
DEPLOYMENT = "nightly-full-audit"
TABLES = {"outcomes": OUTCOME_COLUMNS, "occurrences": OCCURRENCE_COLUMNS, "rule_results": RULE_COLUMNS,
          "findings": FINDING_COLUMNS}


class Deployed(Api):
    """A server's deployment with workers that share nothing but the store."""

    def __init__(self, api_address: str, folder: Path) -> None:
        super().__init__(api_address)
        self.folder = folder
        self.root, self.store = folder / "root", folder / "store"
        self.root.mkdir()
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "FANFOLD_"))}
        self.environment = clean | client_environment(api_address) | {
            "PREFECT_HOME": str(folder / "prefect"), "PREFECT_WORKER_QUERY_SECONDS": "1",
            "DEPLOYED_TEST_MARK": str(folder)}
        # A team's shell has no level of its own for the console: lines of a flow go through its worker.
        self.environment.pop("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL")
        self._workers: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Deployed":
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._workers):
            self.end_worker(name)
        kill(processes_of(self.folder))  # what a failed test has left
        self.close()

    def run(self, *words: str, check: bool = True, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run a module of Python in the checkout, with the settings that a team's shell would have."""
        done = subprocess.run([sys.executable, "-m", *words], cwd=CHECKOUT, env=self.environment | environment,
                              capture_output=True, text=True, timeout=RUN_SECONDS, stdin=subprocess.DEVNULL,
                              check=False)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def deploy(self) -> None:
        """Do what the README says: a work pool, then every deployment of prefect.yaml."""
        self.run("prefect", "--no-prompt", "work-pool", "create", POOL, "--type", "process")
        self.run("prefect", "--no-prompt", "deploy", "--all",
                 FANFOLD_ROOT=str(self.root), FANFOLD_STORE=str(self.store))

    def start_worker(self, name: str) -> "subprocess.Popen[bytes]":
        """Start a worker that shares nothing with another one but the store and the configured root."""
        home = self.folder / name
        home.mkdir()
        with (home / "worker.log").open("wb") as log:
            self._workers[name] = subprocess.Popen(
                [sys.executable, "-m", "prefect", "worker", "start", "--pool", POOL, "--name", name],
                cwd=home, env=self.environment | {"PREFECT_HOME": str(home / "prefect"),
                                                  "XDG_STATE_HOME": str(home / "state")},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        return self._workers[name]

    def end_worker(self, name: str) -> None:
        worker = self._workers.pop(name)
        kill([worker.pid, *descendants(worker.pid)])
        worker.wait()

    def kill_worker(self, name: str) -> None:
        """SIGKILL a worker alone, as a kernel does that is short of memory."""
        worker = self._workers.pop(name)
        kill([worker.pid])
        worker.wait()

    def kill_worker_and_flow(self, name: str) -> None:
        """SIGKILL a worker and its flow, as a machine does that loses power, but leave shard processes alone."""
        worker = self._workers[name]
        tree = [worker.pid, *descendants(worker.pid)]
        shards = {pid for pid in tree if "tasks.scan" in command_of(pid)}
        below = {pid for shard in shards for pid in descendants(shard)}
        kill([pid for pid in tree if pid not in shards | below])
        self._workers.pop(name).wait()

    def deployment(self, name: str = DEPLOYMENT) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"deployments/name/audit-estate/{name}")
        return found

    def copy_deployment(self, name: str, **environment: str) -> None:
        """Put a second deployment beside the nightly one: the same but for its name, schedule, limit and variables."""
        kept = ("flow_id", "entrypoint", "work_pool_name", "work_queue_name", "job_variables", "parameters",
                "parameter_openapi_schema", "enforce_parameter_schema", "path", "pull_steps", "tags")
        nightly = self.deployment()
        variables = nightly["job_variables"] | {"env": nightly["job_variables"]["env"] | environment}
        self.post("deployments/", {"name": name, **{key: nightly[key] for key in kept}, "job_variables": variables})

    def start(self, deployment: str, request: dict[str, Any]) -> str:
        """Start a flow run and return its id."""
        run: dict[str, Any] = self.post(f"deployments/{self.deployment(deployment)['id']}/create_flow_run",
                                        {"parameters": {"request": request}})
        return str(run["id"])

    def retry(self, run_id: str) -> None:
        """Do what the Retry button does."""
        self.post(f"flow_runs/{run_id}/set_state", {"force": False, "state": {
            "name": "AwaitingRetry", "message": "Retry from the UI", "type": "SCHEDULED"}})


def dataset(store: Path, estate: str, run_id: str, left_out: Iterable[str] = ()) -> dict[str, list[str]]:
    """Return what a run says about pages, by table, in an order of its own."""
    found = {}
    for name, columns in TABLES.items():
        table = pq.read_table(store / estate / "runs" / run_id / f"{name}.parquet")
        kept = [column for column in columns if column not in set(left_out)]
        found[name] = sorted(map(repr, table.select(kept).to_pylist()))
    return found


def committed(store: Path, estate: str, run_id: str) -> set[str]:
    """Return the addresses whose settled outcome lies in the partials of a run."""
    files = (store / estate / "runs" / run_id / "partials").glob("*/*/outcomes-*.parquet")
    return {row["url"] for path in files for row in pq.read_table(path).to_pylist() if row["outcome"] == "scanned"}


def processes_of(folder: Path, word: str = "") -> list[int]:
    """List the processes that carry a deployment's mark and a word in their command."""
    return marked(f"DEPLOYED_TEST_MARK={folder}\0", word)


