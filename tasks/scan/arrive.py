"""Bring a page to its `load` event, or find out what stands in the way.

Here: the navigation and its failures: downloads, answers without content, statuses, what a late page waits for.
Not here: what comes after load (`call.py`).
"""

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Request, Response
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from tasks.scan.faults import has_moved, is_download, net_code, reason_of_code
from tasks.scan.judge import Judgement
from tasks.scan.kit import Kit
from tasks.scan.media_type import HTML_TYPES, media_type, names_a_type
from tasks.scan.settle import SettledBy, settle_script
from tasks.scan.sight import Sight
from tasks.scan.tell import tell_nobody
from tasks.scan.world import DocumentMoved, open_page_world

LOAD_SHARE = 0.6  # of the deadline; the rest is for finding out what the page waits for, and for testing what is there
LOOK_SECONDS = 4.0
FAILED_REQUEST_SECONDS = 1.0
# Reasons behind which a status may stand.
NEEDS_ANSWER = ("navigation_aborted", "invalid_response", "blocked_by_browser", "credentials_refused")


@dataclass(eq=False)  # without slots: Playwright marks the object whose method listens to an event
class Arrival:
    """One navigation; its `trouble` is set when the page's own document breaks off, which nothing else tells."""

    kit: Kit
    sight: Sight
    trouble: "asyncio.Future[Judgement]"
    _failed_request: "asyncio.Future[Request]" = field(init=False)

    def __post_init__(self) -> None:
        self._failed_request = asyncio.get_running_loop().create_future()

    @property
    def load_ms(self) -> float:
        """Milliseconds that a page has to load."""
        return max(1.0, self.sight.route.deadline_ms * LOAD_SHARE)

    async def navigate(self, page: Page) -> Judgement | None:
        """Go to the route's address; None when there is a page to look at.

        Raises:
            playwright.async_api.Error: a failure that no answer stands behind.
        """
        page.on("requestfailed", self._note_failed_request)
        if self.kit.tell is not tell_nobody:
            page.on("response", self._tell_answer)
        try:
            response = await page.goto(self.kit.access.resolve(self.sight.route.url), wait_until="load",
                                       timeout=self.load_ms)
        except PlaywrightTimeoutError:
            return await self._judge_late(page)
        except PlaywrightError as error:
            return await self._judge_refused(page, error)
        if response is not None:
            self.sight.note_response(page.url, response)
            if media_type(self.sight.trace.content_type) not in HTML_TYPES:  # what became of it decides, not the header
                with contextlib.suppress(DocumentMoved):
                    await self._read(page)
        return self.kit.judge.on_arrival(self.sight.route, self.sight.seen())

    async def follow(self, page: Page) -> Judgement | None:
        """Wait for the document that a page went on to; None when there is one to look at."""
        try:
            await page.wait_for_load_state("load", timeout=self.load_ms)
        except PlaywrightTimeoutError:
            return await self._judge_late(page)
        return None

    async def _read(self, page: Page) -> dict[str, Any]:
        world = await open_page_world(await page.context.new_cdp_session(page))
        return await self.sight.read(world, settle_script())

    async def _judge_refused(self, page: Page, error: PlaywrightError) -> Judgement | None:
        """Find out what stands behind a navigation that came to nothing: a download, no content, a status."""
        said = str(error)
        if has_moved(said):
            await page.wait_for_load_state("load", timeout=self.load_ms)
            self.sight.trace.url = page.url
            return None
        code = net_code(said)
        if not is_download(said) and (code is None or reason_of_code(code) not in NEEDS_ANSWER):
            raise error
        request, response = await self._failure()
        if request is not None and not request.url.startswith(("http:", "https:")):
            return Judgement("bad_redirect", f"led to {request.url[:100]}")
        if response is None and code == "ERR_INVALID_AUTH_CREDENTIALS":  # a full browser's word for an unanswered 401
            self.sight.trace.status = 401
            judgement = self.kit.judge.on_arrival(self.sight.route, self.sight.seen())
            return judgement or Judgement("credentials_refused", code)
        if response is None:
            raise error
        self.sight.note_response(response.url, response)
        disposition = response.headers.get("content-disposition", "").strip().lower()
        content_type = self.sight.trace.content_type
        is_attachment = disposition.startswith("attachment") or (
            is_download(said) and (media_type(content_type) in HTML_TYPES or not names_a_type(content_type)))
        judgement = self.kit.judge.on_arrival(self.sight.route, self.sight.seen(is_download=is_attachment))
        return judgement or Judgement("navigation_aborted", code)

    async def _failure(self) -> tuple[Request | None, Response | None]:
        request = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAILED_REQUEST_SECONDS):
                request = await asyncio.shield(self._failed_request)
                return request, await request.response()
        return request, None

    async def _judge_late(self, page: Page) -> Judgement | None:
        """Judge a page that did not load in time; None when only frames are awaited: they end as untested."""
        if page.url in ("", "about:blank"):
            return Judgement("load_timeout", "the server sent no page")
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                facts = await self._read(page)
        except TimeoutError:
            return Judgement("page_blocked", "while loading")
        judgement = self.kit.judge.on_arrival(self.sight.route, self.sight.seen())
        if judgement is not None:
            return judgement
        if facts["was_stopped"]:
            return Judgement("navigation_aborted", "half a page: it broke off its own loading")
        if facts["awaited"]:
            return Judgement("resource_timeout", "waits for " + ", ".join(facts["awaited"]))
        if facts["is_parsed"] and facts["awaited_frames"]:
            self.sight.trace.settled_by = SettledBy.LOAD_BUDGET
            return None
        return Judgement("load_timeout", "no `load` event" if facts["is_parsed"] else "the document never ended")

    def _tell_answer(self, response: Response) -> None:
        if response.request.is_navigation_request() and not _is_of_frame(response.request):
            to = response.headers.get("location")
            self.kit.tell("answer", f"{response.status} {response.url}" + (f" leads to {to}" if to else ""))

    def _note_failed_request(self, request: Request) -> None:
        """A page whose own document breaks off never loads and never fails: this is the only sign."""
        if not request.is_navigation_request() or _is_of_frame(request):
            return
        if not self._failed_request.done():
            self._failed_request.set_result(request)
        code = net_code(request.failure or "")
        reason = reason_of_code(code) if code is not None else "navigation_aborted"
        if reason not in NEEDS_ANSWER:
            self._raise_trouble(reason, code)
        elif reason != "navigation_aborted":  # the navigation tells by itself, and with its status, unless it has begun
            asyncio.get_running_loop().call_later(FAILED_REQUEST_SECONDS, self._raise_trouble, reason, code)

    def _raise_trouble(self, reason: str, code: str | None) -> None:
        if not self.trouble.done():
            self.trouble.set_result(Judgement(reason, code))


def _is_of_frame(request: Request) -> bool:
    try:
        return request.frame.parent_frame is not None
    except PlaywrightError:  # the frame is not there yet: it is the page's own
        return False
