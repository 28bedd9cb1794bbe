"""Which hosts a source may be read from.

Here: the rule. Not here: asking any of them (`fetch.py`). A sitemap that leads elsewhere could make an audit knock at
doors inside a network, so child sitemaps and redirects stay on the source's own host unless the settings name others.
"""

from dataclasses import dataclass

from schemas.address import origin_of
from schemas.errors import ContractError
from schemas.host import AllowedHosts, Origin
from tasks.load.content import SourceError

REMEDY = "If it is yours, add it to `scan.hosts`."


@dataclass(frozen=True, slots=True)
class HostRule:
    """The source's own host, and the further ones that the settings allow; see `AllowedHosts`.

    `own` is an address. `www.` before the name and the step from http to https stay on the own host.
    """

    own: str
    further: tuple[str, ...] = ()

    def check(self, address: str) -> None:
        """Refuse an address that must not be fetched.

        Raises:
            SourceError: no http(s) address, or one on another host.
        """
        asked, own = _origin_of(address), _origin_of(self.own)
        is_own = asked.site == own.site and (asked.port == own.port or {asked.port, own.port} == {80, 443})
        if not is_own and not AllowedHosts(self.further).allow(asked):
            raise SourceError(f"is on another host ({asked.host}:{asked.port})", f"{own.host}:{own.port}", REMEDY)

    def is_own_host(self, address: str) -> bool:
        """Whether the address may be sent the source's own headers: same name, and not from https down to http."""
        asked, own = _origin_of(address), _origin_of(self.own)
        return asked.host == own.host and (own.scheme, asked.scheme) != ("https", "http")


def _origin_of(address: str) -> Origin:
    try:
        return origin_of(address)
    except ContractError:
        raise SourceError("is no address that can be fetched", "an absolute http or https address") from None
