"""The frozen plan of a run: which shard scans which route, and everything later stages need to stay pure.

Here: rows, header, and the plan's own check. Not here: packing (`tasks/plan/`), storing (`tasks/store.py`).
Next: each shard reads its rows (`tasks/scan/`), the fold compares with all of them (`tasks/converge/`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any

from schemas.action import Action, actions_in
from schemas.engine import EngineBuild, RuleInfo
from schemas.errors import IntegrityError
from schemas.manifest import SourceCount, SourceFailure
from schemas.plan_id import id_columns, plan_id_of
from schemas.route import Expectation, RouteKey
from schemas.settings import Exclusion, IdentitySwitches, ScanSettings

PLAN_FORMAT = 1


@dataclass(frozen=True, slots=True)
class PlannedRoute:
    """One row of `plan.parquet`.

    Attributes:
        position: place within the shard, from 0: priority first, then heaviest first.
        load_ms: what the route is thought to cost. has_history: whether that comes from its own samples.
        deadline_ms: the lease of one visit.
        was_html: a past run scanned it, so a file in its place is a wrong page.
        accepted_outcome: outcome in which the policy accepts the route as known to be broken.
        is_in_scope: False for a route that a delta run carries: it has a row, and no shard scans it.
        ready_when: expression that is true once the page is ready. actions: steps before that, as JSON (`steps`).
    """

    task_id: str
    route: str
    auth: str | None
    url: str
    aliases: tuple[str, ...]
    journey: str
    journey_is_explicit: bool
    priority: int
    owner: str | None
    tags: tuple[str, ...]
    ready: str | None
    expect_status: int | None
    expect_url: str | None
    expect_title: str | None
    expect_selector: str | None
    shard_index: int
    position: int
    load_ms: int
    has_history: bool
    deadline_ms: int
    was_html: bool
    accepted_outcome: str | None = None
    accepted_reason: str | None = None
    is_in_scope: bool = True
    carried_from_run_id: str | None = None
    carried_date: str | None = None
    ready_when: str | None = None
    actions: str | None = None

    @property
    def key(self) -> RouteKey:
        return RouteKey(self.route, self.auth)

    @property
    def expect(self) -> Expectation:
        return Expectation(self.expect_status, self.expect_url, self.expect_title, self.expect_selector)

    @property
    def steps(self) -> tuple[Action, ...]:
        return actions_in(self.actions)

    @property
    def texts_with_secrets(self) -> tuple[str | None, ...]:
        """What may name secrets that a scan of the route needs."""
        return (self.url, self.expect_url, self.actions)

    @property
    def is_described(self) -> bool:
        """Whether the manifest says what is on the page: then a file in its place is a wrong page."""
        return any((self.ready, self.ready_when, self.actions)) or not self.expect.is_empty


@dataclass(frozen=True, slots=True)
class ShardLoad:
    """What the plan gives to one shard, without the routes that a delta carries. No shard mixes profiles."""

    shard_index: int
    auth: str | None
    route_count: int
    load_ms: int


@dataclass(frozen=True, slots=True)
class Excluded:
    """An address that the manifest has and the plan leaves out, with the pattern that says so."""

    url: str
    pattern: str


@dataclass(frozen=True, slots=True)
class PlanHeader:
    """`plan.json`: written last, it commits the plan.

    Attributes:
        method: `lpt`, or `hash` where no history was usable.
        shard_count_reason: why there are so many shards, for people.
        makespan_ms: load of the heaviest shard, stretched where politeness holds its routes back.
        imbalance: heaviest shard over the mean. lower_bound_ms: no packing can have a smaller makespan.
        no_history_ratio: share of routes without usable samples.
        browser_version: None where the plan was made without a browser; then the receipts must agree.
        last_full_run_id, last_full_route_count: what `max_shrink` compares with.
        source_counts: sitemaps of an index that were read, each with how many addresses it lists.
        source_settings: what the source brought, by dotted key: resuming needs it, and the source is not read again.
    """

    plan_id: str
    run_id: str
    estate: str
    created_at: str
    source: str
    manifest_digest: str
    program_version: str
    shard_count: int
    shard_count_reason: str
    method: str
    shards: tuple[ShardLoad, ...]
    route_count: int
    makespan_ms: int
    imbalance: float
    lower_bound_ms: int
    no_history_ratio: float
    scope: str
    identity: IdentitySwitches
    scan: ScanSettings
    engine: EngineBuild
    browser_version: str | None
    excluded: tuple[Excluded, ...]
    source_failures: tuple[SourceFailure, ...]
    warnings: tuple[str, ...]
    last_full_run_id: str | None = None
    last_full_route_count: int | None = None
    source_counts: tuple[SourceCount, ...] = ()
    source_settings: Mapping[str, Any] = field(default_factory=dict)
    format_version: int = PLAN_FORMAT


@dataclass(frozen=True, slots=True)
class Plan:
    """Header and rows; rows are sorted by shard, then position."""

    header: PlanHeader
    routes: tuple[PlannedRoute, ...]

    def shard(self, shard_index: int) -> tuple[PlannedRoute, ...]:
        """Return the rows that a shard scans, in scan order."""
        return tuple(row for row in self.routes if row.shard_index == shard_index and row.is_in_scope)

    @property
    def computed_id(self) -> str:
        """The id that the records give; a stored plan of an older program is held to what it says (`plan_id_of`)."""
        columns = id_columns(item.name for item in fields(PlannedRoute))
        return plan_id_of(asdict(self.header), columns, map(attrgetter(*columns), self.routes))

    def sealed(self) -> "Plan":
        """Return the plan with its own id in the header."""
        return Plan(replace(self.header, plan_id=self.computed_id), self.routes)

    def check(self, stored_id: str | None = None) -> None:
        """Hold the plan against itself.

        Args:
            stored_id: id of the stored header and rows; None computes it from the records.

        Raises:
            IntegrityError: a route twice, a shard that is empty or unknown, or counts and id that do not add up.
        """
        faults = [*_route_faults(self.header, self.routes), *_shard_faults(self.header, self.routes)]
        if self.header.plan_id != (stored_id or self.computed_id):
            faults.append("plan_id is not the digest of the rows")
        if faults:
            raise IntegrityError("plan", "; ".join(faults))


def _route_faults(header: PlanHeader, routes: Sequence[PlannedRoute]) -> Iterator[str]:
    doubled_count = len(routes) - len({row.task_id for row in routes})
    if doubled_count:
        yield f"{doubled_count} routes are planned twice"
    foreign_count = sum(row.task_id != row.key.task_id for row in routes)
    if foreign_count:
        yield f"{foreign_count} routes have the task_id of another key"
    if len(routes) != header.route_count:
        yield f"{len(routes)} rows for {header.route_count} routes"
    places = map(attrgetter("shard_index", "position"), routes)
    if any(one > following for one, following in pairwise(places)):
        yield "rows are not sorted by shard and position"


def _shard_faults(header: PlanHeader, routes: Sequence[PlannedRoute]) -> Iterator[str]:
    if [s.shard_index for s in header.shards] != list(range(header.shard_count)) or header.shard_count == 0:
        yield "shard indexes are not 0 to shard_count - 1"
    if any(s.route_count == 0 for s in header.shards):
        yield "a shard is empty"
    counts: Counter[int] = Counter()
    loads: Counter[int] = Counter()
    for row in routes:
        if row.is_in_scope:
            counts[row.shard_index] += 1
            loads[row.shard_index] += row.load_ms
    if (counts, loads) != ({s.shard_index: s.route_count for s in header.shards},
                           {s.shard_index: s.load_ms for s in header.shards}):
        yield "shards of the rows are not the shards of the header"
    auths = {s.shard_index: s.auth for s in header.shards}
    if any(row.auth != auths.get(row.shard_index) for row in routes if row.is_in_scope):
        yield "a shard mixes auth profiles"


def header_of(document: Mapping[str, Any]) -> PlanHeader:
    """Return the header that a `plan.json` holds; the document is known to keep `plan.schema.json`."""
    scan = _frozen_values(document["scan"])
    scan["exclude_elements"] = tuple(Exclusion(**_frozen_values(one))
                                     for one in document["scan"].get("exclude_elements", ()))
    engine = {**document["engine"], "rules": tuple(RuleInfo(**_frozen_values(r)) for r in document["engine"]["rules"])}
    return PlanHeader(**{
        **document,
        "shards": tuple(ShardLoad(**shard) for shard in document["shards"]),
        "identity": IdentitySwitches(**_frozen_values(document["identity"])),
        "scan": ScanSettings(**scan),
        "engine": EngineBuild(**engine),
        "excluded": tuple(Excluded(**one) for one in document["excluded"]),
        "source_failures": tuple(SourceFailure(**one) for one in document["source_failures"]),
        "source_counts": tuple(SourceCount(**one) for one in document.get("source_counts", ())),
        "warnings": tuple(document["warnings"]),
    })


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _frozen_values(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _frozen(value) for name, value in record.items()}
