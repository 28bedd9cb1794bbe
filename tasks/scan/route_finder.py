"""Find the planned route behind an address that a visit ended at.

Here: the plan as a lookup. Not here: what it means that a page led to another (`judge.py`, `tasks/converge`).
"""

import contextlib
from collections.abc import Callable, Iterable

from schemas.address import identity_of
from schemas.errors import ContractError
from schemas.placeholder import SECRET_PLACEHOLDER
from schemas.plan import PlannedRoute
from schemas.route import RouteKey
from schemas.settings import IdentitySwitches


class RouteFinder:
    """Knows routes by identity and profile.

    Args:
        resolve: puts secrets into an address; raises KeyError for one that it does not know.
    """

    def __init__(
        self, routes: Iterable[PlannedRoute], switches: IdentitySwitches, resolve: Callable[[str], str] = str
    ) -> None:
        self._switches = switches
        self._task_ids: dict[RouteKey, str] = {}
        for row in routes:
            self._task_ids[row.key] = row.task_id
            if SECRET_PLACEHOLDER.search(row.url):  # a page is at the address with the value, the plan has the name
                with contextlib.suppress(KeyError, ContractError):
                    self._task_ids[RouteKey(identity_of(resolve(row.url), self._switches), row.auth)] = row.task_id

    def find(self, address: str, auth: str | None) -> str | None:
        """Return the `task_id` of the route that an address belongs to under a profile, if the plan has one."""
        try:
            identity = identity_of(address, self._switches)
        except ContractError:
            return None
        return self._task_ids.get(RouteKey(identity, auth))
