"""What a person reads of a gate's answers: a route explained, baselines and their differences, suppressions.

Here: text for the terminal. Not here: the commands (`gate.py`), verdicts (`summary.py`). Plain lines,
which a program can cut as well.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from flows.baselines import WrittenBaseline
from schemas.baseline import Baseline
from schemas.counts import SuppressionUse
from schemas.plural import plural
from tasks.gate.baseline import CHANGES, BaselineChange
from tasks.gate.explain import RouteExplanation, RuleExplanation

SHOWN_CHANGES = 200
FOUND_NOTHING = ("inapplicable", "pass")


def explanation_lines(routes: Sequence[RouteExplanation]) -> Iterator[str]:
    """Say what the gate thinks of a route, rule by rule, what blocks first; rules that found nothing are counted."""
    for route in routes:
        yield ""
        yield f"{route.route} ({route.journey})"
        yield f"  coverage: {route.coverage}"
        silent = [rule for rule in route.rules if _found_nothing(rule)]
        for rule in route.rules:
            if rule not in silent:
                yield from _rule_lines(rule)
        yield f"  {plural(len(silent), 'rule')} ran and found nothing"


def change_lines(changes: Sequence[BaselineChange]) -> Iterator[str]:
    """Say what differs between a baseline and a run, new ones first, and how many there are of each kind."""
    for change in changes[:SHOWN_CHANGES]:
        kind = "" if change.is_violation else ", needs review"
        yield (f"{change.change.replace('_', ' ')}: {change.rule} {change.fingerprint}{kind}: {change.count} on "
               f"{change.route}")
    if len(changes) > SHOWN_CHANGES:
        yield f"… and {len(changes) - SHOWN_CHANGES} more; `--json` lists all"
    counts: Counter[str] = Counter()
    for change in changes:
        counts[change.change] += change.count
    said = ", ".join(f"{counts[word]} {word.replace('_', ' ')}" for word in CHANGES if counts[word])
    yield f"occurrences: {said}" if said else "The run has exactly what the baseline knows."


def written_lines(written: WrittenBaseline, place: str) -> Iterator[str]:
    """Say what a baseline holds now, and what the one before it held.

    Args:
        place: the store.
    """
    yield f"{place}/{written.key}"
    yield f"  now: {_said(written.baseline)}"
    yield f"  before: {_said(written.previous) if written.previous else 'none'}"


def suppression_lines(uses: Sequence[SuppressionUse], judged_on: str) -> Iterator[str]:
    """Say who suppressed what until when, and how many occurrences each entry kept from blocking.

    Args:
        judged_on: the day of the verdict that the counts are of.
    """
    for use in uses:
        selector = f", only {use.selector}" if use.selector else ""
        by = f"{use.owner}, {use.ticket}" if use.ticket else use.owner
        yield (f"{state_of(use)}: {use.rule} on {use.route}{selector}: {use.applied_count} until {use.expires}: "
               f"{use.reason} ({by})")
    applied = sum(use.applied_count for use in uses)
    yield f"{plural(len(uses), 'suppression')}, {plural(applied, 'occurrence')} suppressed, as judged on {judged_on}"


def state_of(use: SuppressionUse) -> str:
    """Say in a word what a suppression did: `applied`, `unused` or `expired`."""
    if use.is_expired:
        return "expired"
    return "applied" if use.applied_count else "unused"


def _said(baseline: Baseline) -> str:
    counts = [count for known in baseline.findings for count in known.routes.values()]
    routes = {task_id for known in baseline.findings for task_id in known.routes}
    return (f"{plural(len(baseline.findings), 'finding')} ({plural(sum(counts), 'occurrence')}) on "
            f"{plural(len(routes), 'route')}, {plural(len(baseline.scanned), 'route')} scanned wholly, from run "
            f"{baseline.run_id} of {baseline.date}")


def _rule_lines(rule: RuleExplanation) -> Iterator[str]:
    decision = rule.decision.value if rule.decision else "not run" if rule.classes == "not run" else "nothing"
    yield f"  {decision}: {rule.rule} ({rule.classes})" + (f", judged by {rule.cell}" if rule.cell else "")
    yield f"      {rule.text}"


def _found_nothing(rule: RuleExplanation) -> bool:
    return rule.decision is None and all(part.split(" ")[0] in FOUND_NOTHING for part in rule.classes.split(", "))
