"""Judging is pure: each row is a page as it was seen, and what that means."""

import pytest

from schemas.plan import PlannedRoute
from schemas.settings import ScanSettings
from tasks.scan.access import Access
from tasks.scan.judge import Judge, Judgement, Seen
from tasks.scan.media_type import media_type
from tests.browser.faulty_site import finder, planned

HOME = "https://shop.test/a"
PAGE = Seen(HOME, 200, "text/html; charset=utf-8")


def judge(seen: Seen, *plan: PlannedRoute, scan: ScanSettings | None = None, **changes: object) -> Judgement | None:
    route = planned(HOME, **changes)
    return Judge(scan or ScanSettings(), finder([route, *plan])).when_settled(route, seen)


def at(url: str, status: int | None = 200, kind: str | None = "text/html", **rest: object) -> Seen:
    return Seen(url, status, kind, **rest)  # type: ignore[arg-type]


ARRIVALS = {
    "the page itself": (PAGE, None),
    "its twin with a slash": (at(HOME + "/"), None),
    "xhtml": (at(HOME, kind="application/xhtml+xml"), None),
    "https to http on www": (at("http://www.shop.test/a"), None),
    "another page of the host": (at("https://shop.test/b"), None),
    "404": (at(HOME, 404), "status_4xx"),
    "404 of another type": (at(HOME, 404, "application/pdf"), "status_4xx"),
    "404 at a sign-in page": (at("https://shop.test/login", 404), "status_4xx"),
    "429": (at(HOME, 429), "status_429"),
    "503": (at(HOME, 503), "status_5xx"),
    "304": (at(HOME, 304), "status_other"),
    "600": (at(HOME, 600), "status_other"),
    "no content": (at(HOME, 204, None), "no_content"),
    "pdf": (at(HOME, kind="application/pdf"), "document"),
    "no type, which a browser looks into": (at(HOME, kind=None), None),
    "a type that says nothing": (at(HOME, kind="*/*; charset=x"), None),
    "a type that is none": (at(HOME, kind="html"), None),
    "a download without a type": (at(HOME, kind=None, is_download=True), "download"),
    "text": (at(HOME, kind="text/plain"), "document"),
    "pdf at a sign-in page": (at("https://shop.test/login", kind="application/pdf"), "document"),
    "attachment": (at(HOME, is_download=True), "download"),
    "error page": (at("chrome-error://chromewebdata/", None, None), "browser_error_page"),
    "sign-in": (at("https://shop.test/login?next=/a"), "sign_in"),
    "sign-in in capitals": (at("https://shop.test/Account/LogIn.aspx"), "sign_in"),
    "sign-in with a dash": (at("https://shop.test/users/sign-in"), "sign_in"),
    "sign-in elsewhere": (at("https://login.microsoftonline.com/x"), "sign_in"),
    "sign-in at a tenant": (at("https://acme.okta.com/app"), "sign_in"),
    "words that only look alike": (at("https://shop.test/loginov-books"), None),
    "a blog about it": (at("https://shop.test/authors"), None),
    "another host": (at("https://other.test/a"), "host_not_allowed"),
    "a host that only ends alike": (at("https://evilshop.test/a"), "host_not_allowed"),
}


@pytest.mark.parametrize("case", ARRIVALS)
def test_arrivals(case: str) -> None:
    seen, expected = ARRIVALS[case]
    found = judge(seen)
    assert (found.reason if found else None) == expected


def test_status_comes_before_type_and_type_before_address() -> None:
    seen = at("https://other.test/login", 500, "application/pdf")
    assert judge(seen) == Judgement("status_5xx", "status 500")


def test_sign_in_wins_over_a_planned_sign_in_page() -> None:
    login = planned("https://shop.test/login")
    assert judge(at(login.url), login) == Judgement("sign_in", "led to shop.test/login")


def test_a_route_that_is_a_sign_in_page_is_one() -> None:
    route = planned("https://shop.test/login")
    seen = at("https://shop.test/login/step", has_password_field=True, text_length=10)
    assert Judge(ScanSettings(), finder([route])).when_settled(route, seen) is None


