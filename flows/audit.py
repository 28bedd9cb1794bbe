"""The flow: plan, scan the shards, fold.

Here: the sentence that says the order, and the three Prefect tasks, each a few lines over `journey.py`. Not here: what
a leg of the journey does. Between tasks travel names and small facts; tables stay in the store. No Prefect cache is
used: a retry of the flow run finds in the store what is done and scans the rest.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from prefect import flow, task, unmapped
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.futures import PrefectFuture, wait
from prefect.logging import get_run_logger
from prefect.runtime import deployment, flow_run
from prefect.states import Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.tasks import Task

from flows import artifacts
from flows.journey import PlannedRun, ShardBrief, fold_run, plan_run, scan_shard_of
from flows.lease import leased
from flows.live import shown_live
from flows.orphan import outlive_readers
from flows.request import AuditRequest
from flows.secret_blocks import read_secret_blocks
from flows.settings import capacity_of, require_lasting_places, settings_in_force
from schemas.errors import ContractError
from schemas.plural import plural
from schemas.shard_fault import ShardFault
from schemas.verdict import Verdict, VerdictKind
from tasks.scan.watch import STOP, STOP_GRACE_SECONDS, CancelledError, ShardReport

RETRY_DELAYS_SECONDS = [2.0, 10.0]
SHOWN_ADDRESSES = 5
SETTINGS, _ = settings_in_force()
if flow_run.get_id() is not None:  # a worker's process, and no command line
    outlive_readers()  # here, for Prefect logs lines of its own before the flow's body runs


def is_worth_a_retry(_task: "Task[..., Any]", _task_run: TaskRun, state: "State[Any]") -> bool:
    """Say whether a failed shard is tried again at once: only where its process died."""
    if state.name in ("Unsettled", "Refused"):
        return False
    error = state.result(raise_on_failure=False)
    return not isinstance(error, ContractError | CancelledError)


RUNNER: Any = ThreadPoolTaskRunner(max_workers=capacity_of(SETTINGS).shards_at_once)


@flow(name="audit-estate", task_runner=RUNNER, persist_result=False)
def audit_estate(request: AuditRequest) -> "State[Any]":
    """Audit an estate: every route ends in one outcome, and one gate decides on the whole."""
    try:
        run = plan_audit(request)
    except ContractError as error:
        return Failed(name="BadInput", message=str(error))
    with shown_live(run) as live, leased(run.ref):
        shards = scan_shard.map(run.shards, run=unmapped(run))
        with stopped_first(shards):
            wait(shards)
        verdict = fold_estate(run, faults_of(shards, run.shards))
    return state_of(verdict, run.ref.run_id if live.had_nothing_open else None)


@task(name="plan audit", cache_policy=NO_CACHE, persist_result=False)
def plan_audit(request: AuditRequest) -> PlannedRun:
    """Load, normalize and plan; or find the plan of this run where it is a retry."""
    run_id, began = str(flow_run.get_id()), time.monotonic()
    if deployment.get_id() is not None:
        require_lasting_places(SETTINGS)
    run = plan_run(request, request.run_id or run_id, f"{run_id}:{flow_run.get_run_count()}")
    get_run_logger().info("planned run %s of estate %s: %s in %s, %d ms", run.ref.run_id, run.ref.estate,
                          plural(sum(shard.route_count for shard in run.shards), "route"),
                          plural(len(run.shards), "shard"), ms_since(began))
    artifacts.show_plan(run)
    return run


@task(name="scan shard", task_run_name="scan {shard.title}", cache_policy=NO_CACHE, persist_result=False,
      retries=SETTINGS.shard_retries, retry_delay_seconds=RETRY_DELAYS_SECONDS, retry_jitter_factor=0.3,
      retry_condition_fn=is_worth_a_retry)
def scan_shard(shard: ShardBrief, run: PlannedRun) -> "State[Any]":
    """Scan what is open in one shard, in a process of its own."""
    if STOP.is_set():
        raise CancelledError(shard.title, "not begun: the flow is ending")
    began = time.monotonic()
    try:
        report = scan_shard_of(run, shard.shard_index, read_secret_blocks(SETTINGS.secret_blocks))
    except ContractError as error:
        return Failed(name="Refused", message=f"{shard.title} refused to scan: {error}")
    get_run_logger().info("%s: %s; planned %d ms, took %d ms", shard.title, counted(report.counts),
                          shard.lasts_ms(report.planned_ms), ms_since(began))
    if report.is_settled:
        return Completed(message=f"{shard.title}: {counted(report.counts)}")
    return Failed(name="Unsettled", message=unsettled_message(shard, report))


@task(name="fold estate", cache_policy=NO_CACHE, persist_result=False)
def fold_estate(run: PlannedRun, shard_faults: Sequence[ShardFault]) -> Verdict:
    """Converge what the shards left in the store, learn, decide, publish."""
    began = time.monotonic()
    verdict = fold_run(run.ref, shard_faults)
    get_run_logger().info("decided on %s: %s, %s, %d ms", plural(verdict.coverage.planned_count, "route"),
                          verdict.kind.value, plural(verdict.finding_count, "finding"), ms_since(began))
    artifacts.show_fold(run, verdict)
    return verdict


@contextmanager
def stopped_first(shards: "Sequence[PrefectFuture[Any]]") -> Iterator[None]:
    """Let whatever ends the flow early (Cancel in the UI, a pod's SIGTERM) first stop the shards: they keep their work.

    Prefect turns the signal into an exception in this thread; shards are watched from others, which it does not reach.
    """
    try:
        yield
    except BaseException:
        STOP.set()
        wait(list(shards), timeout=STOP_GRACE_SECONDS)
        raise


def faults_of(shards: "Sequence[PrefectFuture[Any]]", briefs: Sequence[ShardBrief]) -> list[ShardFault]:
    """Say of each shard whose task did not complete why; the store is asked about the routes, never a future."""
    faults = []
    for future, brief in zip(shards, briefs, strict=True):
        if not future.state.is_completed() and future.state.name != "Unsettled":
            text = f"{brief.title}: {future.state.name}: {future.state.message or 'no message'}"
            faults.append(ShardFault(brief.shard_index, text[:500]))
    return faults


def unsettled_message(shard: ShardBrief, report: ShardReport) -> str:
    """Say which routes of a shard are not settled, why and what to do about it, with the tail of its log."""
    count = sum(len(group.addresses) for group in report.unsettled)
    lines = [f"{shard.title}: {plural(count, 'route')} not settled; Retry scans nothing else."]
    for group in report.unsettled:
        named, more = group.addresses[:SHOWN_ADDRESSES], len(group.addresses) - SHOWN_ADDRESSES
        lines.append(f"{len(group.addresses)} {group.why}: " + ", ".join(named)
                     + (f" and {more} more" if more > 0 else ""))
        lines += [f"    {group.how_to_fix}"] if group.how_to_fix else []
    return "\n".join([*lines, "log:", report.log_tail])


def counted(counts: Mapping[str, int]) -> str:
    """Say counts: `3 scanned, 1 timed_out`."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()) if count) or "nothing"


def state_of(verdict: Verdict, idle_run_id: str | None = None) -> "State[Any]":
    """Return the flow's final state: a verdict that is not `passed` is Failed, under its own name.

    Args:
        idle_run_id: of a run in which nothing was open to scan; the state then says what helps instead of a retry.
    """
    message = verdict.summary
    if idle_run_id is not None:
        message += ("\nEvery route was settled before: there is nothing to rescan, and Retry changes nothing. To judge "
                    f"this run by another policy: fanfold gate {idle_run_id} --policy FILE. To see a site that was "
                    "mended: start a new run.")
    if verdict.kind is VerdictKind.PASSED:
        return Completed(message=message)
    return Failed(name=verdict.flow_state, message=message)


def ms_since(began: float) -> int:
    """Return the milliseconds since a moment of the monotonic clock."""
    return round((time.monotonic() - began) * 1_000)
