"""Addresses: what is one page, what are two, and what is refused."""

import pytest

from schemas.address import address_for_messages, address_offences, host_of, identity_of, trim_address
from schemas.errors import ContractError, Offence
from schemas.settings import IdentitySwitches

SWITCHES = IdentitySwitches()
WAY_OUT = "Use an auth profile, a header of a profile, or `{{secret:NAME}}` in the address."

SPELLINGS = [
    # scheme, host, port
    ("HTTP://E.Test/", "http://e.test/"),
    ("https://e.test", "https://e.test/"),
    ("http://e.test:80/a", "http://e.test/a"),
    ("https://e.test:443/a", "https://e.test/a"),
    ("http://e.test:443/a", "http://e.test:443/a"),
    ("http://e.test:00080/a", "http://e.test/a"),
    ("http://e.test:08080/a", "http://e.test:8080/a"),
    ("http://e.test:/a", "http://e.test/a"),
    ("http://e.test./a", "http://e.test/a"),
    ("http://e%2Etest/a", "http://e.test/a"),
    ("  http://e.test/a\r\n", "http://e.test/a"),
    # names that are not ASCII
    ("http://Bücher.test/", "http://xn--bcher-kva.test/"),
    ("http://xn--BCHER-kva.test/", "http://xn--bcher-kva.test/"),
    ("http://faß.test/", "http://xn--fa-hia.test/"),
    ("http://☃.test/", "http://xn--n3h.test/"),
    ("http://ｅ。test/", "http://e.test/"),
    ("http://so\u00adft.test/", "http://soft.test/"),
    ("http://a_b.test/", "http://a_b.test/"),
    ("http://ab--cd.test/", "http://ab--cd.test/"),
    # numbers
    ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/"),
    ("http://[::1]:80/", "http://[::1]/"),
    ("http://[2001:DB8:0:0::1]/", "http://[2001:db8::1]/"),
    ("http://[::ffff:1.2.3.4]/", "http://[::ffff:102:304]/"),
    # percent-triplets
    ("http://e.test/%7Euser/%41%2d%5F", "http://e.test/~user/A-_"),
    ("http://e.test/a%2fb", "http://e.test/a%2Fb"),
    ("http://e.test/caf%c3%a9", "http://e.test/caf%C3%A9"),
    ("http://e.test/café", "http://e.test/caf%C3%A9"),
    ("http://e.test/a b", "http://e.test/a%20b"),
    ("http://e.test/100%", "http://e.test/100%25"),
    ("http://e.test/%zz%4", "http://e.test/%25zz%254"),
    ("http://e.test/%%34%31", "http://e.test/%2541"),
    ("http://e.test/%ff", "http://e.test/%FF"),
    ("http://e.test/a'(b)*!$&+,;=:@", "http://e.test/a'(b)*!$&+,;=:@"),
    # dot segments and slashes
    ("http://e.test/a/./b/../c", "http://e.test/a/c"),
    ("http://e.test/a/%2e%2E/b", "http://e.test/b"),
    ("http://e.test/../../a", "http://e.test/a"),
    ("http://e.test/a/..", "http://e.test/"),
    ("http://e.test/a/.", "http://e.test/a"),
    ("http://e.test/...", "http://e.test/..."),
    ("http://e.test/a//../b", "http://e.test/a/b"),
    ("http://e.test//a//b", "http://e.test//a//b"),
    ("http://e.test/a/", "http://e.test/a"),
    ("http://e.test/a//", "http://e.test/a"),
    ("http://e.test//", "http://e.test/"),
    ("http://e.test/a\\b\\..\\c", "http://e.test/a/c"),
    # query
    ("http://e.test/?", "http://e.test/"),
    ("http://e.test?b=2&a=1", "http://e.test/?a=1&b=2"),
    ("http://e.test/a/?b=2&a=1", "http://e.test/a?a=1&b=2"),
    ("http://e.test/?a=2&b=0&a=1", "http://e.test/?a=2&a=1&b=0"),
    ("http://e.test/?&&a=1&", "http://e.test/?a=1"),
    ("http://e.test/?utm_source=x&a=1&gclid=2&utm_medium", "http://e.test/?a=1"),
    ("http://e.test/?%75tm_source=x", "http://e.test/"),
    ("http://e.test/?a=é&b=%2f/?", "http://e.test/?a=%C3%A9&b=%2F/?"),
    ("http://e.test/?a[]=1", "http://e.test/?a[]=1"),
    # fragment
    ("http://e.test/a#sec1", "http://e.test/a"),
    ("http://e.test/a#", "http://e.test/a"),
    ("http://e.test/a#/b", "http://e.test/a#/b"),
    ("http://e.test/a#!b", "http://e.test/a#!b"),
    ("http://e.test/a#/b#c", "http://e.test/a#/b%23c"),
    # placeholders
    ("http://e.test/?t={{secret:T}}&a=%41", "http://e.test/?a=A&t={{secret:T}}"),
    ("http://e.test/{{secret:My-T_1}}/a/", "http://e.test/{{secret:My-T_1}}/a"),
]

