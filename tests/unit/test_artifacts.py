"""What the Prefect UI shows: small, inert, never a reason to fail; and tasks that use no Prefect cache."""

import json
from dataclasses import replace

import httpx
import pytest
from prefect.cache_policies import NO_CACHE
from prefect.exceptions import PrefectException

from flows import artifacts
from flows.artifacts import VERDICT_TAG, depth_labels, for_show, inert, key_of, plan_rows, verdict_text
from flows.audit import audit_estate, fold_estate, plan_audit, scan_shard, state_of, unsettled_message
from flows.journey import PlannedRun, ShardBrief
from flows.live import Live, about_progress
from flows.progress import Silence
from flows.runs import RunRef
from schemas.converged import fixes_of
from schemas.verdict import Reason, Weight
from tasks.scan.watch import ShardReport
from tasks.scan.work import Unsettled
from tests.small_estate import FIRST, SECOND, plan_of, receipt, route
from tests.small_report import HOSTILE, calm_material, hostile_material

REF = RunRef("data/store", "Shop.Co_1", "r1")


class Said:
    """A log that keeps what it is told."""

    def __init__(self):
        self.lines = []

    def warning(self, text, *values):
        self.lines.append(text % values)

    info = warning


def test_no_prefect_cache_is_used():
    """120: resuming is our own; a cached result would be an old or a foreign one."""
    tasks = (plan_audit, scan_shard, fold_estate)
    assert [(task.cache_policy, task.persist_result, task.cache_key_fn) for task in tasks] == [
        (NO_CACHE, False, None)] * 3
    assert audit_estate.persist_result is False


@pytest.mark.parametrize("text", [*HOSTILE, "[a](javascript:x)", "![b](http://e.test/p.png)", "http://e.test/", "# h"])
def test_inert_text_has_no_markup_left(text):
    shown = inert(text)
    assert "\n" not in shown and "://" not in shown
    assert not any(sign in shown for sign in "<>")
    plain = shown
    for sign in "\\`*_{}[]()#+-!|~/":
        plain = plain.replace("\\" + sign, "")
    assert not set(plain) & set("`*_{}[]()+-!|~")


def test_an_inert_address_is_shown_as_it_is():
    """Prefect's UI shows an entity of a slash as five signs; a slash behind a back-slash is a slash and no link."""
    assert inert("see http://e.test/a") == r"see http:\/\/e.test/a"


def test_inert_text_is_short():
    assert len(inert("x" * 5_000)) == 200


def test_an_artifact_of_ten_thousand_findings_is_small():
    """125."""
    verdict = hostile_material().verdict
    reasons = tuple(Reason(f"code_{i}", Weight.BLOCK, "!" * 5_000, 1, ("!" * 5_000,) * 20) for i in range(500))
    text = verdict_text(REF, replace(verdict, findings=verdict.findings * 5_000, reasons=reasons, warnings=reasons))
    assert len(json.dumps(text)) < 100_000
    assert "cut here" in text


def test_the_verdict_names_reasons_top_findings_and_the_report():
    verdict = calm_material().verdict
    text = verdict_text(REF, verdict)
    assert text.startswith(f"# {verdict.kind.value}\n")
    assert "`fanfold report r1`" in text
    assert "| critical | image\\-alt | 2 | block | https:\\/\\/e.test/ | img |" in text
    assert [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")] == [
        "| impact", "| critical", "| serious", "| moderate"], "what needs review is no top finding"


def test_the_verdict_says_once_for_each_reason_what_to_do():
    letters = hostile_material().dead_letters
    assert letters
    fixes = fixes_of([*letters, *(replace(letter, is_accepted=True) for letter in letters)])
    assert fixes == sorted({f"{sum(other.reason == letter.reason for other in letters)} {letter.outcome.value}/"
                            f"{letter.reason}: {letter.how_to_fix}" for letter in letters})
    text = verdict_text(REF, calm_material().verdict, ["2 http_error/status_503: " + "Mend the server. " * 20])
    assert "\n## To mend\n\n- 2 http\\_error/status\\_503: Mend the server. Mend" in text
    assert text.count("Mend the server.") == 20
    assert "To mend" not in verdict_text(REF, calm_material().verdict)


