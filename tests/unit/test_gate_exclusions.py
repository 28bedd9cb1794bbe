"""What the settings kept out of the test is told in every verdict, and so is what did nothing."""

from dataclasses import replace

from schemas.settings import Exclusion, IdentitySwitches, ScanSettings
from schemas.verdict import Reason, Weight
from tasks.gate import decide_verdict
from tests.small_estate import evidence_of, judge_of, outcome, plan_of, route

A, B, GONE = route("/a"), route("/shop/b"), route("/gone")
CHAT, MAP, OLD = Exclusion("#chat", (), "of the vendor"), Exclusion(".map", ("glob:/shop/**",)), Exclusion(".old")


def verdict_of(*exclusions: Exclusion, switches: IdentitySwitches | None = None, **found: tuple[str, ...]):
    plan = plan_of(A, B, GONE, scan=ScanSettings(exclude_elements=exclusions), identity=switches or IdentitySwitches())
    rows = [outcome(A), outcome(B), outcome(GONE, "http_error")]
    rows = [replace(row, excluded_count=2 * len(found.get(name, ())), excluded_by=found.get(name, ()))
            for row, name in zip(rows, ("a", "b", "gone"), strict=True)]
    return decide_verdict(judge_of(plan, evidence_of(plan, rows)))


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


def test_patterns_see_folded_identities() -> None:
    exclusion, switches = Exclusion(".map", ("glob:/SHOP/**",)), IdentitySwitches(path_case="fold")
    verdict = verdict_of(exclusion, switches=switches, b=(".map",))
    assert [reason.code for reason in of_exclusions(verdict)] == ["elements_excluded"]
