"""One browser per shard: found, launched late, retired in time, and ended hard when it does not end softly.

Here: the life of browser and driver, and fresh contexts for visits. Not here: what a visit does (`visit.py`).
A life is one driver and one browser: both grow over thousands of pages, so both are renewed together. When a life dies
only the routes in flight pay; the next one that asks gets a new life.
"""

import asyncio
import contextlib
import logging
import os
import re
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from playwright.async_api import Browser as PlaywrightBrowser
from playwright.async_api import BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from schemas.errors import bad_input
from schemas.settings import ScanSettings
from tasks.scan.memory import guard_memory
from tasks.scan.process import children, kill_all, with_descendants
from tasks.scan.whereabouts import browser_candidates

LOG = logging.getLogger("fanfold.scan")
FEATURES_OFF = (  # the last list wins in the browser, so Playwright's own is repeated; ours is the last one
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding", "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "PreconnectToSearch",
    "SpareRendererForSitePerProcess",  # with it a spare process is started for every context: 5 % of the whole
)
FLAGS = (
    "--disable-background-networking", "--disable-component-update", "--disable-gpu", "--disable-gpu-compositing",
    "--disable-software-rasterizer", "--js-flags=--max-old-space-size=1024",
    "--site-per-process",  # off in headless shells: a frame of another site that hangs would hang the page
    f"--disable-features={','.join(FEATURES_OFF)}",
)
# Playwright's defaults that let a page flood the browser with windows and history entries.
UNWANTED_FLAGS = ("--disable-popup-blocking", "--disable-ipc-flooding-protection")
LAUNCH_SECONDS = 30.0
OPEN_SECONDS = 15.0
CLOSE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class BrowserBuild:
    """A browser on this machine; `kind` is `headless_shell` or `chromium`."""

    path: str
    version: str
    kind: str


class BrowserDied(Exception):  # noqa: N818 - an event that a visit judges, not a fault of the program
    """The browser or its driver is gone or does not answer; the visit may be tried again in another life."""


def find_browser(setting: str | None) -> BrowserBuild:
    """Find the browser to scan with: the setting, Playwright's own, then the system's; headless shells first.

    Raises:
        ContractError: there is none, or the one that the setting names does not run.
    """
    if setting is not None:
        build = _describe(setting)
        if build is None:
            raise bad_input("browser", f"{setting} does not run", "the path of a Chromium or its headless shell")
        return build
    build = next(filter(None, map(_describe, browser_candidates())), None)
    if build is not None:
        return build
    raise bad_input("browser", "none was found", "Chromium or its headless shell",
                    "Install one: `python -m playwright install --only-shell chromium`.")


def find_full_browser() -> BrowserBuild | None:
    """Find a full browser, which needs twice the processor time; None where there is none."""
    return next((build for build in map(_describe, browser_candidates()) if build and build.kind == "chromium"), None)


@cache
def _describe(path: str) -> BrowserBuild | None:
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"\d+(?:\.\d+){1,3}", answer)
    if version is None:
        return None
    return BrowserBuild(path, version[0], "headless_shell" if "headless" in os.path.basename(path) else "chromium")  # noqa: PTH119


@dataclass(slots=True, eq=False)
class _Life:
    playwright: Playwright
    browser: PlaywrightBrowser
    processes: Mapping[int, str]
    route_count: int = 0
    lease_count: int = 0
    is_retired: bool = False
    guard: "asyncio.Task[None] | None" = field(default=None)

    @property
    def is_living(self) -> bool:
        return not self.is_retired and self.browser.is_connected()

    def retire(self) -> None:
        """Take no more visits; the life ends with its last lease."""
        self.is_retired = True


