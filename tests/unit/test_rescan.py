"""Patterns of routes to scan again: they see identities, and none may do nothing."""

import pytest

from schemas.errors import ContractError
from schemas.rescan import check_rescan, parse_rescan, rescanned
from schemas.settings import IdentitySwitches
from tests.small_estate import plan_of, route

A, B, CAFE = route("/a", url="https://e.test/a/?utm_source=x"), route("/b", 1), route("/caf%C3%A9")
OUT = route("/out", is_in_scope=False)


def said(run) -> list[str]:
    with pytest.raises(ContractError) as caught:
        run()
    return [offence.fault for offence in caught.value.offences]


@pytest.mark.parametrize(("texts", "expected"), [
    ([], []), (["glob:/a"], [A]), (["glob:/a/"], [A]), (["re:utm_source"], []), (["glob:/café", "re:/b$"], [B, CAFE]),
    (["glob:/A"], []), (["glob:/**"], [A, B, CAFE, OUT]),
])
def test_a_pattern_sees_the_identity(texts, expected):
    found = rescanned([A, B, CAFE, OUT], parse_rescan(texts), is_case_folded=False)
    assert found == {row.task_id for row in expected}


def test_where_identities_are_folded_the_case_of_a_pattern_says_nothing():
    plan = plan_of(A, B, identity=IdentitySwitches(path_case="fold"))
    check_rescan(parse_rescan(["glob:/A"]), plan)
    assert rescanned([A], parse_rescan(["glob:/A"]), is_case_folded=True) == {A.task_id}


def test_patterns_that_are_none_are_told_at_once():
    assert said(lambda: parse_rescan(["/a", "glob:/a", "re:("])) == [
        "pattern '/a' names no language",
        "pattern 're:(' is no regular expression (missing ), unterminated subpattern at position 0)"]


def test_patterns_that_would_do_nothing_are_told_at_once():
    plan = plan_of(A, B, OUT)
    check_rescan(parse_rescan(["glob:/a", "glob:/**"]), plan)
    assert said(lambda: check_rescan(parse_rescan(["glob:/typo", "glob:/a", "glob:/out"]), plan)) == [
        f"pattern 'glob:{path}' matches no route that run {plan.header.run_id} scans" for path in ("/out", "/typo")]