def test_another_route_of_the_plan() -> None:
    other = planned("https://shop.test/b")
    is_other = Judgement("other_route", None, other.task_id)
    http, tagged = "http://shop.test/b/", "https://shop.test/b/?utm_source=x"
    assert judge(at(http, loaded_url=http), other) is None  # http is another identity
    assert judge(at(tagged, loaded_url=tagged), other) == is_other
    assert judge(at("https://shop.test/c", loaded_url=tagged), other) == is_other
    assert judge(at(tagged, loaded_url=HOME), other) is None  # its own document with the other's address
    assert judge(at(HOME, loaded_url=tagged), other) is None  # the other's document with its own address
    assert judge(at(tagged), other) is None  # what was loaded is not known yet


def test_the_other_route_must_be_of_the_same_profile() -> None:
    other = planned("https://shop.test/b", auth="member")
    assert judge(at("https://shop.test/b", loaded_url="https://shop.test/b"), other) is None


def test_strict_redirects() -> None:
    strict = ScanSettings(redirects="strict")
    assert judge(at("https://shop.test/b"), scan=strict) == Judgement("redirect_not_allowed")
    assert judge(at("http://www.shop.test/a"), scan=strict) is None


def test_addresses_are_compared_with_their_secrets_in_place() -> None:
    resolve = Access(secrets={"T": "value-1"}).resolve
    route = planned(f"{HOME}?k={{{{secret:T}}}}")
    strict = Judge(ScanSettings(redirects="strict"), finder([route]), resolve)
    assert strict.when_settled(route, at("http://www.shop.test/a?k=value-1")) is None
    assert strict.when_settled(route, at("http://www.shop.test/a?k=other")) == Judgement("redirect_not_allowed")
    expecting = planned(HOME, expect_url="https://shop.test/b?k={{secret:T}}")
    judge_all = Judge(ScanSettings(), finder([expecting]), resolve)
    assert judge_all.when_settled(expecting, at("https://shop.test/b?k=value-1")) is None
    assert judge_all.when_settled(expecting, at("https://shop.test/b?k=other")) == Judgement(
        "expect_url", "expected https://shop.test/b?k={{secret:T}}")


def test_hosts_allow_names_and_globs() -> None:
    scan = ScanSettings(hosts=("other.test", "*.cdn.test"))
    assert judge(at("https://other.test/a"), scan=scan) is None
    assert judge(at("https://x.cdn.test/a"), scan=scan) is None
    assert judge(at("https://cdn.test/a"), scan=scan) == Judgement("host_not_allowed", "led to cdn.test")


def test_a_host_is_the_same_in_every_spelling() -> None:
    """The manifest has the name as people write it, the browser says it as it asked for it."""
    route = planned("http://bücher.test/a")
    final = at("http://www.xn--bcher-kva.test/b")
    assert Judge(ScanSettings(), finder([route])).when_settled(route, final) is None
    assert judge(final) == Judgement("host_not_allowed", "led to www.xn--bcher-kva.test")
    for entry in ("*.bücher.test", "WWW.xn--bcher-kva.test:80"):
        assert judge(final, scan=ScanSettings(hosts=(entry,))) is None
    strict = Judge(ScanSettings(redirects="strict"), finder([route]))
    assert strict.when_settled(route, at("https://xn--bcher-kva.test/a")) is None


EXPECTED_ADDRESSES = {
    "in capitals": ("HTTPS://SHOP.test:443/A", "https://shop.test/A", True),
    "beyond ASCII": ("https://bücher.test/café", "https://xn--bcher-kva.test/caf%C3%A9", True),
    "with triplets of letters": ("https://shop.test/%61", "https://shop.test/a/", True),
    "another path": ("https://shop.test/a", "https://shop.test/A", False),
    "another scheme": ("https://shop.test/a", "http://shop.test/a", False),
    "another port": ("https://shop.test/a", "https://shop.test:8443/a", False),
    "the same query": ("https://shop.test/a?b=é&a=1", "https://shop.test/a?a=1&b=%C3%A9", True),
    "noise counts": ("https://shop.test/a", "https://shop.test/a?utm_source=x", False),
    "any fragment": ("https://shop.test/a", "https://shop.test/a#/x", True),
    "this fragment": ("https://shop.test/a#/x", "https://shop.test/a#/x", True),
    "another fragment": ("https://shop.test/a#/x", "https://shop.test/a#/y", False),
    "no page": ("https://shop.test/a", "about:blank", False),
}


@pytest.mark.parametrize("case", EXPECTED_ADDRESSES)
def test_an_expected_address_is_the_same_in_every_spelling(case: str) -> None:
    expected, found, is_same = EXPECTED_ADDRESSES[case]
    judgement = judge(at(found), expect_url=expected)
    assert judgement == (None if is_same else Judgement("expect_url", f"expected {expected}"))


