"""Waiting for rest: the clock runs here, the page is a function that answers."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from schemas.settings import ScanSettings
from tasks.scan.place import Place
from tasks.scan.settle import NeverReady, SettledBy, settle

QUICK = ScanSettings(settle_quiet_ms=60, settle_budget_ms=400)


class FakeWorld:
    """Answers each look by its number."""

    def __init__(self, answer: Callable[[int], dict[str, Any]]) -> None:
        self._answer = answer
        self.looks = 0
        self.asked: list[Any] = []

    async def record(self, expression: str) -> dict[str, Any]:
        self.looks += 1
        self.asked.append(json.loads(expression.removeprefix("fanfoldWatch.look(").removesuffix(")")))
        rest = {"changes": 0, "has_fonts": True, "has_late_frames": False, "has_content": True, "ready": None}
        return rest | self._answer(self.looks)


def wait(
    answer: Callable[[int], dict[str, Any]], ready: str | None = None, *, needs_content: bool = False
) -> tuple[SettledBy, FakeWorld]:
    world = FakeWorld(answer)
    return asyncio.run(settle(world, ready, QUICK, needs_content=needs_content)), world  # type: ignore[arg-type]


def test_a_quiet_page_is_looked_at_twice() -> None:
    settled_by, world = wait(lambda look: {"changes": 7})
    assert (settled_by, world.asked) == (SettledBy.QUIET, [None, None])


def test_unrest_is_waited_out() -> None:
    settled_by, world = wait(lambda look: {"changes": min(look, 5)})
    assert settled_by is SettledBy.QUIET and world.looks > 6


@pytest.mark.parametrize("unrest", [
    lambda look: {"changes": look}, lambda look: {"has_fonts": False}, lambda look: {"has_late_frames": True}])
def test_a_page_that_never_rests_spends_the_budget(unrest: Callable[[int], dict[str, Any]]) -> None:
    assert wait(unrest)[0] is SettledBy.BUDGET


def test_content_is_waited_for_where_it_is_wanted() -> None:
    def late(look: int) -> dict[str, Any]:
        return {"has_content": look > 4}

    assert (wait(late)[0], wait(late)[1].looks) == (SettledBy.QUIET, 2)
    settled_by, world = wait(late, needs_content=True)
    assert (settled_by, world.looks) == (SettledBy.QUIET, 5)
    assert wait(lambda look: {"has_content": False}, needs_content=True)[0] is SettledBy.BUDGET


def test_ready_is_asked_for_as_data() -> None:
    selector = 'a[title="\\"x\\""]'
    settled_by, world = wait(lambda look: {"ready": look > 1, "changes": look}, selector)
    assert (settled_by, world.asked) == (SettledBy.READY, [selector, selector])


def test_ready_that_never_comes_and_ready_that_is_none() -> None:
    with pytest.raises(NeverReady) as missing:
        wait(lambda look: {"ready": False}, "#x")
    with pytest.raises(NeverReady) as invalid:
        wait(lambda look: {"ready": "is not a valid selector"}, "#[")
    assert [(one.value.reason, one.value.detail) for one in (missing, invalid)] == [
        ("ready_missing", "#x"), ("ready_invalid", "is not a valid selector")]


def test_a_place_that_is_given_away_serves_others_and_stops_the_clock() -> None:
    order: list[str] = []

    async def visit(places: asyncio.Semaphore, name: str, rest_s: float, work_s: float) -> int:
        async with Place(places) as place, asyncio.timeout(1.0) as deadline:
            order.append(f"{name} loads")
            async with place.given_away(deadline):
                await asyncio.sleep(rest_s)
            order.append(f"{name} tests")
            await asyncio.sleep(work_s)
        return place.waited_ms

    async def both() -> list[int]:
        places = asyncio.Semaphore(1)
        return await asyncio.gather(visit(places, "a", 0.02, 0.6), visit(places, "b", 0.02, 0.6))

    waited = asyncio.run(both())
    assert order == ["a loads", "b loads", "a tests", "b tests"]
    assert waited[0] < 300 and waited[1] >= 500  # b waited for a, yet its own deadline of a second was not touched


def test_a_visit_that_ends_while_its_place_is_away_gives_nothing_twice() -> None:
    async def fail() -> int:
        places = asyncio.Semaphore(1)
        with pytest.raises(TimeoutError):
            async with Place(places) as place, asyncio.timeout(0.02) as deadline, place.given_away(deadline):
                await asyncio.sleep(1)
        async with asyncio.timeout(1):
            await places.acquire()
        return int(places.locked())

    assert asyncio.run(fail()) == 1
