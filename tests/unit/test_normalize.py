"""Normalize: one route for each page and profile, and a list of what was left out."""

from dataclasses import replace

import pytest

from schemas.action import Action, ActionKind
from schemas.errors import ContractError, Offence
from schemas.manifest import ManifestEntry
from schemas.normalized import Normalized
from schemas.plan import Excluded
from schemas.route import Expectation, Journey, Route, RouteKey
from schemas.settings import DEFAULT_EXCLUDE, IdentitySwitches, Settings
from tasks.normalize import normalize, priority_of
from tests.small_manifest import SITE, absolute, manifest_of

STEPS = (Action(ActionKind.FILL, "#q", "x {{secret:T}}"), Action(ActionKind.CLICK, "#go"))
DEFAULT_COUNTS = tuple((pattern, 0) for pattern in DEFAULT_EXCLUDE)


def urls_of(normalized: Normalized) -> list[str]:
    return [route.key.route for route in normalized.routes]


def test_an_entry_becomes_a_route_with_all_that_it_says() -> None:
    expect = Expectation(status=404, title="Not found")
    entry = ManifestEntry(" https://E.test/A/?utm_x=1 ", "line 2", auth="staff", journey=Journey.SECONDARY, priority=1,
                          owner="web", tags=("b", "a", "b"), ready="#main", expect=expect, ready_when="a",
                          actions=STEPS)
    assert normalize(manifest_of(entry), Settings()) == Normalized(
        routes=(Route(RouteKey("https://e.test/A", "staff"), "https://E.test/A/?utm_x=1", (), Journey.SECONDARY,
                      True, 1, "web", ("a", "b"), "#main", expect, "a", STEPS),),
        match_counts=DEFAULT_COUNTS)


def test_pages_told_apart_by_their_query_stay_apart() -> None:
    """Fault 016: only listed noise is dropped."""
    normalized = normalize(manifest_of("/", "/?page_id=1", "/?page_id=2", "/?page_id=2&utm_source=x"), Settings())
    assert normalized.routes == (
        Route(RouteKey(f"{SITE}/"), f"{SITE}/"),
        Route(RouteKey(f"{SITE}/?page_id=1"), f"{SITE}/?page_id=1"),
        Route(RouteKey(f"{SITE}/?page_id=2"), f"{SITE}/?page_id=2", (f"{SITE}/?page_id=2&utm_source=x",)))


def test_trailing_slash_twins_are_one_route_with_an_alias() -> None:
    """Fault 023: the first spelling is fetched, the other is listed; the root keeps its slash."""
    normalized = normalize(manifest_of("/a", "/a/", "/", SITE, "/a"), Settings())
    assert normalized.routes == (Route(RouteKey(f"{SITE}/a"), f"{SITE}/a", (f"{SITE}/a/",)),
                                 Route(RouteKey(f"{SITE}/"), f"{SITE}/", (SITE,)))
    assert normalized.warnings == ()


def test_no_page_is_added_that_the_manifest_does_not_have() -> None:
    """Fault 017: no root unless it is asked for."""
    assert urls_of(normalize(manifest_of("/a", "/b"), Settings())) == [f"{SITE}/a", f"{SITE}/b"]


def test_one_address_under_two_profiles_is_two_routes() -> None:
    entries = [ManifestEntry(f"{SITE}/a", f"routes[{i}]", auth=auth) for i, auth in enumerate((None, "staff", "guest"))]
    keys = [route.key for route in normalize(manifest_of(*entries, *entries), Settings()).routes]
    assert keys == [RouteKey(f"{SITE}/a"), RouteKey(f"{SITE}/a", "staff"), RouteKey(f"{SITE}/a", "guest")]


def test_placeholders_survive_in_address_and_identity() -> None:
    address = f"{SITE}/a/?token={{{{secret:T}}}}"
    (route,) = normalize(manifest_of(address), Settings()).routes
    assert (route.url, route.key.route) == (address, f"{SITE}/a?token={{{{secret:T}}}}")


