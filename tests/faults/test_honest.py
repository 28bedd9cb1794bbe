"""Ways in which a run could look better than it is, found by review: each must stay shut."""

import queue
import subprocess
import sys
from dataclasses import replace

import pytest

from flows.cli import exit_code_of
from flows.journey import plan_run
from flows.judging import gate_again
from flows.request import AuditRequest
from schemas.errors import ContractError, IntegrityError, TransientError
from schemas.shard_fault import ShardFault
from schemas.terminal import for_terminal
from schemas.verdict import ExitCode, VerdictKind
from tasks.commit import Shelf, attempt_number
from tasks.freeze import read_header
from tasks.scan import watch
from tests.site import FAULT, page, small_site

NOW = "2026-11-30T00:00:00Z"


def test_a_forced_rescan_that_the_budget_cut_off_does_not_pass(start):
    with small_site(3) as site:
        legs = start(site)
        legs.scan()
        assert legs.fold().kind is VerdictKind.PASSED
        legs.run = replace(legs.run, rescan=("glob:/**",), run_budget_ms=1)
        report = legs.scan()
        assert (report.is_settled, report.ended_by) == (False, "run_budget")
        assert legs.fold().kind is VerdictKind.INCOMPLETE


def test_a_fault_of_a_shard_lasts_until_a_shard_answers_it(start):
    """Folding again by hand forgets no refusal; a newer receipt of the shard answers it."""
    from flows.journey import fold_run

    with small_site(2) as site:
        legs = start(site)
        legs.scan()
        refused = ShardFault(0, "shard-0000 of 1 · 2 routes: Refused: no")
        assert fold_run(legs.run.ref, [refused]).kind is VerdictKind.INCOMPLETE
        assert fold_run(legs.run.ref).kind is VerdictKind.INCOMPLETE
        legs.scan()
        assert fold_run(legs.run.ref).kind is VerdictKind.PASSED


def test_a_shard_goes_on_with_no_other_browser_than_it_began_with(start):
    """A plan that pins no browser: what one browser saw is never called another's."""
    from schemas.plan import Plan
    from tasks.freeze import read_plan, write_plan

    with small_site(2) as site:
        legs = start(site)
        plan = read_plan(legs.store, legs.run.ref.layout)
        loose = Plan(replace(plan.header, browser_version=None), plan.routes).sealed()
        write_plan(legs.store, legs.run.ref.layout, loose, {})
        legs.run = replace(legs.run, plan_id=loose.header.plan_id)
        legs.scan()
        shelf = Shelf(legs.store, legs.run.ref.layout, legs.run.plan_id, 0)
        (name,) = shelf.attempts()
        key = legs.run.ref.layout.triple(0, name, "outcomes", 1)
        table, footer, _ = legs.store.read_table(key)
        legs.store.write_table(key, table, footer | {"browser_version": "1.2.3.4"})
        with pytest.raises(ContractError, match=r"expected 1\.2\.3\.4, which earlier attempts"):
            legs.scan()


def test_an_existing_run_is_not_judged_by_another_policy_in_silence(start, tmp_path):
    with small_site(1) as site:
        start(site)
        (tmp_path / "strict.yaml").write_text("level: A\n", encoding="utf-8")
        request = AuditRequest(source=str(tmp_path / "m.json"), policy=str(tmp_path / "strict.yaml"))
        with pytest.raises(ContractError, match=r"strict\.yaml: is not the policy that run r1 was planned with"):
            plan_run(request, "r1", "now", is_first_look=True)


def test_gating_again_refuses_evidence_that_the_verdict_does_not_name(start):
    with small_site(2) as site:
        site.answers["/p01"] = replace(page("Later"), status=404)
        legs = start(site)
        legs.scan()
        legs.fold()
        site.answers["/p01"] = page("Now")
        legs.scan()
        with pytest.raises(ContractError, match="shards ran since"):
            gate_again(legs.store, legs.run.ref.layout, NOW)


def test_a_verdict_is_not_shown_beside_findings_of_a_later_fold(start, capsys):
    """A fold that was cut between tables and verdict: readers refuse the mismatch."""
    with small_site(1, faulty=frozenset({0})) as site:
        legs = start(site)
        legs.scan()
        legs.fold()
        key = legs.run.ref.layout.file("findings.parquet")
        table, footer, _ = legs.store.read_table(key)
        legs.store.write_table(key, table.slice(1), footer)
        from flows.summary import show_stored_verdict

        with pytest.raises(IntegrityError, match="is not the file that the verdict names"):
            show_stored_verdict(legs.run.ref)


