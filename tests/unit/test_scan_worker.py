"""Within an attempt, routes of one host wait for each other; those of this machine never do."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from schemas.layout import EstateLayout
from schemas.plan import PlannedRoute
from tasks.commit import Shelf
from tasks.scan.partial import Partial, Visited
from tasks.scan.work import Work
from tasks.scan.worker import Limits, ShardWorker
from tasks.store import Store
from tests.browser.faulty_site import planned
from tests.small_estate import FIRST, RUN, outcome


def most_at_once(store: Store, routes: Sequence[PlannedRoute], limits: Limits) -> int:
    shelf = Shelf(store, EstateLayout("shop").run("r1"), "1" * 64, 0)
    worker = ShardWorker(shelf, FIRST, Partial(shelf, FIRST, RUN), limits, lambda event, facts: None)
    now, most = Counter[str](), 0

    async def visit(route: PlannedRoute, on_phase: object) -> Visited:
        nonlocal most
        now["all"] += 1
        most = max(most, now["all"])
        await asyncio.sleep(0.01)
        now["all"] -= 1
        return Visited(outcome(route))

    asyncio.run(worker.run(Work(together=tuple(routes)), visit, asyncio.Event()))
    return most


@pytest.mark.parametrize(("addresses", "expected"), [
    (["https://e.test/{}"], 1), (["https://e.test/{}", "https://E.test:443/{}"], 1),
    (["https://bücher.test/{}", "https://xn--bcher-kva.test/{}"], 1), (["https://a.test/{}", "https://b.test/{}"], 2),
    (["http://localhost/{}"], 4), (["http://shop.localhost/{}"], 4), (["http://127.0.0.2/{}"], 4),
    (["http://[::1]/{}"], 4),
])
def test_a_host_is_asked_by_as_many_as_the_limit_says(tmp_path, addresses: list[str], expected: int) -> None:
    routes = [planned(address.format(n)) for n in range(8) for address in addresses]
    assert most_at_once(Store(str(tmp_path)), routes, Limits(4, 1, None)) == expected
