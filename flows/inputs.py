"""Everything that a plan is made from, read at once, so that bad input is reported at once.

Here: which files a request names, and their defaults; those that a run is judged by are read in `judged.py`. Not here:
reading formats (`tasks/load`), judging (`tasks/gate`).
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from flows.gathering import Gathering
from flows.judged import Judged, read_judged
from flows.request import AuditRequest
from flows.runs import shown_source
from flows.settings import settings_in_force
from schemas.engine import EngineBuild
from schemas.errors import ContractError, IntegrityError
from schemas.history import Sample, TimingHistory
from schemas.layout import EstateLayout, id_offence
from schemas.manifest import Manifest
from schemas.settings import Settings
from tasks.learn import fold_timings, merge_plain, samples_from_rows, samples_from_timings
from tasks.load import in_force_of_source, load_manifest, load_timings
from tasks.scan.credentials import Credentials
from tasks.scan.engine import read_engine
from tasks.store import Store


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that was read for a plan.

    Attributes:
        settings: in force, with what the source brings. of_source: that part of them.
    """

    settings: Settings
    of_source: Mapping[str, object]
    estate: str
    manifest: Manifest
    history: TimingHistory
    engine: EngineBuild
    judged: Judged


@dataclass(frozen=True, slots=True)
class StoredSamples:
    """The timing history of a store, not folded yet.

    Attributes:
        run_ids: runs that the samples are of.
    """

    samples: tuple[Sample, ...]
    run_ids: frozenset[str]
    warnings: tuple[str, ...] = ()


def read_inputs(request: AuditRequest, settings: Settings, store: Store) -> Inputs:
    """Read every file that a request names.

    Raises:
        ContractError: with the offences of all of them.
    """
    gathering = Gathering()
    engine = gathering.take(lambda: read_engine(settings.scan.engine_path, settings.scan.rules))
    manifest = gathering.take(lambda: load_manifest(
        request.path("source") or "", settings, secret=Credentials(os.environ).secret,
        rules={rule.rule for rule in engine.rules} if engine else None))
    of_source: Mapping[str, object] = {}
    if manifest and engine and manifest.settings:
        settings, origins = settings_in_force(source=manifest.settings)
        of_source = in_force_of_source(manifest.settings, settings, origins)
        engine = read_engine(settings.scan.engine_path, settings.scan.rules)
    estate = gathering.take(lambda: name_estate(request, settings, manifest)) or "unnamed"
    judged = gathering.take(lambda: read_judged(request, settings, store, estate, engine))
    history = gathering.take(lambda: read_history(request, settings, store, estate))
    gathering.check()
    assert engine and manifest and judged and history is not None
    manifest = replace(manifest, source=shown_source(request.source, settings))  # a plan knows no path of a worker
    return Inputs(settings, of_source, estate, manifest, history, engine, judged)


def source_settings(source: str) -> Mapping[str, object]:
    """Return the settings that a source brings, by dotted key.

    Raises:
        ContractError: the source or the engine can't be read.
    """
    settings, _ = settings_in_force()
    rules = {rule.rule for rule in read_engine(settings.scan.engine_path, settings.scan.rules).rules}
    return load_manifest(source, settings, secret=Credentials(os.environ).secret, rules=rules).settings


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


def read_history(request: AuditRequest, settings: Settings, store: Store, estate: str) -> TimingHistory:
    """Merge the estate's own timing history with the files that were named.

    Raises:
        ContractError: a named file can't be read or is no timing history.
    """
    stored = stored_samples(store, EstateLayout(estate))
    named = request.path("history")
    loaded = [load_timings(path) for path in (*settings.history, *([named] if named else []))]
    kept = [samples_from_timings(file.timings) for file in loaded]
    history = replace(
        fold_timings([*stored.samples, *(sample for samples, _ in kept for sample in samples),
                      *samples_from_rows(row for file in loaded for row in file.samples)]),
        bad_value_count=sum(bad_count for _, bad_count in kept),
        warnings=(*stored.warnings, *(warning for file in loaded for warning in file.warnings)))
    for file in loaded:
        history = merge_plain(history, file.plain)
    return history


def stored_samples(store: Store, layout: EstateLayout) -> StoredSamples:
    """Read the samples of the fold of all history, and of every run that it does not hold yet.

    A file that cannot be read is left out with a warning.
    """
    warnings: list[str] = []
    samples: list[Sample] = []
    run_ids: set[str] = set()
    try:
        table, footer, _ = store.read_table(layout.timings)
        samples += samples_from_timings(table.to_pylist())[0]
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
    return StoredSamples(tuple(samples), frozenset(run_ids), tuple(warnings))
