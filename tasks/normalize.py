"""Normalize: raw addresses become routes, one for each identity and auth profile.

Here: merging spellings, exclusion, priority. Not here: what an identity is (`schemas/address.py`), reading a manifest
(`tasks/load/`), any effect. Next: the plan (`tasks/plan/`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from schemas.address import (
    address_for_messages,
    address_offences,
    identity_of,
    trim_address,
)
from schemas.errors import ContractError, Offence, bad_input
from schemas.manifest import Manifest, ManifestEntry
from schemas.normalized import Normalized
from schemas.pattern import Pattern, Patterns
from schemas.placeholder import SECRET_PLACEHOLDER
from schemas.plan import Excluded
from schemas.plural import plural
from schemas.route import Journey, Route, RouteKey
from schemas.settings import DEFAULT_EXCLUDE, IdentitySwitches, Settings

DENSITY_SHARE = 0.6
VIEWS_SHARE = 0.4
MANY_MONTHLY_VIEWS = 10_000
LEAST_SCORE = {0: 0.7, 1: 0.3}  # a score above it gives the priority; 2 is the rest
MERGED_ATTRIBUTES = ("journey", "journey_is_explicit", "priority", "owner", "tags", "ready", "ready_when", "actions",
                     "expect")
SHOWN_MERGES = 3
SECRETS_ARE_TYPED = "Only the address and the `value` of a `fill` may name one."


def normalize(manifest: Manifest, settings: Settings) -> Normalized:
    """Turn the entries of a manifest into routes.

    The exclude patterns of settings and manifest both hold. A pattern sees the identity, with and without a slash at
    its end, for the two are one page.

    Raises:
        ContractError: addresses that cannot be audited, duplicates with different attributes, patterns that are none,
            or nothing left to audit. All offences of a kind at once.
    """
    patterns = _parse_patterns(dict.fromkeys((*settings.exclude, *manifest.exclude)))
    _refuse_entries(manifest.entries, settings.identity)
    found = _merge(manifest.entries, manifest.default_journey, settings.identity)
    known = Patterns(patterns, is_case_folded=settings.identity.is_case_folded)
    routes: list[Route] = []
    excluded: dict[str, Excluded] = {}
    matches: Counter[str] = Counter()
    for route in found:
        matching = known.matching(route.key.route)
        if matching:
            matches.update(matching)
            excluded.setdefault(route.key.route, Excluded(route.url, matching[0]))
        else:
            routes.append(route)
    if not routes:
        raise bad_input(manifest.source, f"nothing to audit: {plural(len(found), 'route')}, {len(found)} excluded",
                        "at least one route", "Look at the exclude patterns and at the source.")
    counts = tuple((pattern.text, matches[pattern.text]) for pattern in patterns)
    warnings = (*_merge_warnings(found, settings.identity), *_pattern_warnings(counts))
    return Normalized(tuple(routes), tuple(excluded.values()), warnings, counts)


def priority_of(entry: ManifestEntry) -> int:
    """Return the priority of an entry: its own, or one from its seeds (0 is scanned first, 2 is the rest)."""
    if entry.priority is not None:
        return entry.priority
    if entry.monthly_views is None and entry.violation_density is None:
        return 2
    views = min((entry.monthly_views or 0.0) / MANY_MONTHLY_VIEWS, 1.0)
    score = round(DENSITY_SHARE * (entry.violation_density or 0.0) + VIEWS_SHARE * views, 9)  # 0.4 * 0.75 is 0.3
    return next((priority for priority, least in LEAST_SCORE.items() if score > least), 2)


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A route as its first entry says it, and where that stands."""

    route: Route
    where: str


def _parse_patterns(texts: Iterable[str]) -> list[Pattern]:
    patterns: list[Pattern] = []
    offences: list[Offence] = []
    for text in texts:
        try:
            patterns.append(Pattern.parse(text, "exclude"))
        except ContractError as error:
            offences += error.offences
    if offences:
        raise ContractError(offences)
    return patterns