def test_a_pruned_run_is_not_folded_to_nothing(start):
    with small_site(1) as site:
        legs = start(site)
        legs.scan()
        legs.fold()
        legs.store.remove(legs.run.ref.layout.file("partials"))
        before = legs.store.read(legs.run.ref.layout.file("verdict.json"))
        assert exit_code_of(["fold", "r1"]) == ExitCode.BAD_INPUT
        assert legs.store.read(legs.run.ref.layout.file("verdict.json")) == before


@pytest.mark.parametrize(("code", "counts"), [(9, True), (1, True), (2, False)])
def test_only_a_death_counts_as_one(start, code, counts):
    """A shard that ends by its own code 2 did so for the store's sake: no page is blamed."""
    with small_site(1) as site:
        legs = start(site)
        shelf = Shelf(legs.store, legs.run.ref.layout, legs.run.plan_id, 0)
        name = watch.next_attempt_name(shelf)
        assert attempt_number(name) == 1
        legs.store.write_json(shelf.key(name, "in-flight.json"), {"task_ids": ["0" * 16]})
        order = watch.ShardOrder("s", "e", "r", 0, name, "f1")
        with pytest.raises(TransientError):
            watch._judge(shelf, order, -9 if code == 9 else code, {}, was_stopped=False, log_tail="")
        assert legs.store.exists(shelf.key(name, "death.json")) is counts


@pytest.mark.parametrize(("event", "is_sign"), [
    ({"event": "began"}, True), ({"event": "ended"}, True), ({"event": "phase", "phase": "visit 2"}, True),
    ({"event": "phase", "phase": "wait 1.4 s"}, True), ({"event": "phase", "phase": "settling"}, False),
    ({"event": "flushed"}, False), ({}, False),
])
def test_a_new_try_and_a_declared_wait_are_signs_of_life(event, is_sign):
    assert watch._is_sign_of_life(event) is is_sign


def test_lines_that_wait_are_no_silence():
    """A parent that was busy reads what is there before it calls the child dead; the shard's own deadline counts."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
    try:
        lines = queue.Queue()
        for line in (b'{"event": "started", "longest_deadline_ms": 1}', b'{"event": "began"}',
                     b'{"event": "summary", "counts": {}}'):
            lines.put(line)
        watch.STOP_GRACE_SECONDS, before = 0.1, watch.STOP_GRACE_SECONDS
        assert watch._listen(child, lines, -1.0, lambda event: None)["event"] == "summary"
        assert watch._listen(child, queue.Queue(), 0.2, lambda event: None) == {}
    finally:
        watch.STOP_GRACE_SECONDS = before
        child.kill()
        child.wait()


def test_text_cannot_steer_a_terminal():
    assert for_terminal("a\x1b]0;owned\x07\x9b2J\tb\nc") == "a\ufffd]0;owned\ufffd\ufffd2J\tb\nc"


def test_a_pattern_with_control_characters_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = '{"routes": ["https://e.test/a"], "exclude": ["re:\\u001b[2J]"]}'
    (tmp_path / "m.json").write_text(text, encoding="utf-8")
    assert exit_code_of(["plan", "m.json"]) in (ExitCode.BAD_INPUT, ExitCode.PASSED)
    said = capsys.readouterr()
    assert "\x1b" not in said.err + said.out


@pytest.mark.parametrize("pattern", ["/p01", "glob:/typo"])
def test_a_typo_in_rescan_touches_nothing(whole, pattern):
    """The verdict that is there stands; a shard would refuse, and the fold make an incomplete run of it."""
    site, legs, _ = whole
    verdict = legs.run.ref.layout.file("verdict.json")
    before, asked = legs.store.read(verdict), len(site.log)
    source = read_header(legs.store, legs.run.ref.layout).source
    request = AuditRequest(source=source, run_id="r1", rescan=[pattern])
    with pytest.raises(ContractError, match="--rescan: pattern"):
        plan_run(request, "r1", "r1-flow-2")
    assert exit_code_of(["scan", "--plan", "r1", "--shard", "0", "--rescan", pattern]) == ExitCode.BAD_INPUT
    assert (legs.store.read(verdict), len(site.log)) == (before, asked)


def test_findings_of_a_page_with_a_fault_stay(start):
    """The control: none of the above doors shuts out what is right."""
    with small_site(2) as site:
        site.answers["/p01"] = page("Faulty", FAULT)
        legs = start(site)
        legs.scan()
        assert legs.fold().kind is VerdictKind.BLOCKED
        legs.run = replace(legs.run, rescan=("glob:/p01",))
        assert legs.scan().is_settled
        assert legs.fold().kind is VerdictKind.BLOCKED