def test_duplicates_with_different_attributes_are_bad_input() -> None:
    first = ManifestEntry(f"{SITE}/a", "line 1", owner="web", tags=("x", "y"))
    others = [
        replace(first, where="line 2", url=f"{SITE}/a/"),
        replace(first, where="line 3", tags=("y", "x")),
        replace(first, where="line 4", owner="shop", priority=0),
        replace(first, where="line 5", journey=Journey.PRIMARY),
        replace(first, where="line 6", journey=Journey.SECONDARY, ready="#a", expect=Expectation(status=200)),
        replace(first, where="line 7", tags=("x",), url=f"{SITE}/./a"),
        replace(first, where="line 8", ready_when="a", actions=STEPS),
    ]
    with pytest.raises(ContractError) as caught:
        normalize(manifest_of(first, *others), Settings())
    assert caught.value.offences == tuple(
        Offence(where, f"the same route as line 1 ({SITE}/a) with another {names}", "duplicates with equal attributes",
                "Keep one of the two entries.")
        for where, names in (("line 4", "priority, owner"), ("line 5", "journey"),
                             ("line 6", "journey, ready, expect"), ("line 7", "tags"),
                             ("line 8", "ready_when, actions")))


def test_a_secret_is_typed_and_goes_nowhere_else() -> None:
    actions = (Action(ActionKind.FILL, "#q", "{{secret:T}} {{secret T}}"), Action(ActionKind.CLICK, "#{{secret:T}}"))
    with pytest.raises(ContractError) as caught:
        normalize(manifest_of(ManifestEntry(SITE, "line 1", ready_when="'{{secret:T}}'", actions=actions)), Settings())
    assert [(offence.subject, offence.fault) for offence in caught.value.offences] == [
        ("line 1", "`ready_when` names a secret"), ("line 1", "the selector of action 2 names a secret"),
        ("line 1", "the value of action 1 has a malformed placeholder")]


def test_all_bad_addresses_are_named_at_once() -> None:
    """Fault 024: and no secret is repeated."""
    with pytest.raises(ContractError) as caught:
        normalize(manifest_of("https://user:s3cret@e.test/a", "/ok", "ftp://e.test/", "/admin/?token=s3cret"),
                  Settings())
    assert [offence.subject for offence in caught.value.offences] == ["routes[0]", "routes[2]", "routes[3]"]
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(("entry", "priority"), [
    ({}, 2),
    ({"priority": 0}, 0),
    ({"priority": 2, "violation_density": 1.0, "monthly_views": 10_000.0}, 2),
    ({"violation_density": 1.0, "monthly_views": 1e9}, 0),
    ({"violation_density": 1.0, "monthly_views": 2_500.0}, 1),
    ({"violation_density": 1.0, "monthly_views": 2_501.0}, 0),
    ({"violation_density": 1.0}, 1),
    ({"monthly_views": 10_000.0}, 1),
    ({"monthly_views": 7_500.0}, 2),
    ({"monthly_views": 7_501.0}, 1),
    ({"violation_density": 0.1, "monthly_views": 6_000.0}, 2),
    ({"violation_density": 0.5, "monthly_views": 0.0}, 2),
])
def test_priority_comes_from_the_entry_or_its_seeds(entry: dict[str, float], priority: int) -> None:
    assert priority_of(ManifestEntry(SITE, "line 1", **entry)) == priority  # type: ignore[arg-type]


def test_patterns_of_settings_and_manifest_both_hold() -> None:
    """Fault 027: every pattern applies, and each is counted."""
    manifest = manifest_of("/a", "/b/1", "/b/2", "/c?format=feed", "/d", "/b/1/", exclude=("glob:/b/*", "glob:/b/1"))
    settings = Settings(exclude=("re:format=feed", "glob:/d", "glob:/d"))
    assert normalize(manifest, settings) == Normalized(
        routes=(Route(RouteKey(f"{SITE}/a"), f"{SITE}/a"),),
        excluded=(Excluded(f"{SITE}/b/1", "glob:/b/*"), Excluded(f"{SITE}/b/2", "glob:/b/*"),
                  Excluded(f"{SITE}/c?format=feed", "re:format=feed"), Excluded(f"{SITE}/d", "glob:/d")),
        match_counts=(("re:format=feed", 1), ("glob:/d", 1), ("glob:/b/*", 2), ("glob:/b/1", 1)))


def test_a_pattern_that_matches_nothing_warns() -> None:
    """Fault 026: unless it is one of the defaults, which nobody wrote for this estate."""
    settings = Settings(exclude=(*DEFAULT_EXCLUDE, "glob:/*.pdf"))
    assert normalize(manifest_of("/a"), settings).warnings == ("the exclude pattern `glob:/*.pdf` matches no route",)


