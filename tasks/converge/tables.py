"""Keep the table rows of the winning triples. Whole columns at a time: there may be millions.

Rows are never compared to find doubles: two masked or identical nodes of a page are two occurrences. Doubles come of
a triple that the evidence holds more than once, and only there are they taken back.

Not here: rows of outcomes (`rows`), grouping (`findings`). No table becomes Python objects here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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

SHOWN_COLUMNS = ("task_id", "route", "auth", "rule")
FAULTS = {True: "the plan gives the route to another shard", False: "the route is not in the plan"}
Column = Any  # the stubs of pyarrow do not know which functions keep chunks


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows that count, and a record of those that no planned route owns (one for each route and triple)."""

    kept: pa.Table
    quarantined: tuple[Quarantined, ...]


def count_copies(outcomes: Iterable[Outcome], written: Iterable[Outcome]) -> dict[str, int]:
    """Return the routes whose winning triple the evidence holds more than once, and how often.

    A triple holds one outcome per route, so rows of that outcome count its copies.

    Args:
        outcomes: the winning rows. written: all rows of the evidence.
    """
    counted = Counter(map(_place_of, written))
    return {row.task_id: counted[_place_of(row)] for row in outcomes if counted[_place_of(row)] > 1}


def keep_winning_rows(
    kind: str, plan: Plan, outcomes: Sequence[Outcome], table: pa.Table, copies: Mapping[str, int]
) -> Kept:
    """Filter a table to the winning triple of each route that was scanned.

    Args:
        kind: `occurrences` or `rule_results`.
        plan: the plan; a row whose route or shard it does not have is set aside.
        outcomes: one per planned route; their triples win.
        table: rows of all triples. copies: see `count_copies`.
    """
    shard_of = {row.task_id: row.shard_index for row in plan.routes}
    planned_shard = _look_up(table["task_id"], shard_of, pa.int64())
    is_owned = _is_same(planned_shard, table["shard_index"])
    is_alien: Column = pc.invert(is_owned)
    is_counted: Column = pc.and_(is_owned, _is_of_winner(outcomes, table))
    return Kept(_without_copies(_filter(table, is_counted), copies), _set_aside(kind, plan, table.filter(is_alien)))


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


def _without_copies(table: pa.Table, copies: Mapping[str, int]) -> pa.Table:
    """Divide the rows of repeated triples by the number of copies; of rows equal in all columns any will do."""
    if not copies:
        return table
    numbers: Any = pa.array(range(table.num_rows), pa.int64())
    found: Any = pc.is_in(table["task_id"], pa.array(list(copies), pa.string()))
    is_repeated = found.combine_chunks()
    repeated = table.filter(is_repeated)
    codes = {name: _code(repeated[name]) for name in table.column_names}
    counts = {"copies": _look_up(repeated["task_id"], copies, pa.int64()), "row": numbers.filter(is_repeated)}
    groups: Any = pa.table(codes | counts).group_by([*codes, "copies"], use_threads=False).aggregate([("row", "list")])
    kept = [row for rows, count in zip(groups["row_list"].to_pylist(), groups["copies"].to_pylist(), strict=True)
            for row in rows[: -(-len(rows) // count)]]  # rounded up: a row is never lost to a copy that is not there
    is_kept: Any = pc.or_(pc.invert(is_repeated), pc.is_in(numbers, pa.array(kept, pa.int64())))
    return table.filter(is_kept)


def _code(values: Column) -> Column:
    # Numbers group several times faster than texts; lists and booleans do not group at all.
    if pa.types.is_list(values.type):
        values = pc.binary_join(values, "\x1f")
    known: Any = pc.unique(values)
    return pc.index_in(values, known)


def _place_of(row: Outcome) -> tuple[str, int, str | None, int | None]:
    return row.task_id, row.shard_index, row.attempt_name, row.triple_number


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
