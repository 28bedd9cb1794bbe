"""Learn: only scans teach a duration, and nothing is learned twice."""

import math
from dataclasses import replace
from typing import Any

import pytest

from schemas.history import KEPT_SAMPLES, RouteTiming, Sample, TimingHistory
from schemas.outcome import Outcome, OutcomeKind
from schemas.route import RouteKey
from schemas.shape import faults_in, row_of, table_of
from tasks.learn import (
    fold_timings,
    merge_plain,
    samples_from_rows,
    samples_from_timings,
    samples_of,
    timing_rows,
)

KEY = RouteKey("https://e.test/a")
RUN_COLUMNS = {"estate": "shop", "run_id": "r9", "run_date": "2026-11-30"}


def sample(run: int, scan_ms: int | None, burned_ms: int | None = None, **changes: Any) -> Sample:
    """A sample of run `r<run>`, which ended on that day of November."""
    made = Sample(KEY.task_id, KEY.route, None, f"r{run}", f"2026-11-{run:02d}T08:00:00Z", scan_ms,
                  burned_ms if burned_ms is not None else scan_ms or 0, 2, "4.12.1")
    return replace(made, **changes)


def outcome(path: str, kind: OutcomeKind = OutcomeKind.SCANNED, **changes: Any) -> Outcome:
    key = RouteKey(f"https://e.test{path}")
    made = Outcome(key.task_id, key.route, None, key.route, "primary", 2, None, (), 0, kind, kind.value,
                   scan_ms=2_000, burned_ms=2_500, in_flight=2, engine_version="4.12.1",
                   ended_at="2026-11-30T08:00:00.123456+00:00")
    return replace(made, **changes)


def test_only_a_scan_teaches_a_duration() -> None:
    """Fault 034: what a visit burned is kept apart from what a scan took."""
    kinds = (OutcomeKind.SCANNED, OutcomeKind.PARTIALLY_SCANNED, OutcomeKind.NOT_APPLICABLE, OutcomeKind.WRONG_PAGE,
             OutcomeKind.TIMED_OUT)
    samples = samples_of([outcome(f"/{kind}", kind) for kind in reversed(kinds)], "r1")
    assert {taken.route.rpartition("/")[2]: (taken.scan_ms, taken.burned_ms) for taken in samples} == {
        "scanned": (2_000, 2_500), "partially_scanned": (2_000, 2_500), "not_applicable": (None, 2_500),
        "wrong_page": (None, 2_500), "timed_out": (None, 2_500)}
    assert samples == sorted(samples, key=lambda taken: taken.route)


def test_a_sample_is_the_outcome_as_it_will_be_read_from_a_file() -> None:
    assert samples_of([outcome("/a")], "r1") == [
        Sample(KEY.task_id, KEY.route, None, "r1", "2026-11-30T08:00:00.123Z", 2_000, 2_500, 2, "4.12.1")]


@pytest.mark.parametrize("changes", [
    {"ended_at": None}, {"scan_ms": None, "burned_ms": 0}, {"is_in_scope": False},
])
def test_a_route_that_nobody_visited_has_no_sample(changes: dict[str, Any]) -> None:
    assert samples_of([outcome("/a", **changes)], "r1") == []


def test_a_fold_knows_percentiles_by_linear_interpolation() -> None:
    samples = tuple(sample(run, scan_ms) for run, scan_ms in ((1, 300), (2, 100), (3, 205), (4, 400)))
    assert fold_timings(samples).routes == {
        KEY.task_id: RouteTiming(KEY.task_id, KEY.route, None, 252, 325, 385, 397, None, samples)}


def test_one_sample_is_every_percentile_and_none_is_no_percentile() -> None:
    """Fault 088: percentiles of nothing are null."""
    failed = sample(1, None, 90_000)
    assert fold_timings([sample(1, 7)]).routes[KEY.task_id] == RouteTiming(
        KEY.task_id, KEY.route, None, 7, 7, 7, 7, None, (sample(1, 7),))
    assert fold_timings([failed]).routes[KEY.task_id] == RouteTiming(
        KEY.task_id, KEY.route, None, None, None, None, None, 90_000, (), failed)
    assert fold_timings([]) == TimingHistory()


def test_a_route_that_failed_and_then_passed_burned_both_and_took_one() -> None:
    """Fault 034: percentiles use 2 s, burned is 12 s, in one row."""
    (row,) = timing_rows(fold_timings(samples_of([outcome("/a", burned_ms=12_000)], "r1")))
    assert (row["p75_ms"], row["sample_ms"], row["sample_burned_ms"], row["last_burned_ms"]) == (
        2_000, [2_000], [12_000], None)


