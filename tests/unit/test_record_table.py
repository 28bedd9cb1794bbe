"""Many records as a table and back: the same rows as one by one, and no object twice that need not be."""

from dataclasses import replace

import pytest

from schemas import record_table
from schemas.outcome import Outcome, OutcomeKind
from schemas.plan import PlannedRoute
from schemas.record_table import parts_of, records_in, rows_in, table_of_records
from schemas.shape import arrow_schema, record_of, row_of, table_of
from tests.small_estate import RUN, outcome, route

ROUTES = [route(f"/{number}", number // 10, auth="staff" if number % 2 else None, tags=("t",) if number % 3 else (),
                accepted_outcome="timed_out" if number == 7 else None, load_ms=1_000 + number % 2,
                carried_date="2026-11-29" if number == 8 else None) for number in range(30)]
OUTCOMES = [replace(outcome(row), started_at="2026-11-30T08:00:00.500Z" if row.load_ms % 2 else None) for row in ROUTES]


@pytest.mark.parametrize("part_rows", [7, 50_000])
@pytest.mark.parametrize(("name", "kind", "records"), [("plan_route", PlannedRoute, ROUTES), ("outcome", Outcome,
                                                                                              OUTCOMES)])
def test_it_is_what_single_rows_give(monkeypatch, part_rows, name, kind, records) -> None:
    monkeypatch.setattr(record_table, "PART_ROWS", part_rows)
    table = table_of_records(name, records, RUN)
    assert table.combine_chunks() == table_of(name, [RUN | row_of(record) for record in records]).combine_chunks()
    read = list(records_in(kind, table))
    assert read == records == [record_of(kind, row) for row in table.to_pylist()]
    assert all(type(one.outcome) is OutcomeKind for one in read if isinstance(one, Outcome))
    assert list(rows_in(table, ["url", "tags"])) == [(one.url, list(one.tags)) for one in records]


def test_equal_values_are_one_object() -> None:
    read = list(records_in(PlannedRoute, table_of_records("plan_route", ROUTES, RUN)))
    assert len({id(one.journey) for one in read}) == len({id(one.deadline_ms) for one in read}) == 1
    assert all(one.route is one.url for one in read)


def test_nothing_is_an_empty_table() -> None:
    table = table_of_records("plan_route", [], RUN)
    assert (table.schema, table.num_rows, list(records_in(PlannedRoute, table))) == (arrow_schema("plan_route"), 0, [])


def test_parts_have_their_size_and_the_last_one_the_rest() -> None:
    assert list(parts_of(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(parts_of([], 2)) == []
