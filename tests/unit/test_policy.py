"""Policies: what a user may write, what it means, and what is refused with a way out."""

from datetime import date
from functools import partial

import pytest

from schemas.address import identity_of
from schemas.cells import Cell, CellAction
from schemas.errors import ContractError
from schemas.outcome import OutcomeKind
from schemas.pattern import Pattern, Patterns
from schemas.policy import default_policy, parse_policy
from schemas.settings import IdentitySwitches
from schemas.standard import is_needed, tags_of

RULES = ("image-alt", "color-contrast", "region")


def policy_of(document):
    return parse_policy(document, "policy.yaml", RULES)


def offences_of(document):
    with pytest.raises(ContractError) as caught:
        policy_of(document)
    return [str(offence) for offence in caught.value.offences]


@pytest.mark.parametrize(("standard", "level", "tags"), [
    ("wcag20", "A", {"wcag2a"}), ("wcag20", "AA", {"wcag2a", "wcag2aa"}),
    ("wcag21", "A", {"wcag2a", "wcag21a"}),
    ("wcag22", "AA", {"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"}),
    ("wcag22", "AAA", {"wcag2a", "wcag2aa", "wcag2aaa", "wcag21a", "wcag21aa", "wcag21aaa", "wcag22a", "wcag22aa",
                       "wcag22aaa"}),
    ("en-301-549", "AA", {"EN-301-549"}), ("section508", "A", {"section508"}),
])
def test_standards_are_cumulative_in_the_engines_tags(standard, level, tags):
    assert tags_of(standard, level) == tags
    assert policy_of({"standard": standard, "level": level}).tags == tags


def test_experimental_and_deprecated_rules_are_never_needed():
    wanted = tags_of("wcag22", "AA")
    assert [is_needed(tags, wanted) for tags in (
        ("wcag2aa",), ("wcag21aa", "experimental"), ("wcag2a", "deprecated"), ("best-practice",), ("wcag2aaa",))
    ] == [True, False, False, False, False]


def test_an_empty_policy_is_the_default_one():
    """Critical, serious and unknown block on primary, the rest warns."""
    assert policy_of(None) == policy_of({}) == default_policy()
    blocking = {key for key, cell in default_policy().cells.items() if cell == Cell(CellAction.BLOCK)}
    assert blocking == {("critical", "primary"), ("serious", "primary"), ("unknown", "primary")}
    assert {cell for key, cell in default_policy().cells.items() if key not in blocking} == {Cell(CellAction.WARN)}


def test_a_row_may_be_an_action_or_one_for_each_journey_and_may_have_a_limit():
    cells = policy_of({"cells": {"critical": "block_new", "serious": {"secondary": "block"},
                                 "minor": {"action": "block", "allowed": 5},
                                 "moderate": {"primary": {"action": "block", "allowed": 2}}},
                       "needs_review": {"primary": "block"}}).cells
    assert {key: cell for key, cell in cells.items() if cell != default_policy().cells[key]} == {
        ("critical", "primary"): Cell(CellAction.BLOCK_NEW), ("critical", "secondary"): Cell(CellAction.BLOCK_NEW),
        ("serious", "secondary"): Cell(CellAction.BLOCK), ("minor", "primary"): Cell(CellAction.BLOCK, 5),
        ("minor", "secondary"): Cell(CellAction.BLOCK, 5), ("moderate", "primary"): Cell(CellAction.BLOCK, 2),
        ("needs_review", "primary"): Cell(CellAction.BLOCK)}


