"""The floor of a scan: context, load, engine in an isolated world, one run, close; no pipeline, no readiness, no files.

Run as a process of its own by `compare.py`: `python tests/benchmarks/floor.py ADDRESSES.json OPTIONS.json`. Prints how
many nodes break a rule.
"""

import asyncio
import json
import sys
from collections import deque
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from tasks.scan.browser import find_browser
from tasks.scan.engine import engine_source

LANES = 2
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


async def count_nodes(browser: Browser, address: str, engine: str, options: str) -> int:
    context = await browser.new_context()
    try:
        page = await context.new_page()
        await page.goto(address, wait_until="load")
        session = await context.new_cdp_session(page)
        tree = await session.send("Page.getFrameTree")
        world = await session.send("Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"]})
        place = {"contextId": world["executionContextId"]}
        await session.send("Runtime.evaluate", {"expression": engine, **place})
        count = f"axe.run(document, {options}).then(r => r.violations.reduce((n, rule) => n + rule.nodes.length, 0))"
        reply = await session.send("Runtime.evaluate", {"expression": count, "awaitPromise": True, **place})
        return int(reply["result"]["value"])
    finally:
        await context.close()


async def main(addresses: list[str], options: dict[str, object]) -> None:
    engine, waiting, counts = engine_source(None), deque(addresses), []
    run_options = json.dumps({**options, "resultTypes": ["violations", "incomplete"]})
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(None).path, args=FLAGS)

        async def lane() -> None:
            while waiting:
                count = await count_nodes(browser, waiting.popleft(), engine, run_options)
                counts.append(count)

        await asyncio.gather(*(lane() for _ in range(LANES)))
        await browser.close()
    print(sum(counts))


if __name__ == "__main__":
    ADDRESSES, OPTIONS = (json.loads(Path(path).read_text("utf-8")) for path in sys.argv[1:3])
    asyncio.run(main(ADDRESSES, OPTIONS))
