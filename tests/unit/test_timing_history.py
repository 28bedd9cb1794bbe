"""The timing history of a store beside named files: all of it counts, and its percentiles are computed once."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from flows.inputs import read_history
from flows.journey import fold_run
from flows.request import AuditRequest
from flows.runs import RunRef
from schemas.history import RouteTiming, Sample
from schemas.layout import EstateLayout
from schemas.route import RouteKey
from schemas.settings import Settings
from schemas.shape import row_of, table_of
from tasks import learn
from tasks.commit import Shelf, write_receipt, write_triple
from tasks.learn import fold_timings, timing_rows
from tasks.store import Store
from tests.small_estate import FIRST, outcome, plan_of, receipt, route, table
from tests.stored_run import planned_run

KEY = RouteKey("https://e.test/a")
COLUMNS = {"estate": "shop", "run_date": "2026-11-30"}


def sample(run: int, scan_ms: int) -> Sample:
    return Sample(KEY.task_id, KEY.route, None, f"r{run}", f"2026-11-{run:02d}T08:00:00Z", scan_ms, scan_ms, 2, None)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store that folded one run and holds the samples of another one beside the fold."""
    made, layout = Store(str(tmp_path)), EstateLayout("shop")
    rows = [{**COLUMNS, "run_id": "r1", **row} for row in timing_rows(fold_timings([sample(1, 100)]))]
    made.write_table(layout.timings, table_of("timing", rows), {"run_ids": ["r1"]})
    for run in (1, 2):
        rows = [{**COLUMNS, **row_of(sample(run, 100 * run))}]
        made.write_table(layout.history_of(f"r{run}"), table_of("sample", rows), {"run_id": f"r{run}"})
    return made


@pytest.fixture
def folds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many routes each computation of percentiles had."""
    counts: list[int] = []
    compute: Callable[[Sequence[RouteTiming]], list[RouteTiming]] = learn._with_percentiles

    def counted(timings: Sequence[RouteTiming]) -> list[RouteTiming]:
        counts.append(len(timings))
        return compute(timings)

    monkeypatch.setattr(learn, "_with_percentiles", counted)
    return counts


def test_a_plan_learns_from_the_store_and_from_named_files_in_one_fold(
    store: Store, tmp_path: Path, folds: list[int]
) -> None:
    (timing,) = timing_rows(fold_timings([sample(3, 300), replace(sample(4, 400), ended_at="2026-11-05T08:00:00Z")]))
    timing["sample_ms"][1] = 0
    documents = {"timings": [{**COLUMNS, "run_id": "r4", **timing}], "samples": [{**COLUMNS, **row_of(sample(5, 500))}],
                 "plain": {"/b": 1.5, "/c": "soon"}, "bad": [{**COLUMNS, **row_of(sample(6, 600))}, {}]}
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document), "utf-8")
    folds.clear()
    settings = Settings(history=tuple(str(tmp_path / name) for name in ("timings", "samples", "plain")))
    request = AuditRequest(source="m.json", history=str(tmp_path / "bad"))
    history = read_history(request, settings, store, "shop")
    assert folds == [1]
    assert history == replace(
        fold_timings([sample(1, 100), sample(2, 200), sample(3, 300), sample(5, 500), sample(6, 600)]),
        plain_ms={"/b": 1_500}, bad_value_count=2, warnings=(f"{tmp_path}/bad: 1 malformed row left out.",))


def test_a_fold_computes_percentiles_once(store: Store, folds: list[int]) -> None:
    page = route("/a")
    plan, run = planned_run(store, plan_of(page), "r9", "2026-11-30")
    shelf = Shelf(store, run, plan.header.plan_id, 0)
    tables = {"occurrences": table("occurrence", []), "rule_results": table("rule_result", []),
              "outcomes": table("outcome", [outcome(page)])}
    write_receipt(shelf, receipt(plan, 0, triples=(write_triple(shelf, FIRST, 1, tables),)))
    folds.clear()
    fold_run(RunRef(store.root, "shop", "r9"))
    assert folds == [1]
