"""A manifest as JSON: a list of entries, or an object with settings of the estate beside them.

Here: parsing, the check against `schemas/manifest.schema.json`, documents to entries. Not here: identity
(`tasks/normalize.py`).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.errors import ContractError, Offence
from schemas.layout import id_offence
from schemas.manifest import ManifestEntry
from schemas.route import Expectation, Journey
from schemas.shape import is_valid, offences_in
from tasks.load.content import SourceError


@dataclass(frozen=True, slots=True)
class Listed:
    """What one document says."""

    entries: list[ManifestEntry]
    estate: str | None = None
    default_journey: Journey = Journey.PRIMARY
    exclude: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def parse_json(text: str, subject: str) -> Any:
    """Parse JSON; a key that is there twice is an offence, for one of the two would be lost.

    Raises:
        ContractError: keys that are doubled. SourceError: no JSON, with its place.
    """
    doubled: set[str] = set()

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            names = [name for name, _ in items]
            doubled.update(name for name in names if names.count(name) > 1)
        return found

    try:
        document = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise SourceError(f"is no JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"is no JSON that can be read ({type(error).__name__})") from None
    if doubled:
        raise ContractError(Offence(subject, f"the key `{name}` is there twice in one object", "one")
                            for name in doubled)
    return document


def listed_in(document: Any, subject: str) -> Listed:
    """Check a parsed manifest and return what it says.

    Raises:
        ContractError: all offences at once, each with its entry and path.
    """
    offences = _offences(document, subject)
    if offences:
        raise ContractError(offences)
    if isinstance(document, list):
        return Listed([entry_of(entry, f"[{index}]") for index, entry in enumerate(document)])
    return Listed(
        entries=[entry_of(entry, f"routes[{index}]") for index, entry in enumerate(document["routes"])],
        estate=document.get("estate"),
        default_journey=Journey(document.get("default_journey", Journey.PRIMARY)),
        exclude=tuple(document.get("exclude", ())),
        hosts=tuple(document.get("hosts", ())),
    )


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
        expect=Expectation(**values.pop("expect", {})),
        **values,
    )


def _offences(document: Any, subject: str) -> list[Offence]:
    """Check a manifest. Entries that differ in their address only are checked once: 50 000 would take seconds."""
    entries = document.get("routes") if isinstance(document, dict) else document
    if isinstance(entries, list) and entries:
        kinds = _distinct(entries)
        sample = {**document, "routes": kinds} if isinstance(document, dict) else kinds
        if is_valid("manifest", sample):
            return _id_offences(document, entries, subject)
    return offences_in("manifest", document, subject)


def _distinct(entries: Iterable[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("url"), str) and entry["url"]:
            found.setdefault(json.dumps({**entry, "url": "-"}, sort_keys=True), entry)
        elif isinstance(entry, str) and entry:
            found.setdefault("", entry)
        else:
            found[json.dumps(entry)] = entry
    return list(found.values())


def _id_offences(document: Any, entries: Iterable[Any], subject: str) -> list[Offence]:
    """Find ids that end in a line break: the pattern of a schema does not see it."""
    estate = document.get("estate") if isinstance(document, dict) else None
    ids = {("estate", estate)} if estate is not None else set()
    ids |= {("auth", entry["auth"]) for entry in entries if isinstance(entry, dict) and entry.get("auth") is not None}
    return [offence for name, value in sorted(ids) if (offence := id_offence(value, f"{subject}: {name}"))]
