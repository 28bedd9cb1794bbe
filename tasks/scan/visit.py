"""Visit one route: open, load, settle, test, judge; again where the trouble may pass.

Here: tries, deadlines, and records of what came out. Not here: the browser's life (`browser.py`), one try (`call.py`),
judging (`judge.py`), making records (`records.py`). A page never raises out of here: it is a row.
Next: `partial.py` stores the records.
"""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import replace

from schemas.engine import EngineBuild
from schemas.plan import PlannedRoute
from schemas.settings import ScanSettings
from tasks.scan.access import Access
from tasks.scan.breaker import Breaker
from tasks.scan.browser import Browser, BrowserDied
from tasks.scan.call import PageCall
from tasks.scan.clock import utc_now
from tasks.scan.faults import has_crashed, is_gone, net_code, reason_of_code
from tasks.scan.judge import FindRoute, Judge, Judgement
from tasks.scan.kit import Kit
from tasks.scan.partial import Visited
from tasks.scan.place import Place
from tasks.scan.reasons import REASONS
from tasks.scan.records import RecordMaker, Tally, Trace
from tasks.scan.redact import Redactor
from tasks.scan.script import EngineRun
from tasks.scan.tell import Tell, tell_context, tell_nobody
from tasks.scan.world import DocumentMoved, ScriptFailed

RETRY_WAIT_SECONDS = (1.0, 4.0, 8.0)
LONGEST_WAIT_SECONDS = 30.0
TIMEOUT_REASONS = {"opening": "browser_died", "navigating": "load_timeout", "acting": "page_blocked",
                   "settling": "page_blocked", "testing": "engine_timeout"}

OnPhase = Callable[[str], None]


class Visitor:
    """Visits routes of one shard, several at once.

    Args:
        find_route: returns the `task_id` of the planned route that an address belongs to under a profile, if any.
        in_flight: visits that may load or test at once; a visit that waits for its page to rest holds no place, so
            twice as many may be asked for.
        access: what the process knows of profile and secrets.
        is_case_folded: identities of the plan have their paths in lower case.
        tell: is told what a visit does, step by step.
    """

    def __init__(
        self, browser: Browser, scan: ScanSettings, engine: EngineBuild, source: str, find_route: FindRoute,
        in_flight: int = 1, access: Access | None = None, *, is_case_folded: bool = False, tell: Tell = tell_nobody,
    ) -> None:
        access = access or Access()
        scan = replace(scan, evidence=scan.evidence_for(access.profile))
        self._browser = browser
        judge = Judge(scan, find_route, access.resolve)
        self._kit = Kit(scan, engine, EngineRun.prepare(source, engine.options, scan), judge, access,
                        is_case_folded, tell)
        self._records = RecordMaker(scan, Redactor(scan.secret_parameters, access.secret_values))
        self._places = asyncio.Semaphore(in_flight)
        self._in_flight = in_flight
        self._breaker = Breaker()

    async def visit(self, route: PlannedRoute, on_phase: OnPhase = lambda phase: None) -> Visited:
        """Visit a route to its end, transient retries included, and return its records.

        Args:
            on_phase: called with a word whenever a phase begins (`visit 1`, `navigating`, `wait 1.4 s` …).
        """
        started_at, burned_ms, count = utc_now(), 0, 0
        while True:
            count += 1
            on_phase(f"visit {count}")
            trace, judgement = await self._try(route, on_phase)
            self._kit.tell("judged", judgement.reason)
            burned_ms += trace.total_ms
            self._breaker.note(route.url, judgement.reason)
            if not REASONS[judgement.reason].is_transient or count > self._kit.scan.route_retries:
                break
            if self._breaker.is_open(route.url):
                break
            wait = _wait_seconds(count, trace.retry_after)
            on_phase(f"wait {wait:.1f} s")
            await asyncio.sleep(wait)
        tally = Tally(count, burned_ms, self._in_flight, started_at, utc_now())
        outcome = self._records.outcome(route, trace, judgement, tally)
        if not outcome.outcome.was_scanned or trace.report is None:
            return Visited(outcome)
        return Visited(outcome, self._records.occurrences(route, trace.report),
                       self._records.rule_results(route, trace.report))

    async def _try(self, route: PlannedRoute, on_phase: OnPhase) -> tuple[Trace, Judgement]:
        """Visit once, in a fresh context."""
        trace = Trace()
        if not self._breaker.may_visit(route.url):
            return trace, Judgement("host_gave_up")
        async with Place(self._places) as place:
            began = time.monotonic()
            try:
                judgement = await self._visit_in_context(route, trace, place, on_phase)
            except TimeoutError:
                late = f"while {trace.phase}, after {route.deadline_ms} ms"
                judgement = Judgement(TIMEOUT_REASONS[trace.phase], late)
            except Exception as error:  # noqa: BLE001 - the one place: an unknown error of a page is a row
                judgement = judge_error(error, trace.phase)
            trace.total_ms = round((time.monotonic() - began) * 1000) - place.waited_ms - trace.launch_wait_ms
        return trace, judgement

    async def _visit_in_context(
        self, route: PlannedRoute, trace: Trace, place: Place, on_phase: OnPhase
    ) -> Judgement:
        asked = time.monotonic()
        options = self._kit.access.context_options(self._kit.scan)
        async with self._browser.context(options) as (context, open_ms):
            tell_context(self._kit.tell, options)
            trace.times_ms["launch"] = open_ms
            trace.launch_wait_ms = max(0, round((time.monotonic() - asked) * 1000) - open_ms)
            async with asyncio.timeout(route.deadline_ms / 1000) as deadline:
                return await PageCall(route, self._kit, trace, place, deadline, on_phase).make(context)


def judge_error(error: Exception, phase: str) -> Judgement:
    """Judge an error that ended a visit.

    Returns:
        A judgement with the browser's own word where it is in the table, else `page_error` with the error's type.
    """
    said = (str(error).splitlines() or [""])[0][:400]
    code = net_code(said)
    if isinstance(error, DocumentMoved):
        return Judgement("navigates", f"while {phase}")
    if isinstance(error, ScriptFailed):
        return Judgement("engine_failed" if phase == "testing" else "engine_not_loaded", said)
    if isinstance(error, BrowserDied) or is_gone(said):
        return Judgement("browser_died", said)
    if has_crashed(said):
        return Judgement("renderer_crashed", f"while {phase}")
    if code is not None:
        return Judgement(reason_of_code(code), code)
    return Judgement("page_error", f"{type(error).__name__} while {phase}: {said}")


def _wait_seconds(count: int, asked_s: float | None) -> float:
    """Return the wait before another try: longer each time, with jitter, or what the server asked for."""
    planned = RETRY_WAIT_SECONDS[min(count, len(RETRY_WAIT_SECONDS)) - 1] * random.uniform(0.6, 1.4)  # noqa: S311
    return min(LONGEST_WAIT_SECONDS, max(planned, asked_s or 0.0))

