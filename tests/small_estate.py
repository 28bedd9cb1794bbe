"""A small estate made by hand: plans, receipts and evidence for tests of what happens after the scan.

Here: records with defaults that a test overrides. Not here: anything that a test asserts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from schemas.engine import EngineBuild, RuleInfo
from schemas.evidence import Evidence, Quarantined
from schemas.gate_input import GateInput
from schemas.occurrence import Occurrence, RuleClass, RuleResult, criteria_of, fingerprint_of
from schemas.outcome import Outcome, OutcomeKind
from schemas.plan import Plan, PlanHeader, PlannedRoute, ShardLoad
from schemas.policy import default_policy
from schemas.receipt import EndedBy, Receipt, TripleRef
from schemas.route import RouteKey
from schemas.settings import IdentitySwitches, ScanSettings
from schemas.shape import row_of, table_of
from tasks.converge import converge

SITE = "https://e.test"
FIRST = "attempt-1-00000001"
SECOND = "attempt-2-00000002"
RUN = {"estate": "shop", "run_id": "r1", "run_date": "2026-11-30"}
RULES = (
    RuleInfo("image-alt", ("cat.text-alternatives", "wcag2a", "wcag111", "section508", "EN-301-549"), is_on=True),
    RuleInfo("color-contrast", ("cat.color", "wcag2aa", "wcag143", "EN-301-549"), is_on=True),
    RuleInfo("region", ("cat.keyboard", "best-practice"), is_on=True),
    RuleInfo("color-contrast-enhanced", ("cat.color", "wcag2aaa", "wcag146"), is_on=False),
    RuleInfo("css-orientation-lock", ("cat.structure", "wcag21aa", "wcag134", "experimental"), is_on=False),
)
ENGINE = EngineBuild("4.12.1", "e" * 64, "{}", "0" * 64, RULES)
TAGS = {rule.rule: rule.tags for rule in RULES}


def route(path: str, shard_index: int = 0, auth: str | None = None, **changes: Any) -> PlannedRoute:
    """Plan one route; `changes` are fields of `PlannedRoute`."""
    key = RouteKey(SITE + path, auth)
    planned = PlannedRoute(
        task_id=key.task_id, route=key.route, auth=auth, url=key.route, aliases=(), journey="primary",
        journey_is_explicit=False, priority=1, owner="web", tags=(), ready=None, expect_status=None, expect_url=None,
        expect_title=None, expect_selector=None, shard_index=shard_index, position=0, load_ms=1000, has_history=False,
        deadline_ms=30_000, was_html=False)
    return replace(planned, **changes)


def plan_of(*routes: PlannedRoute, **changes: Any) -> Plan:
    """Seal a plan of routes; `changes` are fields of `PlanHeader`."""
    shards = sorted({row.shard_index for row in routes})
    loads = tuple(ShardLoad(index, None, sum(r.shard_index == index for r in routes), 1000) for index in shards)
    header = PlanHeader(
        plan_id="", run_id=RUN["run_id"], estate=RUN["estate"], created_at="2026-11-30T08:00:00Z",
        source="manifest.json", manifest_digest="1" * 64, program_version="0.1.0", shard_count=len(loads),
        shard_count_reason="asked", method="lpt", shards=loads, route_count=len(routes), makespan_ms=1000,
        imbalance=1.0, lower_bound_ms=1000, no_history_ratio=0.0, scope="full", identity=IdentitySwitches(),
        scan=ScanSettings(), engine=ENGINE, browser_version="149.0", excluded=(), source_failures=(), warnings=())
    in_order = sorted(routes, key=lambda row: row.shard_index)
    return Plan(replace(header, **changes), tuple(in_order)).sealed()


def outcome(row: PlannedRoute, kind: str = "scanned", attempt_name: str = FIRST, number: int = 1,
            **changes: Any) -> Outcome:
    """What a shard wrote of a route; `changes` are fields of `Outcome`."""
    made = Outcome(
        task_id=row.task_id, route=row.route, auth=row.auth, url=row.url, journey=row.journey, priority=row.priority,
        owner=row.owner, tags=row.tags, shard_index=row.shard_index, outcome=OutcomeKind(kind), reason=kind,
        attempt=int(attempt_name.split("-")[1]), attempt_name=attempt_name, triple_number=number, visit_count=1,
        status=200, final_url=row.url)
    return replace(made, **changes)


def occurrence(row: PlannedRoute, rule: str = "image-alt", node: str = "img", impact: str | None = "critical",
               attempt_name: str = FIRST, number: int = 1, **changes: Any) -> Occurrence:
    """A node that breaks a rule; nodes of one name share a fingerprint. `changes` are fields of `Occurrence`."""
    made = Occurrence(
        task_id=row.task_id, route=row.route, auth=row.auth, shard_index=row.shard_index,
        attempt=int(attempt_name.split("-")[1]), attempt_name=attempt_name, triple_number=number, rule=rule,
        impact=impact, is_violation=True, target=f'["{node}"]', target_text=node, path=f'[["{node}"]]',
        fingerprint=fingerprint_of(rule, [[node]]), html=f"<{node}>", failure_summary="Fix it", tags=TAGS.get(rule, ()),
        criteria=criteria_of(TAGS.get(rule, ())), help="Say it", help_url="https://help.test")
    return replace(made, **changes)


def results(row: PlannedRoute, rules: Iterable[str] = ("image-alt", "color-contrast", "region"),
            attempt_name: str = FIRST, number: int = 1) -> list[RuleResult]:
    """Rules that ran on a route."""
    return [RuleResult(row.task_id, row.route, row.auth, row.shard_index, int(attempt_name.split("-")[1]), attempt_name,
                       number, rule, RuleClass.PASS, None, 1) for rule in rules]


def receipt(plan: Plan, shard_index: int, *triples: tuple[str, int], ended_by: str = "finished",
            **changes: Any) -> Receipt:
    """A shard's proof that names `triples` in order; `changes` are fields of `Receipt`."""
    named = triples or ((FIRST, 1),)
    made = Receipt(
        plan_id=plan.header.plan_id, run_id=plan.header.run_id, shard_index=shard_index, attempt=1,
        attempt_name=named[-1][0], flow_attempt="f1", program_version="0.1.0", engine_version=ENGINE.version,
        engine_digest=ENGINE.digest, options_digest=ENGINE.options_digest, browser_version="149.0",
        triples=tuple(TripleRef(name, number, 1, "d" * 64) for name, number in named), ended_by=EndedBy(ended_by),
        started_at="2026-11-30T08:00:00Z", ended_at="2026-11-30T08:01:00Z", planned_ms=1000, actual_ms=1000)
    return replace(made, **changes)


