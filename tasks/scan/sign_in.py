"""Prove that a shard's profile is signed in, before the first route is scanned under it.

Here: one page, one selector. Not here: sign-in pages that a route leads to later (`judge.py`).
A profile that went stale would send every route to the sign-in page; one refusal that names the profile says more.
"""

import asyncio

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from schemas.errors import AuditError, TransientError, bad_input
from schemas.settings import ScanSettings
from tasks.scan.access import Access, SignInCheck
from tasks.scan.browser import Browser, BrowserDied
from tasks.scan.faults import has_crashed, is_gone, net_code
from tasks.scan.headers import HeaderSender

LOAD_MS = 30_000.0
LOOK_MS = 15_000.0


async def prove_signed_in(browser: Browser, scan: ScanSettings, access: Access) -> None:
    """Open the profile's check page and look for its selector; without a check nothing is done.

    Raises:
        ContractError: the page lacks it: the profile is not signed in. TransientError: the page cannot be asked.
    """
    check = access.check
    if check is None:
        return
    url = access.resolve(check.url)
    try:
        async with (asyncio.timeout((LOAD_MS + LOOK_MS) / 1000),
                    browser.context(access.context_options(scan)) as (context, _)):
            page = await context.new_page()
            if access.headers:
                await HeaderSender(await context.new_cdp_session(page), url, access.headers).start()
            await page.goto(url, wait_until="load", timeout=LOAD_MS)
            await page.locator(check.selector).first.wait_for(state="attached", timeout=LOOK_MS)
    except (PlaywrightTimeoutError, TimeoutError):
        raise bad_input(f"auth profile {access.profile}", f"is not signed in: {check.selector} is not on {check.url}",
                        "it there", "Sign in again and save the profile anew.") from None
    except (PlaywrightError, BrowserDied) as error:
        raise _judge(access.profile, check, error) from None


def _judge(profile: str | None, check: SignInCheck, error: Exception) -> AuditError:
    """Tell trouble that may pass from a check that never works."""
    subject, said = f"auth profile {profile}", (str(error).splitlines() or [""])[0][:200]
    code = net_code(said)
    if code or isinstance(error, BrowserDied) or is_gone(said) or has_crashed(said):
        return TransientError(subject, f"its check page {check.url} cannot be opened ({code or 'the browser died'})")
    return bad_input(subject, f"its check does not work: {check.selector!r} on {check.url}", "a CSS selector")
