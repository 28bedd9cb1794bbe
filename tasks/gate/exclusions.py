"""Say what the settings kept out of the test: nobody may take it for clean.

Here: addresses that the plan leaves out; exclusions of elements with what they did, and those that did nothing. Not
here: leaving addresses out (`tasks/normalize.py`), finding the elements (`tasks/scan/`). They never make a run
incomplete by themselves: they are a decision of the estate's owner, told to all.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from schemas.baseline import Baseline
from schemas.exclusion import holds_for
from schemas.gate_input import GateInput
from schemas.plural import plural
from schemas.settings import Exclusion
from schemas.verdict import Reason, Weight


def judge_exclusions(given: GateInput) -> Iterable[Reason]:
    """Name the addresses that were left out, and the exclusions of elements that were in force with what each did."""
    yield from _excluded_addresses(given)
    yield from _excluded_elements(given)


def _excluded_addresses(given: GateInput) -> Iterable[Reason]:
    by_pattern: dict[str, list[str]] = defaultdict(list)
    for one in given.plan.header.excluded:
        by_pattern[one.pattern].append(one.url)
    if by_pattern:
        count = len(given.plan.header.excluded)
        yield Reason.of(Weight.WARN, "routes_excluded",
                        f"{plural(count, 'address', 'addresses')} of the manifest {'is' if count == 1 else 'are'} not "
                        "audited, as `exclude` says: nothing is known of them.",
                        (f"{pattern}: {plural(len(urls), 'address', 'addresses')}, first {min(urls)}"
                         for pattern, urls in by_pattern.items()), count)


def _excluded_elements(given: GateInput) -> Iterable[Reason]:
    exclusions = given.plan.header.scan.exclude_elements
    if not exclusions:
        return
    routes_of, element_count = _count_routes(given, exclusions)
    used = [one for one in exclusions if routes_of[one]]
    if used:
        affected = sum(bool(row.excluded_count) for row in given.converged.outcomes if row.outcome.was_scanned)
        yield Reason.of(Weight.WARN, "elements_excluded",
                        f"{plural(element_count, 'element')} on {plural(affected, 'route')} "
                        f"{'was' if element_count == 1 else 'were'} not tested, as the settings say "
                        "(`scan.exclude_elements`): nothing is known of them.",
                        (f"{one}: {plural(routes_of[one], 'route')}" for one in used))
    unused = [one for one in exclusions if not routes_of[one]]
    if unused and any(row.outcome.was_scanned for row in given.converged.outcomes):
        yield Reason.of(Weight.WARN, "unused_exclusions",
                        f"{plural(len(unused), 'exclusion')} of elements met nothing on any scanned route. Correct or "
                        "remove them (`scan.exclude_elements`).", map(str, unused))


def newly_left_out(given: GateInput, baseline: Baseline) -> frozenset[str]:
    """Return the routes where elements were left out that the baseline has: a fault that is lost there is not fixed."""
    fresh = [one for one in given.plan.header.scan.exclude_elements if one.what not in baseline.exclude_elements]
    return frozenset(row.task_id for row in given.converged.outcomes for one in fresh
                     if one.selector in (row.excluded_by or ())
                     and holds_for(one, row.route, is_case_folded=given.is_case_folded))


def _count_routes(given: GateInput, exclusions: Iterable[Exclusion]) -> tuple[Counter[Exclusion], int]:
    """Count scanned routes by the exclusions that met something there, and all elements that were left out."""
    counts: Counter[Exclusion] = Counter()
    element_count = 0
    for row in given.converged.outcomes:
        if not row.outcome.was_scanned or not row.excluded_by:
            continue
        element_count += row.excluded_count or 0
        counts.update(one for one in exclusions if one.selector in row.excluded_by
                      and holds_for(one, row.route, is_case_folded=given.is_case_folded))
    return counts, element_count
