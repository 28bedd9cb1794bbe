"""The host of an address: one spelling of each name, as a browser would ask for it.

Here: names, numbers and brackets. Not here: the rest of an address (`schemas/address.py`), which hosts are allowed
(`tasks/load/`, `tasks/scan/`).
"""

import ipaddress
import re
from functools import lru_cache
from urllib.parse import unquote

import idna

LABEL_CHARACTERS = 63
NAME_CHARACTERS = 253
FORBIDDEN = re.compile(r"[\x00-\x2c./:-@\[-^`{-\x7f]")  # ASCII without letters, digits, `-` and `_`
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@lru_cache(maxsize=4096)  # an estate has few hosts and many addresses
def ascii_host(host: str) -> str:
    """Return the one spelling of a host: lower case, IDNA (UTS 46, non-transitional), no trailing dot.

    Args:
        host: a name, an IPv4 address, or an IPv6 address in brackets; percent-triplets are decoded.

    Raises:
        ValueError: no browser would connect to it, or it would connect to something else than it shows. The text says
            what is wrong and never repeats the host.

    Source: UTS 46 §4; RFC 3986 §3.2.2; WHATWG URL "host parsing" (numbers in disguise are refused, not resolved).
    """
    if host.startswith("["):
        return _ipv6(host)
    name = _mapped(host).removesuffix(".")
    labels = name.split(".")
    if NUMBER.fullmatch(labels[-1]):
        return _ipv4(name)
    encoded = ".".join(_ascii_label(label) for label in labels)
    if len(encoded) > NAME_CHARACTERS:
        raise ValueError(f"the host is longer than {NAME_CHARACTERS} characters")
    return encoded


def is_loopback(host: str) -> bool:
    """Whether a host, as `ascii_host` spells it, is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _mapped(host: str) -> str:
    try:
        return idna.uts46_remap(unquote(host, errors="strict"), std3_rules=False, transitional=False)
    except (idna.IDNAError, UnicodeError):
        raise ValueError("the host has a character that no name can have") from None


def _ascii_label(label: str) -> str:
    if not label:
        raise ValueError("the host is empty or has an empty label")
    if FORBIDDEN.search(label):
        raise ValueError("the host has a character that no name can have")
    if label.startswith("xn--"):
        _check_punycode(label)
    encoded = label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
    if len(encoded) > LABEL_CHARACTERS:
        raise ValueError(f"a label of the host is longer than {LABEL_CHARACTERS} characters")
    return encoded


def _check_punycode(label: str) -> None:
    """Refuse a label that claims to be encoded and is not: its decoded form would have another spelling."""
    try:
        decoded = label[4:].encode("ascii").decode("punycode")
        is_sound = not decoded.isascii() and _ascii_label(_mapped(decoded)) == label
    except ValueError:
        is_sound = False
    if not is_sound:
        raise ValueError("a label of the host starts with `xn--` and is no encoded name")


def _ipv4(name: str) -> str:
    try:
        return str(ipaddress.IPv4Address(name))
    except ValueError:
        raise ValueError("the host ends in a number and is no IPv4 address in plain form (127.0.0.1)") from None


def _ipv6(host: str) -> str:
    try:
        address = ipaddress.IPv6Address(host[1:-1] if host.endswith("]") and "%" not in host else "")
    except ValueError:
        raise ValueError("the host is no IPv6 address in brackets") from None
    if address.ipv4_mapped is None:
        return f"[{address.compressed}]"
    low = int(address.ipv4_mapped)  # Python versions differ in how they spell a mapped address
    return f"[::ffff:{low >> 16:x}:{low & 0xFFFF:x}]"
