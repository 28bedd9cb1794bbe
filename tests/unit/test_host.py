"""Hosts: one spelling each, and which of them are this machine."""

import pytest

from schemas.address import origin_of
from schemas.host import AllowedHosts, ascii_host, is_loopback


@pytest.mark.parametrize("host", ["localhost", "app.localhost", "127.0.0.1", "127.8.9.1", "[::1]"])
def test_loopback_is_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["e.test", "localhost.e.test", "notlocalhost", "10.0.0.1", "[::2]", "[fe80::1]", ""])
def test_other_hosts_are_not_this_machine(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(("entry", "hits", "misses"), [
    ("cdn.test", ("https://cdn.test/", "http://CDN.test.:8443/"), ("https://www.cdn.test/", "https://xcdn.test/")),
    ("CDN.test.", ("https://cdn.test/",), ("https://cdn.test.evil.test/",)),
    ("cdn.test:8443", ("https://cdn.test:8443/",), ("https://cdn.test/", "https://cdn.test:443/")),
    ("cdn.test:443", ("https://cdn.test/",), ("http://cdn.test/",)),
    ("*.shop.test", ("https://maps.shop.test/", "https://a.b.shop.test:1/"), ("https://shop.test/",)),
    ("*.shop.test:80", ("http://maps.shop.test/",), ("https://maps.shop.test/",)),
    ("bücher.test", ("https://bücher.test/", "https://xn--bcher-kva.test/", "https://B%C3%BCCHER.test/"), ()),
    ("*.BÜCHER.test", ("https://a.xn--bcher-kva.test/",), ("https://xn--bcher-kva.test/",)),
    ("xn--bcher-kva.test", ("https://bücher.test/",), ()),
    ("127.0.0.*", ("http://127.0.0.9/",), ("http://127.0.1.9/",)),
    ("::1", ("http://[::1]/", "http://[0:0::1]:8080/"), ("http://[::2]/",)),
    ("[::1]:8080", ("http://[::1]:8080/",), ("http://[::1]/",)),
    ("https://cdn.test", (), ("https://cdn.test/",)),
    ("", (), ("https://cdn.test/", "http://127.0.0.1/")),
])
def test_an_entry_of_the_settings_means_the_same_hosts_in_every_spelling(
    entry: str, hits: tuple[str, ...], misses: tuple[str, ...]
) -> None:
    allowed = AllowedHosts(("other.test", entry))
    assert [address for address in (*hits, *misses) if allowed.allow(origin_of(address))] == list(hits)


def test_a_refusal_never_repeats_the_host() -> None:
    for host in ("s3cret..test", "s3cret\u2100.test", "xn--s3cret-zzzzzz99999999.test", "s3cret.1"):
        with pytest.raises(ValueError, match="host") as caught:
            ascii_host(host)
        assert "s3cret" not in str(caught.value)
