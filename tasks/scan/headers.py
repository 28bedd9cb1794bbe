"""Send a profile's headers to the route's own host, and to nobody else.

Here: one look at every request of a page, redirects included. Not here: which hosts are the route's own (`access.py`).
Playwright's own routing hands headers on to whatever a request is redirected to, so the browser's protocol is used:
there each hop of a redirect is asked for again, and the headers are taken off where it leaves the host.
A frame of another site is a page of its own to the browser; its requests are not looked at and carry nothing.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from tasks.scan.access import is_own_host

Paused = Mapping[str, Any]


class HeaderSender:
    """Adds headers to the requests of one page; keep it as long as the page."""

    def __init__(self, session: CDPSession, own_url: str, headers: Mapping[str, str]) -> None:
        self._session = session
        self._own_url = own_url
        self._headers = {name.lower(): (name, value) for name, value in headers.items()}
        self._answers: set[asyncio.Future[None]] = set()

    async def start(self) -> None:
        """Begin to look at requests; none goes out unseen after this."""
        self._session.on("Fetch.requestPaused", self._note)
        await self._session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})

    def _note(self, paused: Paused) -> None:
        answer = asyncio.ensure_future(self._answer(paused))
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)

    async def _answer(self, paused: Paused) -> None:
        request = paused["request"]
        kept = {name: value for name, value in request["headers"].items() if name.lower() not in self._headers}
        if is_own_host(self._own_url, request["url"]):
            kept |= dict(self._headers.values())
        headers = [{"name": name, "value": value} for name, value in kept.items()]
        with contextlib.suppress(PlaywrightError):  # the request or the page is gone
            await self._session.send("Fetch.continueRequest", {"requestId": paused["requestId"], "headers": headers})