def _refuse_entries(entries: Sequence[ManifestEntry], switches: IdentitySwitches) -> None:
    offences = [o for entry in entries for o in address_offences(entry.url, entry.where, switches)]
    offences += [o for entry in entries if entry.ready_when or entry.actions for o in _placeholder_offences(entry)]
    if offences:
        raise ContractError(offences)


def _placeholder_offences(entry: ManifestEntry) -> Iterator[Offence]:
    """A secret is typed into a field, and goes nowhere else."""
    if "{{secret" in (entry.ready_when or ""):
        yield Offence(entry.where, "`ready_when` names a secret", "no secret", SECRETS_ARE_TYPED)
    for number, action in enumerate(entry.actions, start=1):
        if "{{secret" in (action.selector or ""):
            yield Offence(entry.where, f"the selector of action {number} names a secret", "no secret",
                          SECRETS_ARE_TYPED)
        if "{{secret" in SECRET_PLACEHOLDER.sub("", action.value or ""):
            yield Offence(entry.where, f"the value of action {number} has a malformed placeholder",
                          "`{{secret:NAME}}`")


def _merge(entries: Sequence[ManifestEntry], default_journey: Journey, switches: IdentitySwitches) -> list[Route]:
    meetings: dict[RouteKey, _Meeting] = {}
    aliases: dict[RouteKey, dict[str, None]] = {}  # in order and without repeats
    offences = []
    for entry in entries:
        url = trim_address(entry.url)
        route = _route(entry, url, RouteKey(identity_of(url, switches), entry.auth), default_journey)
        meeting = meetings.setdefault(route.key, _Meeting(route, entry.where))
        if meeting.route is route:
            continue
        differing = [name for name in MERGED_ATTRIBUTES if getattr(meeting.route, name) != getattr(route, name)]
        if differing:
            offences.append(_conflict(meeting, entry, differing, switches))
        if url != meeting.route.url:
            aliases.setdefault(route.key, {})[url] = None
    if offences:
        raise ContractError(offences)
    return [replace(met.route, aliases=tuple(aliases[key])) if key in aliases else met.route
            for key, met in meetings.items()]


def _route(entry: ManifestEntry, url: str, key: RouteKey, default_journey: Journey) -> Route:
    return Route(
        key=key, url=url, journey=entry.journey or default_journey, journey_is_explicit=entry.journey is not None,
        priority=priority_of(entry), owner=entry.owner, tags=tuple(sorted(set(entry.tags))) if entry.tags else (),
        ready=entry.ready, expect=entry.expect, ready_when=entry.ready_when, actions=entry.actions,
    )


def _conflict(meeting: _Meeting, entry: ManifestEntry, differing: list[str], switches: IdentitySwitches) -> Offence:
    names = dict.fromkeys("journey" if name == "journey_is_explicit" else name for name in differing)
    shown = address_for_messages(meeting.route.key.route, switches)
    return Offence(entry.where, f"the same route as {meeting.where} ({shown}) with another {', '.join(names)}",
                   "duplicates with equal attributes", "Keep one of the two entries.")


def _merge_warnings(routes: Sequence[Route], switches: IdentitySwitches) -> Iterator[str]:
    """Say which merges stand on a switch that most servers would not agree with."""
    for switch, kept in (
        ("path_case: fold", replace(switches, path_case="keep")),
        ("query: drop", replace(switches, query="noise" if switches.query == "drop" else switches.query)),
        ("fragment: drop", replace(switches, fragment="routes")),
    ):
        if kept == switches:
            continue
        merged = [f"{alias} into {route.url}" for route in routes for alias in route.aliases
                  if identity_of(alias, kept) != identity_of(route.url, kept)]
        if merged:
            shown = ", ".join(merged[:SHOWN_MERGES]) + (", …" if len(merged) > SHOWN_MERGES else "")
            count = plural(len(merged), "address", "addresses")
            yield f"`{switch}` merged {count} that may be of another page: {shown}"


def _pattern_warnings(counts: Iterable[tuple[str, int]]) -> Iterator[str]:
    for text, count in counts:
        if count == 0 and text not in DEFAULT_EXCLUDE:  # nobody wrote the defaults for this estate
            yield f"the exclude pattern `{text}` matches no route"
