"""What an attempt scans: what is not settled, what the last fold contradicts, and what killed its worker last."""

import pytest

from schemas.outcome import OutcomeKind
from tasks.scan.work import CommittedRow, Work, decide_work
from tests.small_estate import FIRST, SECOND, route

A, B, C = (route(path, position=i) for i, path in enumerate(("/a", "/b", "/c")))
OLD, NEW = (FIRST, 1), (SECOND, 1)


def row(kind="scanned", triple=OLD):
    return CommittedRow(OutcomeKind(kind), triple, "", None)


@pytest.mark.parametrize("kind", list(OutcomeKind))
def test_settled_rows_are_kept_and_others_scanned(kind):
    work = decide_work([A], {A.task_id: row(kind)}, {}, {})
    assert work == (Work() if kind.is_settled else Work(together=(A,)))


@pytest.mark.parametrize(("committed", "judged", "is_open"), [
    (None, None, True),
    (row(), OLD, True),  # the fold contradicts this very row
    (row(triple=NEW), OLD, False),  # a newer row answers the letter
    (row(triple=NEW), None, False),  # there was no row when it was judged
    (row("timed_out", NEW), OLD, True),
])
def test_a_dead_letter_is_answered_only_by_a_newer_settled_row(committed, judged, is_open):
    rows = {A.task_id: committed} if committed else {}
    assert decide_work([A], rows, {A.task_id: judged}, {}) == (Work(together=(A,)) if is_open else Work())


def test_routes_that_were_in_flight_at_a_death_run_last_and_alone_and_then_no_more():
    deaths = {B.task_id: 1, C.task_id: 2}
    assert decide_work([A, B, C], {}, {}, deaths) == Work(together=(A,), alone=(B,), crashed=(C,))


def test_a_settled_route_is_not_scanned_for_its_deaths():
    assert decide_work([A], {A.task_id: row()}, {}, {A.task_id: 2}).is_empty


def test_rescan_forces_and_scope_holds():
    out = route("/out", is_in_scope=False)
    work = decide_work([A, B, out], {A.task_id: row(), B.task_id: row()}, {}, {},
                       frozenset({A.task_id, out.task_id}))
    assert work == Work(together=(A,))
