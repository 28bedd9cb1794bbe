"""Load the manifest from whatever the user has: JSON, text, CSV, Parquet, a sitemap or an index of sitemaps.

Here: a source to a `Manifest`, whatever its kind, packed or not, from a file or an address. Not here: the judgement of
addresses and the merging of equal ones. Next: `tasks/normalize.py`.
"""

import hashlib
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from schemas.address import address_for_messages, address_offences
from schemas.errors import ContractError, Offence
from schemas.manifest import Manifest
from schemas.settings import IdentitySwitches, Settings
from tasks.load.content import Kind, Limits, SourceError, kind_of, text_of, unpack
from tasks.load.fetch import Fetch, HttpFetch, no_secrets
from tasks.load.hosts import HostRule
from tasks.load.json_manifest import Listed, listed_in, parse_json
from tasks.load.pa11y import is_pa11y, listed_in_pa11y
from tasks.load.plain_text import text_entries
from tasks.load.table import csv_entries, parquet_entries
from tasks.load.tree import SitemapTree
from tasks.store import read_source

EXPECTED = "a manifest (JSON, text, CSV, Parquet) or a sitemap"


@dataclass(frozen=True, slots=True)
class _Document:
    """The root document: what the user named it, its address if it has one, and its unpacked bytes."""

    name: str
    address: str | None
    data: bytes
    digest: str


def load_manifest(
    source: str,
    settings: Settings,
    *,
    read: Callable[[str], bytes] = read_source,
    fetch: Fetch | None = None,
    secret: Callable[[str], str] = no_secrets,
    clock: Callable[[], float] = time.monotonic,
    limits: Limits | None = None,
    rules: Collection[str] | None = None,
) -> Manifest:
    """Load a source.

    Args:
        source: a file (any fsspec address) or an http(s) address; `{{secret:NAME}}` may stand in it.
        read: returns the bytes of a file. fetch: those of an address; by default over HTTP with `settings.source`.
        secret: value of a secret by its name. clock: seconds, for the budget of the source. limits: of size and count.
        rules: ids of the engine's rules, for files that name some; None where they are not known.

    Raises:
        ContractError: the source can't be read, or breaks its schema; all offences at once. A child that can't be
            read is in `failures` of the manifest instead.
    """
    limits = limits or Limits()
    fetch = fetch or HttpFetch(settings.source, limits, secret)
    ends_at = clock() + settings.source.budget_ms / 1000
    is_address = source.lower().startswith(("http://", "https://"))
    name = address_for_messages(source, settings.identity) if is_address else source
    if is_address and (offences := address_offences(source, name, settings.identity)):
        raise ContractError(offences)
    rule = HostRule(source, settings.scan.hosts) if is_address else None
    tree = SitemapTree(fetch, rule, settings.scan.hosts, limits, lambda: ends_at - clock(), settings.identity)
    try:
        packed = fetch(source, rule) if rule is not None else read(source)
        data = unpack(packed, limits, limits.fetched_bytes if is_address else limits.file_bytes)
        document = _Document(name, source if is_address else None, data, hashlib.sha256(packed).hexdigest())
        manifest = _read_document(document, tree, rules)
    except SourceError as error:
        raise ContractError([Offence(name, error.fault, error.expected or EXPECTED, error.remedy)]) from None
    _check_not_empty(manifest)
    return manifest


def _read_document(document: _Document, tree: SitemapTree, rules: Collection[str] | None) -> Manifest:
    kind = kind_of(document.data)
    if kind is Kind.XML:
        return _read_sitemaps(document, tree)
    listed = _listed(kind, document, tree.switches, rules)
    return Manifest(
        source=document.name, digest=document.digest, entries=tuple(listed.entries), estate=listed.estate,
        default_journey=listed.default_journey, exclude=listed.exclude, warnings=listed.warnings,
        settings=listed.settings,
    )


def _listed(
    kind: Kind, document: _Document, switches: IdentitySwitches, rules: Collection[str] | None
) -> Listed:
    if kind is Kind.PARQUET:
        return Listed(parquet_entries(document.data, document.name))
    text = text_of(document.data)
    if kind is Kind.TABLE:
        return Listed(csv_entries(text, document.name))
    if kind is Kind.TEXT:
        return Listed(text_entries(text))
    parsed = parse_json(text, document.name)
    if is_pa11y(parsed):
        return listed_in_pa11y(parsed, document.name, switches, rules)
    return listed_in(parsed, document.name)


def _read_sitemaps(document: _Document, tree: SitemapTree) -> Manifest:
    tree.read_root(document.data, document.address, document.name)
    digest = document.digest
    if tree.digests:
        digest = hashlib.sha256("\n".join([digest, *tree.digests]).encode()).hexdigest()
    return Manifest(
        source=document.name, digest=digest, entries=tuple(tree.entries), failures=tuple(tree.failures),
        warnings=tuple(tree.warnings), children=tuple(tree.children),
    )


def _check_not_empty(manifest: Manifest) -> None:
    if not manifest.entries:
        raise ContractError([
            Offence(manifest.source, "lists no routes", "at least one address"),
            *(Offence(failure.source, failure.reason) for failure in manifest.failures),
        ])
