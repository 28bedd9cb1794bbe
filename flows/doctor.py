"""Would an audit work on this machine? One record for each thing that it needs, with the way to mend it.

Here: which checks there are, and those of this installation: settings, browser, engine, capacity, packages, secrets and
profiles. Not here: what lies outside of it (`surroundings.py`), printing (`commands/installation.py`). No check leaves
anything behind.
"""

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from flows.capacity import usable_cores, usable_memory_bytes
from flows.settings import capacity_of, settings_file, settings_in_force
from flows.surroundings import examine_clock, examine_server, examine_store
from schemas.check import Check, fault, ok, warning
from schemas.errors import ContractError
from schemas.plural import plural
from schemas.settings import ScanSettings, Settings
from tasks.load import environment_warnings
from tasks.scan.browser import Browser, BrowserBuild, BrowserDied, find_browser
from tasks.scan.credentials import FILE_SUFFIX, PROFILE_PREFIX, SECRET_PREFIX, Credentials
from tasks.scan.engine import read_engine
from tasks.scan.selectors import check_selectors

PACKAGES = ("flows", "tasks", "schemas")
CROWDED = 2  # routes at once for each core; beyond it they only wait for each other


def examine() -> list[Check]:
    """Look at everything that an audit needs."""
    settings, checks = _settings()
    return [
        ok("program", f"fanfold {version('fanfold')}, Python {sys.version.split()[0]}"), *checks,
        *examine_browser(settings), *examine_engine(settings), *examine_capacity(settings), *examine_store(settings),
        *examine_packages(Path.cwd(), sys.path), *examine_credentials(os.environ, settings.secret_blocks),
        *examine_server(), *examine_clock(),
    ]


def _settings() -> tuple[Settings, list[Check]]:
    """Return the settings in force; the defaults where they are broken, so that the other checks can go on."""
    unknown = [warning("settings", text, "Correct the name, or remove the variable.")
               for text in environment_warnings(os.environ)]
    try:
        settings, origins = settings_in_force()
    except ContractError as error:
        return Settings(), [*(fault("settings", str(offence), "`fanfold settings` shows what is in force.")
                              for offence in error.offences), *unknown]
    set_count = sum(origin != "default" for origin in origins.values())
    file = str(settings_file()) if settings_file().is_file() else "no file"
    return settings, [ok("settings", f"{set_count} set ({file}); `fanfold settings` shows them"), *unknown]


def examine_browser(settings: Settings) -> Iterator[Check]:
    """Find the browser as a scan does, and open a page with it."""
    try:
        build = find_browser(settings.browser)
    except ContractError as error:
        for offence in error.offences:
            yield fault("browser", f"{offence.subject}: {offence.fault}", offence.remedy
                        or "Set `browser` to the path of a Chromium, or remove the setting.")
        return
    found = f"{build.kind} {build.version} at {build.path}"
    try:
        asyncio.run(_open_once(build))
        check_selectors(build, settings.scan)
    except ContractError as error:
        yield from (fault("settings", str(offence), "`fanfold settings` shows where it comes from.")
                    for offence in error.offences)
    except BrowserDied as error:
        yield fault("browser", f"{found} does not start: {error}",
                    "Start it by hand; on slim images system libraries are missing (`playwright install-deps`).")
        return
    if build.kind == "headless_shell":
        yield ok("browser", found)
    else:
        yield warning("browser", f"{found}, the full browser: it takes twice the processor time of the headless shell",
                      "`python -m playwright install --only-shell chromium`")
    if os.geteuid() == 0:
        yield warning("sandbox", "off, for this is root", "Run the worker as a user.")


async def _open_once(build: BrowserBuild) -> None:
    scan = ScanSettings()
    async with Browser(build, scan) as browser, browser.context({}) as (context, _):
        await context.new_page()


def examine_engine(settings: Settings) -> Iterator[Check]:
    """Ask the engine for its version and rules."""
    try:
        engine = read_engine(settings.scan.engine_path, settings.scan.rules)
    except ContractError as error:
        for offence in error.offences:
            yield fault("engine", f"{offence.subject}: {offence.fault}",
                        offence.remedy or "Set `scan.engine_path` to an axe build, or remove the setting.")
        return
    on_count = sum(rule.is_on for rule in engine.rules)
    yield ok("engine", f"axe {engine.version}, {on_count} of {len(engine.rules)} rules on")


def examine_capacity(settings: Settings) -> Iterator[Check]:
    """Hold the concurrency that is asked for against cores and memory."""
    capacity, core_count = capacity_of(settings), usable_cores()
    at_once = capacity.shards_at_once * capacity.in_flight
    found = (f"{plural(core_count, 'core')}, {usable_memory_bytes() / 2**30:.1f} GiB; "
             f"{plural(capacity.shards_at_once, 'shard')} × {plural(capacity.in_flight, 'route')} at once")
    if capacity.message:
        yield warning("capacity", capacity.message, "Ask for less with `shards_at_once` and `in_flight`, or allow the "
                      "container more memory.")
    if at_once > CROWDED * core_count:
        yield warning("capacity", f"{found}: more than {CROWDED} routes for each core",
                      f"Set `shards_at_once` × `in_flight` to about {core_count}; deadlines are met more easily then.")
    elif not capacity.message:
        yield ok("capacity", found)


def examine_packages(folder: Path, path: Sequence[str]) -> Iterator[Check]:
    """Look for other packages that are called like ours: Python takes the first that it finds.

    Args:
        folder: the current one; `python -m …` looks there first. path: of imports.
    """
    own = Path(__file__).resolve().parent.parent
    foreign: dict[Path, list[str]] = {}
    is_hidden = False
    for name in PACKAGES:
        origin = str(getattr(find_spec(name), "origin", None))
        is_hidden |= Path(origin).resolve().parent.parent != own
        for place in dict.fromkeys(Path(entry).resolve() for entry in (str(folder), *path)):
            if place != own and ((place / name / "__init__.py").is_file() or (place / f"{name}.py").is_file()):
                foreign.setdefault(place, []).append(name)
    for place, names in foreign.items():
        found = f"{', '.join(f'`{name}`' for name in names)} of another program in {place}"
        is_here = place == folder.resolve()
        remedy = "Start fanfold in another folder" if is_here else "Give fanfold an environment of its own"
        make = fault if is_hidden else warning
        yield make("packages", found, f"{remedy}: Python would take one for the other.")
    if not foreign:
        yield ok("packages", f"ours, in {own}")


def examine_credentials(environment: Mapping[str, str], at_shard: Sequence[str] = ()) -> Iterator[Check]:
    """Read every profile and every file of a secret that the environment names; values are not shown.

    Args:
        at_shard: secrets that the task of a shard reads from Prefect: they are not here.
    """
    credentials, names = Credentials(environment, dict.fromkeys(at_shard, "read later")), []
    for variable in sorted(environment):
        try:
            if variable.startswith(PROFILE_PREFIX):
                credentials.access(variable.removeprefix(PROFILE_PREFIX), [])
            elif variable.startswith(SECRET_PREFIX) and variable.endswith(FILE_SUFFIX):
                credentials.secret(variable.removeprefix(SECRET_PREFIX).removesuffix(FILE_SUFFIX))
            else:
                continue
            names.append(variable)
        except ContractError as error:
            yield fault("credentials", f"{variable}: {error}", "Correct the variable, or remove it.")
    if names:
        yield ok("credentials", ", ".join(names))
