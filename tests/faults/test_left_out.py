"""What settings and sources leave out of the test: frozen with the plan, told in every output, never clean."""

import json
import re

import pytest

from flows.cli import exit_code_of
from flows.journey import fold_run, plan_run
from flows.request import AuditRequest
from schemas.errors import ContractError
from schemas.verdict import ExitCode
from tasks.freeze import read_plan
from tests.faults.conftest import Legs
from tests.site import FAULT, Answer, Site, page

CHAT = f'<div id="chat">{FAULT}</div>'
SCAN_EXCLUDE = "FANFOLD_SCAN_EXCLUDE_ELEMENTS"


@pytest.fixture
def plan_of(tmp_path, monkeypatch):
    """Plan a run of a document as the source; `again` is another attempt of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FANFOLD_STORE", str(tmp_path / "store"))

    def plan(document: object, flow_attempt: str = "f1") -> Legs:
        (tmp_path / ".pa11yci").write_text(json.dumps(document), encoding="utf-8")
        request = AuditRequest(source=".pa11yci", run_id="r1", estate="site", shards=1)
        return Legs(plan_run(request, "r1", flow_attempt, is_first_look=True))

    return plan


def codes(verdict) -> list[str]:
    return [reason.code for reason in verdict.reasons + verdict.warnings]


def test_the_file_of_another_auditor_decides_what_is_tested_and_every_output_says_so(plan_of, capsys) -> None:
    with Site({"/a": page("A", CHAT), "/b": page("B", CHAT)}) as site:
        document = {"defaults": {"hideElements": "#chat", "ignore": ["region"], "timeout": 40_000},
                    "urls": [site.url("/a"), {"url": site.url("/b"), "hideElements": ".absent"}]}
        legs = plan_of(document)
        plan = read_plan(legs.store, legs.run.ref.layout)
        assert {row.deadline_ms for row in plan.routes} == {40_000}
        assert dict(plan.header.scan.rules)["region"] is False
        assert set(plan.header.source_settings) == {
            "scan.exclude_elements", "scan.rules", "route_deadline_min", "route_deadline_max"}
        legs.scan()
        verdict = fold_run(legs.run.ref)
        assert [finding.routes for finding in verdict.findings if finding.rule == "image-alt"] == [(site.url("/b"),)]
        assert [code for code in codes(verdict) if code.endswith(("excluded", "exclusions"))] == [
            "elements_excluded", "unused_exclusions"]
        again = plan_of({"urls": ["the file is not read again"]}, "f2")  # and its settings still hold
        assert (again.run.plan_id, again.run.not_tested) == (legs.run.plan_id, legs.run.not_tested)
        report = legs.store.read(legs.run.ref.layout.file("report/index.html")).decode()
        assert ("#chat on re:" in report, "not tested, as the settings say" in report) == (True, True)
        assert exit_code_of(["plan", ".pa11yci", "--run-id", "r1", "--shards", "1"]) == ExitCode.PASSED
        said = capsys.readouterr().out
        assert f"not tested: #chat on re:^{re.escape(site.url('/a'))}$ (hideElements of .pa11yci)" in said
        assert 'set by the source: scan.rules = {"region": false}' in said
        assert 'set by the source: route_deadline_max = "40s"' in said


def test_a_word_of_the_user_goes_first_and_another_one_is_another_run(plan_of, monkeypatch) -> None:
    document = {"defaults": {"ignore": ["region", "color-contrast"]}, "urls": ["http://127.0.0.1:9/a"]}
    monkeypatch.setenv("FANFOLD_SCAN_RULES", '{"region": true}')
    legs = plan_of(document)
    header = read_plan(legs.store, legs.run.ref.layout).header
    assert (dict(header.scan.rules)["region"], header.source_settings) == (
        True, {"scan.rules": {"color-contrast": False}})
    monkeypatch.setenv(SCAN_EXCLUDE, "#chat")
    with pytest.raises(ContractError, match="planned with other scan settings: exclude_elements"):
        plan_of(document, "f2")


def test_hosts_of_the_manifest_are_hosts_of_the_scan(start, tmp_path) -> None:
    with Site({"/there": page("There")}, "localhost") as other, Site({}) as site:
        site.answers["/a"] = Answer(status=302, headers={"Location": other.url("/there")})
        manifest = site.manifest(tmp_path / "m.json", hosts=["localhost"])
        run = plan_run(AuditRequest(source=str(manifest), run_id="r2", shards=1), "r2", "f1")
        legs = Legs(run)
        legs.scan()
        fold_run(run.ref)
        (row,) = legs.store.read_table(run.ref.layout.file("outcomes.parquet"))[0].to_pylist()
        assert (row["outcome"], row["final_url"]) == ("scanned", other.url("/there"))
        assert plan_run(AuditRequest(source=str(manifest), run_id="r2", shards=1), "r2", "f2").plan_id == run.plan_id


def test_a_page_of_which_nothing_is_left_makes_the_run_incomplete(start, monkeypatch) -> None:
    monkeypatch.setenv(SCAN_EXCLUDE, "main")
    more = Answer("<!doctype html><title>B</title><main>b</main><p>more</p>")
    with Site({"/a": page("A", CHAT), "/b": more}) as site:
        legs = start(site)
        legs.scan()
        verdict = fold_run(legs.run.ref)
        assert (verdict.kind, verdict.coverage.by_reason["engine_error/nothing_left"]) == ("incomplete", 1)
        assert verdict.coverage.scanned_count == 1


@pytest.mark.parametrize("selector", [":is(.a", "div:nonsense(1)"])
def test_what_is_no_selector_is_bad_input_before_anything_is_written(tmp_path, monkeypatch, selector) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FANFOLD_STORE", str(tmp_path / "store"))
    monkeypatch.setenv(SCAN_EXCLUDE, json.dumps([selector]))
    (tmp_path / "m.json").write_text(json.dumps(["http://127.0.0.1:9/a"]), encoding="utf-8")
    with pytest.raises(ContractError, match=r"scan\.exclude_elements"):
        plan_run(AuditRequest(source="m.json", run_id="r1"), "r1", "f1")
    assert not (tmp_path / "store").exists()
