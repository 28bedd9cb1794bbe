"""One try at one page, in a context that is already open.

Here: navigating, following a page that moves, settling, testing, and handing what is seen to the judge.
Not here: deadlines and further tries (`visit.py`), what a judgement means (`reasons.py`).
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import BrowserContext, CDPSession, Page, Request, Response, Route
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from schemas.engine import EngineBuild
from schemas.plan import PlannedRoute
from schemas.settings import ScanSettings
from tasks.scan.access import Access
from tasks.scan.faults import has_moved, is_download, net_code, reason_of_code
from tasks.scan.frames import EngineRun, run_engine
from tasks.scan.judge import HTML_TYPES, Judge, Judgement, Seen, media_type
from tasks.scan.place import Place
from tasks.scan.records import Trace, judgement_of
from tasks.scan.settle import NeverReady, SettledBy, settle, settle_script
from tasks.scan.world import DocumentMoved, World, open_world, send

MOVES = 3
LOAD_SHARE = 0.6  # of the deadline; the rest is for finding out what the page waits for, and for testing what is there
LOOK_SECONDS = 4.0
FAILED_REQUEST_SECONDS = 1.0
NEEDS_ANSWER = ("navigation_aborted", "invalid_response", "blocked_by_browser")  # codes behind which a status may stand


@dataclass(frozen=True, slots=True)
class Kit:
    """What every try of a shard works with."""

    scan: ScanSettings
    engine: EngineBuild
    run: EngineRun
    judge: Judge
    access: Access


@dataclass(eq=False)  # without slots: Playwright marks the object whose method listens to an event
class PageCall:
    """One try; `make` makes it."""

    route: PlannedRoute
    kit: Kit
    trace: Trace
    place: Place
    deadline: asyncio.Timeout
    on_phase: Callable[[str], None]
    _failed_request: "asyncio.Future[Request]" = field(init=False)
    _trouble: "asyncio.Future[Judgement]" = field(init=False)
    _closing: set["asyncio.Future[None]"] = field(default_factory=set)

    async def make(self, context: BrowserContext) -> Judgement:
        """Call at the page and judge what is there.

        Raises:
            DocumentMoved, ScriptFailed, playwright.async_api.Error: what `visit.judge_error` judges.
        """
        loop = asyncio.get_running_loop()
        self._failed_request, self._trouble = loop.create_future(), loop.create_future()
        page = await context.new_page()
        page.on("crash", lambda _: self._report(Judgement("renderer_crashed", f"while {self.trace.phase}")))
        page.on("requestfailed", self._note_failed_request)
        context.on("page", self._close_popup)
        if self.kit.access.headers:
            await context.route("**/*", self._with_headers)
        body = asyncio.ensure_future(self._call(page))
        try:
            await asyncio.wait({body, self._trouble}, return_when=asyncio.FIRST_COMPLETED)
            return body.result() if body.done() else self._trouble.result()
        finally:
            body.cancel()
            await asyncio.gather(body, return_exceptions=True)

    async def _call(self, page: Page) -> Judgement:
        judgement = await self._navigate(page)
        if judgement is not None:
            return judgement
        session = await page.context.new_cdp_session(page)
        for _ in range(MOVES + 1):
            try:
                return await self._test(page, session)
            except DocumentMoved:
                with self._phase("navigating"):
                    await page.wait_for_load_state("load", timeout=self._load_ms)
        return Judgement("navigates", f"{MOVES + 1} times in one visit")

    # navigating

    async def _navigate(self, page: Page) -> Judgement | None:
        with self._phase("navigating"):
            try:
                response = await page.goto(self.kit.access.resolve(self.route.url), wait_until="load",
                                           timeout=self._load_ms)
            except PlaywrightTimeoutError:
                return await self._judge_late(page)
            except PlaywrightError as error:
                return await self._judge_refused(page, error)
        if response is not None:
            self._note_response(page.url, response)
        return self.kit.judge.on_arrival(self.route, self._seen())

    async def _judge_refused(self, page: Page, error: PlaywrightError) -> Judgement | None:
        """Find out what stands behind a navigation that came to nothing: a download, no content, a status."""
        said = str(error)
        if has_moved(said):
            await page.wait_for_load_state("load", timeout=self._load_ms)
            self.trace.url = page.url
            return None
        code = net_code(said)
        if not is_download(said) and (code is None or reason_of_code(code) not in NEEDS_ANSWER):
            raise error
        response = await self._failed_response()
        if response is None:
            raise error
        self._note_response(response.url, response)
        disposition = response.headers.get("content-disposition", "").strip().lower()
        is_attachment = disposition.startswith("attachment") or (
            is_download(said) and media_type(self.trace.content_type) in HTML_TYPES)
        judgement = self.kit.judge.on_arrival(self.route, self._seen(is_download=is_attachment))
        return judgement or Judgement("navigation_aborted", code)

    async def _failed_response(self) -> Response | None:
        try:
            async with asyncio.timeout(FAILED_REQUEST_SECONDS):
                request = await self._failed_request
                return await request.response()
        except TimeoutError:
            return None

    async def _judge_late(self, page: Page) -> Judgement | None:
        """Judge a page that did not load in time; None when only frames are awaited: they end as untested."""
        if page.url in ("", "about:blank"):
            return Judgement("load_timeout", "the server sent no page")
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                session = await page.context.new_cdp_session(page)
                world = await self._open(session)
                facts = await self._facts(world, settle_script())
        except TimeoutError:
            return Judgement("page_blocked", "while loading")
        judgement = self.kit.judge.on_arrival(self.route, self._seen())
        if judgement is not None:
            return judgement
        if facts["awaited"]:
            return Judgement("resource_timeout", "waits for " + ", ".join(facts["awaited"]))
        if facts["is_parsed"] and facts["awaited_frames"]:
            self.trace.settled_by = SettledBy.LOAD_BUDGET
            return None
        return Judgement("load_timeout", "the document never ended" if not facts["is_parsed"] else "no `load` event")

    # testing

    async def _test(self, page: Page, session: CDPSession) -> Judgement:
        world = await self._open(session)
        with self._phase("settling"):
            await self._facts(world, settle_script())
            judgement = self.kit.judge.on_arrival(self.route, self._seen())
            if judgement is not None:
                return judgement
            try:
                async with self.place.given_away(self.deadline):
                    settled_by = await settle(world, self.route.ready, self.kit.scan)
            except NeverReady as error:
                return Judgement("ready_invalid" if error.fault else "ready_missing", error.fault or self.route.ready)
            self.trace.settled_by = self.trace.settled_by or settled_by
            facts = await self._facts(world, "fanfoldWatch.rest()")
        if isinstance(facts["has_selector"], str):
            return Judgement("ready_invalid", facts["has_selector"])
        judgement = self.kit.judge.when_settled(self.route, self._seen(facts))
        if judgement is not None:
            return judgement
        with self._phase("testing"):
            self.trace.report = await run_engine(page, session, world, self.kit.run)
            await self._facts(world, "0")
        return self.kit.judge.on_arrival(self.route, self._seen()) or self._judge_report()

    def _judge_report(self) -> Judgement:
        report = self.trace.report
        assert report is not None
        if report.version != self.kit.engine.version:
            return Judgement("engine_version", f"{report.version} answered, {self.kit.engine.version} is pinned")
        if not any(count or name == "inapplicable" for _, name, _, count in report.rules):
            return Judgement("engine_empty")
        return judgement_of(report)

    # seeing

    async def _open(self, session: CDPSession) -> World:
        tree = await send(session, "Page.getFrameTree")
        return await open_world(session, tree["frameTree"]["frame"]["id"])

    async def _facts(self, world: World, first: str) -> dict[str, Any]:
        facts: dict[str, Any] = await world.record(
            f"{first}\n;fanfoldWatch.facts({json.dumps(self.route.expect_selector)})")
        self.trace.url = facts["url"]
        self.trace.title = facts["title"]
        self.trace.content_type = self.trace.content_type or facts["content_type"]
        self.trace.status = facts["status"] or self.trace.status
        return facts

    def _seen(self, facts: dict[str, Any] | None = None, *, is_download: bool = False) -> Seen:
        trace, facts = self.trace, facts or {}
        return Seen(
            url=trace.url or self.route.url, status=trace.status, content_type=trace.content_type,
            is_download=is_download, title=trace.title, has_password_field=facts.get("has_password_field", False),
            text_length=facts.get("text_length"), has_selector=facts.get("has_selector"),
        )

    def _note_response(self, url: str, response: Response) -> None:
        self.trace.url, self.trace.status = url, response.status
        self.trace.content_type = response.headers.get("content-type")
        wait = response.headers.get("retry-after", "")
        self.trace.retry_after = float(wait) if wait.isdigit() else None

    # what happens beside

    def _note_failed_request(self, request: Request) -> None:
        """A page whose own document breaks off never loads and never fails: this is the only sign."""
        if not request.is_navigation_request() or _is_of_frame(request):
            return
        if not self._failed_request.done():
            self._failed_request.set_result(request)
        code = net_code(request.failure or "")
        if code is not None and reason_of_code(code) not in NEEDS_ANSWER:
            self._report(Judgement(reason_of_code(code), code))

    def _close_popup(self, popup: Page) -> None:
        closing = asyncio.ensure_future(_close(popup))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _with_headers(self, handler: Route) -> None:
        request, access = handler.request, self.kit.access
        is_own = access.is_own_host(self.route.url, request.url)
        await handler.continue_(headers={**request.headers, **access.headers} if is_own else None)

    def _report(self, judgement: Judgement) -> None:
        if not self._trouble.done():
            self._trouble.set_result(judgement)

    @property
    def _load_ms(self) -> float:
        return max(1.0, self.route.deadline_ms * LOAD_SHARE)

    @contextlib.contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self.trace.phase = name
        self.on_phase(name)
        began, waited = time.monotonic(), self.place.waited_ms
        try:
            yield
        finally:
            spent = round((time.monotonic() - began) * 1000) - (self.place.waited_ms - waited)
            self.trace.times_ms[name] = self.trace.times_ms.get(name, 0) + max(0, spent)


def _is_of_frame(request: Request) -> bool:
    try:
        return request.frame.parent_frame is not None
    except PlaywrightError:  # the frame is not there yet: it is the page's own
        return False


async def _close(popup: Page) -> None:
    with contextlib.suppress(PlaywrightError):
        await popup.close()
