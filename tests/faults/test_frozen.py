"""What may change between the attempts of a run, and what may not: the design's table, a test a row."""

import json
from dataclasses import replace

import pytest

from flows.journey import plan_run
from flows.request import AuditRequest
from schemas.errors import ContractError
from schemas.verdict import VerdictKind
from tasks.commit import Shelf, read_receipt
from tests.site import FAULT, Answer, Site, page, small_site


def resumed(legs, **changes):
    """Plan the run again, as every attempt of the flow does."""
    request = AuditRequest(source=str(changes.pop("source")), run_id="r1", **changes)
    return replace(legs, run=plan_run(request, "r1", "r1-flow-2"), events=[])


def test_the_manifest_is_not_read_again(start, tmp_path):
    with small_site(3) as site:
        legs = start(site)
        (tmp_path / "m.json").write_text("no manifest any more", encoding="utf-8")
        again = resumed(legs, source=tmp_path / "m.json")
        assert (again.run.plan_id, again.run.shards) == (legs.run.plan_id, legs.run.shards)


def test_actions_are_frozen_with_the_plan(start, tmp_path):
    """A shard takes the steps of the plan, whatever the manifest says by now; other steps are another plan."""
    behind = '<button id="a" onclick="p.hidden = false">A</button><p id="p" hidden><img src="data:,"></p>'
    with Site({"/a": page("A page", behind)}) as site:
        entry = {"url": site.url("/a"), "ready_when": "p.hidden === false", "actions": [{"click": "#a"}]}
        legs = start(site, routes=[entry])
        changed = {**entry, "actions": [{"click": "#b"}]}
        site.manifest(tmp_path / "m.json", routes=[changed])
        again = resumed(legs, source=tmp_path / "m.json")
        assert again.run.plan_id == legs.run.plan_id
        again.scan()
        assert again.fold().kind is VerdictKind.BLOCKED
        assert again.rows("outcomes", ("outcome", "violation_count")) == [{"outcome": "scanned", "violation_count": 1}]
        other = start(site, "r2", routes=[changed])
        assert other.run.plan_id != legs.run.plan_id


def test_the_history_is_not_read_again(start, tmp_path):
    with small_site(3) as site:
        legs = start(site)
        (tmp_path / "h.json").write_text(json.dumps({site.url("/p00"): 99}), encoding="utf-8")
        again = resumed(legs, source=tmp_path / "m.json", history=str(tmp_path / "h.json"))
        assert (again.run.plan_id, again.run.shards) == (legs.run.plan_id, legs.run.shards)


def test_another_source_is_refused(start, tmp_path):
    with small_site(3) as site:
        legs = start(site)
        with pytest.raises(ContractError, match="exists with source"):
            resumed(legs, source=tmp_path / "other.json")


@pytest.mark.parametrize(("name", "value", "field"), [
    ("FANFOLD_SCAN_EVIDENCE", "none", "scan settings: evidence"),
    ("FANFOLD_SCAN_RULES", '{"region": false}', "scan settings: rules"),
    ("FANFOLD_IDENTITY_QUERY", "drop", "identity settings: query"),
])
def test_other_scan_or_identity_settings_are_refused(start, tmp_path, monkeypatch, name, value, field):
    with small_site(3) as site:
        legs = start(site)
        monkeypatch.setenv(name, value)
        with pytest.raises(ContractError, match=field):
            resumed(legs, source=tmp_path / "m.json")


def test_a_shard_refuses_another_browser_before_it_scans(start, monkeypatch):
    """The plan pins the browser's version; a shard that has another says so and writes no attempt."""
    with small_site(3) as site:
        legs = start(site)
        _repin(legs, browser_version="1.2.3.4")
        with pytest.raises(ContractError, match=r"browser.*expected 1\.2\.3\.4, as in the plan"):
            legs.scan()
        assert site.log == []


def test_a_shard_refuses_another_engine_before_it_scans(start):
    with small_site(3) as site:
        legs = start(site)
        header = legs.store.read_json(legs.run.ref.layout.file("plan.json"))
        _repin(legs, engine=header["engine"] | {"digest": "0" * 64})
        with pytest.raises(ContractError, match=r"engine.*as in the plan"):
            legs.scan()
        assert site.log == []


def test_a_refused_shard_makes_the_fold_incomplete(start):
    with small_site(2) as site:
        legs = start(site)
        assert legs.fold().kind is VerdictKind.INCOMPLETE


def test_policy_and_baseline_are_a_snapshot(start, tmp_path):
    """A policy that changed after the plan does not judge the run; its digest is in the verdict."""
    with small_site(1) as site:
        site.answers["/faulty"] = page("Faulty", FAULT)
        (tmp_path / "policy.yaml").write_text("{}\n", encoding="utf-8")
        legs = start(site, policy=str(tmp_path / "policy.yaml"))
        legs.scan()
        first = legs.fold()
        (tmp_path / "policy.yaml").write_text("report_only: true\n", encoding="utf-8")
        again = resumed(legs, source=tmp_path / "m.json", policy=str(tmp_path / "policy.yaml"))
        second = again.fold()
        assert (first.kind, second.kind) == (VerdictKind.BLOCKED, VerdictKind.BLOCKED)
        assert first.provenance == second.provenance


def test_the_version_of_the_code_is_in_each_receipt(start):
    with small_site(1) as site:
        legs = start(site)
        legs.scan()
        shelf = Shelf(legs.store, legs.run.ref.layout, legs.run.plan_id, 0)
        receipt = read_receipt(shelf, shelf.attempts()[-1])
        header = legs.store.read_json(legs.run.ref.layout.file("plan.json"))
        assert (receipt.program_version, receipt.format_version) == (header["program_version"], 1)


def test_a_run_budget_starts_anew(start, tmp_path):
    """What the budget left out is `expired`; the next attempt has a budget of its own and scans it."""
    with small_site(4) as site:
        site.answers["/p00"] = Answer(page("Slow").body, delay_s=2.5)
        legs = start(site)
        legs.run = replace(legs.run, run_budget_ms=1)
        report = legs.scan()
        assert report.ended_by == "run_budget"
        assert legs.fold().kind is VerdictKind.INCOMPLETE
        assert {row["outcome"] for row in legs.rows("outcomes", ("outcome",))} == {"expired"}
        again = resumed(legs, source=tmp_path / "m.json")
        again.scan()
        assert again.fold().kind is VerdictKind.PASSED


def _repin(legs, **changes):
    """Change what the plan pins and seal it again, as if it had been made elsewhere."""
    from schemas.plan import Plan, header_of
    from tasks.freeze import read_plan, write_plan

    plan = read_plan(legs.store, legs.run.ref.layout)
    document = legs.store.read_json(legs.run.ref.layout.file("plan.json")) | changes
    sealed = Plan(header_of(document), plan.routes).sealed()
    write_plan(legs.store, legs.run.ref.layout, sealed, {})
    legs.run = replace(legs.run, plan_id=sealed.header.plan_id)


def test_folding_an_older_run_again_does_not_make_it_the_newest(start):
    with small_site(1) as site:
        old = start(site, "old")
        old.scan()
        old.fold()
        new = start(site, "new")
        new.scan()
        new.fold()
        old.fold()
        latest = new.store.read_json("site/latest.json")
        assert (latest["run_id"], latest["last_full_run_id"]) == ("new", "new")
