"""The tree of sitemaps below an index, read to its leaves within bounds.

Here: which child comes next, what a failed one costs, counts. Not here: one request (`fetch.py`), one document
(`sitemap.py`, `plain_text.py`). A child that fails is named and counted; the estate is not smaller for it.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from schemas.address import address_for_messages, address_offences
from schemas.manifest import ManifestEntry, SourceCount, SourceFailure
from schemas.plural import plural
from schemas.settings import IdentitySwitches
from tasks.load.content import Kind, Limits, SourceError, kind_of, text_of, unpack
from tasks.load.fetch import Fetch
from tasks.load.hosts import HostRule
from tasks.load.plain_text import text_entries
from tasks.load.sitemap import parse_sitemap


@dataclass
class SitemapTree:
    """Collects what the sitemaps of one source list; one use each.

    Args:
        fetch: gets the bytes of a child. limits: of depth and count.
        seconds_left: how much of the source's budget is left.
    """

    fetch: Fetch
    rule: HostRule | None
    further_hosts: tuple[str, ...]
    limits: Limits
    seconds_left: Callable[[], float]
    switches: IdentitySwitches
    entries: list[ManifestEntry] = field(default_factory=list)
    failures: list[SourceFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    children: list[SourceCount] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    _asked: set[str] = field(default_factory=set)

    def read_root(self, data: bytes, address: str | None, name: str) -> None:
        """Read the root, and all below it where it is an index.

        Args:
            data: the unpacked document. address: its own, or None for a file. name: what to call it.

        Raises:
            SourceError: the root itself can't be read.
        """
        sitemap = parse_sitemap(data)
        self._asked |= {address} if address else set()
        self._warn_of_blanks(name, sitemap.blank_count)
        if sitemap.is_index:
            self._read_children(sitemap.addresses, name, depth=1)
        else:
            self._add(sitemap.addresses, name)

    def _read_children(self, addresses: list[str], parent: str, depth: int) -> None:
        if not addresses:
            self.warnings.append(f"{parent} is an index without sitemaps.")
        fresh = [address for address in dict.fromkeys(addresses) if address not in self._asked]
        if len(fresh) < len(addresses):
            again = plural(len(addresses) - len(fresh), "sitemap")
            self.warnings.append(f"{parent} lists {again} again; each was read once.")
        for index, address in enumerate(fresh):
            if reason := self._reason_to_stop(depth):  # one line, however many are left
                left = f"{len(fresh) - index} of its sitemaps were not read: {reason}"
                self.failures.append(SourceFailure(parent, left))
                return
            if address in self._asked:  # by a sibling's own index
                continue
            self._asked.add(address)
            name = address_for_messages(address, self.switches)
            try:
                self._read_child(address, name, depth)
            except SourceError as error:
                self.failures.append(SourceFailure(name, str(error)))

    def _reason_to_stop(self, depth: int) -> str:
        if depth > self.limits.depth:
            return f"they are below more than {self.limits.depth} indexes"
        if len(self._asked) > self.limits.children:
            return f"a source may have {self.limits.children} sitemaps"
        if self.seconds_left() <= 0:
            return "the time of the source was over. Raise `source.budget`"
        return ""

    def _read_child(self, address: str, name: str, depth: int) -> None:
        data = unpack(self._fetched(address), self.limits, self.limits.fetched_bytes)
        kind = kind_of(data)
        if kind not in (Kind.XML, Kind.TEXT):
            raise SourceError(f"is {kind}, which no index can list", "a sitemap as XML or text")
        if kind is Kind.TEXT:
            self._add_child([entry.url for entry in text_entries(text_of(data))], name)
            return
        sitemap = parse_sitemap(data)
        self._warn_of_blanks(name, sitemap.blank_count)
        if sitemap.is_index:
            self._read_children(sitemap.addresses, name, depth + 1)
        else:
            self._add_child(sitemap.addresses, name)

    def _fetched(self, address: str) -> bytes:
        _refuse_secrets([address])
        offences = address_offences(address, "child", self.switches)
        if offences:
            raise SourceError(offences[0].fault, offences[0].expected)
        if self.rule is None:  # the index is a file: its first child says which host is its own
            self.rule = HostRule(address, self.further_hosts)
        self.rule.check(address)
        data = self.fetch(address, self.rule)
        self.digests.append(hashlib.sha256(data).hexdigest())
        return data

    def _add_child(self, addresses: list[str], name: str) -> None:
        self._add(addresses, name)
        self.children.append(SourceCount(name, len(addresses)))
        if not addresses:
            self.warnings.append(f"{name} lists no addresses.")

    def _add(self, addresses: list[str], name: str) -> None:
        _refuse_secrets(addresses)
        if len(self.entries) + len(addresses) > self.limits.addresses:
            raise SourceError(f"brings the source above {self.limits.addresses} addresses")
        self.entries += [ManifestEntry(url=address, where=name) for address in addresses]

    def _warn_of_blanks(self, name: str, blank_count: int) -> None:
        if blank_count:
            self.warnings.append(f"{name} has {plural(blank_count, 'entry', 'entries')} without an address.")


def _refuse_secrets(addresses: Iterable[str]) -> None:
    """A sitemap is written by the site: one that could name our secrets could have them sent wherever it likes."""
    if any("{{secret" in address for address in addresses):
        raise SourceError("names a secret", "addresses without `{{secret:NAME}}`: only a manifest may name one")
