"""The host of an address: one spelling of each name, as a browser would ask for it, and the hosts that settings allow.

Here: names, numbers and brackets; the origin that has them. Not here: the rest of an address (`schemas/address.py`),
what is refused to other hosts (`tasks/load/`, `tasks/scan/`).
"""

import ipaddress
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from urllib.parse import unquote

import idna

DEFAULT_PORTS = {"http": 80, "https": 443}
LABEL_CHARACTERS = 63
NAME_CHARACTERS = 253
FORBIDDEN = re.compile(r"[\x00-\x2c./:-@\[-^`{-\x7f]")  # ASCII without letters, digits, `-` and `_`
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an address is served: its scheme, its host in the one spelling of `ascii_host`, and its port."""

    scheme: str
    host: str
    port: int

    @property
    def site(self) -> str:
        """The host without `www.`, which makes no other site of it."""
        return self.host.removeprefix("www.")

    def __str__(self) -> str:
        is_default = self.port == DEFAULT_PORTS[self.scheme]
        return f"{self.scheme}://{self.host}" if is_default else f"{self.scheme}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Hosts that settings allow beside the own one (`scan.hosts`), for pages and for sitemaps alike.

    Attributes:
        entries: each a name for any port or `name:port`, the name in any spelling; `*` stands for any text
            (`*.shop.test`), and a label that has one is compared as it is. What can be no host allows none.
    """

    entries: tuple[str, ...] = ()

    def allow(self, origin: Origin) -> bool:
        """Whether an entry names the host, at this port."""
        return any(port in (None, origin.port) and fnmatchcase(origin.host, glob)
                   for glob, port in map(_glob_and_port, self.entries))


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


@lru_cache(maxsize=1024)
def _glob_and_port(entry: str) -> tuple[str, int | None]:
    name, _, port = entry.strip().rpartition(":")
    if not name or not port.isdecimal() or (":" in name and not name.endswith("]")):  # `::1` has no port
        name, port = entry.strip(), ""
    if ":" in name:  # IPv6, whose brackets are no glob
        glob = _spelled(f"[{name.strip('[]')}]").replace("[", "[[]")
    else:
        glob = ".".join(map(_spelled, name.removesuffix(".").split(".")))
    return glob, int(port) if port else None


def _spelled(part: str) -> str:
    """Return a label or an IPv6 address as `ascii_host` spells it; what it refuses may be a glob."""
    try:
        return ascii_host(part)
    except ValueError:
        return part.lower()


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
