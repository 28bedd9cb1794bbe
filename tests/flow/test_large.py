"""Fifty thousand routes in 64 shards on the default SQLite server: nothing grows that Prefect has to hold."""

import json

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.flow.api import Api
from tests.site import Site

ROUTES, SHARDS = 50_000, 64
PARAMETER_BYTES, ARTIFACT_BYTES = 10_000, 100_000


@pytest.mark.timeout(900)
def test_a_large_estate_leaves_little_with_prefect_and_everything_in_the_store(fanfold, prefect_server):
    """122, 125: a spent budget makes all but a few routes `expired` at once; the 64 shards are real."""
    with Site({}) as site:
        routes = [site.url(f"/section-{number % 97}/page-{number}") for number in range(ROUTES)]
        (fanfold.folder / "m.json").write_text(json.dumps({"estate": "large", "routes": routes}), "utf-8")
        done = fanfold("audit", "m.json", "--run-id", "r1", "--shards", SHARDS, "--run-budget", 1,
                       "--shards-at-once", 4, "--in-flight", 1, timeout=800)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "locked" not in done.stdout + done.stderr
    outcomes = pq.read_table(fanfold.store / "large" / "runs" / "r1" / "outcomes.parquet", columns=["outcome", "route"])
    counts = {row["values"]: row["counts"] for row in pc.value_counts(outcomes["outcome"]).to_pylist()}
    begun = counts.pop("http_error", 0)  # of shards that were quick enough to begin within the budget; nothing is there
    assert (counts, begun < SHARDS) == ({"expired": ROUTES - begun}, True)
    assert pc.count_distinct(outcomes["route"]).as_py() == ROUTES
    api = Api(prefect_server)
    run = api.flow_run_of("r1")
    tasks = api.task_runs(run["id"])
    assert len(tasks) == SHARDS + 2, "no task run for a route"
    assert all(len(json.dumps(task["task_inputs"])) < PARAMETER_BYTES for task in tasks.values())
    assert len(json.dumps(run["parameters"])) < PARAMETER_BYTES
    sizes = {artifact["key"]: len(json.dumps(artifact["data"])) for artifact in api.artifacts(run["id"])}
    assert set(sizes) == {"plan-large", "progress-large", "verdict-large"}
    assert max(sizes.values()) < ARTIFACT_BYTES
    api.close()
