"""Take the steps that a manifest asks for before a page is judged.

Here: one step, within its time, with the clicks and keys of a person. Not here: steps as data (`schemas/action.py`),
where a page went by them (`judge.py`), what a failure means (`reasons.py`).
Elements are looked for from the driver's own isolated world: no page bends it and no policy of a page stops it.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator, Page
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from schemas.action import Action, ActionKind
from schemas.plan import PlannedRoute
from tasks.scan.access import is_own_host
from tasks.scan.faults import has_crashed, has_moved, is_gone, obstacle_in
from tasks.scan.kit import Kit
from tasks.scan.world import DocumentMoved

DISMISS_MS = 2_000.0
REST_SECONDS = 1.0  # left of a visit for what comes after the steps
OUTSIDE = -1.0


class ActionFailed(Exception):  # noqa: N818 - an event that a visit judges
    """A step could not be taken; the text names it and repeats the browser's word."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Takes steps on one page.

    Attributes:
        left_s: says how many seconds the visit has left.
    """

    page: Page
    route: PlannedRoute
    kit: Kit
    left_s: Callable[[], float]

    async def take(self, number: int, action: Action) -> str:
        """Take one step and say how it went.

        Raises:
            ActionFailed: it could not be taken in time. DocumentMoved: the page went elsewhere under it.
        """
        limit_ms = min(float(self.kit.scan.settle_budget_ms), (self.left_s() - REST_SECONDS) * 1000)
        try:
            return await self._take(action, max(1.0, limit_ms))
        except ActionFailed as error:
            raise ActionFailed(f"step {number}, {action}: {error}") from None
        except PlaywrightError as error:
            raise self._judged(error, number, action, limit_ms) from error

    async def leave(self) -> None:
        """Take the pointer off the page: what it hovers over looks different."""
        await self.page.mouse.move(OUTSIDE, OUTSIDE)

    async def _take(self, action: Action, limit_ms: float) -> str:
        if action.kind is ActionKind.WAIT_MS:
            await self._wait((action.duration_ms or 0) / 1000)
            return "done"
        element = self.page.locator(f"css={action.selector}").filter(visible=True).first
        if action.kind is ActionKind.WAIT:
            await element.wait_for(state="visible", timeout=limit_ms)
        elif action.kind is ActionKind.FILL:
            await element.fill(self._typed(action.value or ""), timeout=limit_ms)
        elif action.kind is ActionKind.CLICK or await _appears(element, min(DISMISS_MS, limit_ms)):
            await element.click(timeout=limit_ms)
        else:
            return "was not there"
        return "done"

    async def _wait(self, seconds: float) -> None:
        if seconds > self.left_s() - REST_SECONDS:
            raise ActionFailed("the visit has no time left for it")
        await asyncio.sleep(seconds)

    def _typed(self, value: str) -> str:
        """Put secrets in place, on the route's own host only: a page that took its place must not get them."""
        typed = self.kit.access.with_secrets(value)
        if typed != value and not is_own_host(self.kit.access.resolve(self.route.url), self.page.url):
            raise ActionFailed("a secret is typed on the route's own host only")
        return typed

    def _judged(self, error: PlaywrightError, number: int, action: Action, limit_ms: float) -> Exception:
        said = str(error)
        if has_moved(said):
            return DocumentMoved(said[:200])
        if is_gone(said) or has_crashed(said):
            return error
        word = re.sub(r"^\w+\.\w+: ", "", said.partition("\n")[0])
        if isinstance(error, PlaywrightTimeoutError):
            word = f"{obstacle_in(said)}, after {round(limit_ms)} ms"
            if self.kit.scan.evidence != "full":
                word = re.sub("<.*>", "another element", word)
        return ActionFailed(f"step {number}, {action}: {word}")


async def _appears(element: Locator, limit_ms: float) -> bool:
    try:
        await element.wait_for(state="visible", timeout=limit_ms)
    except PlaywrightTimeoutError:
        return False
    return True
