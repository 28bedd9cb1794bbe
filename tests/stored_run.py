"""A store with small folded runs, written by the real stages from records made by hand.

Here: writing runs. Not here: anything that a test asserts.
"""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from flows.report_run import folded_material, write_report
from schemas.evidence import Evidence
from schemas.layout import EstateLayout, RunLayout
from schemas.plan import Plan
from schemas.verdict import Verdict
from tasks.commit import Shelf, write_receipt
from tasks.freeze import write_plan
from tasks.gate import decide_verdict
from tasks.publish import Publication, publish
from tasks.store import Store
from tests.small_estate import judge_of

SNAPSHOT = {"policy.yaml": b"{}\n", "suppressions.yaml": b"suppressions: []\n"}


def planned_run(store: Store, plan: Plan, run_id: str, day: str) -> tuple[Plan, RunLayout]:
    """Freeze a plan as a run of a day, not folded."""
    run = EstateLayout(plan.header.estate).run(run_id)
    shards = tuple(replace(load, load_ms=sum(row.load_ms for row in plan.routes if row.shard_index == load.shard_index))
                   for load in plan.header.shards)
    header = replace(plan.header, run_id=run_id, created_at=f"{day}T08:00:00Z", shards=shards)
    dated = Plan(header, plan.routes).sealed()
    write_plan(store, run, dated, SNAPSHOT)
    return dated, run


def folded_run(store: Store, plan: Plan, evidence: Evidence, run_id: str = "r1", day: str = "2026-11-30",
               **judged_by: Any) -> Verdict:
    """Plan, judge, report and publish a run as a fold does; `judged_by` are fields of `GateInput`."""
    dated, run = planned_run(store, plan, run_id, day)
    receipts = {index: replace(receipt, plan_id=dated.header.plan_id, run_id=run_id)
                for index, receipt in evidence.receipts.items()}
    for index, receipt in receipts.items():
        write_receipt(Shelf(store, run, dated.header.plan_id, index), receipt)
    evidence = replace(evidence, receipts=receipts, occurrences=_of_run(evidence.occurrences, run_id, day),
                       rule_results=_of_run(evidence.rule_results, run_id, day))
    given = judge_of(dated, evidence, **{"now": day, **judged_by})
    verdict = decide_verdict(given)
    write_report(store, run, folded_material(store, run, dated, evidence, given.converged, verdict))
    publish(store, run, Publication(dated, evidence, given.converged, verdict, [], [], [run_id]))
    return verdict


def _of_run(table: Any, run_id: str, day: str) -> Any:
    for name, value in (("run_id", run_id), ("run_date", day)):
        index = table.schema.get_field_index(name)
        values = pa.array([value] * table.num_rows, pa.string()).cast(table.schema.field(index).type)
        table = table.set_column(index, table.schema.field(index), values)
    return table

