"""The journey in three legs, without Prefect: plan a run, scan a shard, fold the run.

Here: which stage follows which, and what each is given (clock, ids, settings). The Prefect tasks (`audit.py`) and the
command line (`cli.py`) both call these. Not here: what a stage does (`tasks/`).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version

from flows.inputs import read_inputs, stored_samples
from flows.judged import stored_judged
from flows.judging import check_not_pruned, gate_input, gather_run, lasting_faults
from flows.progress import in_words, listener
from flows.report_run import folded_material, write_report
from flows.request import AuditRequest
from flows.runs import RunRef, check_same_files, check_same_run, find_run, last_full_run
from flows.settings import capacity_of, settings_in_force
from schemas.baseline import usable_baseline
from schemas.errors import ContractError
from schemas.layout import EstateLayout, id_offence
from schemas.plan import Plan
from schemas.plural import plural
from schemas.rescan import check_rescan, parse_rescan
from schemas.settings import Settings
from schemas.shard_fault import ShardFault
from schemas.verdict import Verdict
from tasks.commit import Shelf
from tasks.freeze import read_header, read_plan, write_plan
from tasks.gate import decide_verdict
from tasks.learn import fold_timings, samples_of, timing_rows
from tasks.load import environment_warnings
from tasks.normalize import normalize
from tasks.plan import PlanRequest, make_plan
from tasks.plan.pace import Places
from tasks.publish import Publication, publish
from tasks.scan.browser import find_browser
from tasks.scan.clock import utc_now
from tasks.scan.credentials import Credentials, check_access
from tasks.scan.order import ShardOrder
from tasks.scan.selectors import check_selectors
from tasks.scan.watch import ShardReport, next_attempt_name, watch_shard
from tasks.store import Store


@dataclass(frozen=True, slots=True)
class ShardBrief:
    """What a person reads of a shard before it runs.

    Attributes:
        load_ms: what its visits are thought to take, one after the other. in_flight: routes at once.
    """

    shard_index: int
    shard_count: int
    route_count: int
    load_ms: int
    in_flight: int = 1

    def lasts_ms(self, load_ms: int) -> int:
        """Return how long the shard is thought to need for a load."""
        return round(load_ms / max(1, min(self.in_flight, self.route_count)))

    @property
    def title(self) -> str:
        """Name of its task run: `shard-0003 of 8 · 412 routes · about 4 min`."""
        return (f"shard-{self.shard_index:04d} of {self.shard_count} · {plural(self.route_count, 'route')} · "
                f"about {in_words(self.lasts_ms(self.load_ms))}")


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A planned run as it travels between tasks: names and small facts.

    Attributes:
        flow_attempt: tells attempts of the flow apart; deaths of shard processes are counted within one.
        started_at: of this attempt, ISO 8601: a run budget starts anew with it.
        not_tested: exclusions of elements, for people.
    """

    ref: RunRef
    plan_id: str
    shards: tuple[ShardBrief, ...]
    flow_attempt: str
    started_at: str
    run_budget_ms: int | None = None
    rescan: tuple[str, ...] = ()
    not_tested: tuple[str, ...] = ()


def plan_run(
    request: AuditRequest, run_id: str, flow_attempt: str, *, is_browser_needed: bool = True,
    is_first_look: bool = False,
) -> PlannedRun:
    """Load, normalize and plan a run, and freeze the plan; a run that is there already is taken as it stands.

    Args:
        run_id: of the run. flow_attempt: tells attempts of the flow apart.
        is_first_look: a person asks now, so the files that are named must be those of the run's snapshot. A retry by
            Prefect asks with the words of before, and the snapshot stands whatever became of the files.
        is_browser_needed: pin the browser of this machine; without one, the receipts must agree among themselves.

    Raises:
        ContractError: bad input of any kind; nothing was written.
    """
    rescan = parse_rescan(request.rescan)
    settings, _ = settings_in_force()
    now = utc_now()
    offence = id_offence(run_id, "run id")
    if offence:
        raise ContractError([offence])
    browser = find_browser(settings.browser) if is_browser_needed else None
    store = Store(settings.store)
    found = find_run(store, run_id, request.estate or settings.estate)
    if found is None:
        plan, snapshot = make_new_plan(request, run_id, settings, store, now, browser.version if browser else None)
        header, ref = plan.header, RunRef(settings.store, plan.header.estate, run_id)
        if browser:
            check_access(plan.routes, Credentials(os.environ), settings.secret_blocks)
            check_selectors(browser, header.scan)
        check_rescan(rescan, plan)
        store.check_writable()
        write_plan(store, ref.layout, plan, snapshot)
        for warning in environment_warnings(os.environ):
            listener().stage(f"warning: {warning}")
        listener().stage(f"planned {plural(header.route_count, 'route')} in {plural(header.shard_count, 'shard')}")
    else:
        header, ref = read_header(store, found), RunRef(settings.store, found.estate, run_id)
        check_same_run(request, settings_in_force(source=header.source_settings)[0], header)
        check_not_pruned(store, found)
        if rescan:
            check_rescan(rescan, read_plan(store, found))
        if is_first_look:
            check_same_files(request, store, found)
    capacity = capacity_of(settings)
    listener().planned(header, capacity.shards_at_once)
    briefs = tuple(ShardBrief(load.shard_index, header.shard_count, load.route_count, load.load_ms, capacity.in_flight)
                   for load in header.shards)
    budget_ms = request.run_budget_s * 1_000 if request.run_budget_s else settings.run_budget_ms
    return PlannedRun(ref, header.plan_id, briefs, flow_attempt, now, budget_ms, tuple(request.rescan),
                      tuple(map(str, header.scan.exclude_elements)))


