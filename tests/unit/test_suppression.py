"""Suppressions: reading them, and which nodes they mean."""

from datetime import date

import pytest

from schemas.errors import ContractError
from schemas.suppression import last_step, parse_suppressions

ENTRY = {"rule": "image-alt", "route": "glob:/a/**", "reason": "decorative", "owner": "web", "expires": "2027-01-31"}


def parsed(*entries):
    return parse_suppressions({"suppressions": list(entries)}, "suppressions.yaml", ("image-alt", "region"))


def test_an_empty_file_suppresses_nothing():
    assert parse_suppressions(None, "s", None) == parse_suppressions({}, "s", None) == parsed() == ()


@pytest.mark.parametrize(("changes", "said"), [
    ({"rule": "image-alts"}, "Did you mean `image-alt`"), ({"route": "/a"}, "route"), ({"route": "re:("}, "regular"),
    ({"reason": ""}, "reason"), ({"owner": "  "}, "owner"), ({"expires": "soon"}, "expires"),
    ({"expires": "2027-13-01"}, "expires"), ({"selektor": "x"}, "Did you mean `selector`"),
])
def test_what_is_refused(changes, said):
    with pytest.raises(ContractError, match=said):
        parsed(ENTRY | changes)


@pytest.mark.parametrize("lacking", ["rule", "route", "reason", "owner", "expires"])
def test_nobody_suppresses_without_saying_who_why_and_until_when(lacking):
    with pytest.raises(ContractError, match=lacking):
        parsed({name: value for name, value in ENTRY.items() if name != lacking})


def test_one_agreement_is_written_once():
    with pytest.raises(ContractError, match="again"):
        parsed(ENTRY, ENTRY | {"reason": "other"})


def test_it_holds_through_its_last_day():
    (entry,) = parsed(ENTRY | {"expires": date(2027, 1, 31)})
    assert [entry.is_expired(now) for now in ("2027-01-31T10:00:00Z", "2027-02-01")] == [False, True]


@pytest.mark.parametrize(("target", "step"), [
    ('["#a > img"]', "#a > img"), ('["iframe","img"]', "img"), ('["iframe",["host","button"]]', "button"),
    ("[]", ""), ("masked", "masked"),
])
def test_the_last_step_of_a_target(target, step):
    assert last_step(target) == step


def test_a_selector_is_the_readable_target_or_its_last_step():
    (entry,) = parsed(ENTRY | {"selector": "img"})
    assert [entry.matches_target(target, text) for target, text in (
        ('["img"]', "img"), ('["iframe","img"]', "iframe img"), ('["img.x"]', "img.x"))] == [True, True, False]
    (wide,) = parsed(ENTRY)
    assert wide.matches_target('["b"]', "b")
