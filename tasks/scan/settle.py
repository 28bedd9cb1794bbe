"""Wait until a page rests: the ready selector and condition, or a quiet document with its fonts.

Here: the clock, for timers in a page are dead where scripting is off. Not here: counting changes (`settle.js`).
Network idle is never the signal: pages poll for ever.
"""

import asyncio
import json
import time
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from schemas.settings import ScanSettings
from tasks.scan.condition import Condition
from tasks.scan.world import World

READY_POLL_SECONDS = 0.1
LEAST_ANSWER_SECONDS = 1.0  # of a condition, also where it is asked when the budget is all but spent

Look = dict[str, Any]
OnLook = Callable[[Look], None]


class SettledBy(StrEnum):
    """What ended the wait."""

    READY = "ready"
    QUIET = "quiet"
    BUDGET = "budget"
    LOAD_BUDGET = "load_budget"


class NeverReady(Exception):  # noqa: N818 - an event that a visit judges
    """Selector or condition did not come true; `reason` is one of `REASONS`."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail
        super().__init__(reason, detail)


@cache
def settle_script() -> str:
    """Return the script that watches a page."""
    folder = files("tasks.scan")
    return "\n;".join((folder / name).read_text("utf-8") for name in ("still.js", "content.js", "settle.js"))


async def settle(
    world: World, ready: str | None, scan: ScanSettings, condition: Condition | None = None,
    on_look: OnLook = lambda look: None, *, needs_content: bool = False,
) -> SettledBy:
    """Wait until the page rests or the budget is spent.

    Args:
        ready: selector that says so. condition: says so as well; where both are given both must hold, where none is
            given a quiet document is waited for.
        on_look: called with what each look at the page saw.
        needs_content: a quiet page on which nothing can be seen is waited for as well.

    Raises:
        NeverReady: selector or condition did not come true, or is none. DocumentMoved: the page went elsewhere
            meanwhile.
    """
    began = time.monotonic()
    if ready is None and condition is None:
        return await _until_quiet(world, scan, began, on_look, needs_content=needs_content)
    if condition is not None and (fault := await condition.find_fault()) is not None:
        raise NeverReady("ready_when_invalid", fault)
    await _until_ready(world, ready, condition, scan, began, on_look)
    # Scripts that lead elsewhere (to a sign-in page) do it soon after load: look at the address no earlier than that.
    await asyncio.sleep(max(0.0, scan.settle_quiet_ms / 1000 - (time.monotonic() - began)))
    return SettledBy.READY


async def _until_ready(
    world: World, ready: str | None, condition: Condition | None, scan: ScanSettings, began: float, on_look: OnLook
) -> None:
    while True:
        look = await _look(world, ready)
        on_look(look)
        if isinstance(look["ready"], str):
            raise NeverReady("ready_invalid", look["ready"])
        is_there = look["ready"] is not False
        if is_there and (condition is None or await _holds(condition, scan, began)):
            return
        if _is_spent(scan, began):
            if condition is None or not is_there:
                raise NeverReady("ready_missing", str(ready))
            raise NeverReady("ready_when_false", condition.word)
        await asyncio.sleep(READY_POLL_SECONDS)


async def _holds(condition: Condition, scan: ScanSettings, began: float) -> bool:
    left_s = scan.settle_budget_ms / 1000 - (time.monotonic() - began)
    try:
        return await condition.holds(max(LEAST_ANSWER_SECONDS, left_s))
    except TimeoutError:
        raise NeverReady("ready_when_false", "did not come to an end") from None


async def _until_quiet(
    world: World, scan: ScanSettings, began: float, on_look: OnLook, *, needs_content: bool
) -> SettledBy:
    quiet = scan.settle_quiet_ms / 1000
    seen, changed_at = (await _look(world, None))["changes"], began
    pause = quiet
    while True:
        await asyncio.sleep(max(0.02, min(pause, changed_at + quiet - time.monotonic())))
        look = await _look(world, None)
        on_look(look)
        if look["changes"] != seen:
            seen, changed_at = look["changes"], time.monotonic()
        elif _is_all_there(look, needs_content=needs_content) and time.monotonic() - changed_at >= quiet:
            return SettledBy.QUIET
        if _is_spent(scan, began):
            return SettledBy.BUDGET
        pause = quiet / 4


def _is_all_there(look: Look, *, needs_content: bool) -> bool:
    return look["has_fonts"] and not look["has_late_frames"] and (look["has_content"] or not needs_content)


def _is_spent(scan: ScanSettings, began: float) -> bool:
    return (time.monotonic() - began) * 1000 >= scan.settle_budget_ms


async def _look(world: World, ready: str | None) -> Look:
    looked: Look = await world.record(f"fanfoldWatch.look({json.dumps(ready)})")
    return looked
