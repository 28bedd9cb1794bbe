"""Hold a shard to what its plan pins: the engine's file and the browser.

Here: refusing others before anything is scanned. Not here: pinning (`tasks/plan/`), finding either (`engine.py`,
`browser.py`).
"""

from collections.abc import Collection

from schemas.errors import bad_input
from schemas.plan import Plan
from tasks.scan.browser import BrowserBuild, find_browser
from tasks.scan.engine import file_digest


def check_pinned(plan: Plan, browser: str | None) -> BrowserBuild:
    """Refuse to scan with another engine or browser than the plan says.

    Raises:
        ContractError: engine or browser differ, or there is no browser.
    """
    pinned = plan.header
    remedy = "Start a new run, or bring back what the plan was made with."
    found = file_digest(pinned.scan.engine_path)
    if found != pinned.engine.digest:
        raise bad_input("engine", f"the file's digest is {found[:12]}…", f"{pinned.engine.digest[:12]}… "
                        f"({pinned.engine.version}), as in the plan", remedy)
    build = find_browser(browser)
    if pinned.browser_version is not None and build.version != pinned.browser_version:
        raise bad_input("browser", f"{build.path} is {build.version}", f"{pinned.browser_version}, as in the plan",
                        remedy)
    return build


def check_same_browser(seen: Collection[str], build: BrowserBuild) -> None:
    """Refuse to go on with another browser than the one that earlier attempts of the shard used.

    Raises:
        ContractError: a plan that pins no browser was begun with another one.
    """
    foreign = sorted(set(seen) - {build.version})
    if foreign:
        raise bad_input("browser", f"{build.path} is {build.version}", f"{', '.join(foreign)}, which earlier attempts "
                        "of this shard used", "Start a new run, or bring back that browser.")