DIFFERENT = [
    ("http://e.test/", "https://e.test/"),
    ("http://e.test/", "http://www.e.test/"),
    ("http://e.test/", "http://e.test:8080/"),
    ("http://e.test/A", "http://e.test/a"),
    ("http://e.test/a", "http://e.test/a;b"),
    ("http://e.test/a/b", "http://e.test/a%2Fb"),
    ("http://e.test/a//b", "http://e.test/a/b"),
    ("http://e.test/a+b", "http://e.test/a%20b"),
    ("http://e.test/[a]", "http://e.test/%5Ba%5D"),
    ("http://e.test/café", "http://e.test/cafe\u0301"),
    ("http://e.test/?a", "http://e.test/?a="),
    ("http://e.test/?a=1&a=2", "http://e.test/?a=2&a=1"),
    ("http://e.test/?a=1", "http://e.test/?A=1"),
    ("http://e.test/?a=1%262", "http://e.test/?a=1&2"),
    ("http://e.test/#/a", "http://e.test/#/A"),
]

REFUSED = {
    "": "the scheme is not http or https",
    "/a": "the scheme is not http or https",
    "e.test/a": "the scheme is not http or https",
    "//e.test/a": "the scheme is not http or https",
    "ftp://e.test/": "the scheme is not http or https",
    "javascript:alert(1)": "the scheme is not http or https",
    "data:text/html,x": "the scheme is not http or https",
    "file:///etc/passwd": "the scheme is not http or https",
    "about:blank": "the scheme is not http or https",
    "chrome-error://chromewebdata/": "the scheme is not http or https",
    "http:": "the host is empty or has an empty label",
    "http:e.test": "the host is empty or has an empty label",
    "http:///a": "the host is empty or has an empty label",
    "http://:80/": "the host is empty or has an empty label",
    "http://?a": "the host is empty or has an empty label",
    "http://e..test/": "the host is empty or has an empty label",
    "http://.e.test/": "the host is empty or has an empty label",
    "http://e.test../": "the host is empty or has an empty label",
    "http://a b.test/": "the host has a character that no name can have",
    "http://a%20b.test/": "the host has a character that no name can have",
    "http://a%00b.test/": "the host has a character that no name can have",
    "http://a%ffb.test/": "the host has a character that no name can have",
    "http://a℀b.test/": "the host has a character that no name can have",
    "http://a<b.test/": "the host has a character that no name can have",
    "http://*.e.test/": "the host has a character that no name can have",
    "http://e.test%2fevil.test/": "the host has a character that no name can have",
    "http://xn--a.test/": "a label of the host starts with `xn--` and is no encoded name",
    "http://xn--/": "a label of the host starts with `xn--` and is no encoded name",
    f"http://{'a' * 64}.test/": "a label of the host is longer than 63 characters",
    f"http://{'a.' * 127}test/": "the host is longer than 253 characters",
    "http://2130706433/": "the host ends in a number and is no IPv4 address in plain form (127.0.0.1)",
    "http://0x7f.0.0.1/": "the host ends in a number and is no IPv4 address in plain form (127.0.0.1)",
    "http://127.1/": "the host ends in a number and is no IPv4 address in plain form (127.0.0.1)",
    "http://0177.0.0.1/": "the host ends in a number and is no IPv4 address in plain form (127.0.0.1)",
    "http://256.0.0.1/": "the host ends in a number and is no IPv4 address in plain form (127.0.0.1)",
    "http://1.2.3.4.5/": "the host ends in a number and is no IPv4 address in plain form (127.0.0.1)",
    "http://[::1/": "the host is no IPv6 address in brackets",
    "http://[::1%25eth0]/": "the host is no IPv6 address in brackets",
    "http://[12345]/": "the host is no IPv6 address in brackets",
    "http://e.test:x/": "the port is no number up to 65535",
    "http://e.test:65536/": "the port is no number up to 65535",
    "http://e.test:-1/": "the port is no number up to 65535",
    "http://e.test:８０/": "the port is no number up to 65535",
    f"http://e.test:{'9' * 5000}/": "the port is no number up to 65535",
    "http://e.test\\evil.test/": "there is a back-slash before the path",
    "http:\\\\e.test/": "the host is empty or has an empty label",
    "http://e.test/a\nb": "the address has a control character",
    "http://e.test/?a=\x00": "the address has a control character",
    "http://e.test/\x7f": "the address has a control character",
    "http://e.test/#/\x85": "the address has a control character",
    "http://e.test/\ud800": "the address has half of a surrogate pair",
}


