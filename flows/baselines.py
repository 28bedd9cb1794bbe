"""An estate's baseline, by explicit command: taken from a run, pruned by one, compared with one.

Here: which run and which baseline, and the one place that writes `baseline.json`. Not here: what goes into it
(`tasks/gate/baseline.py`), printing (`commands/gate_text.py`).
"""

from dataclasses import dataclass, replace

from flows.judged import find_baseline, read_baseline
from flows.judging import folded_input
from schemas.baseline import Baseline, missing_baseline, to_baseline_text
from schemas.errors import bad_input
from schemas.gate_input import GateInput
from schemas.layout import EstateLayout, RunLayout
from schemas.verdict import Verdict
from tasks.gate import decide_verdict, diff_baseline, make_baseline, prune_baseline
from tasks.gate.baseline import BaselineChange
from tasks.store import Store


@dataclass(frozen=True, slots=True)
class WrittenBaseline:
    """A baseline that was written, and the one that it took the place of."""

    key: str
    baseline: Baseline
    previous: Baseline | None


def update_baseline(store: Store, run: RunLayout, now: str, *, is_anew: bool = False) -> WrittenBaseline:
    """Take what a run saw as known.

    Args:
        now: ISO 8601 in UTC. is_anew: leave the old baseline aside, whatever it is.

    Raises:
        ContractError: the run is not folded or incomplete; the old baseline cannot be read or compared.
    """
    given, verdict = _judge(store, run, now)
    if is_anew and given.plan.header.scope != "full":
        raise bad_input("--anew", "the run scanned a part of the estate", "a full run",
                        "A delta run merges into the baseline that is there.")
    previous = None if is_anew else _baseline_of(store, run.estate)
    return _write(store, run.estate, make_baseline(given, verdict, previous), previous)


def prune_by_run(store: Store, run: RunLayout, now: str) -> WrittenBaseline:
    """Take out of the estate's baseline what a run saw fixed or gone.

    Raises:
        ContractError: no baseline; the run is not folded or incomplete; the two cannot be compared.
    """
    given, verdict = _judge(store, run, now)
    previous = _required_baseline(store, run.estate)
    return _write(store, run.estate, prune_baseline(given, verdict, previous), previous)


def diff_with_run(store: Store, run: RunLayout, now: str, path: str | None = None) -> tuple[BaselineChange, ...]:
    """List what differs between a baseline and a run.

    Args:
        path: of a baseline; None is the estate's own.

    Raises:
        ContractError: no such baseline; the run is not folded; the two cannot be compared.
    """
    baseline = _required_baseline(store, run.estate, path)
    return diff_baseline(folded_input(store, run, now), baseline)


def _judge(store: Store, run: RunLayout, now: str) -> tuple[GateInput, Verdict]:
    """Judge a run without any baseline: whether it is whole does not hang on the one that is to be replaced."""
    given = folded_input(store, run, now)
    given = replace(given, baseline=None, policy=replace(given.policy, baseline="none"))
    return given, decide_verdict(given)


def _baseline_of(store: Store, estate: str, path: str | None = None) -> Baseline | None:
    file = find_baseline(path, store, estate)
    return read_baseline(file) if file else None


def _required_baseline(store: Store, estate: str, path: str | None = None) -> Baseline:
    baseline = _baseline_of(store, estate, path)
    if baseline is None:
        raise missing_baseline(EstateLayout(estate).baseline)
    return baseline


def _write(store: Store, estate: str, baseline: Baseline, previous: Baseline | None) -> WrittenBaseline:
    key = EstateLayout(estate).baseline
    store.write(key, to_baseline_text(baseline).encode())
    return WrittenBaseline(key, baseline, previous)
