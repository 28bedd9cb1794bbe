"""A run and what it is judged by, put together for the gate; and gating a folded run again.

Here: reading what the shards left as one dataset, and the gate's input. Not here: the first fold (`journey.py`), the
files (`judged.py`), deciding (`tasks/gate`), baselines (`baselines.py`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flows.gathering import Gathering
from flows.judged import Judged, NamedFile, named_baseline, named_file, stored_judged
from schemas.converged import Converged
from schemas.errors import bad_input
from schemas.evidence import Evidence
from schemas.gate_input import GateInput
from schemas.layout import RunLayout
from schemas.plan import Plan
from schemas.shard_fault import ShardFault
from schemas.verdict import Verdict, from_document
from tasks.collect import collect
from tasks.converge import converge
from tasks.freeze import BASELINE_FILE, POLICY_FILE, SUPPRESSIONS_FILE, read_plan
from tasks.gate import decide_verdict, explain_route
from tasks.gate.explain import RouteExplanation
from tasks.publish import publish_verdict_beside
from tasks.store import Store


@dataclass(frozen=True, slots=True)
class GatheredRun:
    """What the shards of a run left, as one dataset."""

    plan: Plan
    evidence: Evidence
    converged: Converged


@dataclass(frozen=True, slots=True)
class Judgement:
    """A run gated again.

    Attributes:
        explanation: of the route that was asked for. key: the file that keeps the verdict, where other files than the
            run's own judged it.
    """

    verdict: Verdict
    explanation: tuple[RouteExplanation, ...] = ()
    key: str | None = None


def gather_run(store: Store, run: RunLayout, tolerated: Collection[str] = ()) -> GatheredRun:
    """Read plan and evidence of a run and converge them.

    Args:
        tolerated: parts that a scanned route may lack under the policy: it is then not owed another scan.

    Raises:
        IntegrityError: the plan of the run is broken.
    """
    plan = read_plan(store, run)
    evidence = collect(store, run, plan)
    return GatheredRun(plan, evidence, converge(plan, evidence, tolerated))


def gate_input(run: GatheredRun, judged: Judged, now: str, shard_faults: Sequence[ShardFault] = ()) -> GateInput:
    """Put together what the gate decides on.

    Args:
        now: ISO 8601 in UTC. shard_faults: what ended shards other than by a receipt; it makes the run incomplete.
    """
    return GateInput(
        plan=run.plan, converged=run.converged, receipts=run.evidence.receipts, now=now, policy=judged.policy,
        suppressions=judged.suppressions, baseline=judged.baseline, digests=judged.digests,
        stray_attempts=run.evidence.stray_attempts, shard_faults=tuple(shard_faults))


def folded_input(store: Store, run: RunLayout, now: str, others: Mapping[str, NamedFile] | None = None) -> GateInput:
    """Put together what the gate decides on for a run that was folded before.

    Args:
        others: files that take the place of those frozen with the plan, by their names in the run folder.

    Raises:
        ContractError: the run is not folded, or its content was pruned; a file breaks its schema.
    """
    document = folded_document(store, run)
    check_not_pruned(store, run)
    gathered = gather_run(store, run)
    named = document.get("receipts", {})  # one that is lost makes the run incomplete; another one is other evidence
    if any(named.get(index) != name for index, name in receipt_names(gathered.evidence).items()):
        raise bad_input(f"run {run.run_id}", "has other receipts than its verdict names: shards ran since",
                        "a run that was folded after its last shard", f"`fanfold fold {run.run_id}` folds it.")
    faults = lasting_faults(store, run, gathered.evidence)
    return gate_input(gathered, stored_judged(store, run, gathered.plan.header.engine, others), now, faults)


def check_not_pruned(store: Store, run: RunLayout) -> None:
    """Refuse a run whose verdict stands but whose partials were pruned: folding it again would lose everything.

    Raises:
        ContractError: it was pruned.
    """
    if not store.exists(run.file("verdict.json")) or store.names(run.file("partials")):
        return
    if store.read_json(run.file("verdict.json")).get("receipts"):
        raise bad_input(f"run {run.run_id}", "was pruned: what its shards left is gone", "a run with its partials",
                        "Its verdict stands: `fanfold show` prints it.")


def receipt_names(evidence: Evidence) -> dict[str, str]:
    """Return the attempt of each chosen receipt, by shard, as the verdict stores it."""
    return {str(index): receipt.attempt_name for index, receipt in sorted(evidence.receipts.items())}


def lasting_faults(store: Store, run: RunLayout, evidence: Evidence) -> list[ShardFault]:
    """Return the shard faults of the last fold that no newer receipt of the shard has answered.

    A refusal or a death is not undone by folding or judging again, only by a shard that ends.
    """
    if not store.exists(run.file("verdict.json")):
        return []
    document = store.read_json(run.file("verdict.json"))
    named = document.get("receipts", {})
    newer = {index for index, name in receipt_names(evidence).items() if named.get(index) != name}
    return [fault for fault in from_document(document).shard_faults if str(fault.shard_index) not in newer]


def folded_document(store: Store, run: RunLayout) -> dict[str, Any]:
    """Read the verdict of a run.

    Raises:
        ContractError: the run is not folded yet.
    """
    key = run.file("verdict.json")
    if not store.exists(key):
        raise bad_input(f"run {run.run_id}", "is not folded yet", "a run with a verdict",
                        f"`fanfold fold {run.run_id}` folds it.")
    document: dict[str, Any] = store.read_json(key)
    return document


def gate_again(
    store: Store, run: RunLayout, now: str, policy: str | None = None, suppressions: str | None = None,
    baseline: str | None = None, explain: str | None = None,
) -> Judgement:
    """Gate a folded run again.

    Under the files that were frozen with it nothing is written: the verdict is there. Under others the new verdict is
    written beside the first.

    Args:
        now: ISO 8601 in UTC. policy, suppressions, baseline: files in place of the run's own.
        explain: address of a route to explain.

    Raises:
        ContractError: the run cannot be gated again; a file is absent, breaks its schema, or cannot be compared; the
            plan has no such route. Nothing is written then.
    """
    others = _read_others({POLICY_FILE: policy, SUPPRESSIONS_FILE: suppressions, BASELINE_FILE: baseline})
    given = folded_input(store, run, now, others)
    verdict = decide_verdict(given)
    explanation = explain_route(given, explain) if explain is not None else ()
    if not others:
        return Judgement(verdict, explanation)
    document = folded_document(store, run)
    stored: dict[str, object] = {name: document[name] for name in ("tables", "receipts") if name in document}
    return Judgement(verdict, explanation, publish_verdict_beside(store, run, verdict, stored))


def _read_others(paths: Mapping[str, str | None]) -> dict[str, NamedFile]:
    gathering = Gathering()
    found = {name: gathering.take(partial(named_baseline if name == BASELINE_FILE else named_file, path))
             for name, path in paths.items() if path is not None}
    gathering.check()
    return {name: file for name, file in found.items() if file is not None}
