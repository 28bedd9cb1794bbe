"""The whole journey, as a user starts it: real server, real shards, real browser."""

import json

import pyarrow.parquet as pq
import pytest

from tests.processes import marked
from tests.site import FAULT, Answer, page, small_site

REFUSING_PROXY = "http://127.0.0.1:9"
POLICY_REPORT = "report_only: true\n"


def outcomes(fanfold, run_id):
    folder = fanfold.store / "site" / "runs" / run_id
    rows = pq.read_table(folder / "outcomes.parquet").to_pylist()
    verdict = json.loads((folder / "verdict.json").read_text("utf-8"))
    return {row["route"].rsplit("/", 1)[-1]: row["outcome"] for row in rows}, verdict


def test_a_clean_estate_passes_and_every_file_is_there(fanfold):
    with small_site(4) as site:
        done = fanfold("audit", site.manifest(fanfold.folder / "m.json"), "--run-id", "r1", "--shards", 2)
    assert (done.returncode, done.stdout.splitlines()[0][:6]) == (0, "PASSED"), done.stdout + done.stderr
    found, verdict = outcomes(fanfold, "r1")
    assert found == {f"p{i:02d}": "scanned" for i in range(4)}
    assert (verdict["kind"], verdict["exit_code"], verdict["coverage"]["covered_count"]) == ("passed", 0, 4)
    assert sorted(site.log) == [f"/p{i:02d}" for i in range(4)]
    folder = fanfold.store / "site" / "runs" / "r1"
    assert sorted(path.name for path in folder.iterdir()) == [
        "dead_letters.parquet", "findings.parquet", "occurrences.parquet", "outcomes.parquet", "partials", "plan.json",
        "plan.parquet", "policy.yaml", "quarantine.parquet", "replay.json", "report", "rule_results.parquet",
        "suppressions.yaml", "verdict.json"]


@pytest.mark.parametrize(("body", "policy", "code", "state"), [
    (FAULT, "{}\n", 1, "blocked"),
    (FAULT, POLICY_REPORT, 0, "passed"),
])
def test_findings_decide_the_exit_code(fanfold, body, policy, code, state):
    (fanfold.folder / "policy.yaml").write_text(policy, encoding="utf-8")
    with small_site(1) as site:
        site.answers["/faulty"] = page("Faulty", body)
        done = fanfold("audit", site.manifest(fanfold.folder / "m.json"), "--run-id", "r1", "--policy", "policy.yaml")
    found, verdict = outcomes(fanfold, "r1")
    assert (done.returncode, verdict["kind"]) == (code, state), done.stderr
    assert found == {"p00": "scanned", "faulty": "scanned"}


def test_what_cannot_be_scanned_makes_the_run_incomplete_and_findings_are_still_told(fanfold):
    """095, 096, 097: operational faults win over findings, and both are printed."""
    with small_site(2, faulty=frozenset({0})) as site:
        site.answers["/gone"] = Answer("gone", 404)
        manifest = site.manifest(fanfold.folder / "m.json")
        done = fanfold("audit", manifest, "--run-id", "r1")
        by_stage = fanfold("fold", "r1")
    found, verdict = outcomes(fanfold, "r1")
    assert found == {"p00": "scanned", "p01": "scanned", "gone": "http_error"}
    assert (done.returncode, by_stage.returncode, verdict["kind"]) == (2, 2, "incomplete")
    assert {reason["decision"] for reason in verdict["reasons"]} == {"incomplete", "block"}
    assert "image-alt" in done.stdout
    assert "to mend\n  1 http_error/status_404: The server refuses the address" in done.stdout
    assert "fanfold resume r1" in done.stdout


def test_a_resumed_run_requests_only_what_is_not_settled(fanfold):
    """119: what is settled under a plan is not scanned again."""
    with small_site(5) as site:
        site.answers["/p03"] = Answer("later", 404)
        manifest = site.manifest(fanfold.folder / "m.json")
        first = fanfold("audit", manifest, "--run-id", "r1", "--shards", 2)
        site.answers["/p03"] = page("Page 3", FAULT)
        site.log.clear()
        second = fanfold("resume", "r1")
    assert (first.returncode, second.returncode, site.log) == (2, 1, ["/p03"]), second.stdout + second.stderr
    found, verdict = outcomes(fanfold, "r1")
    assert (found, verdict["kind"]) == ({f"p{i:02d}": "scanned" for i in range(5)}, "blocked")


def test_stages_one_by_one_give_the_same_as_the_flow(fanfold):
    """097: the same input through the entry points gives the same code and findings."""
    with small_site(4, faulty=frozenset({1, 2})) as site:
        manifest = site.manifest(fanfold.folder / "m.json")
        whole = fanfold("audit", manifest, "--run-id", "whole", "--shards", 2)
        plan = fanfold("plan", manifest, "--run-id", "legs", "--shards", 2)
        count = json.loads((fanfold.store / "site" / "runs" / "legs" / "plan.json").read_text("utf-8"))["shard_count"]
        legs = [fanfold("scan", "--plan", "legs", "--shard", index) for index in range(count)]
        fold = fanfold("fold", "legs")
    assert [done.returncode for done in (whole, plan, *legs, fold)] == [1, 0, *[0] * count, 1], legs[0].stderr

    def findings(run_id):
        table = pq.read_table(fanfold.store / "site" / "runs" / run_id / "findings.parquet")
        return table.drop_columns(["run_id", "run_date"]).to_pylist()

    assert findings("whole") == findings("legs")


def test_a_missing_leg_makes_the_fold_incomplete(fanfold):
    """040, 087: two of three legs."""
    with small_site(12) as site:  # by hash, so that a shard may be empty: twelve are never all in one
        manifest = site.manifest(fanfold.folder / "m.json")
        fanfold("plan", manifest, "--run-id", "r1", "--shards", 3)
        shards = [row["shard_index"] for row in pq.read_table(
            fanfold.store / "site" / "runs" / "r1" / "plan.parquet").to_pylist()]
        fanfold("scan", "--plan", "r1", "--shard", shards[0])
        fold = fanfold("fold", "r1")
    found, verdict = outcomes(fanfold, "r1")
    assert (fold.returncode, verdict["kind"]) == (2, "incomplete")
    assert sorted(found.values()) == sorted(
        "scanned" if shard == shards[0] else "missing" for shard in shards)


def test_an_audit_starts_a_server_of_its_own_and_leaves_nothing(alone):
    """123: nothing is left running after the end. No proxy stands between an audit and this machine."""
    with small_site(1) as site:
        done = alone("audit", site.manifest(alone.folder / "m.json"), "--run-id", "r1", http_proxy=REFUSING_PROXY)
    assert done.returncode == 0, done.stderr
    assert marked(alone.folder) == []
