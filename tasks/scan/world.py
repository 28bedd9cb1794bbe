"""An isolated world of one document: our script beside the page's, where the page's own changes do not reach.

Here: making a world and evaluating in it, over the browser's protocol. Not here: what is evaluated (`settle.py`,
`frames.py`). Every call must stand under a deadline of its caller: a page can keep its thread for ever.
"""

import json
from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from tasks.scan.faults import has_moved

WORLD_NAME = "fanfold"


class DocumentMoved(Exception):  # noqa: N818 - an event that a visit judges
    """The document or frame is gone: the page navigated, reloaded, or removed the frame."""


class ScriptFailed(Exception):  # noqa: N818 - an event that a visit judges
    """Our script raised an error on the page."""


@dataclass(frozen=True, slots=True)
class World:
    """One isolated world."""

    session: CDPSession
    context_id: int

    async def evaluate(self, expression: str) -> Any:
        """Evaluate an expression, wait for its promise, and return its value.

        Raises:
            DocumentMoved: the document is gone. ScriptFailed: the script raised.
        """
        reply = await self._send(expression, is_value=True)
        return reply.get("value")

    async def record(self, expression: str) -> Any:
        """Evaluate an expression that gives JSON text, and return what it says."""
        return json.loads(await self.evaluate(expression))

    async def handle(self, expression: str) -> str:
        """Evaluate an expression that gives an object, and return the browser's id of it."""
        reply = await self._send(expression, is_value=False)
        return str(reply.get("objectId", ""))

    async def _send(self, expression: str, *, is_value: bool) -> dict[str, Any]:
        reply = await send(self.session, "Runtime.evaluate", {
            "expression": expression, "contextId": self.context_id, "awaitPromise": True, "returnByValue": is_value,
        })
        if "exceptionDetails" in reply:
            raise ScriptFailed(thrown_text(reply["exceptionDetails"]))
        result: dict[str, Any] = reply["result"]
        return result


async def open_world(session: CDPSession, frame_id: str) -> World:
    """Make our isolated world in a frame, or find the one that is there."""
    reply = await send(session, "Page.createIsolatedWorld", {"frameId": frame_id, "worldName": WORLD_NAME})
    return World(session, reply["executionContextId"])


async def open_page_world(session: CDPSession) -> World:
    """Make or find our world in the page's own document."""
    tree = await send(session, "Page.getFrameTree")
    return await open_world(session, tree["frameTree"]["frame"]["id"])


async def send(session: CDPSession, method: str, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send a command of the browser's protocol.

    Raises:
        DocumentMoved: what it speaks of is gone. playwright.async_api.Error: anything else.
    """
    try:
        reply: dict[str, Any] = await session.send(method, parameters or {})
    except PlaywrightError as error:
        if has_moved(str(error)):
            raise DocumentMoved(str(error)[:200]) from error
        raise
    return reply


def thrown_text(details: dict[str, Any]) -> str:
    """Return what an evaluation threw, as the browser says it."""
    thrown = details.get("exception", {})
    return str(thrown.get("description") or thrown.get("value") or details.get("text", ""))[:500]
