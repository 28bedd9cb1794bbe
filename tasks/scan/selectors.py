"""Ask a browser which texts are no selectors, before anything is scanned: nobody else knows all of its language.

Here: one question on an empty page. Not here: what shows without a browser (`schemas/exclusion.py`); what a page says
of a selector when there was no browser to ask before (`engine.js`).
"""

import asyncio
import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from schemas.errors import ContractError, Offence
from schemas.exclusion import EXPECTED
from schemas.settings import ScanSettings
from tasks.scan.browser import Browser, BrowserBuild, BrowserDied

SHOWN_CHARACTERS = 100
REFUSED = """(selectors) => selectors.filter((selector) => {
  try { document.createDocumentFragment().querySelector(selector); return false; } catch { return true; }
})"""


def check_selectors(build: BrowserBuild, scan: ScanSettings) -> None:
    """Refuse exclusions of elements whose selectors the browser does not know.

    Raises:
        ContractError: names each.
    """
    selectors = list(dict.fromkeys(one.selector for one in scan.exclude_elements))
    if not selectors:
        return
    with ThreadPoolExecutor(1) as thread:  # the caller may stand in an event loop
        refused = thread.submit(lambda: asyncio.run(_refused(build, scan, selectors))).result()
    if refused:
        raise ContractError(Offence("scan.exclude_elements", f"{selector[:SHOWN_CHARACTERS]!r} is no selector that the "
                                    "browser knows", EXPECTED) for selector in refused)


async def _refused(build: BrowserBuild, scan: ScanSettings, selectors: Sequence[str]) -> list[str]:
    refused: list[str] = []
    with contextlib.suppress(BrowserDied):  # the shards will say so, and scan nothing
        async with Browser(build, scan) as browser, browser.context({}) as (context, _):
            page = await context.new_page()
            refused = await page.evaluate(REFUSED, selectors)
    return refused
