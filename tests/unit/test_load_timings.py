"""Timing history from files: what it is, and sound rows of it."""

import gzip
import io
import json
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest

from schemas.errors import ContractError
from schemas.history import Sample
from schemas.shape import record_of, row_of, table_of
from tasks.learn import fold_timings, samples_from_rows, samples_from_timings, timing_rows
from tasks.load import LoadedTimings, load_timings

RUN = {"estate": "e", "run_id": "r2", "run_date": "2026-01-03"}
SAMPLE = Sample("0123456789abcdef", "https://a.test/", None, "r1", "2026-01-02T03:04:05.250Z", 900, 1_000, 2, "4.12.1")
SAMPLES = [SAMPLE, replace(SAMPLE, run_id="r2", scan_ms=None, ended_at="2026-01-03T03:04:05Z")]


def load(document: object) -> LoadedTimings:
    return load_timings("t", lambda _: document if isinstance(document, bytes) else json.dumps(document).encode())


def parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    table.to_pandas(types_mapper=pd.ArrowDtype).to_parquet(buffer)
    return buffer.getvalue()


def test_the_plain_form_keeps_bad_values_for_the_learning_to_count() -> None:
    text = b'{"https://a.test/": 1.5, "b": NaN, "c": -Infinity, "d": "12s", "e": null, "f": 0}'
    loaded = load(text)
    assert repr(loaded) == repr(LoadedTimings(plain={
        "https://a.test/": 1.5, "b": float("nan"), "c": float("-inf"), "d": "12s", "e": None, "f": 0}))
    assert repr(load(gzip.compress(text))) == repr(loaded)


def test_timings_come_back_from_json_and_parquet_as_they_were() -> None:
    history = fold_timings(SAMPLES)
    rows = [{**RUN, **row} for row in timing_rows(history)]
    for document in (rows, parquet(table_of("timing", rows))):
        loaded = load(document)
        assert (loaded.plain, loaded.samples, loaded.warnings) == ({}, (), ())
        assert timing_rows(fold_timings(samples_from_timings(loaded.timings)[0])) == timing_rows(history)


def test_samples_come_back_from_json_and_parquet_as_they_were() -> None:
    rows = [{**RUN, **row_of(sample)} for sample in SAMPLES]
    for document in (rows, parquet(table_of("sample", rows))):
        loaded = load(document)
        assert samples_from_rows(loaded.samples) == SAMPLES
        assert (loaded.plain, loaded.timings, loaded.warnings) == ({}, (), ())


def test_malformed_rows_are_left_out_and_counted() -> None:
    good = {**RUN, **row_of(SAMPLE)}
    bad = [{**good, "scan_ms": 0}, {**good, "task_id": "x"}, {**good, "burned_ms": None}]
    for document in ([good, *bad, 5, {}], parquet(table_of("sample", [good, *bad]))):
        loaded = load(document)
        assert [record_of(Sample, row) for row in loaded.samples] == [SAMPLE]
        count = 5 if isinstance(document, list) else 3
        assert loaded.warnings == (f"t: {count} malformed rows left out.",)


@pytest.mark.parametrize("change", [
    {"ended_at": "2027-01-31t08:00:00Z"}, {"ended_at": "2027-01-31T08:00:00.123456789Z"}, {"scan_ms": 10**30},
    {"burned_ms": 1e30}, {"route": "\ud800"}, {"run_date": "0000-01-01"}])
def test_a_row_that_no_column_can_hold_is_left_out(change: dict[str, object]) -> None:
    good = {**RUN, **row_of(SAMPLE)}
    loaded = load([good, {**good, **change}, good])
    assert [record_of(Sample, row) for row in loaded.samples] == [SAMPLE, SAMPLE]
    assert loaded.warnings == ("t: 1 malformed row left out.",)


def test_a_stored_time_that_is_in_no_calendar_is_left_out() -> None:
    table = table_of("sample", [{**RUN, **row_of(SAMPLE)}] * 2)
    times = pa.array([0, 10**15], pa.timestamp("ms", tz="UTC"))
    loaded = load(parquet(table.set_column(table.column_names.index("ended_at"), "ended_at", times)))
    assert [row["ended_at"].isoformat() for row in loaded.samples] == ["1970-01-01T00:00:00+00:00"]
    assert loaded.warnings == ("t: 1 malformed row left out.",)


@pytest.mark.parametrize(("document", "fault"), [
    (b"", "is empty"), (b"https://a.test/ 5\n", "is text"), (b"PAR1nonsense", "is no Parquet file that can be read"),
    (b"[{]", "is no JSON"), ([], "holds no timing history"), ([{"a": 1}], "holds no timing history"),
    ({"https://a.test/": {"seconds": 1}}, "an object is of the wrong type"),
    (parquet(pa.table({"scan_ms": [1]})), "has no column estate, run_date"),
    (parquet(table_of("sample", []).set_column(0, "estate", pa.array([], pa.list_(pa.int64())))),
     "has a column of another type"),
])
def test_what_is_no_history_is_refused(document: object, fault: str) -> None:
    with pytest.raises(ContractError) as caught:
        load(document)
    assert [offence.fault[: len(fault)] for offence in caught.value.offences] == [fault]