@pytest.mark.parametrize(("spelling", "identity"), SPELLINGS)
def test_spellings_of_one_page_have_one_identity(spelling: str, identity: str) -> None:
    assert address_offences(spelling, "routes[0]", SWITCHES) == []
    assert identity_of(spelling, SWITCHES) == identity
    assert identity_of(identity, SWITCHES) == identity


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_pages_that_a_server_can_tell_apart_stay_apart(one: str, other: str) -> None:
    assert identity_of(one, SWITCHES) != identity_of(other, SWITCHES)


@pytest.mark.parametrize(("address", "fault"), REFUSED.items())
def test_an_address_that_no_browser_could_visit_is_refused(address: str, fault: str) -> None:
    assert address_offences(address, "line 7", SWITCHES) == [
        Offence("line 7", fault, "an absolute http or https address")]
    with pytest.raises(ContractError) as caught:
        identity_of(address, SWITCHES)
    assert [offence.fault for offence in caught.value.offences] == [fault]


def test_encoded_reserved_characters_stay_as_they_are() -> None:
    """Fault 018: only unreserved triplets are decoded."""
    for path in ("/a%2Fb", "/id%3A1", "/foo%26bar", "/x%23y", "/q%3Fz"):
        assert identity_of(f"http://e.test{path}", SWITCHES) == f"http://e.test{path}"
    assert identity_of("http://e.test/a%2fb", SWITCHES) == identity_of("http://e.test/a%2Fb", SWITCHES)
    assert identity_of("http://e.test/a%2Fb", SWITCHES) != identity_of("http://e.test/a/b", SWITCHES)


def test_hash_routes_are_pages_and_anchors_are_not() -> None:
    """Fault 020: five addresses, four pages."""
    addresses = ["/app#/a", "/app#/b", "/app#!c", "/doc#sec1", "/doc#sec2"]
    assert [identity_of(f"http://e.test{a}", SWITCHES) for a in addresses] == [
        "http://e.test/app#/a", "http://e.test/app#/b", "http://e.test/app#!c", "http://e.test/doc",
        "http://e.test/doc"]
    assert identity_of("http://e.test/app#/a", IdentitySwitches(fragment="drop")) == "http://e.test/app"


@pytest.mark.parametrize(("switches", "identity"), [
    (IdentitySwitches(path_case="fold"), "http://e.test/a/%C3%89/{{secret:T}}?B=1"),
    (IdentitySwitches(query="drop"), "http://e.test/A/%C3%89/{{secret:T}}"),
    (IdentitySwitches(query="keep"), "http://e.test/A/%C3%89/{{secret:T}}?B=1&utm_x=Y"),
    (IdentitySwitches(noise_parameters=("B",)), "http://e.test/A/%C3%89/{{secret:T}}?utm_x=Y"),
    (IdentitySwitches(noise_parameters=()), "http://e.test/A/%C3%89/{{secret:T}}?B=1&utm_x=Y"),
])
def test_switches_change_the_identity(switches: IdentitySwitches, identity: str) -> None:
    assert identity_of("http://e.test/A/É/{{secret:T}}/?utm_x=Y&B=1", switches) == identity