class Browser:
    """Gives fresh contexts to visits, several at once; an async context manager that leaves no process behind.

    Attributes:
        launch_count: lives so far. launch_ms: milliseconds that the launches took.
    """

    def __init__(self, build: BrowserBuild, scan: ScanSettings) -> None:
        self.build = build
        self.launch_count = self.launch_ms = 0
        self._retire_after = scan.retire_after
        self._lock = asyncio.Lock()
        self._life: _Life | None = None
        self._lives: set[_Life] = set()

    async def __aenter__(self) -> "Browser":
        return self

    async def __aexit__(self, *_: object) -> None:
        for life in list(self._lives):
            await self._end(life)

    @contextlib.asynccontextmanager
    async def context(self, options: Mapping[str, Any]) -> AsyncIterator[tuple[BrowserContext, int]]:
        """Open a fresh context and close it in the end; a context that does not close takes its browser with it.

        Yields:
            The context, and the milliseconds that opening it took, without the launch of a browser.

        Raises:
            BrowserDied: there is no browser to be had, or it does not answer.
        """
        life = await self._living()
        life.lease_count += 1
        opened: BrowserContext | None = None
        began = time.monotonic()
        try:
            try:
                async with asyncio.timeout(OPEN_SECONDS):
                    opened = await life.browser.new_context(**options)
            except (TimeoutError, PlaywrightError) as error:
                self._kill(life)
                raise BrowserDied(f"no context: {type(error).__name__}") from error
            yield opened, round((time.monotonic() - began) * 1000)
        finally:
            life.lease_count -= 1
            if opened is not None:
                await self._close_context(life, opened)
            if life.is_retired and life.lease_count == 0:
                await self._end(life)

    async def _close_context(self, life: _Life, opened: BrowserContext) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await opened.close()
        except TimeoutError:
            LOG.warning("a page does not close; its browser is ended")
            self._kill(life)
        except PlaywrightError:  # browser or driver is gone, which Playwright does not always notice by itself
            self._kill(life)

    async def _living(self) -> _Life:
        async with self._lock:
            if self._life is not None and not self._life.is_living:
                self._life.is_retired = True
                if self._life.lease_count == 0:
                    await self._end(self._life)
                self._life = None
            life = self._life or await self._launch()
            life.route_count += 1
            self._life = life
            if life.route_count >= self._retire_after:
                life.retire()
            return life

    async def _launch(self) -> _Life:
        began = time.monotonic()
        before = children(os.getpid())
        playwright: Playwright | None = None
        try:
            async with asyncio.timeout(LAUNCH_SECONDS):
                playwright = await async_playwright().start()
                browser = await playwright.chromium.launch(
                    executable_path=self.build.path, args=self._flags(), ignore_default_args=list(UNWANTED_FLAGS),
                    handle_sigint=False, handle_sigterm=False, handle_sighup=False,
                )
        except (TimeoutError, PlaywrightError, OSError) as error:
            if playwright is not None:
                await _within(CLOSE_SECONDS, playwright.stop())
            kill_all(_new_processes(before))
            raise BrowserDied(f"the browser did not start: {str(error).splitlines()[0][:200]}") from error
        # Recorded now, for when the driver dies first its browser is nobody's child any more.
        life = _Life(playwright, browser, _new_processes(before))
        life.guard = asyncio.create_task(guard_memory(life.processes, life.retire))
        self._lives.add(life)
        self.launch_count += 1
        self.launch_ms += round((time.monotonic() - began) * 1000)
        return life

    def _flags(self) -> list[str]:
        if os.geteuid() != 0:
            return list(FLAGS)
        if self.launch_count == 0:
            LOG.warning("running as root: the browser's sandbox is off; run the worker as a user")
        return [*FLAGS, "--no-sandbox"]

    async def _end(self, life: _Life) -> None:
        """End a life softly under a deadline, then make sure that no process of it is left."""
        if life not in self._lives:
            return
        self._lives.discard(life)
        await _within(CLOSE_SECONDS, life.browser.close())
        await _within(CLOSE_SECONDS, life.playwright.stop())
        self._kill(life)

    def _kill(self, life: _Life) -> None:
        life.is_retired = True
        if life.guard is not None:
            life.guard.cancel()
        kill_all(life.processes)


def _new_processes(before: set[int]) -> dict[int, str]:
    """Return a driver that was started since, with all below it; what other lives start meanwhile is theirs."""
    return with_descendants(children(os.getpid()) - before)


async def _within(seconds: float, closing: Awaitable[None]) -> None:
    """Wait for something to close, but not for long; what is left is killed."""
    with contextlib.suppress(TimeoutError, PlaywrightError, OSError):
        async with asyncio.timeout(seconds):
            await closing
