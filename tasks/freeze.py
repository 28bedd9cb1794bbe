"""Freeze a plan with its snapshot in the run folder, and read it back.

Here: the order of writing (rows and snapshot first, `plan.json` last: it commits the plan) and the proof on reading.
Not here: making a plan (`tasks/plan/`). Next: each shard reads its rows, the fold reads all of them.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from schemas.errors import IntegrityError
from schemas.format_version import complete_table, read_older
from schemas.layout import RunLayout
from schemas.plan import PLAN_FORMAT, Plan, PlanHeader, PlannedRoute, header_of
from schemas.plan_id import id_columns, plan_id_of
from schemas.record_table import records_in, rows_in, table_of_records
from schemas.shape import offences_in
from tasks.store import Store

POLICY_FILE, SUPPRESSIONS_FILE, BASELINE_FILE = "policy.yaml", "suppressions.yaml", "baseline.json"


def write_plan(store: Store, run: RunLayout, plan: Plan, snapshot: Mapping[str, bytes]) -> None:
    """Write a plan.

    Args:
        snapshot: files that the run is judged by (`policy.yaml`, `suppressions.yaml`, `baseline.json`), as read.

    Raises:
        IntegrityError: the plan does not hold together.
    """
    plan.check()
    columns = {"estate": run.estate, "run_id": run.run_id, "run_date": plan.header.created_at[:10]}
    rows = table_of_records("plan_route", plan.routes, columns)
    for name, data in snapshot.items():
        store.write(run.file(name), data)
    store.write_table(run.file("plan.parquet"), rows, {"plan_id": plan.header.plan_id})
    store.write_json(run.file("plan.json"), asdict(plan.header))


def read_header(store: Store, run: RunLayout) -> PlanHeader:
    """Read `plan.json`.

    Raises:
        FileNotFoundError: no plan was committed.
        IntegrityError: it breaks its schema, or is of a newer version.
    """
    return _header_of(store.read_json(run.file("plan.json")), run.file("plan.json"))


def read_plan(store: Store, run: RunLayout) -> Plan:
    """Read the plan of a run and hold it against itself.

    Raises:
        FileNotFoundError: no plan was committed.
        IntegrityError: it breaks its schema, or header and rows are not of one plan.
    """
    document = store.read_json(run.file("plan.json"))
    header = _header_of(document, run.file("plan.json"))
    table, footer, _ = store.read_table(run.file("plan.parquet"))
    if footer.get("plan_id") != header.plan_id:
        raise IntegrityError(run.file("plan.parquet"), "is of another plan than plan.json")
    names = id_columns(table.column_names)
    whole = complete_table("plan_route", table, footer, run.file("plan.parquet"))
    del table
    plan = Plan(header, tuple(records_in(PlannedRoute, whole)))
    # Of what is stored, not of the records: a later program knows settings and columns that the plan was made without.
    plan.check(plan_id_of(document, names, rows_in(whole, names)))
    return plan


def _header_of(document: Any, key: str) -> PlanHeader:
    document = read_older("plan", document, PLAN_FORMAT, key)
    offences = offences_in("plan", document, key)
    if offences:
        raise IntegrityError(key, "; ".join(map(str, offences[:3])))
    return header_of(document)
