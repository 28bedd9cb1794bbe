"""Laws of identity: idempotent, total on what is accepted, and blind to what no server sees."""

import re

from hypothesis import given
from hypothesis import strategies as st

from schemas.address import address_for_messages, address_offences, identity_of
from schemas.errors import ContractError
from schemas.manifest import ManifestEntry
from schemas.settings import IdentitySwitches, Settings
from tasks.normalize import normalize
from tests.small_manifest import manifest_of

SIGNS = "/.?#&=%;:@!{}[]\\|+~'\" aAéß☃%2f%41%2E%7e"
PIECES = st.lists(st.one_of(st.sampled_from(["..", ".", "%2F", "%2e", "%41", "%", "//", "utm_x=1", "a=1", "a=", "b",
                                             "{{secret:T}}", "token=x", "#/", "#!", "é", "\\"]),
                            st.text(SIGNS, max_size=6), st.text(max_size=3)), max_size=8).map("".join)
HOSTS = st.one_of(st.sampled_from(["e.test", "E.TEST.", "Bücher.test", "127.0.0.1", "[::1]", "xn--bcher-kva.test"]),
                  st.text("aAé-._ß☃0", min_size=1, max_size=8))
PORTS = st.sampled_from(["", ":", ":80", ":0443", ":8080"])
SCHEMES = st.sampled_from(["http://", "https://", "HTTP://"])
ADDRESSES = st.one_of(st.builds("{}{}{}/{}".format, SCHEMES, HOSTS, PORTS, PIECES), st.text(max_size=30), PIECES)
SWITCHES = st.builds(IdentitySwitches, path_case=st.sampled_from(["keep", "fold"]),
                     query=st.sampled_from(["noise", "drop", "keep"]), fragment=st.sampled_from(["routes", "drop"]))


@given(ADDRESSES, SWITCHES)
def test_identity_is_idempotent_and_never_raises_for_what_is_accepted(address: str, switches: IdentitySwitches) -> None:
    if address_offences(address, "line 1", switches):
        return
    identity = identity_of(address, switches)
    assert identity_of(identity, switches) == identity
    assert address_offences(identity, "line 1", switches) == []
    assert identity.isascii()
    assert re.fullmatch(r"https?://[^/?#\s]+/\S*", identity)


@given(ADDRESSES, SWITCHES)
def test_what_has_no_identity_is_refused(address: str, switches: IdentitySwitches) -> None:
    try:
        identity_of(address, switches)
    except ContractError as error:
        faults = {offence.fault for offence in error.offences}
        assert faults <= {offence.fault for offence in address_offences(address, "line 1", switches)}


@given(PIECES, SWITCHES)
def test_spellings_that_no_server_can_tell_apart_are_one_page(piece: str, switches: IdentitySwitches) -> None:
    path = piece.partition("#")[0].strip(" \t\r\n\f")
    address = f"https://e.test/{path}"
    if address_offences(address, "line 1", switches):
        return
    identity = identity_of(address, switches)
    assert identity_of(f"  HTTPS://E.test.:443/x/../{path}#top\n", switches) == identity
    lower_case = re.sub(r"%[0-9A-F]{2}", lambda triplet: triplet[0].lower(), identity)
    assert identity_of(lower_case, switches) == identity


@given(st.text("abc0-", min_size=1, max_size=12), PIECES)
def test_no_message_shows_a_secret(secret: str, piece: str) -> None:
    hidden = f"S3CRET{secret}"
    for address in (f"https://u:{hidden}@e.test/{piece}", f"https://e.test/a?token={hidden}&{piece}"):
        switches = IdentitySwitches()
        assert hidden not in "".join(map(str, address_offences(address, "line 1", switches)))
        assert hidden not in address_for_messages(address, switches)


@given(st.lists(st.sampled_from(["/a", "/a/", "/A", "/a?b=1&c=2", "/a?c=2&b=1", "/a#x", "/a#/x", "/b", "/%61"]),
                min_size=1, max_size=12), SWITCHES)
def test_every_entry_is_in_exactly_one_route(paths: list[str], switches: IdentitySwitches) -> None:
    addresses = [f"https://e.test{path}" for path in paths]
    routes = normalize(manifest_of(*addresses), Settings(identity=switches)).routes
    assert [route.url for route in routes] == [
        address for place, address in enumerate(addresses)
        if identity_of(address, switches) not in {identity_of(a, switches) for a in addresses[:place]}]
    spellings = sorted(spelling for route in routes for spelling in (route.url, *route.aliases))
    assert spellings == sorted(set(addresses))
    assert all(identity_of(spelling, switches) == route.key.route
               for route in routes for spelling in (route.url, *route.aliases))


@given(st.lists(st.sampled_from(["/a", "/a/", "/b", "/c?x=1"]), min_size=1, max_size=6))
def test_a_manifest_twice_adds_nothing(paths: list[str]) -> None:
    entries = [ManifestEntry(f"https://e.test{path}", f"routes[{place}]") for place, path in enumerate(paths)]
    once = normalize(manifest_of(*entries), Settings())
    assert normalize(manifest_of(*entries, *entries), Settings()) == once
