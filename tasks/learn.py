"""Learn: this run's durations and the history of earlier ones become percentiles for the next plan.

Here: samples of outcomes, the fold of samples, rows of both. Not here: what a route weighs (`tasks/plan/`), reading and
writing history (`tasks/load/`, `tasks/publish.py`). Next: the gate (`tasks/gate/`).

Folding is commutative, associative and idempotent: samples are told apart by route and run, and put in order by time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from schemas.history import KEPT_SAMPLES, RouteTiming, Sample, TimingHistory
from schemas.outcome import Outcome
from schemas.shape import record_of

QUANTILES = (0.5, 0.75, 0.95, 0.99)
LONGEST_S = 86_400  # a visit that took a day is a mistake of whoever wrote it


def samples_of(outcomes: Iterable[Outcome], run_id: str) -> list[Sample]:
    """Take what each visited route cost in this run; only a scan teaches a duration, a failure what it burned.

    Args:
        outcomes: one for each route. Routes that nobody visited (missing, expired, carried) have no sample.

    Returns:
        Samples sorted by route.
    """
    samples = [
        Sample(
            task_id=outcome.task_id, route=outcome.route, auth=outcome.auth, run_id=run_id,
            ended_at=_to_milliseconds(outcome.ended_at), burned_ms=outcome.burned_ms, in_flight=outcome.in_flight,
            scan_ms=outcome.scan_ms if outcome.outcome.was_scanned and outcome.scan_ms else None,
            engine_version=outcome.engine_version,
        )
        for outcome in outcomes
        if outcome.ended_at is not None and outcome.is_in_scope and (outcome.burned_ms > 0 or outcome.scan_ms)
    ]
    return sorted(samples, key=lambda sample: (sample.route, sample.auth or ""))


def fold_timings(samples: Iterable[Sample]) -> TimingHistory:
    """Fold samples into what is known of each route: percentiles of its newest successful ones.

    Args:
        samples: in any order, with repeats; of one route and run only the newest counts. Percentiles of a large
            estate take seconds: gather all samples first, those of folds of before too, and fold once.

    Returns:
        Routes sorted by `task_id`. A route whose samples all failed has no percentiles, but what the newest one burned.
    """
    newest: dict[tuple[str, str], Sample] = {}
    for sample in samples:
        twin = newest.get((sample.task_id, sample.run_id))
        if twin is None or _age(twin) < _age(sample):
            newest[sample.task_id, sample.run_id] = sample
    in_order = sorted(newest.values(), key=lambda sample: (sample.task_id, _age(sample)))
    timings = [_fold_route(list(group)) for _, group in groupby(in_order, key=lambda sample: sample.task_id)]
    return TimingHistory({timing.task_id: timing for timing in _with_percentiles(timings)})


def merge_plain(history: TimingHistory, durations: Mapping[str, object]) -> TimingHistory:
    """Add durations of the plain form `{"route": seconds}` to a history.

    What is no duration is left out and counted: text, null, truth values, not finite, not above zero, longer than a
    day. Less than a millisecond counts as one.
    """
    plain_ms = dict(history.plain_ms)
    bad_value_count = history.bad_value_count
    for route, value in durations.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and _is_duration(value):
            plain_ms[route] = max(round(value * 1000), 1)
        else:
            bad_value_count += 1
    return replace(history, plain_ms=plain_ms, bad_value_count=bad_value_count)


def timing_rows(history: TimingHistory) -> list[dict[str, Any]]:
    """Return rows of `timings.parquet` by `timing.schema.json`, sorted by route, without the columns of the run."""
    timings = sorted(history.routes.values(), key=lambda timing: (timing.route, timing.auth or ""))
    return [
        {
            "task_id": timing.task_id, "route": timing.route, "auth": timing.auth, "p50_ms": timing.p50_ms,
            "p75_ms": timing.p75_ms, "p95_ms": timing.p95_ms, "p99_ms": timing.p99_ms,
            "last_burned_ms": timing.last_burned_ms,
            "failed_run_id": timing.failure.run_id if timing.failure else None,
            "failed_at": timing.failure.ended_at if timing.failure else None,
            "sample_count": len(timing.samples), "sample_ms": [sample.scan_ms for sample in timing.samples],
            "sample_burned_ms": [sample.burned_ms for sample in timing.samples],
            "sample_in_flight": [sample.in_flight for sample in timing.samples],
            "sample_run_ids": [sample.run_id for sample in timing.samples],
            "sample_ended_at": [sample.ended_at for sample in timing.samples],
        }
        for timing in timings
    ]


def samples_from_timings(rows: Iterable[Mapping[str, Any]]) -> tuple[list[Sample], int]:
    """Return the samples that rows of `timings.parquet` hold, to be folded again with others.

    Samples do not remember the engine here.

    Returns:
        The sound ones, and how many had no time or no duration and were left out.
    """
    found = [sample for row in rows for sample in _samples_in(row)]
    sound = [sample for sample in found if _is_sound(sample)]
    return sound, len(found) - len(sound)


def samples_from_rows(rows: Iterable[Mapping[str, Any]]) -> list[Sample]:
    """Return the samples that rows of `history/<run_id>.parquet` hold."""
    return [record_of(Sample, row) for row in rows]


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _to_milliseconds(text: str) -> str:
    """Return a time as it comes back from a file, so that a sample equals its stored twin."""
    moment = _time(text).astimezone(UTC)
    precision = "milliseconds" if moment.microsecond >= 1000 else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def _age(sample: Sample) -> tuple[datetime, str, int, int, int, str]:
    """Order samples by time and run; the rest makes the order total, so that repeats in any order give one result."""
    return (_time(sample.ended_at), sample.run_id, sample.scan_ms or 0, sample.burned_ms, sample.in_flight,
            sample.engine_version or "")


def _fold_route(samples: Sequence[Sample]) -> RouteTiming:
    """Fold the samples of one route, oldest first; percentiles follow for all routes at once."""
    last = samples[-1]
    failure = last if last.scan_ms is None else None
    kept = tuple(sample for sample in samples if sample.scan_ms is not None)[-KEPT_SAMPLES:]
    return RouteTiming(last.task_id, last.route, last.auth, None, None, None, None,
                       last_burned_ms=failure.burned_ms if failure else None, samples=kept, failure=failure)


def _with_percentiles(timings: Sequence[RouteTiming]) -> list[RouteTiming]:
    """Fill in the percentiles (linear interpolation, whole milliseconds), for all routes at once."""
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame([(timing.task_id, sample.scan_ms) for timing in timings for sample in timing.samples],
                         columns=["task_id", "scan_ms"])
    if frame.empty:
        return list(timings)
    table = frame.groupby("task_id")["scan_ms"].quantile(np.array(QUANTILES)).round().astype("int64").unstack()
    percentiles = dict(zip(table.index, table.to_numpy().tolist(), strict=True))
    return [_with(timing, *percentiles[timing.task_id]) if timing.samples else timing for timing in timings]


def _with(timing: RouteTiming, p50_ms: int, p75_ms: int, p95_ms: int, p99_ms: int) -> RouteTiming:
    return replace(timing, p50_ms=p50_ms, p75_ms=p75_ms, p95_ms=p95_ms, p99_ms=p99_ms)


def _is_duration(seconds: float) -> bool:
    return 0 < seconds <= LONGEST_S  # false for NaN and infinity


def _samples_in(row: Mapping[str, Any]) -> list[Sample]:
    columns = (row["sample_run_ids"], row["sample_ended_at"], row["sample_ms"], row["sample_burned_ms"],
               row["sample_in_flight"])
    samples = [Sample(row["task_id"], row["route"], row["auth"], *values, engine_version=None)
               for values in zip(*columns, strict=False)]
    if row["failed_run_id"] is not None and row["failed_at"] is not None:
        samples.append(Sample(row["task_id"], row["route"], row["auth"], row["failed_run_id"], row["failed_at"], None,
                              row["last_burned_ms"] or 0, in_flight=0, engine_version=None))
    return samples


def _is_sound(sample: Sample) -> bool:
    try:
        _time(sample.ended_at)
    except (TypeError, ValueError):
        return False
    return sample.scan_ms is None or _is_duration(sample.scan_ms / 1000)
