"""Ask a page's own world whether a condition of the manifest holds.

Here: one question. Not here: how often it is asked (`settle.py`). The page's own world, for only there is the state of
its scripts; nothing but true or false is taken from it, and it has its time and no more.
"""

import asyncio
from typing import Any

from playwright.async_api import CDPSession

from tasks.scan.world import ScriptFailed, World, send, thrown_text


class Condition:
    """One expression on one page.

    Args:
        session: of the page's process. world: ours in the page. is_masked: nothing that the page says is repeated.

    Attributes:
        word: what the last answer was, for people.
    """

    def __init__(self, session: CDPSession, world: World, expression: str, *, is_masked: bool) -> None:
        self._session, self._world = session, world
        self._expression = expression
        self._is_masked = is_masked
        self.word = "was never asked"

    async def find_fault(self) -> str | None:
        """Say why the text is no expression; None where it is one. It is compiled and not run."""
        try:
            await self._world.handle(f"async () => ({self._expression}\n)")
        except ScriptFailed as error:
            return str(error).partition("\n")[0]
        return None

    async def holds(self, limit_s: float) -> bool:
        """Whether the expression is true now; one that throws is not true yet.

        Raises:
            TimeoutError: it did not come to an end in time. DocumentMoved: the page went elsewhere.
        """
        async with asyncio.timeout(limit_s):
            reply = await send(self._session, "Runtime.evaluate", {
                "expression": f"(async () => !!(await ({self._expression}\n)))()", "awaitPromise": True,
                "returnByValue": True, "silent": True})
        if "exceptionDetails" in reply:
            self.word = self._thrown(reply["exceptionDetails"])
            return False
        self.word = "was false"
        return reply["result"].get("value") is True

    def _thrown(self, details: dict[str, Any]) -> str:
        if self._is_masked:
            return f"threw {details.get('exception', {}).get('className') or 'a value'}"
        return f"threw {thrown_text(details)}".partition("\n")[0]
