"""Apply suppressions: count the occurrences that they keep from blocking, and say which are careless.

Here: matching by rule, route and target. Not here: the decision on what is left (`cells`). Coverage and data stay.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from schemas.counts import SuppressionUse
from schemas.finding import Sighting
from schemas.gate_input import GateInput
from schemas.suppression import Suppression
from schemas.verdict import Reason, Weight

SightingKey = tuple[str, bool, str, str | None]  # fingerprint, is_violation, task_id, impact
KEY_COLUMNS = ("fingerprint", "is_violation", "task_id", "impact")


@dataclass(slots=True)
class Suppressed:
    """What the suppressions met: occurrences by sighting and by entry, and which entries suppress a sighting."""

    by_sighting: Counter[SightingKey] = field(default_factory=Counter)
    applied: Counter[int] = field(default_factory=Counter)
    matched: set[int] = field(default_factory=set)
    entries: dict[SightingKey, tuple[int, ...]] = field(default_factory=dict)

    def add(self, key: SightingKey, count: int, entries: Sequence[int]) -> None:
        """Count occurrences under the first entry that matches them, if any; the others are not unused for it."""
        if not entries:
            return
        self.by_sighting[key] += count
        self.applied[entries[0]] += count
        self.matched.update(entries)
        known = self.entries.get(key, ())
        if entries[0] not in known:
            self.entries[key] = (*known, entries[0])


def apply_suppressions(given: GateInput) -> Suppressed:
    """Match every occurrence with the suppressions in force."""
    by_rule: dict[str, list[int]] = defaultdict(list)
    for index, entry in enumerate(given.suppressions):
        if not entry.is_expired(given.now):
            by_rule[entry.rule].append(index)
    with_selector = {rule for rule, indexes in by_rule.items()
                     if any(given.suppressions[index].selector is not None for index in indexes)}
    entries_on = _finder_of_entries(given, by_rule)
    suppressed = Suppressed()
    for sighting in given.converged.sightings:
        if sighting.rule in by_rule and sighting.rule not in with_selector:
            suppressed.add(key_of(sighting), sighting.count, entries_on(sighting.rule, sighting.task_id))
    for key, rule, target, text in _occurrences_of(given.converged.occurrences, with_selector):
        suppressed.add(key, 1, [index for index in entries_on(rule, key[2])
                                if given.suppressions[index].matches_target(target, text)])
    return suppressed


def list_uses(given: GateInput, suppressed: Suppressed) -> tuple[SuppressionUse, ...]:
    """List every suppression with what it did."""
    return tuple(SuppressionUse(entry.rule, entry.route.text, entry.selector, entry.reason, entry.owner, entry.ticket,
                                entry.expires, entry.is_expired(given.now), suppressed.applied[index])
                 for index, entry in enumerate(given.suppressions))


def judge_suppressions(given: GateInput, suppressed: Suppressed) -> list[Reason]:
    """Find careless suppressions; the policy says whether they are ignored, said, or fail the run."""
    entries = given.suppressions
    expired = [entry for entry in entries if entry.is_expired(given.now)]
    unused = [entry for index, entry in enumerate(entries)
              if index not in suppressed.matched and not entry.is_expired(given.now)]
    wide = [entry for entry in entries if not entry.is_expired(given.now) and _is_too_wide(entry, given)]
    hygiene = given.policy.suppressions
    return [*_careless("expired_suppressions", expired, hygiene.expired, "are past their date, and do not apply"),
            *_careless("unused_suppressions", unused, hygiene.unused, "match nothing"),
            *_careless("wide_suppressions", wide, hygiene.too_wide, "hold for every route and target of a rule, where "
                       "the policy could ignore it for all to see")]


def _careless(code: str, entries: Sequence[Suppression], how: str, text: str) -> Iterable[Reason]:
    if entries and how != "ignore":
        yield Reason.of(
            Weight(how), code, f"suppressions that {text}: {len(entries)}.",
            (f"{entry.rule} on {entry.route.text}: {entry.by}, until {entry.expires}" for entry in entries))


def _is_too_wide(entry: Suppression, given: GateInput) -> bool:
    routes = given.plan.routes
    return entry.selector is None and len(routes) > 1 and all(
        entry.route.holds_for(row.route, is_case_folded=given.is_case_folded) for row in routes)


def _finder_of_entries(
    given: GateInput, by_rule: Mapping[str, Sequence[int]]
) -> Callable[[str, str], tuple[int, ...]]:
    """Make the function that finds the suppressions of a rule which hold for a route of the plan, by its `task_id`."""
    routes = {row.task_id: row.route for row in given.plan.routes}

    @lru_cache(maxsize=4096)  # the occurrences of a page come together
    def entries_on(rule: str, task_id: str) -> tuple[int, ...]:
        if task_id not in routes:
            return ()
        return tuple(index for index in by_rule[rule] if given.suppressions[index].route.holds_for(
            routes[task_id], is_case_folded=given.is_case_folded))

    return entries_on


def key_of(sighting: Sighting) -> SightingKey:
    """Return what tells sightings apart."""
    return (sighting.fingerprint, sighting.is_violation, sighting.task_id, sighting.impact)


def _occurrences_of(table: pa.Table, rules: Iterable[str]) -> Iterable[tuple[SightingKey, str, str, str]]:
    """Read single occurrences, of those rules only that a selector makes it necessary for."""
    wanted = pa.array(sorted(rules), pa.string())
    if len(wanted) == 0:
        return
    rows = table.filter(pc.is_in(table["rule"], wanted)).select([*KEY_COLUMNS, "rule", "target", "target_text"])
    for batch in rows.to_batches(max_chunksize=10_000):
        for fingerprint, is_violation, task_id, impact, rule, target, text in zip(
                *(column.to_pylist() for column in batch.columns), strict=True):
            yield (fingerprint, is_violation, task_id, impact), rule, target, text
