"""Everything that a plan is made from, read at once, so that bad input is reported at once.

Here: which files a request names, their defaults, and gathering their offences. Not here: reading formats
(`tasks/load`), judging (`tasks/gate`).
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import urlsplit

from flows.request import AuditRequest
from schemas.baseline import Baseline, missing_baseline, parse_baseline
from schemas.engine import EngineBuild
from schemas.errors import ContractError, IntegrityError, Offence
from schemas.history import Sample, TimingHistory
from schemas.layout import EstateLayout, id_offence
from schemas.manifest import Manifest
from schemas.policy import Policy, parse_policy
from schemas.settings import Settings
from schemas.suppression import Suppression, parse_suppressions
from tasks.freeze import BASELINE_FILE, POLICY_FILE, SUPPRESSIONS_FILE
from tasks.learn import fold_timings, merge_histories, merge_plain, samples_from_rows, timings_from_rows
from tasks.load import load_manifest, load_timings, load_yaml
from tasks.scan.credentials import Credentials
from tasks.scan.engine import read_engine
from tasks.store import Store, read_source

Loaded = TypeVar("Loaded")


@dataclass(frozen=True, slots=True)
class Judged:
    """What a run is judged by, and the bytes that are kept beside it."""

    policy: Policy
    suppressions: tuple[Suppression, ...]
    baseline: Baseline | None
    snapshot: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that was read for a plan."""

    estate: str
    manifest: Manifest
    history: TimingHistory
    engine: EngineBuild
    judged: Judged


class Gathering:
    """Runs readers one after another and keeps their offences, so that all are reported together."""

    def __init__(self) -> None:
        self.offences: list[Offence] = []

    def take(self, read: Callable[[], Loaded]) -> Loaded | None:
        """Return what a reader gives, or None after an offence."""
        try:
            return read()
        except ContractError as error:
            self.offences += error.offences
            return None

    def check(self) -> None:
        """Raise what was gathered, if anything was."""
        if self.offences:
            raise ContractError(self.offences)


def read_inputs(request: AuditRequest, settings: Settings, store: Store, now: str) -> Inputs:
    """Read every file that a request names.

    Args:
        now: ISO 8601 in UTC.

    Raises:
        ContractError: with the offences of all of them.
    """
    gathering = Gathering()
    engine = gathering.take(lambda: read_engine(settings.scan.engine_path, settings.scan.rules))
    manifest = gathering.take(lambda: load_manifest(
        request.path("source") or "", settings, secret=Credentials(os.environ).secret))
    estate = gathering.take(lambda: name_estate(request, settings, manifest)) or "unnamed"
    judged = gathering.take(lambda: read_judged(request, settings, store, estate, engine))
    history = gathering.take(lambda: read_history(request, settings, store, estate))
    gathering.check()
    assert engine and manifest and judged and history is not None
    return Inputs(estate, manifest, history, engine, judged)


def name_estate(request: AuditRequest, settings: Settings, manifest: Manifest | None) -> str:
    """Name the estate: as asked, as set, as the manifest says, else after the source.

    Raises:
        ContractError: the name cannot be a folder of the store.
    """
    given = request.estate or settings.estate or (manifest.estate if manifest else None)
    if given is None:
        parts = urlsplit(request.source)
        stem = parts.hostname if parts.scheme in ("http", "https") else PurePosixPath(request.source).stem
        given = re.sub(r"[^A-Za-z0-9._-]+", "-", stem or "estate").strip("-._")[:64] or "estate"
    offence = id_offence(given, "estate")
    if offence:
        raise ContractError([offence])
    return given


def read_judged(
    request: AuditRequest, settings: Settings, store: Store, estate: str, engine: EngineBuild | None
) -> Judged:
    """Read policy, suppressions and baseline, each by name or by default.

    Raises:
        ContractError: offences of all three.
    """
    gathering = Gathering()
    rules = {rule.rule for rule in engine.rules} if engine else None
    snapshot: dict[str, bytes] = {}

    def read(name: str, path: str | None) -> bytes:
        snapshot[name] = read_source(path) if path else b"{}\n"
        return snapshot[name]

    policy_path = request.path("policy") or settings.policy
    policy = gathering.take(lambda: parse_policy(
        load_yaml(read(POLICY_FILE, policy_path), policy_path or "default policy"), policy_path or "default policy",
        rules))
    suppressions_path = request.path("suppressions") or settings.suppressions
    suppressions = gathering.take(lambda: parse_suppressions(
        load_yaml(read(SUPPRESSIONS_FILE, suppressions_path), suppressions_path or "no suppressions"),
        suppressions_path or "no suppressions", rules))
    baseline = gathering.take(lambda: (read_baseline(request.path("baseline"), store, estate, snapshot),))
    gathering.check()
    assert policy is not None and suppressions is not None and baseline is not None
    return Judged(policy, suppressions, baseline[0], snapshot)


def read_baseline(path: str | None, store: Store, estate: str, snapshot: dict[str, bytes]) -> Baseline | None:
    """Read the baseline: the named file, else the estate's own, else none.

    Raises:
        ContractError: a named baseline is absent, or it breaks its schema.
    """
    key = EstateLayout(estate).baseline
    try:
        data = read_source(path) if path else store.read(key)
    except FileNotFoundError:
        return None
    except ContractError:
        raise missing_baseline(path or key) from None
    snapshot[BASELINE_FILE] = data
    return parse_baseline(data.decode("utf-8", "replace"), path or key)


def read_history(request: AuditRequest, settings: Settings, store: Store, estate: str) -> TimingHistory:
    """Merge the estate's own timing history with the files that were named.

    Raises:
        ContractError: a named file can't be read or is no timing history.
    """
    history, _ = stored_history(store, EstateLayout(estate))
    named = request.path("history")
    for path in (*settings.history, *([named] if named else [])):
        loaded = load_timings(path)
        samples = fold_timings(samples_from_rows(loaded.samples))
        merged = merge_plain(merge_histories(history, timings_from_rows(loaded.timings), samples), loaded.plain)
        history = replace(merged, warnings=(*history.warnings, *loaded.warnings))
    return history


def stored_history(store: Store, layout: EstateLayout) -> tuple[TimingHistory, frozenset[str]]:
    """Read the fold of all history, and every run that it does not hold yet.

    Returns:
        The history, and the ids of the runs in it. A file that cannot be read is left out with a warning.
    """
    warnings: list[str] = []
    samples: list[Sample] = []
    run_ids: set[str] = set()
    try:
        table, footer, _ = store.read_table(layout.timings)
        samples += timings_from_rows(table.to_pylist()).samples
        run_ids |= set(footer.get("run_ids", []))
    except FileNotFoundError:
        pass
    except (IntegrityError, KeyError) as error:
        warnings.append(f"timing history left out: {error}")
    for name in store.names(layout.history):
        run_id = name.removesuffix(".parquet")
        if run_id in run_ids:
            continue
        try:
            table, _, _ = store.read_table(f"{layout.history}/{name}")
            samples += samples_from_rows(table.to_pylist())
            run_ids.add(run_id)
        except (IntegrityError, KeyError) as error:
            warnings.append(f"timing history left out: {error}")
    return replace(fold_timings(samples), warnings=tuple(warnings)), frozenset(run_ids)
