"""Wait until a page rests: the ready selector, or a quiet document with its fonts.

Here: the clock, for timers in a page are dead where scripting is off. Not here: counting changes (`settle.js`).
Network idle is never the signal: pages poll for ever.
"""

import asyncio
import json
import time
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from schemas.settings import ScanSettings
from tasks.scan.world import World

READY_POLL_SECONDS = 0.1


class SettledBy(StrEnum):
    """What ended the wait."""

    READY = "ready"
    QUIET = "quiet"
    BUDGET = "budget"
    LOAD_BUDGET = "load_budget"


class NeverReady(Exception):  # noqa: N818 - an event that a visit judges
    """The ready selector did not appear; `fault` is the browser's word where the selector is invalid."""

    def __init__(self, fault: str | None = None) -> None:
        self.fault = fault
        super().__init__(fault)


@cache
def settle_script() -> str:
    """Return the script that watches a page."""
    return (files("tasks.scan") / "settle.js").read_text("utf-8")


async def settle(world: World, ready: str | None, scan: ScanSettings) -> SettledBy:
    """Wait until the page rests or the budget is spent.

    Args:
        ready: selector that says so, or None for a quiet document.

    Raises:
        NeverReady: the selector did not appear, or is none. DocumentMoved: the page went elsewhere meanwhile.
    """
    began = time.monotonic()
    if ready is None:
        return await _until_quiet(world, scan, began)
    await _until_ready(world, ready, scan, began)
    # Scripts that lead elsewhere (to a sign-in page) do it soon after load: look at the address no earlier than that.
    await asyncio.sleep(max(0.0, scan.settle_quiet_ms / 1000 - (time.monotonic() - began)))
    return SettledBy.READY


async def _until_ready(world: World, ready: str, scan: ScanSettings, began: float) -> None:
    while True:
        found = (await _look(world, ready))["ready"]
        if found is True:
            return
        if found is not False:
            raise NeverReady(str(found))
        if _is_spent(scan, began):
            raise NeverReady
        await asyncio.sleep(READY_POLL_SECONDS)


async def _until_quiet(world: World, scan: ScanSettings, began: float) -> SettledBy:
    quiet = scan.settle_quiet_ms / 1000
    seen, changed_at = (await _look(world, None))["changes"], began
    pause = quiet
    while True:
        await asyncio.sleep(max(0.02, min(pause, changed_at + quiet - time.monotonic())))
        look = await _look(world, None)
        if look["changes"] != seen:
            seen, changed_at = look["changes"], time.monotonic()
        elif look["has_fonts"] and not look["has_late_frames"] and time.monotonic() - changed_at >= quiet:
            return SettledBy.QUIET
        if _is_spent(scan, began):
            return SettledBy.BUDGET
        pause = quiet / 4


def _is_spent(scan: ScanSettings, began: float) -> bool:
    return (time.monotonic() - began) * 1000 >= scan.settle_budget_ms


async def _look(world: World, ready: str | None) -> dict[str, Any]:
    looked: dict[str, Any] = await world.record(f"fanfoldWatch.look({json.dumps(ready)})")
    return looked
