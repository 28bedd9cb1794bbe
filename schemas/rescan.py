"""What a person asks to scan again, whatever is known of it: patterns, and the routes that they mean.

Here: reading the patterns and holding them against a plan. Not here: what else an attempt scans
(`tasks/scan/work.py`).
"""

from collections.abc import Iterable, Sequence

from schemas.errors import ContractError, Offence
from schemas.pattern import Pattern, Patterns
from schemas.plan import Plan, PlannedRoute

SUBJECT = "--rescan"


def parse_rescan(texts: Iterable[str]) -> tuple[Pattern, ...]:
    """Read patterns.

    Raises:
        ContractError: those that are none, all at once.
    """
    patterns: list[Pattern] = []
    offences: list[Offence] = []
    for text in texts:
        try:
            patterns.append(Pattern.parse(text, SUBJECT))
        except ContractError as error:
            offences += error.offences
    if offences:
        raise ContractError(offences)
    return tuple(patterns)


def rescanned(
    routes: Iterable[PlannedRoute], patterns: Sequence[Pattern], *, is_case_folded: bool
) -> frozenset[str]:
    """Return the `task_id` of each route that a pattern holds for."""
    known = Patterns(patterns, is_case_folded=is_case_folded)
    return frozenset(route.task_id for route in routes if known.matching(route.route))


def check_rescan(patterns: Sequence[Pattern], plan: Plan) -> None:
    """Refuse patterns that would scan nothing again: whoever wrote one would take old results for new ones.

    Raises:
        ContractError: patterns that hold for no route in the scope of the plan, all at once.
    """
    is_case_folded = plan.header.identity.is_case_folded
    idle = [pattern.text for pattern in patterns
            if not any(pattern.holds_for(row.route, is_case_folded=is_case_folded)
                       for row in plan.routes if row.is_in_scope)]
    if idle:
        raise ContractError([Offence(SUBJECT, f"pattern {text!r} matches no route that run {plan.header.run_id} scans",
                                     "a pattern of routes in its plan") for text in idle])
