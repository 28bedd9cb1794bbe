"""Patterns: each says its language, and matches what that language says."""

import pytest

from schemas.errors import ContractError, Offence
from schemas.pattern import Pattern, Patterns


def matching(pattern: str, *addresses: str, is_case_folded: bool = False) -> list[str]:
    parsed = Pattern.parse(pattern, "exclude")
    return [address for address in addresses if parsed.holds_for(address, is_case_folded=is_case_folded)]


def test_a_glob_sees_the_path_only() -> None:
    """Fault 026: a glob is no regular expression, and no host."""
    addresses = ("https://e.test/a.pdf", "https://e.test/pdf-guide", "https://admin.e.test/home",
                 "https://e.test/admin/x")
    assert matching("glob:/*.pdf", *addresses) == ["https://e.test/a.pdf"]
    assert matching("glob:/admin/**", *addresses) == ["https://e.test/admin/x"]
    assert matching("re:/*.pdf", *addresses) == ["https://e.test/a.pdf", "https://e.test/pdf-guide"]


@pytest.mark.parametrize(("glob", "hits", "misses"), [
    ("glob:/admin/**", ("/admin", "/admin/a", "/admin/a/b"), ("/administration", "/x/admin/a", "/")),
    ("glob:/a/*", ("/a/b", "/a/", "/a"), ("/ab", "/a/b/c")),  # `/a` and `/a/` are one page
    ("glob:/a/", ("/a",), ("/", "/a/b")),
    ("glob:/a/**/z", ("/a/z", "/a/b/z", "/a/b/c/z"), ("/az", "/a/bz", "/a/z/b")),
    ("glob:**/logout", ("/logout", "/a/b/logout"), ("/logout/a", "/a/logouts")),
    ("glob:/p?ge", ("/page", "/p%C3ge"), ("/pge", "/p/ge", "/paage")),
    ("glob:/**", ("/", "/a", "/a/b"), ()),
    ("glob:/", ("/",), ("/a",)),
    ("glob:/a.b", ("/a.b",), ("/axb",)),
    ("glob:/[a]+", ("/[a]+",), ("/a", "/aa")),
    ("glob:/café/*", ("/caf%C3%A9/a",), ("/cafe/a",)),
    ("glob:/a b%2Fc", ("/a%20b%2Fc",), ("/a%20b/c",)),
])
def test_glob(glob: str, hits: tuple[str, ...], misses: tuple[str, ...]) -> None:
    addresses = [f"https://e.test{path}?q=/admin/x#/logout" for path in (*hits, *misses)]
    assert matching(glob, *addresses) == addresses[: len(hits)]


def test_a_regular_expression_sees_the_whole_address() -> None:
    addresses = ("https://e.test/a?format=feed", "https://e.test/a?format=feeds", "https://feed.test/a#/format=feed")
    assert matching("re:[?&]format=feed$", *addresses) == ["https://e.test/a?format=feed"]
    assert matching("re:^https://feed\\.", *addresses) == ["https://feed.test/a#/format=feed"]


def test_case_counts_unless_identities_are_folded() -> None:
    assert matching("glob:/Admin/**", "https://e.test/admin/x") == []
    assert matching("glob:/Admin/**", "https://e.test/admin/x", is_case_folded=True) == ["https://e.test/admin/x"]


def test_what_is_no_absolute_address_matches_no_glob() -> None:
    assert matching("glob:/**", "/a", "about:blank") == []


@pytest.mark.parametrize(("text", "offence"), [
    ("/admin/**", Offence("exclude", "pattern '/admin/**' names no language", "`glob:` or `re:` in front",
                          "Write `glob:/admin/**` to match paths.")),
    ("glob:", Offence("exclude", "pattern 'glob:' is empty", "something to match")),
    ("re:", Offence("exclude", "pattern 're:' is empty", "something to match")),
    ("glob:admin/**", Offence("exclude", "pattern 'glob:admin/**' can match no path",
                              "a glob that starts with `/` or `*`",
                              "Write `re:` to match the host or the whole address.")),
    ("re:(", Offence("exclude",
                     "pattern 're:(' is no regular expression (missing ), unterminated subpattern at position 0)")),
])
def test_a_pattern_that_is_none_is_bad_input(text: str, offence: Offence) -> None:
    with pytest.raises(ContractError) as caught:
        Pattern.parse(text, "exclude")
    assert caught.value.offences == (offence,)


@pytest.mark.parametrize("further", [(), ("re:x=1$",)])
def test_many_at_once_match_what_each_matches(further: tuple[str, ...]) -> None:
    """One look rejects most addresses; it must reject none that a pattern knows."""
    texts = ("glob:/admin/**", "glob:/a/*/", "glob:**/x?", "glob:/", *further)
    patterns = [Pattern.parse(text, "exclude") for text in texts]
    identities = [f"https://e.test{path}" for path in (
        "/", "/admin", "/admin/x", "/administer", "/a/b", "/a/b/c", "/q/x1", "/q/x", "/a/b?x=1", "/ADMIN/x", "/?x=1")]
    for is_case_folded in (False, True):
        known = Patterns(patterns, is_case_folded=is_case_folded)
        assert [known.matching(identity) for identity in identities] == [
            [one.text for one in patterns if one.holds_for(identity, is_case_folded=is_case_folded)]
            for identity in identities]
    assert sum(bool(Patterns(patterns).matching(identity)) for identity in identities) >= 6
    assert Patterns([]).matching(identities[0]) == []