def test_nothing_cuts_the_list_but_a_listed_exclusion() -> None:
    """Fault 015: 250 entries, 50 of them excluded, all of them accounted for."""
    manifest = manifest_of(*(f"/{'drop' if number % 5 == 0 else 'keep'}/{number}" for number in range(250)))
    assert len(normalize(manifest, Settings()).routes) == 250
    normalized = normalize(manifest, Settings(exclude=("glob:/drop/*",)))
    assert urls_of(normalized) == [f"{SITE}/keep/{n}" for n in range(250) if n % 5]
    assert normalized.excluded == tuple(Excluded(f"{SITE}/drop/{n}", "glob:/drop/*") for n in range(0, 250, 5))


@pytest.mark.parametrize("pattern", ["re:/admin/", "re:^https://e\\.test/admin\\b", "glob:/admin/", "glob:/admin",
                                     "glob:/admin/**"])
@pytest.mark.parametrize("address", ["/admin", "/admin/", "/%61dmin//", "/x/../admin?", "/admin?q=1", "/admin/#x"])
def test_an_exclusion_sees_the_page_in_every_spelling(pattern: str, address: str) -> None:
    """Fault 028: a pattern means the page, however its address is spelled."""
    normalized = normalize(manifest_of("/b", address), Settings(exclude=(pattern,)))
    assert (urls_of(normalized), normalized.excluded) == (
        [f"{SITE}/b"], (Excluded(absolute(address), pattern),))


def test_an_exclusion_holds_where_path_case_is_folded() -> None:
    settings = Settings(exclude=("glob:/Admin/**",), identity=IdentitySwitches(path_case="fold"))
    assert urls_of(normalize(manifest_of("/a", "/Admin/x", "/ADMIN"), settings)) == [f"{SITE}/a"]


def test_an_address_under_two_profiles_is_excluded_once() -> None:
    entries = [ManifestEntry(f"{SITE}/admin", f"routes[{i}]", auth=auth) for i, auth in enumerate((None, "staff"))]
    normalized = normalize(manifest_of("/a", *entries), Settings())
    assert normalized.excluded == (Excluded(f"{SITE}/admin", "glob:/admin/**"),)


def test_merges_that_most_servers_would_not_make_warn() -> None:
    def warnings(**switches: str) -> tuple[str, ...]:
        settings = Settings(identity=IdentitySwitches(**switches))  # type: ignore[arg-type]
        return normalize(manifest_of("/a", "/A", "/a/", "/a?b=1", "/a?utm_x=1", "/a#/c"), settings).warnings

    start = "merged 1 address that may be of another page:"
    assert warnings() == ()
    assert warnings(path_case="fold") == (f"`path_case: fold` {start} {SITE}/A into {SITE}/a",)
    assert warnings(query="drop") == (f"`query: drop` {start} {SITE}/a?b=1 into {SITE}/a",)
    assert warnings(fragment="drop") == (f"`fragment: drop` {start} {SITE}/a#/c into {SITE}/a",)


def test_a_warning_of_many_merges_shows_a_few() -> None:
    settings = Settings(identity=IdentitySwitches(query="drop"))
    (warning,) = normalize(manifest_of("/a", *(f"/a?n={n}" for n in range(5))), settings).warnings
    assert warning == ("`query: drop` merged 5 addresses that may be of another page: "
                       + ", ".join(f"{SITE}/a?n={n} into {SITE}/a" for n in range(3)) + ", …")


def test_nothing_left_to_audit_is_bad_input() -> None:
    for addresses, count in (((), 0), (("/admin/a", "/logout"), 2)):
        with pytest.raises(ContractError) as caught:
            normalize(manifest_of(*addresses), Settings())
        assert caught.value.offences == (
            Offence("manifest.json", f"nothing to audit: {count} routes, {count} excluded",
                    "at least one route", "Look at the exclude patterns and at the source."),)


def test_all_bad_patterns_are_named_at_once() -> None:
    with pytest.raises(ContractError) as caught:
        normalize(manifest_of("/a", exclude=("re:(",)), Settings(exclude=("/x",)))
    assert [offence.fault for offence in caught.value.offences] == [
        "pattern '/x' names no language",
        "pattern 're:(' is no regular expression (missing ), unterminated subpattern at position 0)"]


def test_the_default_journey_is_not_an_explicit_one() -> None:
    (route,) = normalize(manifest_of("/a", default_journey=Journey.SECONDARY), Settings()).routes
    assert (route.journey, route.journey_is_explicit) == (Journey.SECONDARY, False)
    assert absolute("/a") == route.url
