"""What a person asks of one address: `python -m tasks.scan --url ADDRESS`.

Here: the arguments, and the route, settings, engine and browser that they speak of: those of a run's frozen plan, or
today's defaults with what a manifest says of the address. Not here: the visit, and what is told of it (`explain.py`).
"""

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schemas.action import actions_text
from schemas.address import address_offences, identity_of
from schemas.engine import EngineBuild
from schemas.errors import ContractError, IntegrityError, bad_input
from schemas.format_version import check_not_newer
from schemas.layout import EstateLayout
from schemas.manifest import MANIFEST_FORMAT, ManifestEntry, entry_of
from schemas.plan import PlannedRoute
from schemas.route import Journey, RouteKey
from schemas.settings import IdentitySwitches, ScanSettings, Settings
from schemas.shape import offences_in
from tasks.freeze import read_plan
from tasks.scan.browser import BrowserBuild, find_browser
from tasks.scan.engine import read_engine
from tasks.scan.order import Parser
from tasks.scan.pins import check_pinned
from tasks.store import Store, read_source

URL = "--url"
MANIFEST_FORM = "a JSON manifest: a list of addresses and entries, or an object with `routes`"


@dataclass(frozen=True, slots=True)
class Question:
    """One address, and all that a visit to it needs.

    Attributes:
        routes: that are known beside it: a page may lead to one of them.
        is_explained: every step is told, not only how it ended.
    """

    route: PlannedRoute
    routes: tuple[PlannedRoute, ...]
    scan: ScanSettings
    engine: EngineBuild
    identity: IdentitySwitches
    build: BrowserBuild
    is_explained: bool


def is_question(words: Sequence[str]) -> bool:
    """Whether arguments ask for one address and not for a shard."""
    return any(word == URL or word.startswith(f"{URL}=") for word in words)


def parse_question(words: Sequence[str]) -> Question:
    """Read what is asked.

    Raises:
        ContractError: an argument, the manifest, the run or the browser is not what it should be.
    """
    parser = Parser(prog="python -m tasks.scan", description="Visit one address as a shard does, and store nothing.")
    parser.add_argument(URL, required=True, help="the address; secrets as {{secret:NAME}}")
    parser.add_argument("--explain", action="store_true", help="print every step and what was seen")
    parser.add_argument("--auth", help="the auth profile")
    parser.add_argument("--ready", help="CSS selector, instead of the one in the manifest")
    parser.add_argument("--ready-when", help="JavaScript expression, instead of the one in the manifest")
    parser.add_argument("--manifest", help="a JSON manifest with an entry for the address")
    parser.add_argument("--store", help="with --estate and --run-id: route and settings as this run was planned")
    parser.add_argument("--estate")
    parser.add_argument("--run-id")
    parser.add_argument("--browser", help="path of the browser")
    asked = parser.parse_args(list(words))
    given = [asked.store, asked.estate, asked.run_id]
    if any(given) and (asked.manifest or not all(given)):
        raise bad_input("python -m tasks.scan", "names part of a run, or a run and a manifest",
                        "--store, --estate and --run-id together, or --manifest, or neither")
    offences = address_offences(asked.url, URL, IdentitySwitches())
    if offences:
        raise ContractError(offences)
    question = _of_run(asked) if asked.run_id else _of_manifest(asked)
    changes = {name: value for name in ("ready", "ready_when") if (value := getattr(asked, name)) is not None}
    return replace(question, route=replace(question.route, **changes)) if changes else question


def _of_run(asked: Namespace) -> Question:
    run = EstateLayout(asked.estate).run(asked.run_id)
    try:
        plan = read_plan(Store(asked.store), run)
    except (FileNotFoundError, IntegrityError) as error:
        raise bad_input(f"run {asked.run_id}", f"has no plan that can be read ({error})", "a planned run") from None
    key = RouteKey(identity_of(asked.url, plan.header.identity), asked.auth)
    routes = {row.key: row for row in plan.routes}
    if key not in routes:
        raise bad_input(URL, f"{key} is not in the plan of run {asked.run_id}", "an address of the plan",
                        "Name the auth profile too (`--auth`) if the route has one.")
    return Question(routes[key], plan.routes, plan.header.scan, plan.header.engine, plan.header.identity,
                    check_pinned(plan, asked.browser), asked.explain)


def _of_manifest(asked: Namespace) -> Question:
    switches, scan = IdentitySwitches(), ScanSettings()
    document: Any = _read_manifest(asked.manifest) if asked.manifest else [{"url": asked.url, "auth": asked.auth}]
    settings: Mapping[str, Any] = document if isinstance(document, Mapping) else {"routes": document}
    default = Journey(settings.get("default_journey", Journey.PRIMARY))
    entries = [entry_of(entry, f"routes[{index}]") for index, entry in enumerate(settings["routes"])]
    routes = {route.key: route for route in (_planned(entry, default, switches) for entry in entries)}
    key = RouteKey(identity_of(asked.url, switches), asked.auth)
    if key not in routes:
        raise bad_input(asked.manifest, f"has no entry for {key}", "one for the address that is asked for",
                        "Name the auth profile too (`--auth`) if the entry has one.")
    scan = replace(scan, hosts=tuple(settings.get("hosts", ())))
    return Question(routes[key], tuple(routes.values()), scan, read_engine(scan.engine_path, scan.rules), switches,
                    find_browser(asked.browser), asked.explain)


def _read_manifest(path: str) -> Any:
    try:
        document = json.loads(read_source(path).decode("utf-8-sig"))
    except ValueError:
        raise bad_input(path, "is no JSON", MANIFEST_FORM) from None
    check_not_newer(document, MANIFEST_FORMAT, path)
    offences = offences_in("manifest", document, path)
    if offences:
        raise ContractError(offences)
    return document


def _planned(entry: ManifestEntry, default: Journey, switches: IdentitySwitches) -> PlannedRoute:
    """Return an entry as the row of a plan that has no other."""
    key = RouteKey(identity_of(entry.url, switches), entry.auth)
    return PlannedRoute(
        task_id=key.task_id, route=key.route, auth=key.auth, url=entry.url, aliases=(),
        journey=(entry.journey or default).value, journey_is_explicit=entry.journey is not None, priority=0,
        owner=entry.owner, tags=entry.tags, ready=entry.ready, expect_status=entry.expect.status,
        expect_url=entry.expect.url, expect_title=entry.expect.title, expect_selector=entry.expect.selector,
        shard_index=0, position=0, load_ms=0, has_history=False, deadline_ms=2 * Settings().route_deadline_min_ms,
        was_html=False, ready_when=entry.ready_when, actions=actions_text(entry.actions))