@pytest.mark.parametrize(("document", "said"), [
    ({"cells": {"critcal": "block"}}, "Did you mean `critical`"),
    ({"cells": {"critical": "blok"}}, "block, block_new, warn, ignore"),
    ({"levl": "AA"}, "Did you mean `level`"),
    ({"level": "AAAA"}, "A, AA, AAA"),
    ({"standard": "wcag3"}, "wcag20, wcag21, wcag22"),
    ({"cells": {"minor": {"action": "block", "primary": "warn"}}}, "primary"),
    ({"cells": {"minor": {"allowed": 3}}}, "allowed"),
    ({"cells": {"unknown": "ignore"}}, "cannot be ignored"),
    ({"overrides": [{"pattern": "glob:/x", "cells": {"unknown": {"primary": "ignore"}}}]}, "cannot be ignored"),
    ({"rules": {"image-alts": "block"}}, "Did you mean `image-alt`"),
    ({"overrides": [{"pattern": "glob:/x", "rules": {"foo": "block"}}]}, "one of color-contrast, image-alt, region"),
    ({"overrides": [{"pattern": "/x", "other": "warn"}]}, "$.overrides[0].pattern"),
    ({"overrides": [{"pattern": "re:(", "other": "warn"}]}, "no regular expression"),
    ({"accepted": [{"pattern": "glob:/x", "outcome": "missing", "reason": "r", "owner": "o", "until": "2027-01-01"}]},
     "$.accepted[0].outcome"),
    ({"accepted": [{"pattern": "glob:/x", "outcome": "http_error", "reason": " ", "owner": "o",
                    "until": "2027-01-01"}]}, "$.accepted[0].reason"),
    ({"accepted": [{"pattern": "glob:/x", "outcome": "http_error", "reason": "r", "owner": "o",
                    "until": "2027-02-30"}]}, "$.accepted[0].until"),
    ({"accepted": [{"pattern": "glob:/x", "outcome": "http_error"}]}, "until"),
    ({"coverage": {"max_shrink": 1.5}}, "$.coverage.max_shrink"),
    ({"coverage": {"max_shrink": float("nan")}}, "finite"),
    ({"coverage": {"min_routes": 0}}, "$.coverage.min_routes"),
    ([], "policy.yaml"),
    ("block", "policy.yaml"),
])
def test_what_is_refused_says_where_and_the_way_out(document, said):
    assert said in "\n".join(offences_of(document))


def test_all_offences_are_told_at_once():
    assert len(offences_of({"cells": {"unknown": "ignore"}, "rules": {"foo": "block"},
                            "overrides": [{"pattern": "re:(", "other": "warn"}]})) == 3


def test_a_policy_that_gates_nothing_is_an_error_unless_it_only_reports():
    """Gates nothing, passes always: nobody means that."""
    lax = {"cells": dict.fromkeys(("critical", "serious", "unknown"), "warn")}
    assert "gates nothing" in offences_of(lax)[0]
    assert policy_of(lax | {"report_only": True}).report_only
    for some in ({"rules": {"image-alt": "block_new"}}, {"needs_review": "block"},
                 {"overrides": [{"pattern": "glob:/x/**", "cells": {"minor": "block"}}]}):
        assert policy_of(lax | some)


def test_rules_are_not_checked_where_the_engine_is_not_known():
    assert parse_policy({"rules": {"foo": "block"}}, "policy.yaml", None).named_rules == {"foo"}


def test_a_rule_is_asked_for_unless_it_is_ignored_everywhere():
    policy = policy_of({"rules": {"image-alt": "ignore", "region": {"primary": "ignore"},
                                  "color-contrast": {"primary": "ignore", "secondary": "warn"}}})
    assert (policy.ignored_rules, policy.named_rules) == ({"image-alt"}, {"color-contrast"})


def test_dates_may_be_dates():
    """YAML makes a date of `2027-01-31` without quotes."""
    entry = {"pattern": "glob:/x", "outcome": "http_error", "reason": "r", "owner": "o"}
    (accepted,) = policy_of({"accepted": [entry | {"until": date(2027, 1, 31)}]}).accepted
    assert accepted.until == "2027-01-31"


@pytest.mark.parametrize(("now", "accepts"), [("2027-01-30", True), ("2027-01-31T23:59:59Z", True),
                                              ("2027-02-01T00:00:00Z", False)])
