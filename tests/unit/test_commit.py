"""Triples and receipts are proven wherever they are read; what is broken is set aside by name."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from schemas.errors import IntegrityError
from schemas.layout import EstateLayout
from schemas.shape import arrow_schema, row_of, table_of
from tasks.collect import collect
from tasks.commit import Shelf, committed_numbers, read_receipt, read_triple, write_receipt, write_triple
from tasks.freeze import read_plan
from tasks.store import Store
from tests.small_estate import FIRST, RUN, SECOND, occurrence, outcome, plan_of, receipt, results, route, table

RUN_LAYOUT = EstateLayout("shop").run("r1")
A, B, C = route("/a"), route("/b"), route("/c", 1)
PLAN = plan_of(A, B, C)
IDS = frozenset({A.task_id, B.task_id})


def rows(*outcomes):
    return table_of("outcome", [RUN | {k: str(v) if k == "outcome" else v for k, v in row_of(o).items()}
                                for o in outcomes])


def tables(*routes, attempt_name=FIRST, number=1):
    return {
        "outcomes": rows(*(outcome(r, attempt_name=attempt_name, number=number) for r in routes)),
        "occurrences": table("occurrence", [occurrence(r, attempt_name=attempt_name, number=number) for r in routes]),
        "rule_results": table("rule_result", [x for r in routes for x in results(r, attempt_name=attempt_name,
                                                                                number=number)]),
    }


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path))


@pytest.fixture
def shelf(store):
    return Shelf(store, RUN_LAYOUT, PLAN.header.plan_id, 0)


def key(kind, number=1):
    return RUN_LAYOUT.triple(0, FIRST, kind, number)


def test_a_triple_is_read_as_written(shelf):
    written = tables(A, B)
    ref = write_triple(shelf, FIRST, 1, written)
    triple = read_triple(shelf, FIRST, 1, IDS, ref.outcomes_digest)
    assert (triple.ref, triple.outcomes, triple.occurrences, triple.rule_results, triple.faults) == (
        ref, written["outcomes"], written["occurrences"], written["rule_results"], ())


def test_a_triple_without_its_outcomes_file_is_not_committed(shelf, store):
    write_triple(shelf, FIRST, 1, tables(A))
    write_triple(shelf, FIRST, 2, tables(B, number=2))
    store.remove(key("outcomes", 2))
    assert committed_numbers(shelf, FIRST) == [1]


@pytest.mark.parametrize("kind", ["outcomes", "occurrences", "rule_results"])
@pytest.mark.parametrize(("harm", "fault"), [
    (lambda data: data[:-3], "is no Parquet file"),
    (lambda data: b"", "is no Parquet file"),
    (None, "is missing"),
])
def test_a_broken_file_of_a_triple_is_named(shelf, store, kind, harm, fault):
    """081: cut by three bytes, empty, gone."""
    write_triple(shelf, FIRST, 1, tables(A))
    if harm is None:
        store.remove(key(kind))
    else:
        store.write(key(kind), harm(store.read(key(kind))))
    with pytest.raises(IntegrityError, match=f"{kind}-0001.parquet: {fault}"):
        read_triple(shelf, FIRST, 1, IDS)


def test_a_file_of_another_triple_in_its_place_is_refused(shelf, store):
    write_triple(shelf, FIRST, 1, tables(A))
    write_triple(shelf, FIRST, 2, tables(B, number=2))
    store.write(key("occurrences", 1), store.read(key("occurrences", 2)))
    with pytest.raises(IntegrityError, match="rows or digest are not those in the footer"):
        read_triple(shelf, FIRST, 1, IDS)


def test_a_triple_of_another_plan_is_refused(shelf):
    write_triple(replace(shelf, plan_id="f" * 64), FIRST, 1, tables(A))
    with pytest.raises(IntegrityError, match="footer says plan_id"):
        read_triple(shelf, FIRST, 1, IDS)


def test_a_triple_of_another_run_of_the_same_plan_is_refused(shelf):
    """Monday's pieces in Tuesday's folder: two runs of one manifest have one plan id, and nothing was scanned today."""
    tuesday = replace(shelf, run=EstateLayout("shop").run("r2"))
    write_triple(shelf, FIRST, 1, tables(A))
    copy_attempt(shelf, tuesday)
    with pytest.raises(IntegrityError, match="footer says run_id 'r1', expected 'r2'"):
        read_triple(tuesday, FIRST, 1, IDS)
    write_triple(tuesday, FIRST, 1, tables(A))
    with pytest.raises(IntegrityError, match="holds rows of run r1, expected r2"):
        read_triple(tuesday, FIRST, 1, IDS)


def copy_attempt(shelf, other):
    for name in shelf.store.names(shelf.run.attempt(shelf.shard_index, FIRST)):
        other.store.write(other.key(FIRST, name), shelf.store.read(shelf.key(FIRST, name)))


def test_a_triple_of_before_footers_named_runs_is_held_by_its_rows(store):
    run = EstateLayout("golden").run("r1")
    golden = Store(str(Path(__file__).parents[1] / "golden" / "runs" / "1"))
    plan = read_plan(golden, run)
    shelf = Shelf(golden, run, plan.header.plan_id, 0)
    (attempt_name,) = shelf.attempts()
    ids = {row.task_id for row in plan.routes}
    assert "run_id" not in golden.read_table(shelf.key(attempt_name, "outcomes-0001.parquet"))[1]
    ref = read_receipt(shelf, attempt_name).triples[0]
    assert (read_triple(shelf, attempt_name, 1, ids, ref.outcomes_digest).ref, ref.route_count) == (ref, 4)
    foreign = Shelf(store, EstateLayout("golden").run("r2"), plan.header.plan_id, 0)
    for name in golden.names(run.attempt(0, attempt_name)):
        store.write(foreign.key(attempt_name, name), golden.read(shelf.key(attempt_name, name)))
    with pytest.raises(IntegrityError, match="holds rows of run r1, expected r2"):
        read_triple(foreign, attempt_name, 1, ids)
    with pytest.raises(IntegrityError, match="is of plan, run, shard and attempt"):
        read_receipt(foreign, attempt_name)


def test_a_triple_whose_digest_is_not_in_the_receipt_is_refused(shelf):
    write_triple(shelf, FIRST, 1, tables(A))
    with pytest.raises(IntegrityError, match="not the one in the receipt"):
        read_triple(shelf, FIRST, 1, IDS, "0" * 64)


def test_a_missing_column_is_refused(shelf):
    """078: one explicit schema for every file, checked file by file."""
    written = tables(A)
    write_triple(shelf, FIRST, 1, written | {"occurrences": written["occurrences"].drop_columns(["impact"])})
    with pytest.raises(IntegrityError, match="columns are not those of occurrence"):
        read_triple(shelf, FIRST, 1, IDS)


def test_empty_tables_have_all_columns(shelf):
    """078: a clean route, and no rows at all."""
    empty = {"occurrences": arrow_schema("occurrence").empty_table(),
             "rule_results": arrow_schema("rule_result").empty_table(), "outcomes": rows(outcome(A))}
    write_triple(shelf, FIRST, 1, empty)
    assert read_triple(shelf, FIRST, 1, IDS).occurrences.schema == arrow_schema("occurrence")


def test_a_route_with_a_faulty_row_counts_as_not_scanned(shelf):
    """A foreign route, an impossible status: set aside by row, with all that the triple says of the route."""
    bad = tables(A, B)
    bad["outcomes"] = rows(outcome(A), outcome(B, status=-1))
    write_triple(shelf, FIRST, 1, bad)
    triple = read_triple(shelf, FIRST, 1, IDS)
    assert [(f.kind, f.index, f.task_id, f.reason) for f in triple.faults] == [
        ("outcomes", 1, B.task_id, "status is below 0")]
    assert [t["task_id"].unique().to_pylist() for t in (triple.outcomes, triple.occurrences, triple.rule_results)] == [
        [A.task_id]] * 3


def test_a_row_of_a_foreign_route_is_a_fault(shelf):
    write_triple(shelf, FIRST, 1, tables(A))
    reasons = {(f.kind, f.reason) for f in read_triple(shelf, FIRST, 1, {B.task_id}).faults}
    assert reasons == {(kind, "speaks of a route that is not in the shard")
                       for kind in ("outcomes", "occurrences", "rule_results")}


def test_a_receipt_is_read_as_written(shelf):
    write_receipt(shelf, receipt(PLAN, 0))
    assert read_receipt(shelf, FIRST) == receipt(PLAN, 0)
    assert read_receipt(shelf, SECOND) is None


@pytest.mark.parametrize("changes", [{"plan_id": "f" * 64}, {"run_id": "r2"}, {"shard_index": 1}])
def test_a_foreign_receipt_is_refused(shelf, store, changes):
    write_receipt(shelf, replace(receipt(PLAN, 0), **changes))
    with pytest.raises(IntegrityError, match="is of plan, run, shard and attempt"):
        read_receipt(shelf, FIRST)


def stored(store, shard_index, routes, attempt_name=FIRST, triples=None, with_receipt=True):
    shelf = Shelf(store, RUN_LAYOUT, PLAN.header.plan_id, shard_index)
    ref = write_triple(shelf, attempt_name, 1, tables(*routes, attempt_name=attempt_name))
    if with_receipt:
        named = replace(receipt(PLAN, shard_index, (attempt_name, 1)), attempt=int(attempt_name[8]),
                        triples=(*(triples or ()), ref))
        write_receipt(shelf, named)
        return named, ref
    return None, ref


def test_collect_takes_the_receipt_of_the_highest_attempt(store):
    _, first = stored(store, 0, [A, B])
    second, _ = stored(store, 0, [A], SECOND, [first])
    other, _ = stored(store, 1, [C])
    evidence = collect(store, RUN_LAYOUT, PLAN)
    assert evidence.receipts == {0: second, 1: other}
    assert [(o.route, o.attempt_name) for o in evidence.outcomes] == [
        (A.route, FIRST), (B.route, FIRST), (A.route, SECOND), (C.route, FIRST)]
    assert (evidence.quarantined, evidence.stray_attempts) == ((), ())


def test_collect_keeps_what_a_shard_without_receipt_committed(store):
    stored(store, 0, [A, B], with_receipt=False)
    stored(store, 1, [C])
    evidence = collect(store, RUN_LAYOUT, PLAN)
    assert list(evidence.receipts) == [1]
    assert [o.route for o in evidence.outcomes] == [A.route, B.route, C.route]
    assert evidence.stray_attempts == (RUN_LAYOUT.attempt(0, FIRST),)


def test_collect_quarantines_broken_pieces_by_name(store):
    stored(store, 0, [A, B])
    stored(store, 1, [C])
    broken = RUN_LAYOUT.triple(0, FIRST, "occurrences", 1)
    store.write(broken, b"")
    evidence = collect(store, RUN_LAYOUT, PLAN)
    assert [o.route for o in evidence.outcomes] == [C.route]
    (one,) = evidence.quarantined
    assert (one.shard_index, one.kind, one.file) == (0, "triple", broken)


def test_collect_counts_nothing_of_another_run(store):
    stored(store, 0, [A, B])
    stored(store, 1, [C])
    tuesday = EstateLayout("shop").run("r2")
    for index in (0, 1):
        monday = Shelf(store, RUN_LAYOUT, PLAN.header.plan_id, index)
        copy_attempt(monday, replace(monday, run=tuesday))
    evidence = collect(store, tuesday, PLAN)
    assert (evidence.receipts, evidence.outcomes) == ({}, ())
    assert [(q.kind, q.file) for q in evidence.quarantined] == [
        (kind, file) for index in (0, 1) for kind, file in (
            ("receipt", tuesday.receipt(index, FIRST)), ("triple", tuesday.triple(index, FIRST, "outcomes", 1)))]


def test_collect_passes_a_broken_receipt_over_and_names_it(store):
    first, _ = stored(store, 0, [A, B])
    stored(store, 1, [C])
    store.write(RUN_LAYOUT.receipt(0, SECOND), b"{")
    evidence = collect(store, RUN_LAYOUT, PLAN)
    assert evidence.receipts[0] == first
    assert [(q.kind, q.file) for q in evidence.quarantined] == [("receipt", RUN_LAYOUT.receipt(0, SECOND))]


def test_collect_reads_partials_in_any_order_of_shards_and_without_rows(store):
    evidence = collect(store, RUN_LAYOUT, PLAN)
    assert (evidence.receipts, evidence.outcomes) == ({}, ())
    assert evidence.occurrences == pa.Table.from_pylist([], schema=arrow_schema("occurrence"))
    assert evidence.quarantined == ()
