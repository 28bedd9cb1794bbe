"""One try at one page, in a context that is already open.

Here: arriving, following a page that moves, the manifest's steps, settling, testing, and asking the judge at each.
Not here: deadlines and further tries (`visit.py`), what a judgement means (`reasons.py`).
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from playwright.async_api import BrowserContext, CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from schemas.plan import PlannedRoute
from tasks.scan.act import ActionFailed, Actor
from tasks.scan.arrive import Arrival
from tasks.scan.closed import show_closed_roots
from tasks.scan.condition import Condition
from tasks.scan.frames import run_engine
from tasks.scan.headers import HeaderSender
from tasks.scan.judge import Judgement
from tasks.scan.kit import Kit
from tasks.scan.place import Place
from tasks.scan.records import Trace, judgement_of
from tasks.scan.report import NothingTested
from tasks.scan.settle import Look, NeverReady, SettledBy, settle, settle_script
from tasks.scan.sight import Sight
from tasks.scan.tell import tell_look, tell_place, tell_report
from tasks.scan.world import DocumentMoved, World, open_page_world

MOVES = 3
TIMED_AS = {"acting": "settling"}  # its time is part of what it takes until a page can be tested


@dataclass(eq=False)  # without slots: Playwright marks the object whose method listens to an event
class PageCall:
    """One try; `make` makes it."""

    route: PlannedRoute
    kit: Kit
    trace: Trace
    place: Place
    deadline: asyncio.Timeout
    on_phase: Callable[[str], None]
    _closing: "set[asyncio.Future[None]]" = field(default_factory=set)
    _taken_count: int = 0  # steps of the manifest; a page that moves does not have them taken again
    _look: Look = field(default_factory=dict)

    async def make(self, context: BrowserContext) -> Judgement:
        """Call at the page and judge what is there.

        Raises:
            DocumentMoved, ScriptFailed, playwright.async_api.Error: what `visit.judge_error` judges.
        """
        trouble: asyncio.Future[Judgement] = asyncio.get_running_loop().create_future()
        page = await context.new_page()

        def note_crash(_: Page) -> None:
            if not trouble.done():
                trouble.set_result(Judgement("renderer_crashed", f"while {self.trace.phase}"))

        page.on("crash", note_crash)
        context.on("page", self._close_popup)
        if self.kit.access.headers:
            sender = HeaderSender(await context.new_cdp_session(page), self.route.url, self.kit.access.headers)
            await sender.start()
        body = asyncio.ensure_future(self._call(page, Arrival(self.kit, self._sight, trouble)))
        try:
            await asyncio.wait({body, trouble}, return_when=asyncio.FIRST_COMPLETED)
            return body.result() if body.done() else trouble.result()
        finally:
            body.cancel()
            await asyncio.gather(body, return_exceptions=True)

    def _left_s(self) -> float:
        when = self.deadline.when()
        return 0.0 if when is None else when - asyncio.get_running_loop().time()

    @property
    def _sight(self) -> Sight:
        return Sight(self.route, self.trace)

    async def _call(self, page: Page, arrival: Arrival) -> Judgement:
        with self._phase("navigating"):
            judgement = await arrival.navigate(page)
        tell_place(self.kit.tell, "arrived", self.trace, judgement)
        if judgement is not None:
            return judgement
        session = await page.context.new_cdp_session(page)
        for _ in range(MOVES + 1):
            try:
                judgement = await self._act(page, session, arrival)
                return judgement or await self._look_and_test(page, session)
            except DocumentMoved:
                with self._phase("navigating"):
                    judgement = await arrival.follow(page)
                if judgement is not None:
                    return judgement
        return Judgement("navigates", f"{MOVES + 1} times in one visit")

    async def _act(self, page: Page, session: CDPSession, arrival: Arrival) -> Judgement | None:
        """Take the steps of the manifest that are left; where they lead is judged like every arrival."""
        steps = self.route.steps
        if self._taken_count == len(steps):
            return None
        with self._phase("acting"):
            await self._sight.read(await open_page_world(session), settle_script())
            judgement = self.kit.judge.on_arrival(self.route, self._sight.seen())
            if judgement is not None:
                return judgement
            self.trace.acted_at = self.trace.acted_at or self.trace.url
            actor = Actor(page, self.route, self.kit, self._left_s)
            try:
                async with self.place.given_away(self.deadline):
                    for number, step in enumerate(steps[self._taken_count:], start=self._taken_count + 1):
                        said = await actor.take(number, step)
                        self._taken_count = number
                        self.kit.tell("action", f"{number}, {step}: {said}")
                    await actor.leave()
            except ActionFailed as error:
                self.kit.tell("action", f"{self._taken_count + 1}, {steps[self._taken_count]}: failed")
                return Judgement("action_failed", str(error))
        with self._phase("navigating"):
            return await arrival.follow(page)

    async def _look_and_test(self, page: Page, session: CDPSession) -> Judgement:
        world = await open_page_world(session)
        with self._phase("settling"):
            judgement = await self._settle(session, world)
        if judgement is not None:
            return judgement
        with self._phase("testing"):
            try:
                run = self.kit.run_for(self.route.route)
                self.trace.report = await run_engine(page, session, world, run, self._left_s)
            except NothingTested as error:
                return Judgement(error.reason, error.detail)
            tell_report(self.kit.tell, self.trace.report)
            await self._sight.read(world, "0")  # a page may have led on while it was tested
        return self.kit.judge.on_arrival(self.route, self._sight.seen()) or self._judge_report()

    async def _settle(self, session: CDPSession, world: World) -> Judgement | None:
        await self._sight.read(world, settle_script())
        judgement = self.kit.judge.on_arrival(self.route, self._sight.seen())
        if judgement is not None:
            return judgement
        try:
            async with self.place.given_away(self.deadline):
                settled_by = await self._rest(session, world)
                if await show_closed_roots(session, world):  # what is in them may still be on its way
                    settled_by = await self._rest(session, world)
                    await show_closed_roots(session, world)
                if settled_by is SettledBy.QUIET and not self._look["has_content"]:  # only now all roots are known
                    settled_by = await self._rest(session, world, needs_content=True)
                    await show_closed_roots(session, world)
        except NeverReady as error:
            return Judgement(error.reason, error.detail)
        finally:
            tell_look(self.kit.tell, self._look)
        self.trace.settled_by = self.trace.settled_by or settled_by
        facts = await self._sight.read(world, "fanfoldWatch.rest()")
        if isinstance(facts["has_selector"], str):
            return Judgement("ready_invalid", facts["has_selector"])
        judgement = self.kit.judge.when_settled(self.route, self._sight.seen(facts))
        self.kit.tell("settled", f"by {settled_by}")
        tell_place(self.kit.tell, "address", self.trace, judgement)
        return judgement

    async def _rest(self, session: CDPSession, world: World, *, needs_content: bool = False) -> SettledBy:
        condition = self._condition(session, world)
        return await settle(world, self.route.ready, self.kit.scan, condition, self._look.update,
                            needs_content=needs_content)

    def _condition(self, session: CDPSession, world: World) -> Condition | None:
        if self.route.ready_when is None:
            return None
        return Condition(session, world, self.route.ready_when, is_masked=self.kit.scan.evidence != "full")

    def _judge_report(self) -> Judgement:
        report = self.trace.report
        assert report is not None
        if report.version != self.kit.engine.version:
            return Judgement("engine_version", f"{report.version} answered, {self.kit.engine.version} is pinned")
        if not report.rules:
            return Judgement("engine_empty")
        return judgement_of(report)

    # what happens beside

    def _close_popup(self, popup: Page) -> None:
        closing = asyncio.ensure_future(_close(popup))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    @contextlib.contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self.trace.phase = name
        self.on_phase(name)
        began, waited = time.monotonic(), self.place.waited_ms
        try:
            yield
        finally:
            spent = round((time.monotonic() - began) * 1000) - (self.place.waited_ms - waited)
            timed = TIMED_AS.get(name, name)
            self.trace.times_ms[timed] = self.trace.times_ms.get(timed, 0) + max(0, spent)


async def _close(popup: Page) -> None:
    with contextlib.suppress(PlaywrightError):
        await popup.close()
