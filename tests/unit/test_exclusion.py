"""Exclusions of elements: how they are written, for which routes they hold, what a selector shows without a browser."""

import pytest

from schemas.errors import Offence
from schemas.exclusion import (
    exclusion_of,
    exclusion_offences,
    selector_fault,
    selectors_for,
    split_selectors,
    written_exclusion,
)
from schemas.settings import Exclusion, ScanSettings

E = "https://e.test"


@pytest.mark.parametrize(("written", "exclusion"), [
    (".ad", Exclusion(".ad")), ({"selector": ".ad", "reason": "not ours"}, Exclusion(".ad", (), "not ours")),
    ({"selector": ".ad", "routes": ["glob:/a/**", "re:x"]}, Exclusion(".ad", ("glob:/a/**", "re:x"))),
])
def test_it_is_read_as_it_is_written(written: object, exclusion: Exclusion) -> None:
    assert exclusion_of(written) == exclusion  # type: ignore[arg-type]
    assert written_exclusion(exclusion) == written


@pytest.mark.parametrize(("route", "selectors"), [
    (f"{E}/a/b", (".all", ".a")), (f"{E}/a", (".all", ".a", ".exact")), (f"{E}/b", (".all",)),
    (f"{E}/a?x=1", (".all", ".a")), (f"{E}/", (".all",)),
])
def test_it_holds_for_the_routes_that_a_pattern_names(route: str, selectors: tuple[str, ...]) -> None:
    scan = ScanSettings(exclude_elements=(
        Exclusion(".all"), Exclusion(".a", ("glob:/a/**", "re:never")),
        Exclusion(".exact", ("re:^https://e\\.test/a/$",)),
        Exclusion(".all", ("glob:/b",))))
    assert selectors_for(scan, route) == selectors


def test_the_case_of_a_pattern_says_nothing_where_identities_are_folded() -> None:
    scan = ScanSettings(exclude_elements=(Exclusion(".a", ("glob:/Shop/**",)),))
    assert selectors_for(scan, f"{E}/shop/x", is_case_folded=True) == (".a",)
    assert selectors_for(scan, f"{E}/shop/x") == ()


def test_it_says_itself_in_one_line() -> None:
    assert str(Exclusion(".ad", ("glob:/a", "glob:/b"), "not ours")) == ".ad on glob:/a or glob:/b (not ours)"
    assert str(Exclusion(".ad")) == ".ad"


@pytest.mark.parametrize("selector", [
    "a", "*", ":is(.a, .b) > [x=',]'] ~ c", "a\\,", "[title=\"x,,y(\"]", "a:not([b])::before", ".a , .b",
    "\\31 x", "🚀"])
def test_what_may_be_a_selector_passes(selector: str) -> None:
    assert selector_fault(selector) == ""


@pytest.mark.parametrize(("selector", "fault"), [
    (" ", "has a part that is empty"), (".a,", "has a part that is empty"), (",a", "has a part that is empty"),
    ("a,,b", "has a part that is empty"), ("> a", "has a part that is empty"), ("a >", "has a part that is empty"),
    (":is(a", "lacks a `)`"), ("[a", "lacks a `]`"), ("a)", "has a `)` that nothing opened"),
    ("(a]", "has a `]` that nothing opened"), ("[a='b]", "has a ' that is not closed"),
    (".a {", "has a `{` that no selector has"), (".a; b", "has a `;` that no selector has"),
])
def test_what_can_be_none_is_told(selector: str, fault: str) -> None:
    assert selector_fault(selector) == fault


def test_all_offences_of_one_name_the_setting() -> None:
    assert sorted(exclusion_offences(Exclusion("a)", ("re:(",)), "scan.exclude_elements")) == [
        Offence("scan.exclude_elements", "'a)' has a `)` that nothing opened", "a CSS selector"),
        Offence("scan.exclude_elements", "pattern 're:(' is no regular expression (missing ), unterminated subpattern "
                "at position 0)")]


@pytest.mark.parametrize(("text", "parts"), [
    (".a, .b", [".a", ".b"]), (":is(.a,.b), [x='p,q']", [":is(.a,.b)", "[x='p,q']"]), ("a\\,b", ["a\\,b"]),
    (" , ", []), ("", []), ("a)b, c", ["a)b", "c"]),
])
def test_lists_are_split_at_their_own_commas(text: str, parts: list[str]) -> None:
    assert split_selectors(text) == parts
