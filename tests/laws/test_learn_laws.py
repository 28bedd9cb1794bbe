"""Laws of learning: replay changes nothing, order changes nothing, failures teach nothing."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.history import Sample, TimingHistory
from schemas.route import RouteKey
from tasks.learn import fold_timings, merge_plain, samples_from_timings, timing_rows

KEYS = [RouteKey(f"https://e.test/{name}", auth) for name in "ab" for auth in (None, "staff")]


def sample(key: RouteKey, run: int, scan_ms: int | None, burned_ms: int, in_flight: int, engine: str | None) -> Sample:
    return Sample(key.task_id, key.route, key.auth, f"r{run}", f"2026-11-{1 + run % 28:02d}T08:00:00Z", scan_ms,
                  burned_ms, in_flight, engine)


SCANS = st.builds(sample, st.sampled_from(KEYS), st.integers(0, 40), st.integers(1, 100_000), st.integers(0, 300_000),
                  st.integers(0, 3), st.sampled_from([None, "4.12.1"]))
FAILURES = st.builds(sample, st.sampled_from(KEYS), st.integers(41, 60), st.none(), st.integers(0, 300_000),
                     st.integers(0, 3), st.none())
SAMPLES = st.lists(st.one_of(SCANS, FAILURES), max_size=60)


def lessons(history: TimingHistory) -> dict[str, Sequence[Any]]:
    """What was learned of durations."""
    return {task_id: (timing.p50_ms, timing.p75_ms, timing.p95_ms, timing.p99_ms, timing.samples)
            for task_id, timing in history.routes.items() if timing.samples}


@given(SAMPLES)
def test_percentiles_are_in_order_and_within_the_samples(samples: list[Sample]) -> None:
    for timing in fold_timings(samples).routes.values():
        durations = [kept.scan_ms for kept in timing.samples]
        percentiles = [timing.p50_ms, timing.p75_ms, timing.p95_ms, timing.p99_ms]
        if not durations:
            assert percentiles == [None] * 4
            continue
        in_order = [min(durations), *percentiles, max(durations)]
        assert in_order == sorted(in_order)


@given(SAMPLES, st.randoms(use_true_random=False))
def test_order_changes_nothing(samples: list[Sample], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(samples)
    random.shuffle(shuffled)
    assert fold_timings(shuffled) == fold_timings(samples)


@given(SAMPLES, SAMPLES)
def test_replay_changes_nothing(earlier: list[Sample], later: list[Sample]) -> None:
    history = fold_timings([*earlier, *later])
    assert fold_timings([*earlier, *later, *earlier]) == history
    assert fold_timings([*history.samples]) == history
    assert fold_timings([*fold_timings(earlier).samples, *later]) == history
    assert fold_timings([*history.samples, *earlier]) == history


@given(SAMPLES, st.lists(FAILURES, max_size=10))
def test_failures_teach_nothing(samples: list[Sample], failures: list[Sample]) -> None:
    assert lessons(fold_timings([*samples, *failures])) == lessons(fold_timings(samples))


@given(SAMPLES)
def test_a_stored_history_comes_back(samples: list[Sample]) -> None:
    rows = timing_rows(fold_timings(samples))
    assert timing_rows(fold_timings(samples_from_timings(rows)[0])) == rows


@given(st.dictionaries(st.text(max_size=5), st.one_of(
    st.floats(), st.integers(), st.booleans(), st.none(), st.text(max_size=3)), max_size=20))
def test_every_plain_value_is_a_duration_or_counted(durations: dict[str, object]) -> None:
    history = merge_plain(TimingHistory(), durations)
    assert len(history.plain_ms) + history.bad_value_count == len(durations)
    assert all(1 <= duration_ms <= 86_400_000 for duration_ms in history.plain_ms.values())
