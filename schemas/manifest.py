"""The manifest: the list of routes as the user wrote it, the contract of coverage.

Here: validated entries with the place they came from. Not here: reading (`tasks/load/`), identity
(`tasks/normalize.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.action import Action
from schemas.route import Expectation, Journey

MANIFEST_FORMAT = 2  # 2: `ready_when`, `actions`
NOTHING_EXPECTED = Expectation()  # one for all entries: a manifest may have a million


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One raw entry. `where` names it in messages (`routes[3]`, `line 7`, a sitemap's address)."""

    url: str
    where: str
    auth: str | None = None
    journey: Journey | None = None
    priority: int | None = None
    violation_density: float | None = None
    monthly_views: float | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    ready: str | None = None
    expect: Expectation = NOTHING_EXPECTED
    ready_when: str | None = None
    actions: tuple[Action, ...] = ()


def entry_of(document: str | Mapping[str, Any], where: str) -> ManifestEntry:
    """Return an entry that was found valid."""
    if isinstance(document, str):
        return ManifestEntry(url=document, where=where)
    values = {key: value for key, value in document.items() if value is not None}
    return ManifestEntry(
        url=values.pop("url"),
        where=where,
        journey=Journey(values.pop("journey")) if "journey" in values else None,
        tags=tuple(values.pop("tags", ())),
        actions=tuple(map(Action.of, values.pop("actions", ()))),
        expect=Expectation(**values.pop("expect", {})),
        **values,
    )


@dataclass(frozen=True, slots=True)
class SourceFailure:
    """A child of the source (a sitemap of an index) that could not be read: the estate is not smaller for it."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceCount:
    """A child of the source that was read, and how many addresses it lists."""

    source: str
    address_count: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A validated source of routes.

    Attributes:
        source: what the user named, with secrets redacted.
        digest: SHA-256 of what was read; of the digests of all files, in their order, where the source has children.
        failures: children that could not be read; any makes the run `Incomplete`.
        warnings: what a person should know, one sentence each.
        children: sitemaps of an index that were read, in the order of the index; empty for other sources.
        settings: what it says of the scan, by dotted key, as `fanfold.yaml` would say it; any other word goes first.
    """

    source: str
    digest: str
    entries: tuple[ManifestEntry, ...]
    estate: str | None = None
    default_journey: Journey = Journey.PRIMARY
    exclude: tuple[str, ...] = ()
    failures: tuple[SourceFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    children: tuple[SourceCount, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
