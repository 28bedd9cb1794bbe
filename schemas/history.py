"""Timing history: how long routes took in past runs.

Here: samples and the fold of them for one route. Not here: percentiles (`tasks/learn.py`), packing (`tasks/plan/`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

KEPT_SAMPLES = 20


@dataclass(frozen=True, slots=True)
class Sample:
    """One route in one run: a row of `history/<run_id>.parquet`.

    Attributes:
        scan_ms: milliseconds of the successful visit; None when there was none (a failure teaches no duration).
        burned_ms: milliseconds over all attempts; what a route that failed last time weighs in the next plan.
        in_flight: routes that were scanned at once beside it.
        ended_at: ISO 8601 in UTC.
    """

    task_id: str
    route: str
    auth: str | None
    run_id: str
    ended_at: str
    scan_ms: int | None
    burned_ms: int
    in_flight: int
    engine_version: str | None


@dataclass(frozen=True, slots=True)
class RouteTiming:
    """What is known of one route: a row of `timings.parquet`.

    `samples` are the newest successful ones, oldest first, at most `KEPT_SAMPLES`; percentiles are None without any.
    `last_burned_ms` is set only when the newest sample was a failure; `failure` is that sample, kept so that a later
    merge can tell which is newer.
    """

    task_id: str
    route: str
    auth: str | None
    p50_ms: int | None
    p75_ms: int | None
    p95_ms: int | None
    p99_ms: int | None
    last_burned_ms: int | None
    samples: tuple[Sample, ...] = ()
    failure: Sample | None = None

    @property
    def has_success(self) -> bool:
        return self.p75_ms is not None


@dataclass(frozen=True, slots=True)
class TimingHistory:
    """All that is known, by `task_id`.

    Attributes:
        routes: timing of each route.
        plain_ms: durations of the plain form `{"route": seconds}` in milliseconds, by the route as written.
        bad_value_count: values that are no duration (not finite, not above zero, text, longer than a day); what they
            speak of falls back to the default.
    """

    routes: Mapping[str, RouteTiming] = field(default_factory=dict)
    plain_ms: Mapping[str, int] = field(default_factory=dict)
    bad_value_count: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def samples(self) -> Iterator[Sample]:
        """Every sample that is kept, to be folded again with others."""
        for timing in self.routes.values():
            yield from timing.samples
            if timing.failure is not None:
                yield timing.failure
