"""Make the plan of a run.

Here: rows and header, from weighed routes and packed shards. Not here: weighing, sharing, packing (beside this module).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from schemas.action import actions_text
from schemas.engine import EngineBuild
from schemas.errors import bad_input
from schemas.exclusion import holds_for
from schemas.history import TimingHistory
from schemas.manifest import Manifest
from schemas.normalized import Normalized
from schemas.plan import Plan, PlanHeader, PlannedRoute, ShardLoad
from schemas.route import Route
from schemas.settings import Settings
from tasks.plan.pace import Places, budget_warnings, paced_load_ms, politeness_warnings
from tasks.plan.pack import Load, assign, pack_shards
from tasks.plan.share import Group, count_shards, share_shards
from tasks.plan.weigh import Weight, weigh_routes

Accepted = tuple[str, str]  # outcome, reason
Carried = tuple[str, str]  # run id, date of the scan


def nothing_accepted(_route: str) -> Accepted | None:
    """Accept no route as known to be broken."""
    return None


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """All that a plan is made from.

    Attributes:
        in_flight: routes that a shard scans at once.
        accepted: for the identity of a route, the outcome in which the policy accepts it and why, or None.
        scope: `full`, or `delta`, where the routes in `carried` (by `task_id`) keep the scan that they had: run, date.
        last_full_run_id, last_full_route_count: what a shrunken estate is compared with.
        source_settings: what of the settings came with the source.
    """

    normalized: Normalized
    manifest: Manifest
    history: TimingHistory
    settings: Settings
    engine: EngineBuild
    browser_version: str | None
    estate: str
    run_id: str
    created_at: str
    program_version: str
    shards_at_once: int
    in_flight: int = 1
    accepted: Callable[[str], Accepted | None] = nothing_accepted
    scope: str = "full"
    carried: Mapping[str, Carried] = field(default_factory=dict)
    last_full_run_id: str | None = None
    last_full_route_count: int | None = None
    source_settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Item:
    """A route on its way to a shard."""

    task_id: str
    route: Route
    weight: Weight

    @property
    def scan_order(self) -> tuple[int, int, tuple[str, str]]:
        return (self.route.priority, -self.weight.load_ms, self.route.key.order)


def make_plan(request: PlanRequest) -> Plan:
    """Make the plan: every route once, balanced by what is known, the same for the same input in any order.

    Without any usable history routes go to shards by the hash of their key. Within a shard priority comes first, then
    the heaviest, then the key.

    Raises:
        ContractError: no route is in scope.
        IntegrityError: the plan does not hold against itself.
    """
    routes = {route.key.task_id: route for route in sorted(request.normalized.routes, key=lambda r: r.key.order)}
    weights = weigh_routes(routes, request.history, request.settings)
    items = [_Item(task_id, route, weights.of[task_id]) for task_id, route in routes.items()]
    in_scope = [item for item in items if item.task_id not in request.carried]
    if not in_scope:
        raise bad_input(request.manifest.source, f"no route is in the scope of this {request.scope} run",
                        "at least one route to scan")
    filled, reason = _fill_shards(in_scope, request.settings.shards, request.shards_at_once)
    shards = [[_row(item, (index, position), request) for position, item in enumerate(shard)]
              for index, shard in enumerate(filled)]
    out_of_scope = (item for item in items if item.task_id in request.carried)
    carried = [_row(item, (0, position), request)  # the fold needs their rows; the first shard does not scan them
               for position, item in enumerate(out_of_scope, len(shards[0]))]
    rows = (*shards[0], *carried, *chain.from_iterable(shards[1:]))
    plan = Plan(_header(request, shards, reason, weights.warnings), rows).sealed()
    plan.check(plan.header.plan_id)
    return plan


def _fill_shards(items: Sequence[_Item], asked: int | None, shards_at_once: int) -> tuple[list[list[_Item]], str]:
    """Return the shards, each in scan order, and why there are so many."""
    by_auth: dict[str | None, list[_Item]] = {}
    for item in sorted(items, key=lambda item: item.route.key.auth or ""):
        by_auth.setdefault(item.route.key.auth, []).append(item)
    groups = {auth: Group(len(group), sum(item.weight.load_ms for item in group)) for auth, group in by_auth.items()}
    count, reason = count_shards(groups, asked, shards_at_once)
    shares = share_shards(groups, count)
    pack = _pack_by_load if any(item.weight.has_history for item in items) else _pack_by_hash
    filled = [shard for auth, group in by_auth.items() for shard in pack(group, shares[auth])]
    shards = [sorted(shard, key=lambda item: item.scan_order) for shard in filled if shard]
    if len(shards) < count:
        reason += f", {len(shards)} in use: the hash left {count - len(shards)} empty"
    return shards, reason


def _pack_by_load(items: Sequence[_Item], shard_count: int) -> list[list[_Item]]:
    by_key = {item.route.key.text: item for item in items}
    packed = pack_shards([Load(key, item.weight.load_ms) for key, item in by_key.items()], shard_count)
    return [[by_key[load.key] for load in shard] for shard in packed]


def _pack_by_hash(items: Sequence[_Item], shard_count: int) -> list[list[_Item]]:
    shards: list[list[_Item]] = [[] for _ in range(shard_count)]
    for item in items:
        shards[assign(item.route.key.text, shard_count)].append(item)
    return shards


def _row(item: _Item, place: tuple[int, int], request: PlanRequest) -> PlannedRoute:
    route, weight = item.route, item.weight
    outcome, reason = request.accepted(route.key.route) or (None, None)
    run_id, date = request.carried.get(item.task_id, (None, None))
    return PlannedRoute(
        task_id=item.task_id, route=route.key.route, auth=route.key.auth, url=route.url, aliases=route.aliases,
        journey=route.journey.value, journey_is_explicit=route.journey_is_explicit, priority=route.priority,
        owner=route.owner, tags=route.tags, ready=route.ready, expect_status=route.expect.status,
        expect_url=route.expect.url, expect_title=route.expect.title, expect_selector=route.expect.selector,
        shard_index=place[0], position=place[1], load_ms=weight.load_ms, has_history=weight.has_history,
        deadline_ms=weight.deadline_ms, was_html=weight.was_html, accepted_outcome=outcome, accepted_reason=reason,
        is_in_scope=run_id is None, carried_from_run_id=run_id, carried_date=date,
        ready_when=route.ready_when, actions=actions_text(route.actions) if route.actions else None,
    )


def _idle_exclusions(settings: Settings, rows: Sequence[PlannedRoute]) -> Iterator[str]:
    """Say which exclusions of elements hold for no route of the plan."""
    is_case_folded = settings.identity.is_case_folded
    for one in settings.scan.exclude_elements:
        if not any(holds_for(one, row.route, is_case_folded=is_case_folded) for row in rows):
            yield f"the exclusion of elements `{one}` holds for no route"


def _header(
    request: PlanRequest, shards: Sequence[Sequence[PlannedRoute]], reason: str, warnings: tuple[str, ...]
) -> PlanHeader:
    """Make the header; shards are without the routes that are carried."""
    settings, normalized, manifest = request.settings, request.normalized, request.manifest
    places = Places(request.shards_at_once, request.in_flight, settings.per_host)
    loads = tuple(ShardLoad(index, shard[0].auth, len(shard), sum(row.load_ms for row in shard))
                  for index, shard in enumerate(shards))
    total_ms = sum(load.load_ms for load in loads)
    rows = list(chain.from_iterable(shards))
    known_count = sum(row.has_history for row in rows)
    return PlanHeader(
        plan_id="", run_id=request.run_id, estate=request.estate, created_at=request.created_at,
        source=manifest.source, manifest_digest=manifest.digest, program_version=request.program_version,
        shard_count=len(shards), shard_count_reason=reason, method="lpt" if known_count else "hash",
        shards=loads, route_count=len(normalized.routes),
        makespan_ms=max(paced_load_ms(shard, places) for shard in shards),
        imbalance=round(max(load.load_ms for load in loads) * len(shards) / total_ms, 4),
        lower_bound_ms=max(-(-total_ms // len(shards)), *(row.load_ms for row in rows)),
        no_history_ratio=round(1 - known_count / len(rows), 4), scope=request.scope,
        identity=settings.identity, scan=settings.scan, engine=request.engine,
        browser_version=request.browser_version, excluded=normalized.excluded, source_failures=manifest.failures,
        warnings=(*manifest.warnings, *normalized.warnings, *warnings, *_idle_exclusions(settings, rows),
                  *politeness_warnings(shards, places), *budget_warnings(shards, places, settings.run_budget_ms)),
        last_full_run_id=request.last_full_run_id, last_full_route_count=request.last_full_route_count,
        source_counts=manifest.children, source_settings=request.source_settings,
    )
