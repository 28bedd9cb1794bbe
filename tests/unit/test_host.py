"""Hosts: one spelling each, and which of them are this machine."""

import pytest

from schemas.host import ascii_host, is_loopback


@pytest.mark.parametrize("host", ["localhost", "app.localhost", "127.0.0.1", "127.8.9.1", "[::1]"])
def test_loopback_is_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["e.test", "localhost.e.test", "notlocalhost", "10.0.0.1", "[::2]", "[fe80::1]", ""])
def test_other_hosts_are_not_this_machine(host: str) -> None:
    assert not is_loopback(host)


def test_a_refusal_never_repeats_the_host() -> None:
    for host in ("s3cret..test", "s3cret\u2100.test", "xn--s3cret-zzzzzz99999999.test", "s3cret.1"):
        with pytest.raises(ValueError, match="host") as caught:
            ascii_host(host)
        assert "s3cret" not in str(caught.value)
