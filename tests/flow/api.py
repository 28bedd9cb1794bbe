"""A Prefect server's API, for tests: asking it, and waiting for what it is told a moment later.

A flow's state is set before its last lines are sent, and task runs are recorded from events: who looks at once sees
less than there is.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx

FINAL = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
RUN_SECONDS = 240.0  # how long a busy machine may take; nothing waits for it to pass
TOLD_SECONDS = 30.0


def wait_for(what: Callable[[], Any], limit_s: float = RUN_SECONDS, each_s: float = 0.2) -> Any:
    """Ask until the answer is something."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        if answer := what():
            return answer
        time.sleep(each_s)
    raise AssertionError(f"nothing within {limit_s:.0f} s")


class Api:
    """What a server says of flow runs."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._client = httpx.Client(base_url=f"{address}/", timeout=30, transport=httpx.HTTPTransport(retries=3))

    def close(self) -> None:
        self._client.close()

    def ask(self, method: str, path: str, document: object = None) -> httpx.Response:
        """Ask the API; SQLite may be busy, which raw clients must bear."""
        for _ in range(20):
            response = self._client.request(method, path, json=document)
            if response.status_code not in (429, 502, 503):
                return response
            time.sleep(0.5)
        return response

    def post(self, path: str, document: object) -> Any:
        response = self.ask("POST", path, document)
        assert response.is_success, response.text
        return response.json()

    def get(self, path: str) -> Any:
        response = self.ask("GET", path)
        assert response.is_success, response.text
        return response.json()

    def flow_run(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"flow_runs/{run_id}")
        return found

    def flow_run_of(self, name: str) -> dict[str, Any]:
        """Find the flow run of a run that a command line has named."""
        runs: list[dict[str, Any]] = self.post("flow_runs/filter", {"sort": "START_TIME_DESC"})
        return next(run for run in runs if run["parameters"]["request"].get("run_id") == name)

    def ended(self, run_id: str, run_count: int = 1, limit_s: float = RUN_SECONDS) -> dict[str, Any]:
        """Wait for the end of an attempt of a flow run."""
        def look() -> dict[str, Any] | None:
            found = self.flow_run(run_id)
            return found if found["run_count"] >= run_count and found["state_type"] in FINAL else None

        found: dict[str, Any] = wait_for(look, limit_s)
        return found

    def task_runs(self, run_id: str, attempt: int = 1) -> dict[str, dict[str, Any]]:
        """Wait until all task runs of an attempt that has ended are known to have, and return them by name."""
        def look() -> dict[str, dict[str, Any]] | None:
            found = self.post("task_runs/filter", {"flow_runs": {"id": {"any_": [run_id]}}})
            of_attempt = {task["name"]: task for task in found if task["flow_run_run_count"] == attempt}
            has_all = any(name.startswith("fold estate") for name in of_attempt)
            return of_attempt if has_all and all(t["state_type"] in FINAL for t in of_attempt.values()) else None

        tasks: dict[str, dict[str, Any]] = wait_for(look, TOLD_SECONDS)
        return tasks

    def logs(self, run_id: str) -> list[str]:
        found = self.post("logs/filter", {"logs": {"flow_run_id": {"any_": [run_id]}}, "sort": "TIMESTAMP_ASC"})
        return [line["message"] for line in found]

    def logs_with(self, run_id: str, word: str) -> list[str]:
        """Wait for a line that holds a word, and return all there are."""
        def look() -> list[str] | None:
            lines = self.logs(run_id)
            return lines if any(word in line for line in lines) else None

        found: list[str] = wait_for(look, TOLD_SECONDS)
        return found

    def told(self, run_id: str, event: str) -> bool:
        """Say whether an event of a flow run is stored, and so was seen by automations."""
        asked = {"filter": {"event": {"name": [event]}, "resource": {"id": [f"prefect.flow-run.{run_id}"]}}}
        return bool(self.post("events/filter", asked)["events"])

    def artifacts(self, run_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.post(
            "artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run_id]}}, "sort": "CREATED_DESC"})
        return found[::-1]


def moment_of(state: dict[str, Any]) -> datetime:
    """Return when a state was set."""
    return datetime.fromisoformat(state["timestamp"]).astimezone(UTC)