def table(kind: str, records: Sequence[object]) -> pa.Table:
    """A table of occurrences or rule results with the columns of the run."""
    return table_of(kind, [RUN | {name: str(value) if name == "rule_class" else value
                                  for name, value in row_of(record).items()} for record in records])


def evidence_of(plan: Plan, outcomes: Sequence[Outcome], occurrences: Sequence[Occurrence] = (),
                rule_results: Sequence[RuleResult] | None = None, receipts: Mapping[int, Receipt] | None = None,
                quarantined: Sequence[Quarantined] = ()) -> Evidence:
    """Evidence in which every shard has a receipt and every scanned route ran all rules, unless said otherwise."""
    if receipts is None:
        named = {load.shard_index: dict.fromkeys((row.attempt_name or FIRST, row.triple_number or 1) for row in outcomes
                                                 if row.shard_index == load.shard_index) for load in plan.header.shards}
        receipts = {index: receipt(plan, index, *triples) for index, triples in named.items()}
    if rule_results is None:
        planned = {row.task_id: row for row in plan.routes}
        rule_results = [result for row in outcomes if row.outcome.was_scanned and row.task_id in planned
                        for result in results(planned[row.task_id], attempt_name=row.attempt_name or FIRST,
                                              number=row.triple_number or 1)]
    return Evidence(receipts, tuple(outcomes), table("occurrence", occurrences), table("rule_result", rule_results),
                    tuple(quarantined))


def judge_of(plan: Plan, evidence: Evidence, **changes: Any) -> GateInput:
    """What the gate gets of a run under the default policy; `changes` are fields of `GateInput`."""
    made = GateInput(plan=plan, converged=converge(plan, evidence), receipts=evidence.receipts,
                     policy=default_policy(), now="2026-11-30", stray_attempts=evidence.stray_attempts)
    return replace(made, **changes)