def test_an_acceptance_holds_through_its_last_day(now, accepts):
    policy = policy_of({"accepted": [{"pattern": "glob:/old/**", "outcome": "http_error", "reason": "r", "owner": "o",
                                      "until": "2027-01-31"}]})
    address = "https://e.test/old/x"
    of = partial(policy.acceptance_of, now=now, is_case_folded=False)
    assert (of(address, OutcomeKind.HTTP_ERROR) is not None) is accepts
    assert (policy.acceptance_for(address, now, is_case_folded=False) is not None) is accepts
    assert of(address, OutcomeKind.TIMED_OUT) is None
    assert of("https://e.test/new", OutcomeKind.HTTP_ERROR) is None


@pytest.mark.parametrize(("pattern", "written", "switches"), [
    ("glob:/Checkout/**", "https://e.test/Checkout/Pay", IdentitySwitches(path_case="fold")),
    ("glob:/shop/", "https://e.test/shop/", IdentitySwitches()),
    ("glob:/blog/*/", "https://e.test/blog/Ü/", IdentitySwitches()),
    ("glob:/café", "https://e.test/café", IdentitySwitches()),
    ("re:/shop/$", "https://e.test/shop/", IdentitySwitches()),
])
def test_a_pattern_of_the_policy_holds_where_an_exclusion_would(pattern, written, switches):
    policy = policy_of({
        "accepted": [{"pattern": pattern, "outcome": "http_error", "reason": "r", "owner": "o", "until": "2099-01-01"}],
        "overrides": [{"pattern": pattern, "cells": {"critical": "warn"}}]})
    identity, is_case_folded = identity_of(written, switches), switches.is_case_folded
    assert Patterns([Pattern(pattern)], is_case_folded=is_case_folded).matching(identity) == [pattern]
    assert policy.matching_overrides(identity, is_case_folded=is_case_folded) == (0,)
    assert policy.acceptance_for(identity, "2026-11-30", is_case_folded=is_case_folded) == policy.accepted[0]
    assert policy.acceptance_of(identity, OutcomeKind.HTTP_ERROR, "2026-11-30",
                                is_case_folded=is_case_folded) == policy.accepted[0]


def test_which_cell_judges():
    """A named rule before an impact, an override before the policy's own row, the last override before the first."""
    policy = policy_of({
        "rules": {"image-alt": "warn"},
        "overrides": [{"pattern": "glob:/shop/**", "cells": {"critical": "ignore"}, "rules": {"image-alt": "block"}},
                      {"pattern": "re:cart", "cells": {"critical": "block_new"}, "needs_review": "block"}]})
    asked = [("violation", "image-alt", "critical", "/"), ("violation", "image-alt", "critical", "/shop/cart"),
             ("violation", "region", "critical", "/"), ("violation", "region", "critical", "/shop/x"),
             ("violation", "region", "critical", "/shop/cart"), ("violation", "region", None, "/"),
             ("needs_review", "image-alt", "critical", "/shop/cart"), ("best_practice", "region", "minor", "/"),
             ("best_practice", "image-alt", "minor", "/")]
    overrides = partial(policy.matching_overrides, is_case_folded=False)
    found = [policy.cell_for(kind, rule, impact, "primary", overrides("https://e.test" + path))
             for kind, rule, impact, path in asked]
    assert [(name, cell.action.value) for name, cell in found] == [
        ("rule image-alt on primary", "warn"), ("rule image-alt on primary, glob:/shop/**", "block"),
        ("critical on primary", "block"), ("critical on primary, glob:/shop/**", "ignore"),
        ("critical on primary, re:cart", "block_new"), ("unknown on primary", "block"),
        ("needs_review on primary, re:cart", "block"), ("best_practice on primary", "warn"),
        ("rule image-alt on primary", "warn")]


def test_what_is_neither_standard_nor_best_practice_is_judged_apart():
    policy = default_policy()
    assert [policy.kind_of(tags, is_violation=True) for tags in (
        ("wcag2aa",), ("wcag2aaa",), ("best-practice",), ("wcag21aa", "experimental"))] == [
        "violation", "other", "best_practice", "violation"]
    assert policy.kind_of(("wcag2aa",), is_violation=False) == "needs_review"
