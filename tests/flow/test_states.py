"""What cannot be Completed, and what is never taken from a cache: the flow itself, with one of its parts gone wrong."""

import os
import subprocess
import sys

import pytest

from flows.server import client_environment
from tests.flow.api import Api
from tests.site import small_site

# The real flow on a real server, once for each part that goes wrong.
PROGRAM = """
import sys
from flows import audit
from flows.request import AuditRequest
from tasks.scan.watch import ShardReport

real_scan = audit.scan_shard_of

def ending_with(error):
    def scan(run, shard_index, secret_values):
        if shard_index == 0:
            raise error
        return real_scan(run, shard_index, secret_values)
    return scan

def hollow(run, shard_index, secret_values):
    return ShardReport(shard_index, "attempt-1-00000000", "finished", {"scanned": 9}, 0, 0)

CASES = {
    "calm": {}, "calm again": {}, "raises": {"scan_shard_of": ending_with(RuntimeError("broken"))},
    "killed": {"scan_shard_of": ending_with(SystemExit(9))}, "hollow": {"scan_shard_of": hollow},
    "not waited for": {"wait": lambda *_, **__: None},
}
for name, changes in CASES.items():
    kept = {part: getattr(audit, part) for part in changes}
    vars(audit).update(changes)
    flow = audit.audit_estate.with_options(flow_run_name=name)
    try:
        flow(AuditRequest(source=sys.argv[1], shards=2), return_state=True)
    except SystemExit:
        pass
    vars(audit).update(kept)
"""


@pytest.fixture(scope="module")
def ended(prefect_server, tmp_path_factory):
    """How each run ended, by the server, and what was requested in all."""
    folder = tmp_path_factory.mktemp("states")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FANFOLD_")}
    with small_site(6) as site:
        manifest = site.manifest(folder / "m.json")
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(manifest)], cwd=folder, check=False, capture_output=True, text=True,
            timeout=250, stdin=subprocess.DEVNULL, env=environment | client_environment(prefect_server) | {
                "PREFECT_HOME": str(folder / "prefect"), "FANFOLD_SHARD_RETRIES": "0"})
    assert done.returncode == 0, done.stdout + done.stderr
    api = Api(prefect_server)
    runs = [run for run in api.post("flow_runs/filter", {})
            if run["parameters"]["request"]["source"] == str(manifest)]
    api.close()
    return {run["name"]: (run["state_type"], run["state_name"]) for run in runs}, list(site.log)


def test_the_same_parameters_scan_again(ended):
    """119, 120: no result of Prefect's is taken for work: two runs of one request ask for every page twice."""
    found, log = ended
    assert [found[name] for name in ("calm", "calm again")] == [("COMPLETED", "Completed")] * 2
    pages = [f"/p{number:02d}" for number in range(6)]
    assert sorted(log[:12]) == sorted(pages * 2)


@pytest.mark.parametrize(("name", "state"), [
    ("raises", ("FAILED", "Incomplete")), ("killed", ("CRASHED", "Crashed")), ("hollow", ("FAILED", "Incomplete")),
    ("not waited for", ("FAILED", "Incomplete")),
])
def test_a_shard_without_evidence_is_never_completed(ended, name, state):
    """113, 117: a task that raised, one that was killed, one that left nothing, one that nobody waited for."""
    found, _ = ended
    assert found[name] == state