@pytest.mark.parametrize("address", ["https://user:s3cret@e.test/a", "https://s3cret@e.test/", "https://:s3cret@e.test"])
def test_user_info_is_bad_input_that_names_the_way_out(address: str) -> None:
    """Fault 024: the message does not repeat the password."""
    offences = address_offences(address, "routes[3]", SWITCHES)
    assert offences == [Offence("routes[3]", "the address carries user info", "no user name or password", WAY_OUT)]
    assert "s3cret" not in address_for_messages(address, SWITCHES)


@pytest.mark.parametrize(("address", "name"), [
    ("https://e.test/?token=s3cret", "token"),
    ("https://e.test/?a=1;TOKEN=s3cret", "token"),
    ("https://e.test/?%74oken=s3cret", "token"),
    ("https://e.test/?token={{secret:T}}s3cret", "token"),
    ("https://e.test/?token={{secret}}s3cret&a", "token"),
    ("https://e.test/a;sid=s3cret/b", "sid"),
    ("https://e.test/#access_token=s3cret", "access_token"),
    ("https://e.test/#/callback?a=1&code=s3cret", "code"),
])
def test_a_secret_parameter_is_bad_input_that_names_the_way_out(address: str, name: str) -> None:
    offence = Offence("line 2", f"the address carries a value for the secret parameter `{name}`", "no secret", WAY_OUT)
    assert offence in address_offences(address, "line 2", SWITCHES)
    assert "s3cret" not in "".join(map(str, address_offences(address, "line 2", SWITCHES)))
    assert "s3cret" not in address_for_messages(address, SWITCHES)


@pytest.mark.parametrize("address", [
    "https://e.test/?token={{secret:T}}", "https://e.test/?token=", "https://e.test/?token", "https://e.test/token=1",
    "https://e.test/?mytoken=1", "https://e.test/{{secret:a.b-c_D1}}?sig={{secret:A}}{{secret:B}}",
])
def test_placeholders_and_other_parameters_are_no_secrets(address: str) -> None:
    assert address_offences(address, "line 2", SWITCHES) == []
    assert address_for_messages(address, SWITCHES) == address


@pytest.mark.parametrize("address", ["https://e.test/?a={{secret:}}", "https://e.test/{{secret}}",
                                     "https://e.test/{{secret:a b}}", "https://e.test/{{secret: T}}"])
def test_a_malformed_placeholder_is_bad_input(address: str) -> None:
    assert address_offences(address, "line 2", SWITCHES) == [
        Offence("line 2", "the address has a malformed placeholder", "`{{secret:NAME}}`")]


def test_an_address_shows_all_its_offences() -> None:
    offences = address_offences("https://u:p@e.test:x/?token=1&key=2", "routes[0]", SWITCHES)
    assert [offence.fault for offence in offences] == [
        "the port is no number up to 65535", "the address carries user info",
        "the address carries a value for the secret parameter `key`",
        "the address carries a value for the secret parameter `token`"]


def test_the_message_of_a_refused_address_shows_no_secret() -> None:
    with pytest.raises(ContractError) as caught:
        identity_of("https://user:s3cret@e.test:x/" + "a" * 500 + "?q=s3cret#s3cret", SWITCHES)
    assert "s3cret" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_the_host_has_one_spelling_without_the_port() -> None:
    assert [host_of(a) for a in ("http://E.test.:8080/", "https://u@Bücher.test", "http://[::1]:8000/a")] == [
        "e.test", "xn--bcher-kva.test", "[::1]"]
    with pytest.raises(ContractError, match="the scheme is not http or https"):
        host_of("mailto:a@e.test")


def test_only_white_space_around_an_address_is_trimmed() -> None:
    assert trim_address("\t http://e.test/a b\n") == "http://e.test/a b"
