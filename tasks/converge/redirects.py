"""Settle who led where: a redirected route is covered only by a scan of the route that it leads to.

Here: chains, cycles, and too many routes on one page (a sign-in, a soft 404). Not here: recognizing a redirect, which
is the shard's (`tasks/scan/`). Reasons that converge gives to `wrong_page`:

| reason | meaning |
|---|---|
| `many_to_one` | more than `MOST_ON_TO_ONE` routes lead to one page, planned or not; the site's root is no exception |
| `redirect_cycle` | the chain of redirects comes back to itself |
| `redirect_unplanned` | the target is no route of the plan, or one of another profile |
| `redirect_unsettled` | the target itself was not scanned: the route settles with it |
| `redirect_to_file` | the target is no page, and a page was expected here |
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemas.address import identity_of
from schemas.errors import ContractError
from schemas.outcome import Outcome, OutcomeKind
from schemas.plan import Plan, PlannedRoute
from schemas.route import Journey
from schemas.settings import IdentitySwitches
from tasks.converge.rows import counted_as

MOST_ON_TO_ONE = 5
SAME_NAME = re.compile(r"https?://(?:www\.)?")  # a server that adds or takes these leads nobody elsewhere
HOW_TO_FIX: Mapping[str, str] = {
    "many_to_one": "Find out whether this is a sign-in or an error page. If the routes are gone, take them out of the "
                   "manifest; if they need a sign-in, give them an `auth` profile.",
    "redirect_cycle": "Mend the redirects, or list only the address that answers.",
    "redirect_unplanned": "List the address that it leads to under the same profile, or take this one out.",
    "redirect_unsettled": "See the route that it leads to; this one settles with it.",
    "redirect_to_file": "A page was expected here (ready selector, expectation, explicit primary, or a page before).",
}
Rows = Mapping[str, Outcome]
Planned = Mapping[str, PlannedRoute]


def settle_redirects(plan: Plan, outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Downgrade what leads nowhere, and let targets inherit the stronger journey of what leads to them.

    Args:
        plan: the plan, for addresses and for what was expected of a route.
        outcomes: one per planned route.

    Returns:
        The same rows in the same order, some of them changed.
    """
    planned = {row.task_id: row for row in plan.routes}
    rows = {row.task_id: row for row in _downgrade_crowds(plan, planned, outcomes)}
    ends = {task_id: _end_of(task_id, rows) for task_id, row in rows.items() if row.outcome is OutcomeKind.REDIRECTED}
    crowd = Counter(end for end in ends.values() if end is not None)
    settled = {task_id: _settle(planned[task_id], rows, end, crowd[end] if end else 0)
               for task_id, end in ends.items()}
    strong = {ends[task_id] for task_id, row in settled.items()
              if row.outcome is OutcomeKind.REDIRECTED and row.journey == Journey.PRIMARY}
    return tuple(_inherit(settled.get(row.task_id, rows[row.task_id]), strong) for row in outcomes)


def _end_of(task_id: str, rows: Rows) -> str | None:
    """Follow a chain to the last row that has no redirect of its own; None for a cycle, the last name if unplanned."""
    seen = {task_id}
    row = rows[task_id]
    while row.outcome is OutcomeKind.REDIRECTED:
        following = row.redirected_to or ""
        if following in seen:
            return None
        if following not in rows or rows[following].auth != row.auth:
            return following
        seen.add(following)
        row = rows[following]
    return row.task_id


def _settle(route: PlannedRoute, rows: Rows, end: str | None, crowd: int) -> Outcome:
    row = rows[route.task_id]
    if end is None:
        return _wrong_page(route, row, "redirect_cycle", f"leads back to itself by way of {_name(rows, row)}")
    target = rows.get(end)
    if target is None or target.auth != route.auth:
        return _wrong_page(route, row, "redirect_unplanned", f"leads to {row.final_url or 'a page'}, not of this plan")
    if crowd > MOST_ON_TO_ONE:
        return _wrong_page(route, row, "many_to_one", f"{crowd} routes lead to {target.route}")
    if target.outcome.was_scanned or target.outcome is OutcomeKind.CARRIED:
        return replace(row, redirected_to=end)
    if target.outcome is OutcomeKind.NOT_APPLICABLE:
        return _lead_to_file(route, row, target)
    return _wrong_page(route, row, "redirect_unsettled", f"leads to {target.route}: {target.outcome}, {target.reason}")


def _lead_to_file(route: PlannedRoute, row: Outcome, target: Outcome) -> Outcome:
    # The same question that the shard asks of a route that answers with a file itself.
    is_page = (route.is_described or route.was_html
               or (route.journey_is_explicit and route.journey == Journey.PRIMARY))
    if is_page:
        return _wrong_page(route, row, "redirect_to_file", f"leads to {target.route}, which is no page")
    changed = replace(row, outcome=OutcomeKind.NOT_APPLICABLE, reason="redirect_to_file",
                      detail=f"leads to {target.route}, which is no page")
    return counted_as(route, changed)


def _downgrade_crowds(plan: Plan, planned: Planned, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Downgrade scanned routes of which too many ended on one address outside the plan."""
    switches = plan.header.identity
    crowds: dict[tuple[str, str | None], list[Outcome]] = defaultdict(list)
    for row in outcomes:
        if row.outcome.was_scanned and row.final_url and _left(planned[row.task_id], row.final_url, switches):
            crowds[_page_at(row.final_url, switches), row.auth].append(row)
    downgraded = {row.task_id: f"{len(crowd)} routes lead to {crowd[0].final_url}"
                  for crowd in crowds.values() if len(crowd) > MOST_ON_TO_ONE for row in crowd}
    return [_wrong_page(planned[row.task_id], row, "many_to_one", downgraded[row.task_id])
            if row.task_id in downgraded else row for row in outcomes]


def _left(route: PlannedRoute, final_url: str, switches: IdentitySwitches) -> bool:
    """Whether a visit ended on another page than the route's, in whatever spelling."""
    own = (route.url, route.route, *route.aliases)
    if final_url in own:
        return False
    return _page_at(final_url, switches) not in {_page_at(address, switches) for address in own}


def _page_at(address: str, switches: IdentitySwitches) -> str:
    """Return what tells pages apart: the identity, which keeps fragments that are routes, without scheme and `www.`."""
    try:
        return SAME_NAME.sub("", identity_of(address, switches), count=1)
    except ContractError:
        return address  # no page of a site, as `about:blank`


def _wrong_page(route: PlannedRoute, row: Outcome, reason: str, detail: str) -> Outcome:
    changed = replace(row, outcome=OutcomeKind.WRONG_PAGE, reason=reason, detail=detail[:500],
                      how_to_fix=HOW_TO_FIX[reason])
    return counted_as(route, changed)


def _inherit(row: Outcome, strong: set[str | None]) -> Outcome:
    return replace(row, journey=Journey.PRIMARY.value) if row.task_id in strong else row


def _name(rows: Rows, row: Outcome) -> str:
    following = row.redirected_to or ""
    return rows[following].route if following in rows else following