def make_new_plan(
    request: AuditRequest, run_id: str, settings: Settings, store: Store, now: str, browser: str | None
) -> tuple[Plan, dict[str, bytes]]:
    """Read all inputs and make the plan; nothing is written.

    Returns:
        The plan, and the files that the run will be judged by, as read.

    Raises:
        ContractError: bad input of any kind.
    """
    inputs = read_inputs(request, settings, store)
    capacity = capacity_of(settings)
    settings = replace(inputs.settings, shards=request.shards or settings.shards)
    normalized = normalize(inputs.manifest, settings)
    manifest = replace(inputs.manifest, entries=())  # a million entries would stay beside a million routes
    inputs = replace(inputs, manifest=manifest)
    last = last_full_run(store, inputs.estate)
    policy = inputs.judged.policy

    def accepted(route: str) -> tuple[str, str] | None:
        entry = policy.acceptance_for(route, now, is_case_folded=settings.identity.is_case_folded)
        return (entry.outcome.value, f"{entry.reason} ({entry.owner}, until {entry.until})") if entry else None

    plan = make_plan(PlanRequest(
        normalized=normalized, manifest=manifest, history=inputs.history, settings=settings,
        engine=inputs.engine, browser_version=browser, estate=inputs.estate, run_id=run_id,
        created_at=now, program_version=version("fanfold"), shards_at_once=capacity.shards_at_once,
        in_flight=capacity.in_flight, accepted=accepted,
        last_full_run_id=last.run_id if last else None, last_full_route_count=last.route_count if last else None,
        source_settings=inputs.of_source,
    ))
    usable_baseline(inputs.judged.baseline, policy.baseline, plan.header, inputs.judged.baseline_subject)
    return plan, inputs.judged.snapshot


def scan_shard_of(
    run: PlannedRun, shard_index: int, secret_values: Mapping[str, str] | None = None
) -> ShardReport:
    """Scan what is open in a shard, in a process of its own that is watched.

    Args:
        secret_values: secrets that its environment does not hold, by name; they travel on its standard input.

    Raises:
        TransientError: the process died. ContractError: it refused.
    """
    settings, _ = settings_in_force()
    capacity = capacity_of(settings)
    shelf = Shelf(Store(run.ref.store), run.ref.layout, run.plan_id, shard_index)
    order = ShardOrder(
        store=run.ref.store, estate=run.ref.estate, run_id=run.ref.run_id, shard_index=shard_index,
        attempt_name=next_attempt_name(shelf), flow_attempt=run.flow_attempt, in_flight=capacity.in_flight,
        per_host=Places(capacity.shards_at_once, capacity.in_flight, settings.per_host).host_part,
        budget_ms=budget_left_ms(run, utc_now()), browser=settings.browser, rescan=run.rescan, is_watched=True,
    )
    return watch_shard(shelf, order, settings.route_deadline_max_ms,
                       on_event=lambda event: listener().shard_event(shard_index, event), secret_values=secret_values)


def fold_run(ref: RunRef, shard_faults: Sequence[ShardFault] | None = None) -> Verdict:
    """Collect, converge, learn, decide, report and publish a run.

    Args:
        shard_faults: what ended shards other than by a receipt; it makes the run incomplete. None, where nobody
            watched the shards, keeps those of the last fold that no newer receipt answers.

    Raises:
        IntegrityError: the plan of the run is broken. ContractError: what the shards left was pruned.
    """
    store, layout = Store(ref.store), EstateLayout(ref.estate)
    check_not_pruned(store, ref.layout)
    judged = stored_judged(store, ref.layout, read_header(store, ref.layout).engine)
    gathered = gather_run(store, ref.layout, judged.policy.tolerated_parts)
    if shard_faults is None:
        shard_faults = lasting_faults(store, ref.layout, gathered.evidence)
    plan, evidence, converged = gathered.plan, gathered.evidence, gathered.converged
    listener().stage(f"folded {plural(len(converged.outcomes), 'route')}, {plural(len(converged.findings), 'finding')}")
    samples = samples_of(converged.outcomes, ref.run_id)
    known = stored_samples(store, layout)
    earlier = [sample for sample in known.samples if sample.run_id != ref.run_id]
    verdict = decide_verdict(gate_input(gathered, judged, utc_now(), shard_faults))
    write_report(store, ref.layout, folded_material(store, ref.layout, plan, evidence, converged, verdict))
    publish(store, ref.layout, Publication(
        plan, evidence, converged, verdict, samples, timing_rows(fold_timings([*earlier, *samples])),
        sorted(known.run_ids | {ref.run_id})))
    return verdict


def budget_left_ms(run: PlannedRun, now: str) -> int | None:
    """Return what is left of the run's budget in this attempt of the flow, at least 1 ms."""
    if run.run_budget_ms is None:
        return None
    spent = datetime.fromisoformat(now) - datetime.fromisoformat(run.started_at)
    return max(1, run.run_budget_ms - round(spent.total_seconds() * 1000))
