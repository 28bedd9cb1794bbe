"""The life of a browser: launched late, renewed in time, replaced when it dies, and nothing left behind."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from schemas.errors import ContractError
from schemas.outcome import OutcomeKind
from tasks.scan import browser as browsers
from tasks.scan.browser import Browser, find_browser
from tasks.scan.partial import Visited
from tasks.scan.process import descendants
from tasks.scan.whereabouts import browser_candidates
from tests.browser.faulty_site import FAULT, QUICK, Scanner, Site, html, planned, wait_until


@pytest.fixture
def own(scanner: Scanner) -> Iterator[Scanner]:
    made = Scanner(scanner.build)
    yield made
    made.close()


def below(known: set[int]) -> set[int]:
    return {pid for pid in descendants(os.getpid()) if pid not in known and _is_alive(pid)}


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def test_it_is_launched_late_and_renewed_in_time(site: Site, own: Scanner) -> None:
    assert own.browser.launch_count == 0
    own.browser = own.run(_make(own, retire_after=3))
    routes = [planned(site.put(f"/{number}", html(FAULT))) for number in range(7)]
    found = own.visit_all(routes)
    assert {visited.outcome.outcome for visited in found.values()} == {OutcomeKind.SCANNED}
    assert own.browser.launch_count == 3


async def _make(own: Scanner, retire_after: int) -> Browser:
    return Browser(own.build, replace(QUICK, retire_after=retire_after))


@pytest.mark.parametrize("victim", ["browser", "driver"])
def test_only_the_routes_in_flight_pay_when_it_dies(site: Site, own: Scanner, victim: str) -> None:
    known = set(descendants(os.getpid()))
    slow = planned(site.put("/slow", lambda count, _: html(FAULT, wait_s=6 if count == 1 else 0)), deadline_ms=15_000)
    killed: list[bool] = []

    async def kill_soon() -> None:
        while not site.count("/slow"):
            await asyncio.sleep(0.05)
        for pid in below(known):
            name = Path(f"/proc/{pid}/cmdline").read_bytes()
            if (b"headless" in name and b"--type=" not in name) if victim == "browser" else (b"node" in name):
                os.kill(pid, signal.SIGKILL)
                killed.append(True)

    killing = asyncio.run_coroutine_threadsafe(kill_soon(), own._loop)
    found = own.visit_all([slow], replace(QUICK, route_retries=1))
    killing.result(5)
    assert killed
    outcome = found[slow.url].outcome
    assert (outcome.outcome, outcome.visit_count, own.browser.launch_count) == (OutcomeKind.SCANNED, 2, 2)
    own.close = lambda: None  # type: ignore[method-assign]
    Scanner.close(own)
    assert wait_until(lambda: not below(known))


def test_a_driver_that_grew_takes_no_more_visits(site: Site, own: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    known = set(descendants(os.getpid()))
    monkeypatch.setattr("tasks.scan.memory.LASTING_BYTES", 10_000_000)
    url = site.put("/", html(FAULT))
    slow = planned(site.put("/slow", html(FAULT, wait_s=2.5)))
    assert own.visit_all([slow])[slow.url].outcome.outcome is OutcomeKind.SCANNED  # what is under way comes to its end
    assert wait_until(lambda: not below(known))
    assert own.visit(url).outcome.outcome is OutcomeKind.SCANNED
    assert own.browser.launch_count == 2


def test_a_browser_ends_only_what_is_its_own(site: Site, own: Scanner) -> None:
    """Another one starts processes (frames of many sites) while it is launched; these are not its to end."""
    site.put("/frame", html("x"))
    more = f"""<script>let n = 0; const more = setInterval(() => {{ const f = document.createElement("iframe");
        f.title = "f"; f.src = "http://s" + n + ".localhost:{site.port}/frame"; document.body.append(f);
        if (++n === 20) clearInterval(more) }}, 50)</script>"""
    busy = planned(site.put("/busy", html(FAULT + more)), deadline_ms=60_000)
    visiting = Thread(target=lambda: found.update(own.visit_all([busy], replace(QUICK, settle_budget_ms=9_000))))
    found: dict[str, Visited] = {}
    visiting.start()
    assert wait_until(lambda: site.count("/frame") > 2)
    for _ in range(2):
        other = Scanner(own.build)
        other.run(_use(other.browser))
        other.close()
    visiting.join()
    outcome = found[busy.url].outcome
    assert (outcome.outcome, outcome.untested_frames, site.count("/frame")) == (OutcomeKind.SCANNED, (), 20)


async def _use(browser: Browser) -> None:
    async with browser.context({}):
        pass


def test_the_end_of_a_browser_leaves_no_process(site: Site, scanner: Scanner) -> None:
    known = set(descendants(os.getpid()))
    own = Scanner(scanner.build)
    loop = site.put("/loop", html("<script>onload = () => setTimeout(() => { while (true); }, 20)</script>"))
    own.visit_all([planned(loop, deadline_ms=2_000), planned(site.put("/", html("")))])
    own.close()
    assert wait_until(lambda: not below(known))


def test_a_browser_is_looked_for_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def install(folder: str, name: str, version: str) -> str:
        file = tmp_path / folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\necho Chromium {version}\n", encoding="utf-8")
        file.chmod(0o755)
        return str(file)

    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "own"))
    monkeypatch.setenv("PATH", str(tmp_path / "system"))
    with pytest.raises(ContractError, match="playwright install"):
        find_browser(None)
    full = install("system", "chromium", "4.0.1")
    shell = install("system", "chromium-headless-shell", "3.0.1")
    own_full = install("own/chromium-9/chrome-linux", "chrome", "2.0.1")
    own_shell = install("own/chromium_headless_shell-9/chrome-linux", "headless_shell", "1.0.1")
    assert list(browser_candidates()) == [own_shell, own_full, shell, full]
    assert find_browser(None) == browsers.BrowserBuild(own_shell, "1.0.1", "headless_shell")
    assert find_browser(full) == browsers.BrowserBuild(full, "4.0.1", "chromium")
    with pytest.raises(ContractError, match="does not run"):
        find_browser(str(tmp_path / "none"))