def test_strict_redirects_see_the_same_page_in_every_spelling() -> None:
    route = planned("http://shop.test/café?q=é")
    strict = Judge(ScanSettings(redirects="strict"), finder([route]))
    assert strict.when_settled(route, at("https://www.shop.test/caf%C3%A9/?q=%C3%A9#top")) is None
    for other in ("https://shop.test/cafe?q=%C3%A9", "https://shop.test/caf%C3%A9"):
        assert strict.when_settled(route, at(other)) == Judgement("redirect_not_allowed")


def test_a_place_without_a_host_is_no_allowed_one() -> None:
    everything = ScanSettings(hosts=("*",))
    assert judge(at("about:blank"), scan=everything) == Judgement("host_not_allowed", "led to about:blank")


NAMED = {
    "ready": {"ready": "#x"}, "condition": {"ready_when": "x"}, "actions": {"actions": '[{"click":"#x"}]'},
    "expect": {"expect_status": 200}, "primary": {"journey_is_explicit": True},
    "was html": {"was_html": True},
}


@pytest.mark.parametrize("case", NAMED)
def test_a_file_where_a_page_is_expected(case: str) -> None:
    found = judge(at(HOME, kind="application/json"), **NAMED[case])
    assert found == Judgement("file_instead_of_page", "application/json")


def test_an_explicit_secondary_may_be_a_file() -> None:
    found = judge(at(HOME, kind="application/json"), journey_is_explicit=True, journey="secondary")
    assert found == Judgement("document", "application/json")


EXPECTED = {
    "status as expected": ({"expect_status": 404}, at(HOME, 404), None),
    "fine but not expected": ({"expect_status": 404}, PAGE, "expect_status"),
    "another error": ({"expect_status": 404}, at(HOME, 500), "status_5xx"),
    "address as expected": ({"expect_url": "https://other.test/x"}, at("https://other.test/x/#top"), None),
    "another address": ({"expect_url": "https://other.test/x"}, at("https://other.test/y"), "expect_url"),
    "sign-in instead": ({"expect_url": "https://other.test/x"}, at("https://shop.test/login"), "sign_in"),
    "title holds it": ({"expect_title": "Shop"}, at(HOME, title="The SHOP of all"), None),
    "title does not": ({"expect_title": "Shop"}, at(HOME, title="Not found"), "expect_title"),
    "no title": ({"expect_title": "Shop"}, at(HOME), "expect_title"),
    "selector is there": ({"expect_selector": "#x"}, at(HOME, has_selector=True), None),
    "selector is not": ({"expect_selector": "#x"}, at(HOME, has_selector=False), "expect_selector"),
    "selector is not, for want of a session": (
        {"expect_selector": "#x"}, at(HOME, has_selector=False, has_password_field=True, text_length=90), "sign_in"),
}


@pytest.mark.parametrize("case", EXPECTED)
def test_expectations(case: str) -> None:
    changes, seen, expected = EXPECTED[case]
    found = judge(seen, **changes)
    assert (found.reason if found else None) == expected


def asks(url: str = HOME, text_length: int = 5_000) -> Seen:
    return at(url, has_password_field=True, text_length=text_length)


PASSWORDS = {
    "a small form on a full page": (asks(), {}, None),
    "little else": (asks(text_length=200), {}, "sign_in"),
    "at another address": (asks("https://shop.test/b"), {}, "sign_in"),
    "under a profile": (asks(), {"auth": "member"}, "sign_in"),
    "a ready selector vouches": (asks(text_length=200), {"ready": "#form"}, None),
    "a condition vouches": (asks(text_length=200), {"ready_when": "app.form"}, None),
    "registration": (asks("https://shop.test/register", 200), {"url": "https://shop.test/register"}, None),
}


@pytest.mark.parametrize("case", PASSWORDS)
def test_password_fields(case: str) -> None:
    seen, changes, expected = PASSWORDS[case]
    route = planned(str(changes.get("url", HOME)), **{k: v for k, v in changes.items() if k != "url"})
    found = Judge(ScanSettings(), finder([route])).when_settled(route, seen)
    assert (found.reason if found else None) == expected


def test_media_types() -> None:
    assert [media_type(text) for text in ("Text/HTML; charset=x", None, " application/json ")] == [
        "text/html", "", "application/json"]