def test_the_plan_shows_what_became_of_it():
    plan = plan_of(route("/a"), route("/b", 1))
    shards = [ShardBrief(0, 2, 4, 10_000, 2), ShardBrief(1, 2, 1, 90_000, 2)]
    assert [shard.title for shard in shards] == [
        "shard-0000 of 2 · 4 routes · about 5 s", "shard-0001 of 2 · 1 route · about 2 min"]
    done = [replace(receipt(plan, 0, (FIRST, 1)), actual_ms=4_000),
            replace(receipt(plan, 0, (SECOND, 1)), actual_ms=2_000, attempt=2)]
    planned = {"shard": 0, "routes": 4, "planned": "5 s", "actual": "", "attempts": "", "ended by": ""}
    lost = {"shard": 1, "routes": 1, "planned": "2 min", "actual": "", "attempts": "", "ended by": ""}
    assert plan_rows(shards, {}) == [planned, lost]
    assert plan_rows(shards, {0: done}) == [planned | {"actual": "6 s", "attempts": 2, "ended by": "finished"}, lost]
    assert len(json.dumps(plan_rows([shards[0]] * 9_999, {}))) < 100_000


def test_depths_are_named_because_automations_compare_names():
    assert [depth_labels(count)[f"fanfold.dead-letters-over-{depth}"] for count, depth in (
        (0, 0), (1, 0), (100, 100), (101, 100), (5_000, 1_000))] == ["no", "yes", "no", "yes", "yes"]


@pytest.mark.parametrize("error", [httpx.ConnectError("gone"), PrefectException("no"), OSError("pipe")])
def test_a_server_that_is_away_changes_nothing(monkeypatch, error):
    """122: what is only shown does not end a run."""
    log = Said()
    monkeypatch.setattr(artifacts, "get_run_logger", lambda: log)
    with for_show():
        raise error
    assert log.lines == [f"not shown: {type(error).__name__}: {error}"]


def test_keys_are_what_prefect_allows():
    assert key_of("plan", REF) == "plan-shop-co-1"


def test_a_run_with_nothing_open_says_how_to_gate_again():
    verdict = calm_material().verdict
    assert (state_of(verdict).type, state_of(verdict).name) == ("FAILED", "Blocked")
    assert "rescan" not in state_of(verdict).message
    assert "nothing to rescan" in state_of(verdict, "r1").message
    assert "fanfold gate r1 --policy FILE" in state_of(verdict, "r1").message
    assert VERDICT_TAG == "verdict:"


def test_an_unsettled_shard_says_why_and_what_to_do():
    refused = Unsettled("http_error/status_503", "Look at its log.", [f"http://e.test/{n}" for n in range(7)])
    report = ShardReport(0, "attempt-1", "finished", {}, 1, 1, [refused, Unsettled("missing", None, ["http://e.test/z"])],
                         "the end")
    brief = ShardBrief(0, 1, 8, 1)
    assert unsettled_message(brief, report).splitlines() == [
        f"{brief.title}: 8 routes not settled; Retry scans nothing else.",
        "7 http_error/status_503: http://e.test/0, http://e.test/1, http://e.test/2, http://e.test/3, http://e.test/4 "
        "and 2 more", "    Look at its log.", "1 missing: http://e.test/z", "log:", "the end"]


def test_progress_counts_a_shard_that_starts_again_anew():
    run = PlannedRun(REF, "p", (ShardBrief(0, 2, 6, 1), ShardBrief(1, 2, 4, 1)), "f", "now")
    live = Live(run, Silence(), Said())
    for event in ({"event": "started", "routes": 6, "open": 5}, {"event": "ended"}, {"event": "ended"}):
        live.shard_event(0, event)
    assert (live.percent, live.had_nothing_open) == (30.0, False)
    live.shard_event(0, {"event": "started", "routes": 6, "open": 4})
    live.shard_event(1, {"event": "started", "routes": 4, "open": 0})
    assert (live.percent, live.had_nothing_open) == (60.0, False)


def test_progress_says_that_a_visit_settles_nothing():
    run = PlannedRun(REF, "p", (ShardBrief(0, 2, 6, 1),), "f", "now")
    assert "visited, settled or not" in about_progress(run)


def test_a_run_has_nothing_open_only_when_every_shard_has_looked():
    run = PlannedRun(REF, "p", (ShardBrief(0, 2, 6, 1), ShardBrief(1, 2, 4, 1)), "f", "now")
    live = Live(run, Silence(), Said())
    live.shard_event(0, {"event": "started", "routes": 6, "open": 0})
    assert live.had_nothing_open is False
    live.shard_event(1, {"event": "started", "routes": 4, "open": 0})
    assert (live.had_nothing_open, live.percent) == (True, 100.0)
