"""Which hosts a source may be read from.

Here: the rule. Not here: asking any of them (`fetch.py`). A sitemap that leads elsewhere could make an audit knock at
doors inside a network, so child sitemaps and redirects stay on the source's own host unless the settings name others.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from schemas.address import host_of
from schemas.errors import ContractError
from tasks.load.content import SourceError

DEFAULT_PORTS = {"http": 80, "https": 443}
REMEDY = "If it is yours, add it to `scan.hosts`."


@dataclass(frozen=True, slots=True)
class HostRule:
    """The source's own host, and further names that the settings allow (`name` for any port, or `name:port`).

    `own` is an address. `www.` before the name and the step from http to https stay on the own host.
    """

    own: str
    further: tuple[str, ...] = ()

    def check(self, address: str) -> None:
        """Refuse an address that must not be fetched.

        Raises:
            SourceError: no http(s) address, or one on another host.
        """
        host, port = _host_and_port(address)
        own_host, own_port = _host_and_port(self.own)
        is_own = _bare(host) == _bare(own_host) and (port == own_port or {port, own_port} == {80, 443})
        if not is_own and host not in self.further and f"{host}:{port}" not in self.further:
            raise SourceError(f"is on another host ({host}:{port})", f"{own_host}:{own_port}", REMEDY)

    def is_own_host(self, address: str) -> bool:
        """Whether the address may be sent the source's own headers: same name, and not from https down to http."""
        steps_down = self.own.startswith("https:") and not address.startswith("https:")
        return not steps_down and _host_and_port(address)[0] == _host_and_port(self.own)[0]


def _host_and_port(address: str) -> tuple[str, int]:
    try:
        host = host_of(address)
        parts = urlsplit(address)
        return host, parts.port or DEFAULT_PORTS[parts.scheme]
    except (ContractError, ValueError, KeyError):
        raise SourceError("is no address that can be fetched", "an absolute http or https address") from None


def _bare(host: str) -> str:
    return host.removeprefix("www.")
