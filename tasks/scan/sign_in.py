"""Prove that a shard's profile is signed in, before the first route is scanned under it.

Here: one page, one selector. Not here: sign-in pages that a route leads to later (`judge.py`).
A profile that went stale would send every route to the sign-in page; one refusal that names the profile says more.
"""

import asyncio

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from schemas.errors import AuditError, TransientError, bad_input
from schemas.settings import ScanSettings
from tasks.scan.access import Access, SignInCheck
from tasks.scan.browser import Browser, BrowserDied
from tasks.scan.faults import has_crashed, is_gone, net_code
from tasks.scan.headers import HeaderSender
from tasks.scan.reasons import reason_of_status

LOAD_MS = 30_000.0
LOOK_MS = 15_000.0
SPARE_SECONDS = 5.0  # for what the limits of the driver do not cover
PASSING = ("status_429", "status_5xx")


async def prove_signed_in(browser: Browser, scan: ScanSettings, access: Access) -> None:
    """Open the profile's check page and look for its selector; without a check nothing is done.

    Raises:
        ContractError: the page lacks it: the profile is not signed in. TransientError: the page cannot be asked.
    """
    check = access.check
    if check is None:
        return
    try:
        async with browser.context(access.context_options(scan)) as (context, _):
            async with asyncio.timeout((LOAD_MS + LOOK_MS) / 1000 + SPARE_SECONDS):
                page = await context.new_page()
                await _open(page, access, check)
                await _look(page, access, check)
    except TimeoutError:
        raise _not_asked(access, check, "cannot be opened (the browser does not answer)") from None
    except (PlaywrightError, BrowserDied) as error:
        raise _judge(access, check, error) from None


async def _open(page: Page, access: Access, check: SignInCheck) -> None:
    url = access.resolve(check.url)
    if access.headers:
        await HeaderSender(await page.context.new_cdp_session(page), url, access.headers).start()
    try:
        response = await page.goto(url, wait_until="load", timeout=LOAD_MS)
    except PlaywrightTimeoutError:
        raise _not_asked(access, check, f"has not loaded within {LOAD_MS / 1000:g} s") from None
    if response is not None and reason_of_status(response.status) in PASSING:
        raise _not_asked(access, check, f"answers with status {response.status}")


async def _look(page: Page, access: Access, check: SignInCheck) -> None:
    try:
        await page.locator(check.selector).first.wait_for(state="attached", timeout=LOOK_MS)
    except PlaywrightTimeoutError:
        raise bad_input(_subject(access), f"is not signed in: {check.selector} is not on {check.url}", "it there",
                        "Sign in again and save the profile anew.") from None


def _judge(access: Access, check: SignInCheck, error: Exception) -> AuditError:
    """Tell trouble that may pass from a check that never works."""
    said = (str(error).splitlines() or [""])[0][:200]
    code = net_code(said)
    if code or isinstance(error, BrowserDied) or is_gone(said) or has_crashed(said):
        return _not_asked(access, check, f"cannot be opened ({code or 'the browser died'})")
    return bad_input(_subject(access), f"its check does not work: {check.selector!r} on {check.url}", "a CSS selector")


def _not_asked(access: Access, check: SignInCheck, said: str) -> TransientError:
    return TransientError(_subject(access), f"its check page {check.url} {said}")


def _subject(access: Access) -> str:
    return f"auth profile {access.profile}"
