"""What the gate's answers look like to a person."""

from dataclasses import replace

from flows.baselines import WrittenBaseline
from flows.commands.gate import print_lines
from flows.commands.gate_text import SHOWN_CHANGES, change_lines, explanation_lines, suppression_lines, written_lines
from schemas.baseline import Baseline, KnownFinding
from schemas.counts import SuppressionUse
from schemas.finding import Decision
from tasks.gate.baseline import BaselineChange
from tasks.gate.explain import RouteExplanation, RuleExplanation

CHANGE = BaselineChange("new", "image-alt", "a" * 16, True, "https://e.test/", 2)
USE = SuppressionUse("region", "glob:/a", None, "redesign", "web", None, "2027-01-31", False, 3)


def rule(name, classes, decision=None, cell="", text="nothing found"):
    return RuleExplanation(name, classes, True, 1, cell, decision, text)


def test_a_route_lists_what_weighs_and_what_was_not_run_and_counts_the_rest():
    route = RouteExplanation("https://e.test/", "primary", "scanned, tested. Covered.", (
        rule("image-alt", "pass 1, violation 2", Decision.BLOCK, "critical on primary: block", "a: block"),
        rule("label", "not run", text="not run: what was not run is not clean"),
        rule("list", "incomplete 1"), rule("region", "inapplicable 0, pass 3"), rule("tabindex", "pass 1")))
    assert list(explanation_lines([route])) == [
        "", "https://e.test/ (primary)", "  coverage: scanned, tested. Covered.",
        "  block: image-alt (pass 1, violation 2), judged by critical on primary: block", "      a: block",
        "  not run: label (not run)", "      not run: what was not run is not clean",
        "  nothing: list (incomplete 1)", "      nothing found",
        "  2 rules ran and found nothing"]


def test_changes_are_listed_and_added_up_by_kind():
    changes = [CHANGE, replace(CHANGE, change="new_rule", is_violation=False), replace(CHANGE, count=1)]
    assert list(change_lines(changes)) == [
        f"new: image-alt {'a' * 16}: 2 on https://e.test/",
        f"new rule: image-alt {'a' * 16}, needs review: 2 on https://e.test/",
        f"new: image-alt {'a' * 16}: 1 on https://e.test/", "occurrences: 3 new, 2 new rule"]


def test_many_changes_are_cut_and_counted_all_the_same():
    lines = list(change_lines([CHANGE] * (SHOWN_CHANGES + 7)))
    assert lines[SHOWN_CHANGES:] == [
        "… and 7 more; `--json` lists all", f"occurrences: {2 * (SHOWN_CHANGES + 7)} new"]


def test_a_written_baseline_says_what_it_holds_and_what_was_there():
    new = Baseline("shop", "r2", "2026-12-01", {}, 1, "4.12.1", "e" * 64, frozenset(), {"0" * 16: "https://e.test/"},
                   (KnownFinding("a" * 16, True, "label", None, {"0" * 16: 2, "1" * 16: 1}),))
    old = replace(new, run_id="r1", date="2026-11-30", findings=())
    assert list(written_lines(WrittenBaseline("shop/baseline.json", new, old), "s3://audits")) == [
        "s3://audits/shop/baseline.json",
        "  now: 1 finding (3 occurrences) on 2 routes, 1 route scanned wholly, from run r2 of 2026-12-01",
        "  before: 0 findings (0 occurrences) on 0 routes, 1 route scanned wholly, from run r1 of 2026-11-30"]


def test_a_suppression_says_its_state_its_reach_and_by_whom():
    uses = [USE, replace(USE, applied_count=0, selector="#map", ticket="W-1"), replace(USE, is_expired=True)]
    assert list(suppression_lines(uses, "2027-01-02")) == [
        "applied: region on glob:/a: 3 until 2027-01-31: redesign (web)",
        "unused: region on glob:/a, only #map: 0 until 2027-01-31: redesign (web, W-1)",
        "expired: region on glob:/a: 3 until 2027-01-31: redesign (web)",
        "3 suppressions, 6 occurrences suppressed, as judged on 2027-01-02"]
    assert list(suppression_lines([], "2027-01-02")) == [
        "0 suppressions, 0 occurrences suppressed, as judged on 2027-01-02"]


def test_the_text_of_a_page_does_not_drive_the_terminal(capsys):
    print_lines(["plain é 漢", "\x1b[31mred\x07\n\x9bfake: PASSED"])
    assert capsys.readouterr().out == "plain é 漢\n\ufffd[31mred\ufffd\ufffd\ufffdfake: PASSED\n"
