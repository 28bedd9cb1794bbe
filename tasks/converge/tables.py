"""Keep the table rows that belong to the winning triples, each once. Whole columns at a time: there may be millions.

Not here: rows of outcomes (`rows`), grouping (`findings`). No table becomes Python objects here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.evidence import Quarantined
from schemas.layout import RunLayout
from schemas.occurrence import canonical_json
from schemas.outcome import Outcome
from schemas.plan import Plan
from tasks.converge.rows import RECORD_CHARACTERS

# What makes two rows of one triple the same row: a replay of evidence must add nothing.
ROW_KEYS: Mapping[str, tuple[str, ...]] = {
    "occurrences": ("task_id", "rule", "is_violation", "target"),
    "rule_results": ("task_id", "rule", "rule_class"),
}
SHOWN_COLUMNS = ("task_id", "route", "auth", "rule")
FAULTS = {True: "the plan gives the route to another shard", False: "the route is not in the plan"}
Column = Any  # the stubs of pyarrow do not know which functions keep chunks


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows that count, and a record of those that no planned route owns (one for each route and triple)."""

    kept: pa.Table
    quarantined: tuple[Quarantined, ...]


def keep_winning_rows(kind: str, plan: Plan, outcomes: Sequence[Outcome], table: pa.Table) -> Kept:
    """Filter a table to the winning triple of each route that was scanned.

    Args:
        kind: `occurrences` or `rule_results`.
        plan: the plan; a row whose route or shard it does not have is set aside.
        outcomes: one per planned route; their triples win.
        table: rows of all triples.
    """
    shard_of = {row.task_id: row.shard_index for row in plan.routes}
    planned_shard = _look_up(table["task_id"], shard_of, pa.int64())
    is_owned = _is_same(planned_shard, table["shard_index"])
    is_alien: Column = pc.invert(is_owned)
    is_counted: Column = pc.and_(is_owned, _is_of_winner(outcomes, table))
    return Kept(_each_once(kind, _filter(table, is_counted)), _set_aside(kind, plan, table.filter(is_alien)))


def _filter(table: pa.Table, mask: Column) -> pa.Table:
    # A run without retries keeps every row: then millions of rows need no copy.
    return table if pc.all(mask, min_count=0).as_py() else table.filter(mask)


def _is_of_winner(outcomes: Sequence[Outcome], table: pa.Table) -> Column:
    scanned = [row for row in outcomes if row.outcome.was_scanned]
    codes = {name: code for code, name in enumerate(sorted({row.attempt_name or "" for row in scanned}))}
    name_code = _look_up(table["task_id"], {row.task_id: codes[row.attempt_name or ""] for row in scanned}, pa.int32())
    number = _look_up(table["task_id"], {row.task_id: row.triple_number for row in scanned}, pa.int64())
    return pc.and_(_is_same(name_code, _look_up(table["attempt_name"], codes, pa.int32())),
                   _is_same(number, table["triple_number"]))


def _look_up(keys: Column, values: Mapping[str, int | None], kind: pa.DataType) -> Column:
    """Map a column through a dictionary; null where a key is not in it."""
    places: Any = pc.index_in(keys, pa.array(list(values), pa.string()))
    return pa.chunked_array([pa.array(list(values.values()), kind).take(places.combine_chunks())])


def _is_same(left: Column, right: Column) -> Column:
    same: Any = pc.equal(left, right)
    return pc.fill_null(same, False)


def _each_once(kind: str, table: pa.Table) -> pa.Table:
    keys = ROW_KEYS[kind]
    numbers: Any = pa.array(range(table.num_rows), pa.int64())
    codes = pa.table({name: _code(table[name]) for name in keys} | {"row": numbers})
    firsts: Any = codes.group_by(list(keys)).aggregate([("row", "min")])["row_min"]
    return table if len(firsts) == table.num_rows else table.filter(pc.is_in(numbers, firsts.combine_chunks()))


def _code(values: Column) -> Column:
    # Numbers group several times faster than texts, and take no copy of them.
    if pa.types.is_boolean(values.type):
        return values.cast(pa.int8())
    known: Any = pc.unique(values)
    return pc.index_in(values, known)


def _set_aside(kind: str, plan: Plan, table: pa.Table) -> tuple[Quarantined, ...]:
    if table.num_rows == 0:
        return ()
    layout = RunLayout(plan.header.estate, plan.header.run_id)
    planned = {row.task_id for row in plan.routes}
    keys = ["shard_index", "attempt_name", "triple_number", "task_id"]
    shown: Any = [(name, "min") for name in SHOWN_COLUMNS if name not in keys]
    groups = table.group_by(keys).aggregate([*shown, ("rule", "count")]).sort_by([(key, "ascending") for key in keys])
    return tuple(
        Quarantined(
            shard_index=group["shard_index"], kind=kind, task_id=group["task_id"], entry=group["route_min"],
            reason=f"{group['rule_count']} rows: {FAULTS[group['task_id'] in planned]}",
            file=layout.triple(group["shard_index"], group["attempt_name"], kind, group["triple_number"]),
            record=canonical_json({name: group.get(f"{name}_min", group.get(name)) for name in SHOWN_COLUMNS})
            [:RECORD_CHARACTERS])
        for group in groups.to_pylist())
