"""A manifest as JSON: a list of entries, or an object with settings of the estate beside them.

Here: parsing, the check against `schemas/manifest.schema.json`, documents to entries. Not here: identity
(`tasks/normalize.py`).
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.errors import ContractError, Offence
from schemas.format_version import check_not_newer
from schemas.layout import id_offence
from schemas.manifest import MANIFEST_FORMAT, ManifestEntry, entry_of
from schemas.route import Journey
from schemas.shape import is_finite, is_unicode, is_valid, load_schema, offences_in
from tasks.load.content import SourceError

FORM_KEYWORDS = {"type", "description", "minimum", "maximum", "minLength", "maxLength"}
EXACT_BELOW = 2**53  # above, a fraction could not be written


@dataclass(frozen=True, slots=True)
class Listed:
    """What one document says."""

    entries: list[ManifestEntry]
    estate: str | None = None
    default_journey: Journey = Journey.PRIMARY
    exclude: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)


def parse_json(text: str, subject: str) -> Any:
    """Parse JSON; a key that is there twice is an offence, for one of the two would be lost.

    A whole number is an integer however it is written: tables that become JSON write 1.0.

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
        document = json.loads(text, object_pairs_hook=pairs, parse_float=_number)
    except json.JSONDecodeError as error:
        raise SourceError(f"is no JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"is no JSON that can be read ({type(error).__name__})") from None
    if doubled:
        raise ContractError(Offence(subject, f"the key `{name}` is there twice in one object", "one")
                            for name in doubled)
    return document


def _number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < EXACT_BELOW else number


def listed_in(document: Any, subject: str) -> Listed:
    """Check a parsed manifest and return what it says.

    Raises:
        ContractError: all offences at once, each with its entry and path.
    """
    check_not_newer(document, MANIFEST_FORMAT, subject)
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
        settings={"scan.hosts": document["hosts"]} if document.get("hosts") else {},
    )


def form_of(entry: Mapping[str, Any]) -> str:
    """Return what the schema can tell of an entry: entries of one form are all valid or all not.

    Real manifests have few forms: checking one of each makes 50 000 entries cost a second, not half a minute.
    """
    specs = load_schema("manifest")["$defs"]["entry"]["properties"]
    return repr([(key, _form(value, specs.get(key, {}))) for key, value in entry.items()])


def _form(value: Any, spec: Mapping[str, Any]) -> Any:
    known = spec.keys() <= FORM_KEYWORDS
    if known and isinstance(value, str):
        return ("text", len(value) < spec.get("minLength", 0), len(value) > spec.get("maxLength", math.inf),
                is_unicode(value))
    if known and isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", isinstance(value, int) or value.is_integer(), is_finite(value),
                value < spec.get("minimum", -math.inf), value > spec.get("maximum", math.inf))
    return value


def _offences(document: Any, subject: str) -> list[Offence]:
    entries = document.get("routes") if isinstance(document, dict) else document
    if isinstance(entries, list) and entries:
        one_of_each = list({_key(entry): entry for entry in entries}.values())
        sample = {**document, "routes": one_of_each} if isinstance(document, dict) else one_of_each
        if is_valid("manifest", sample):
            return _id_offences(document, entries, subject)
    return offences_in("manifest", document, subject)


def _key(entry: Any) -> str:
    if isinstance(entry, dict):
        return form_of(entry)
    return f"text {not entry} {is_unicode(entry)}" if isinstance(entry, str) else repr(entry)


def _id_offences(document: Any, entries: Iterable[Any], subject: str) -> list[Offence]:
    """Find ids that end in a line break: the pattern of a schema does not see it."""
    estate = document.get("estate") if isinstance(document, dict) else None
    ids = {("estate", estate)} if estate is not None else set()
    ids |= {("auth", entry["auth"]) for entry in entries if isinstance(entry, dict) and entry.get("auth") is not None}
    return [offence for name, value in sorted(ids) if (offence := id_offence(value, f"{subject}: {name}"))]
