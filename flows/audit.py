"""The flow: plan, scan the shards, fold.

Here: the sentence that says the order, and the three Prefect tasks, each a few lines over `journey.py`. Not here: what
a leg of the journey does. Between tasks travel names and small facts; tables stay in the store. No Prefect cache is
used: a retry of the flow run finds in the store what is done and scans the rest.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from prefect import flow, task, unmapped
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.futures import PrefectFuture, wait
from prefect.runtime import flow_run
from prefect.states import Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.tasks import Task

from flows import artifacts
from flows.journey import PlannedRun, ShardBrief, fold_run, plan_run, scan_shard_of
from flows.lease import leased
from flows.request import AuditRequest
from flows.settings import capacity_of, settings_in_force
from schemas.errors import ContractError
from schemas.verdict import Verdict, VerdictKind
from tasks.scan.watch import CancelledError, ShardReport

RETRY_DELAYS_SECONDS = [2.0, 10.0]
SETTINGS, _ = settings_in_force()


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
    with leased(run.ref):
        shards = scan_shard.map(run.shards, run=unmapped(run))
        wait(shards)
        verdict = fold_estate(run, faults_of(shards, run.shards))
    return state_of(verdict)


@task(name="plan audit", cache_policy=NO_CACHE, persist_result=False)
def plan_audit(request: AuditRequest) -> PlannedRun:
    """Load, normalize and plan; or find the plan of this run where it is a retry."""
    run_id = str(flow_run.get_id())
    run = plan_run(request, request.run_id or run_id, f"{run_id}:{flow_run.get_run_count()}")
    artifacts.show_plan(run)
    return run


@task(name="scan shard", task_run_name="scan {shard.title}", cache_policy=NO_CACHE, persist_result=False,
      retries=SETTINGS.shard_retries, retry_delay_seconds=RETRY_DELAYS_SECONDS, retry_jitter_factor=0.3,
      retry_condition_fn=is_worth_a_retry)
def scan_shard(shard: ShardBrief, run: PlannedRun) -> "State[Any]":
    """Scan what is open in one shard, in a process of its own."""
    try:
        report = scan_shard_of(run, shard.shard_index)
    except ContractError as error:
        return Failed(name="Refused", message=f"{shard.title} refused to scan: {error}")
    if report.is_settled:
        return Completed(message=f"{shard.title}: {counted(report.counts)}")
    return Failed(name="Unsettled", message=unsettled_message(shard, report))


@task(name="fold estate", cache_policy=NO_CACHE, persist_result=False)
def fold_estate(run: PlannedRun, shard_faults: Sequence[str]) -> Verdict:
    """Converge what the shards left in the store, learn, decide, publish."""
    verdict = fold_run(run.ref, shard_faults)
    artifacts.show_verdict(run, verdict)
    return verdict


def faults_of(shards: "Sequence[PrefectFuture[Any]]", briefs: Sequence[ShardBrief]) -> list[str]:
    """Say of each shard whose task did not complete why; the store is asked about the routes, never a future."""
    faults = []
    for future, brief in zip(shards, briefs, strict=True):
        if not future.state.is_completed() and future.state.name != "Unsettled":
            faults.append(f"{brief.title}: {future.state.name}: {future.state.message or 'no message'}"[:500])
    return faults


def unsettled_message(shard: ShardBrief, report: ShardReport) -> str:
    """Say which routes of a shard are not settled and why, with the tail of its log."""
    count = sum(map(len, report.unsettled.values()))
    lines = [f"{shard.title}: {count} routes are not settled; Retry scans these and no others."]
    for outcome, addresses in sorted(report.unsettled.items()):
        lines.append(f"{len(addresses)} {outcome}: " + ", ".join(addresses[:5]) + (" …" if len(addresses) > 5 else ""))
    return "\n".join([*lines, "log:", report.log_tail])


def counted(counts: Mapping[str, int]) -> str:
    """Say counts: `3 scanned, 1 timed_out`."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()) if count) or "nothing"


def state_of(verdict: Verdict) -> "State[Any]":
    """Return the flow's final state: a verdict that is not `passed` is Failed, under its own name."""
    if verdict.kind is VerdictKind.PASSED:
        return Completed(message=verdict.summary)
    return Failed(name=verdict.flow_state, message=verdict.summary)