def test_what_the_last_run_burned_counts_only_while_it_is_the_last() -> None:
    failed = sample(2, None, 90_000)
    before = fold_timings([sample(1, 100), failed]).routes[KEY.task_id]
    assert (before.last_burned_ms, before.failure, before.p75_ms) == (90_000, failed, 100)
    after = fold_timings([sample(1, 100), failed, sample(3, 100)]).routes[KEY.task_id]
    assert (after.last_burned_ms, after.failure, after.p75_ms) == (None, None, 100)


def test_only_the_newest_samples_are_kept() -> None:
    samples = [sample(run, run) for run in range(1, KEPT_SAMPLES + 6)]
    samples.append(sample(29, None, 1))
    assert fold_timings(samples).routes[KEY.task_id].samples == tuple(samples[5:-1])


def test_a_run_that_was_folded_again_counts_once_with_its_newest_visit() -> None:
    failed, passed = sample(1, None, 9), sample(1, 200, ended_at="2026-11-01T09:00:00.5Z")
    for order in ([failed, passed], [passed, failed], [passed, passed, failed]):
        assert fold_timings(order).routes[KEY.task_id].samples == (passed,)


def test_times_are_compared_as_times() -> None:
    early = sample(1, 100, ended_at="2026-11-01T08:00:00Z")
    late = sample(2, 200, ended_at="2026-11-01T08:00:00.500Z")
    later = sample(3, None, 9, ended_at="2026-11-01T09:30:00+01:00")
    latest = sample(4, 300, ended_at="2026-11-01T08:45")
    assert fold_timings([latest, later, late, early]).routes[KEY.task_id].samples == (early, late, latest)
    assert fold_timings([later, late, early]).routes[KEY.task_id].failure == later


def test_one_address_under_two_profiles_is_two_routes() -> None:
    staff = RouteKey(KEY.route, "staff")
    other = sample(1, 50, auth="staff", task_id=staff.task_id)
    assert [(timing.auth, timing.p50_ms) for timing in fold_timings([sample(1, 7), other]).routes.values()] == [
        (auth, p50_ms) for _, auth, p50_ms in sorted([(KEY.task_id, None, 7), (staff.task_id, "staff", 50)],
                                                     key=lambda item: item[0])]


def test_the_plain_form_takes_seconds_and_counts_what_are_none() -> None:
    """Fault 030: finite and above zero, at least a millisecond."""
    values = {"a": 3, "b": 1.2345, "c": 0.0001, "d": 86_400, "nan": math.nan, "inf": math.inf, "minus": -10, "zero": 0,
              "text": "12s", "null": None, "true": True, "day": 86_401, "huge": 10**400, "list": [1]}
    before = TimingHistory(plain_ms={"a": 1, "z": 9}, bad_value_count=2, warnings=("w",))
    assert merge_plain(before, values) == TimingHistory(
        plain_ms={"a": 3_000, "z": 9, "b": 1_234, "c": 1, "d": 86_400_000}, bad_value_count=12, warnings=("w",))


def test_rows_of_timings_keep_their_schema_and_come_back() -> None:
    failed = sample(4, None, 90_000)
    history = fold_timings([sample(1, 100), sample(2, 205, 900), failed])
    rows = timing_rows(history)
    table = table_of("timing", [{**RUN_COLUMNS, **row} for row in rows])
    assert faults_in("timing", table) == {}
    read = fold_timings(samples_from_timings(table.to_pylist())[0])
    plain = {"engine_version": None}
    expected = replace(
        history.routes[KEY.task_id], samples=(sample(1, 100, **plain), sample(2, 205, 900, **plain)),
        failure=replace(failed, in_flight=0, engine_version=None))
    assert read == TimingHistory({KEY.task_id: expected})
    assert timing_rows(read) == rows


def test_rows_of_samples_keep_their_schema_and_come_back() -> None:
    samples = samples_of([outcome("/a"), outcome("/b", OutcomeKind.TIMED_OUT), outcome("/c")], "r1")
    table = table_of("sample", [{"estate": "shop", "run_date": "2026-11-30", **row_of(taken)} for taken in samples])
    assert faults_in("sample", table) == {}
    assert samples_from_rows(table.to_pylist()) == samples


def test_stored_samples_that_are_none_are_left_out_and_counted() -> None:
    (row,) = timing_rows(fold_timings([sample(run, 100) for run in range(1, 6)]))
    row["sample_ms"] = [100, 0, -1, 10**12, 100]
    row["sample_ended_at"][4] = "yesterday"
    kept, bad_count = samples_from_timings([row])
    assert ([sample.run_id for sample in kept], bad_count) == (["r1"], 4)


def test_a_stored_fold_merges_with_the_runs_that_it_was_made_of() -> None:
    samples = [sample(1, 100), sample(2, 300), sample(3, None, 90_000)]
    stored, _ = samples_from_timings(timing_rows(fold_timings(samples)))
    assert fold_timings([*stored, *samples]) == fold_timings(samples)
    newer = [*samples, sample(4, 200)]
    assert fold_timings([*newer, *stored]) == fold_timings(newer)
