"""An address and its identity: which spellings mean one page.

Here: the offences of an address, its identity, its form for messages. Not here: merging and excluding routes
(`tasks/normalize.py`), resolving secrets (`tasks/scan/`). Placeholders `{{secret:NAME}}` pass through untouched.

Two addresses are merged only where every server treats them alike; a page scanned twice is cheaper than a page lost.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote

from schemas.errors import ContractError, Offence
from schemas.host import DEFAULT_PORTS, Origin, ascii_host
from schemas.parameter import is_listed, is_open_secret
from schemas.placeholder import SECRET_PLACEHOLDER
from schemas.settings import IdentitySwitches

HIGHEST_PORT = 65_535
PATH_SAFE = "!$&'()*+,;=:@/[]"  # reserved characters keep the spelling they have: `[` is not `%5B`
HIDDEN = "***"
SHOWN_CHARACTERS = 200

_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)  # RFC 3986 app. B
_PORT = re.compile(r"0{0,9}[0-9]{1,5}")
_TRIPLET = re.compile(r"%[0-9A-Fa-f]{2}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN = re.compile(r"[A-Za-z0-9._~/-]*")  # what most paths and parameters are: nothing to do
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_QUERY_SAFE = PATH_SAFE + "?"
_PARAMETER_BREAKS = re.compile(r"[&;?]")
_WAY_OUT = "Use an auth profile, a header of a profile, or `{{secret:NAME}}` in the address."


class _Parts(NamedTuple):
    scheme: str
    authority: str
    path: str
    query: str | None
    fragment: str | None


def trim_address(address: str) -> str:
    """Return an address without the white space around it, which no browser sends."""
    return address.strip(" \t\r\n\f")


def identity_of(address: str, switches: IdentitySwitches) -> str:
    """Return the identity of an address: equal for all spellings of one page. Idempotent.

    Lower-case scheme and host, IDNA on the host, no default port, user info or trailing dot; only unreserved
    percent-triplets decoded, the others in upper case; dot segments resolved; trailing slashes folded (never the
    root's); noise parameters dropped, the rest sorted by name, stable within a name; a fragment only if it is a route.

    Args:
        address: absolute, http or https. A secret parameter does not matter here; see `address_offences`.

    Raises:
        ContractError: it is no address that a browser could visit.

    Source: RFC 3986 §6.2.2 and §5.2.4; UTS 46; a back-slash in a path is a slash, as in WHATWG URL.
    """
    parts = _visitable(address)
    text = f"{_origin(parts.scheme, parts.authority)}{_path(parts.path, switches)}"
    query = _query(parts.query or "", switches)
    if query:
        text += f"?{query}"
    if switches.fragment == "routes" and parts.fragment is not None and parts.fragment.startswith(("/", "!")):
        text += f"#{_encode(parts.fragment, _QUERY_SAFE)}"
    return text


def address_offences(address: str, where: str, switches: IdentitySwitches) -> list[Offence]:
    """Find what keeps an address out of a manifest. No message repeats a secret.

    Args:
        address: as written. where: what to call it (`routes[3]`, `line 7`).
    """
    parts = _split(address)
    found = [Offence(where, fault, "an absolute http or https address") for fault in _faults(parts)]
    if "@" in parts.authority:
        found.append(Offence(where, "the address carries user info", "no user name or password", _WAY_OUT))
    found += [
        Offence(where, f"the address carries a value for the secret parameter `{name}`", "no secret", _WAY_OUT)
        for name in sorted(set(_open_secrets(parts, switches.secret_parameters)))
    ]
    if "{{secret" in address and "{{secret" in SECRET_PLACEHOLDER.sub("", address):
        found.append(Offence(where, "the address has a malformed placeholder", "`{{secret:NAME}}`"))
    return found


def address_for_messages(address: str, switches: IdentitySwitches) -> str:
    """Return an address that is fit for messages: user info and values of secret parameters are hidden."""
    hidden = re.sub(r"^([^/?#]*//)[^/?#]*@", rf"\1{HIDDEN}@", address)
    return re.sub(
        r"([&;?#])([^&;?#=]*)=([^&;?#]*)",
        lambda match: f"{match[1]}{match[2]}={HIDDEN}"
        if is_open_secret(match[2], match[3], switches.secret_parameters) else match[0],
        hidden,
    )


def origin_of(address: str) -> Origin:
    """Return the origin of an address: equal for all spellings of its host.

    Raises:
        ContractError: it is no address that a browser could visit.
    """
    parts = _visitable(address)
    return _origin(parts.scheme, parts.authority)


def host_of(address: str) -> str:
    """Return the host of an address in the one spelling of `ascii_host`, without the port.

    Raises:
        ContractError: it is no address that a browser could visit.
    """
    return origin_of(address).host


def _visitable(address: str) -> _Parts:
    parts = _split(address)
    faults = list(_faults(parts))
    if faults:
        raise ContractError([Offence(f"address {_without_values(parts)!r}", fault) for fault in faults])
    return parts


def _without_values(parts: _Parts) -> str:
    """Return what can be shown of an address that may be anything: no user info, no query, no fragment, cut."""
    shown = f"{parts.scheme}://{parts.authority.rpartition('@')[2]}{parts.path}"
    return shown if len(shown) <= SHOWN_CHARACTERS else shown[: SHOWN_CHARACTERS - 1] + "…"


def _split(address: str) -> _Parts:
    match = _PARTS.fullmatch(trim_address(address))
    assert match  # every text has these five parts
    scheme, authority, path, query, fragment = match.groups()
    return _Parts((scheme or "").lower(), authority or "", path, query, fragment)


def _faults(parts: _Parts) -> Iterator[str]:
    """Say why no browser could visit the address, without repeating any of it."""
    if parts.scheme not in DEFAULT_PORTS:
        yield "the scheme is not http or https"
    text = "".join((parts.authority, parts.path, parts.query or "", parts.fragment or ""))
    if _CONTROL.search(text):
        yield "the address has a control character"
    if _SURROGATE.search(text):
        yield "the address has half of a surrogate pair"
    elif "\\" in parts.authority:
        yield "there is a back-slash before the path"
    elif parts.scheme in DEFAULT_PORTS:
        yield from _authority_faults(parts.authority)


def _authority_faults(authority: str) -> Iterator[str]:
    host, port = _host_and_port(authority)
    try:
        ascii_host(host)
    except ValueError as error:
        yield str(error)
    if port and not (_PORT.fullmatch(port) and int(port) <= HIGHEST_PORT):
        yield f"the port is no number up to {HIGHEST_PORT}"


def _host_and_port(authority: str) -> tuple[str, str]:
    host_and_port = authority.rpartition("@")[2]
    host, colon, port = host_and_port.rpartition(":")
    if not colon or port.endswith("]"):
        return host_and_port, ""
    return host, port


@lru_cache(maxsize=4096)  # an estate has few hosts and many addresses
def _origin(scheme: str, authority: str) -> Origin:
    host, port = _host_and_port(authority)
    return Origin(scheme, ascii_host(host), int(port) if port else DEFAULT_PORTS[scheme])


def _path(path: str, switches: IdentitySwitches) -> str:
    encoded = _encode(path.replace("\\", "/"), PATH_SAFE)
    if switches.is_case_folded:
        encoded = _outside(_TRIPLET, encoded, lambda text: _outside(SECRET_PLACEHOLDER, text, str.lower))
    if "/." not in encoded:
        return encoded.rstrip("/") or "/"
    return "/" + "/".join(_without_dots(encoded.split("/")[1:])).rstrip("/")


def _without_dots(segments: list[str]) -> list[str]:
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return kept


def _query(query: str, switches: IdentitySwitches) -> str:
    if switches.query == "drop":
        return ""
    parameters = [_encode(parameter, _QUERY_SAFE) for parameter in query.split("&") if parameter]
    if switches.query == "noise":
        parameters = [text for text in parameters if not is_listed(text.partition("=")[0], switches.noise_parameters)]
    return "&".join(sorted(parameters, key=lambda text: text.partition("=")[0]))


def _encode(text: str, safe: str) -> str:
    """Give every character its one spelling; reserved characters and their triplets stay apart."""
    if _PLAIN.fullmatch(text):
        return text
    return _outside(SECRET_PLACEHOLDER, text, lambda piece: _encode_piece(piece, safe))


def _encode_piece(piece: str, safe: str) -> str:
    triplets = [_one_spelling(triplet) for triplet in _TRIPLET.findall(piece)]
    others = [quote_from_bytes(other.encode(), safe) for other in _TRIPLET.split(piece)]
    return others[0] + "".join(triplet + other for triplet, other in zip(triplets, others[1:], strict=True))


def _one_spelling(triplet: str) -> str:
    character = chr(int(triplet[1:], 16))
    return character if character in _UNRESERVED else triplet.upper()


def _outside(pattern: re.Pattern[str], text: str, change: Callable[[str], str]) -> str:
    """Change a text everywhere but where the pattern matches."""
    pieces = [change(piece) for piece in pattern.split(text)]
    kept = [*pattern.findall(text), ""]
    return "".join(piece + match for piece, match in zip(pieces, kept, strict=True))


def _open_secrets(parts: _Parts, secret_parameters: tuple[str, ...]) -> Iterator[str]:
    for text in filter(None, (*parts.path.split(";")[1:], parts.query, parts.fragment)):
        for parameter in _PARAMETER_BREAKS.split(text):
            name, _, value = parameter.partition("=")
            if is_open_secret(name, value, secret_parameters):
                yield unquote(name).lower()
