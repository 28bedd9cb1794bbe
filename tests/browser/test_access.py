"""Headers reach the route's own host and nobody else; a profile proves first that it is signed in."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from schemas.errors import ContractError, TransientError
from schemas.outcome import OutcomeKind
from schemas.settings import IdentitySwitches
from tasks.scan.access import Access, SignInCheck
from tasks.scan.route_finder import RouteFinder
from tasks.scan.sign_in import prove_signed_in
from tests.browser.faulty_site import QUICK, Answer, Scanner, Site, html, planned, redirect

TOKEN = "Bearer t0ken-of-the-profile"
ACCESS = Access("staff", headers={"Authorization": TOKEN, "X-Role": "staff"})


@pytest.fixture
def other() -> Iterator[Site]:
    """A site on another port of the same name: another host."""
    server = Site()
    yield server
    server.close()


def sent(site: Site) -> dict[str, tuple[str | None, str | None]]:
    """What each request but the icon carried."""
    return {path: (headers.get("Authorization"), headers.get("X-Role")) for path, headers in site.requests
            if path != "/favicon.ico"}


def test_headers_go_to_the_own_host_only(site: Site, other: Site, scanner: Scanner) -> None:
    """A redirect that leaves the host must not carry them along; one that stays must."""
    foreign = other.put("/frame", html("<p>text</p>"))
    other.put("/led", html("<p>text</p>"))
    site.put("/inner", redirect("/arrived"))
    site.put("/arrived", html("<p>text</p>"))
    site.put("/out", redirect(other.url("/led")))
    site.put("/pixel-out", redirect(other.url("/pixel-led")))
    site.put("/own", html("<p>text</p>"))
    pixels = ("/pixel-own", other.url("/pixel-other"), "/pixel-out")
    body = ("".join(f'<img alt="" src="{pixel}">' for pixel in pixels) + f'<iframe title="a" src="{foreign}"></iframe>'
            + f'<iframe title="b" src="{site.url("/own", "localhost")}"></iframe>')
    routes = [planned(site.put("/page", html(body)), auth="staff"), planned(site.url("/inner"), auth="staff"),
              planned(site.url("/out"), auth="staff")]
    found = scanner.visit_all(routes, access=ACCESS, scan=replace(QUICK, hosts=("127.0.0.1",)))
    assert {visited.outcome.outcome for visited in found.values()} == {OutcomeKind.SCANNED}
    both, none = (TOKEN, "staff"), (None, None)
    assert sent(site) == {"/page": both, "/pixel-own": both, "/pixel-out": both, "/inner": both, "/arrived": both,
                          "/out": both, "/own": none}
    assert sent(other) == {"/frame": none, "/pixel-other": none, "/pixel-led": none, "/led": none}


def test_a_host_may_be_written_as_people_read_it(site: Site, scanner: Scanner) -> None:
    """The browser says `xn--bcher-kva` where the manifest and the settings say `bücher`."""
    site.put("/page", html("<p>text</p>"))
    site.put("/led", html("<p>text</p>"))
    site.put("/out", redirect(site.url("/led", "xn--bcher-kva.localhost")))
    routes = [planned(site.url("/page", "bücher.localhost"), auth="staff"), planned(site.url("/out"))]
    for hosts, led in (("*.bücher.test",), "host_not_allowed"), (("Bücher.localhost",), "tested"):
        found = scanner.visit_all(routes, access=ACCESS, scan=replace(QUICK, hosts=hosts))
        assert {path: found[route.url].outcome.reason for path, route in zip(("page", "out"), routes, strict=True)} == {
            "page": "tested", "out": led}
    assert sent(site)["/page"] == (TOKEN, "staff")


def test_what_lies_behind_a_sign_in_is_masked_unless_the_settings_say_otherwise(site: Site, scanner: Scanner) -> None:
    route = planned(site.put("/", html('<p style="color:#aaa">Private words</p>', title="Jane")), auth="staff")
    kept = {}
    for evidence, access in ((None, ACCESS), ("full", ACCESS), (None, None)):
        visited = scanner.visit_all([route], access=access, scan=replace(QUICK, evidence=evidence))[route.url]
        kept[evidence, access is not None] = (visited.outcome.title, [row.html for row in visited.occurrences])
    full = ("Jane", ['<p style="color:#aaa">Private words</p>'])
    assert kept == {(None, True): ("•", ['<p style="•">•</p>']), ("full", True): full, (None, False): full}


def gated(marker: str) -> "Mapping[str, object]":
    """A page that shows its marker only to who sends the header."""

    def answer(_: int, headers: Mapping[str, str]) -> Answer:
        return html(f'<p id="{marker}">you</p>' if headers.get("Authorization") == TOKEN else "<p>sign in</p>")

    return {"/account": answer}


def test_a_profile_proves_that_it_is_signed_in(site: Site, scanner: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.scan.sign_in.LOOK_MS", 400.0)
    site.pages |= gated("name")  # type: ignore[arg-type]
    check = SignInCheck(site.url("/account"), "#name")
    scanner.run(prove_signed_in(scanner.browser, QUICK, replace(ACCESS, check=check)))
    with pytest.raises(ContractError) as caught:
        scanner.run(prove_signed_in(scanner.browser, QUICK, Access("staff", check=check)))
    assert str(caught.value) == (f"auth profile staff: is not signed in: #name is not on {check.url}; expected it "
                                 "there. Sign in again and save the profile anew.")


def test_cookies_of_a_storage_state_are_sent(site: Site, scanner: Scanner) -> None:
    def answer(_: int, headers: Mapping[str, str]) -> Answer:
        return html('<p id="name">you</p>' if headers.get("Cookie") == "session=abcdefghijkl" else "<p>sign in</p>")

    check = SignInCheck(site.put("/account", answer), "#name")
    state = {"cookies": [{"name": "session", "value": "abcdefghijkl", "domain": "127.0.0.1", "path": "/", "expires": -1,
                          "httpOnly": True, "secure": False, "sameSite": "Lax"}], "origins": []}
    access = Access("staff", storage_state=state, check=check)
    scanner.run(prove_signed_in(scanner.browser, QUICK, access))
    assert access.secret_values == ("abcdefghijkl",)


def test_a_check_that_cannot_be_asked_is_no_refusal(site: Site, scanner: Scanner) -> None:
    """A server that is down may be up again: the shard is tried again."""
    gone = Site()
    address = gone.url("/account")
    gone.close()
    with pytest.raises(TransientError, match=r"its check page .* cannot be opened \(ERR_CONNECTION_REFUSED\)"):
        scanner.run(prove_signed_in(scanner.browser, QUICK, Access("staff", check=SignInCheck(address, "#name"))))
    broken = SignInCheck(site.put("/", html("<p>x</p>")), "##")
    with pytest.raises(ContractError, match="its check does not work: '##'"):
        scanner.run(prove_signed_in(scanner.browser, QUICK, Access("staff", check=broken)))


@pytest.mark.parametrize(("answer", "said"), [
    (html("busy", status=503), "answers with status 503"),
    (html("slow down", status=429), "answers with status 429"),
    (html('<p id="name">you</p>', wait_s=5.0), "has not loaded within 0.4 s"),
])
def test_a_check_page_that_is_slow_or_in_trouble_says_nothing_of_the_profile(
    site: Site, scanner: Scanner, monkeypatch: pytest.MonkeyPatch, answer: Answer, said: str
) -> None:
    monkeypatch.setattr("tasks.scan.sign_in.LOAD_MS", 400.0)
    monkeypatch.setattr("tasks.scan.sign_in.LOOK_MS", 400.0)
    check = SignInCheck(site.put("/account", answer), "#name")
    with pytest.raises(TransientError) as caught:
        scanner.run(prove_signed_in(scanner.browser, QUICK, Access("staff", check=check)))
    assert str(caught.value) == f"auth profile staff: its check page {check.url} {said}"


def test_a_route_with_a_secret_is_found_again_at_its_real_address() -> None:
    """The plan has the name, the browser the value: it is one route, not a redirect to somewhere else."""
    secret, plain = planned("https://e.test/a?token={{secret:T}}&b=1"), planned("https://e.test/a?b=1")
    hidden = planned("https://e.test/{{secret:UNKNOWN}}/a")
    finder = RouteFinder((secret, plain, hidden), IdentitySwitches(), Access(secrets={"T": "s p/c&d"}).resolve)
    assert finder.find("https://e.test/a?token=s%20p%2Fc%26d&b=1", None) == secret.task_id
    assert finder.find("https://e.test/a/?b=1&token=s%20p%2Fc%26d#x", None) == secret.task_id
    assert finder.find("https://e.test/a?b=1", None) == plain.task_id
    assert finder.find("https://e.test/a?b=1&token=other", None) is None
