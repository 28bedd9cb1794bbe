"""What the settings kept out of the test is told in every verdict, and so is what did nothing."""

from dataclasses import replace

import pytest

from schemas.plan import Excluded
from schemas.settings import Exclusion, IdentitySwitches, ScanSettings
from schemas.verdict import Reason, VerdictKind, Weight
from tasks.gate import decide_verdict, make_baseline, prune_baseline
from tests.small_estate import evidence_of, judge_of, occurrence, outcome, plan_of, route

A, B, GONE = route("/a"), route("/shop/b"), route("/gone")
CHAT, MAP, OLD = Exclusion("#chat", (), "of the vendor"), Exclusion(".map", ("glob:/shop/**",)), Exclusion(".old")


def given_of(*exclusions: Exclusion, switches: IdentitySwitches | None = None, faults=(), **found: tuple[str, ...]):
    plan = plan_of(A, B, GONE, scan=ScanSettings(exclude_elements=exclusions), identity=switches or IdentitySwitches())
    rows = [outcome(A), outcome(B), outcome(GONE, "http_error")]
    rows = [replace(row, excluded_count=2 * len(found.get(name, ())), excluded_by=found.get(name, ()))
            for row, name in zip(rows, ("a", "b", "gone"), strict=True)]
    return judge_of(plan, evidence_of(plan, rows, faults))


def verdict_of(*exclusions: Exclusion, **changes):
    return decide_verdict(given_of(*exclusions, **changes))


def of_exclusions(verdict) -> list[Reason]:
    return [reason for reason in verdict.warnings if reason.code in ("elements_excluded", "unused_exclusions")]


def test_nothing_is_said_where_nothing_is_left_out() -> None:
    assert of_exclusions(verdict_of()) == []
    assert "scan" not in verdict_of().provenance


def test_each_exclusion_is_told_with_what_it_did() -> None:
    verdict = verdict_of(CHAT, MAP, OLD, a=("#chat", ".map"), b=("#chat", ".map"), gone=(".old",))
    assert of_exclusions(verdict) == [
        Reason("elements_excluded", Weight.WARN, "8 elements on 2 routes were not tested, as the settings say "
               "(`scan.exclude_elements`): nothing is known of them.", 2,
               ("#chat (of the vendor): 2 routes", ".map on glob:/shop/**: 1 route")),
        Reason("unused_exclusions", Weight.WARN, "1 exclusion of elements met nothing on any scanned route. Correct or "
               "remove them (`scan.exclude_elements`).", 1, (".old",))]
    assert verdict.provenance["scan"] == {
        "exclude_elements": ["#chat (of the vendor)", ".map on glob:/shop/**", ".old"]}


def test_addresses_that_the_settings_keep_out_are_told_and_change_nothing() -> None:
    left_out = tuple(Excluded(f"https://e.test/{path}", pattern) for path, pattern in (
        ("admin/b", "glob:/admin/**"), ("admin/a", "glob:/admin/**"), ("logout", "glob:/logout")))
    plan = plan_of(A, excluded=left_out)
    verdict = decide_verdict(judge_of(plan, evidence_of(plan, [outcome(A)])))
    assert (verdict.kind, verdict.reasons, verdict.warnings) == (VerdictKind.PASSED, (), (
        Reason("routes_excluded", Weight.WARN, "3 addresses of the manifest are not audited, as `exclude` says: "
               "nothing is known of them.", 3,
               ("glob:/admin/**: 2 addresses, first https://e.test/admin/a",
                "glob:/logout: 1 address, first https://e.test/logout")),))
    one = plan_of(A, excluded=left_out[:1])
    (said,) = decide_verdict(judge_of(one, evidence_of(one, [outcome(A)]))).warnings
    assert said.text.startswith("1 address of the manifest is not audited, ")


def test_patterns_see_folded_identities() -> None:
    exclusion, switches = Exclusion(".map", ("glob:/SHOP/**",)), IdentitySwitches(path_case="fold")
    verdict = verdict_of(exclusion, switches=switches, b=(".map",))
    assert [reason.code for reason in of_exclusions(verdict)] == ["elements_excluded"]


def baseline_with(*left_out: str):
    """A baseline with a fault on `/a` and one on `/shop/b`, made with these exclusions."""
    given = given_of(faults=[occurrence(A), occurrence(B, "color-contrast", "p")])
    made = make_baseline(given, replace(decide_verdict(given), kind=VerdictKind.PASSED))
    return replace(made, exclude_elements=frozenset(left_out))


@pytest.mark.parametrize(("left_out", "counts"), [((), (1, 1)), (("#chat",), (2, 0)), (("#chat on glob:/a",), (1, 1))])
def test_a_fault_that_is_left_out_now_is_not_fixed(left_out: tuple[str, ...], counts: tuple[int, int]) -> None:
    """Only what the baseline left out as well can have been fixed elsewhere on the page."""
    given = replace(given_of(CHAT, a=("#chat",)), baseline=baseline_with(*left_out))
    verdict = decide_verdict(given)
    assert (verdict.regression.fixed_count, verdict.regression.unverified_count) == counts
    assert ("baseline_of_other_exclusions" in [one.code for one in verdict.warnings]) == (left_out != ("#chat",))
    pruned = prune_baseline(given, replace(verdict, kind=VerdictKind.PASSED), baseline_with(*left_out))
    assert len(pruned.findings) == counts[1]


def test_a_baseline_says_what_its_run_left_out() -> None:
    given = given_of(CHAT, MAP)
    made = make_baseline(given, replace(decide_verdict(given), kind=VerdictKind.PASSED))
    assert made.exclude_elements == {"#chat", ".map on glob:/shop/**"}
