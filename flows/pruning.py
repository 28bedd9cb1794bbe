"""Old runs leave the store: whole, or only the page content in them.

Here: which runs may go, and removing them. Never those that others stand on: the baseline's run, the newest run, the
last full one, one that is being worked on. Not here: the command (`commands/stored_runs.py`).
"""

import socket
import time
from dataclasses import dataclass, replace
from datetime import date, timedelta

import pyarrow as pa

from flows.dataset import TABLES
from flows.lease import read_lease, why_stale
from schemas.baseline import parse_baseline
from schemas.errors import AuditError
from schemas.layout import EstateLayout, RunLayout
from schemas.shape import load_schema
from tasks.freeze import BASELINE_FILE, read_header
from tasks.publish import read_latest
from tasks.store import Store

ROW_SCHEMAS = {"outcomes": "outcome", "occurrences": "occurrence", "rule_results": "rule_result",
               "findings": "finding", "dead_letters": "dead_letter", "quarantine": "quarantine"}


@dataclass(frozen=True, slots=True)
class OldRun:
    """A run that the limits reach; `kept_because` names why it stays all the same."""

    run: RunLayout
    planned_at: str
    kept_because: str = ""


def find_old_runs(store: Store, today: str, keep: int | None, older_than_days: int | None) -> list[OldRun]:
    """Find runs to prune, oldest first; those that must stay are named with the reason.

    Args:
        today: ISO 8601. keep: how many of the newest runs of each estate stay.
        older_than_days: runs of that many days or fewer stay. Where both are given a run must be beyond both.
    """
    found: list[OldRun] = []
    for estate in store.names(""):
        runs = _runs_of(store, EstateLayout(estate))
        if keep is not None:
            runs = runs[:max(0, len(runs) - keep)]
        if older_than_days is not None:
            limit = (date.fromisoformat(today[:10]) - timedelta(days=older_than_days)).isoformat()
            runs = [run for run in runs if run.planned_at[:10] < limit]
        needed = _needed_runs(store, EstateLayout(estate))
        found += [replace(old, kept_because=_why_kept(store, old.run, needed)) for old in runs]
    return found


def prune_run(store: Store, run: RunLayout) -> None:
    """Remove a run whole. Its verdict goes first: what is left after a cut is no folded run."""
    store.remove(run.file("verdict.json"))
    store.remove(run.root)


def prune_content(store: Store, run: RunLayout) -> None:
    """Remove the page content of a run: partials and report whole, in the tables every column that holds some.

    Counts, fingerprints, outcomes and the verdict stay, with new digests. Doing it again changes nothing.
    """
    for name in ("partials", "report"):
        store.remove(run.file(name))
    key = run.file("verdict.json")
    if not store.exists(key):
        return
    document = store.read_json(key)
    for name in TABLES:
        table, footer, _ = store.read_table(run.file(f"{name}.parquet"))
        digest = store.write_table(run.file(f"{name}.parquet"), without_content(table, ROW_SCHEMAS[name]), footer)
        document["tables"][f"{name}.parquet"]["sha256"] = digest
    store.write_json(key, document)


def without_content(table: pa.Table, schema_name: str) -> pa.Table:
    """Return a table with nothing in the columns that hold page content: null, or empty where null is not allowed."""
    for index, field in enumerate(table.schema):
        spec = load_schema(schema_name)["properties"][field.name]
        if spec.get("x-page-content"):
            empty: object = [] if pa.types.is_list(field.type) else "" if pa.types.is_string(field.type) else None
            value = None if "null" in spec["type"] else empty
            table = table.set_column(index, field, pa.array([value] * table.num_rows, field.type))
    return table


def _runs_of(store: Store, estate: EstateLayout) -> list[OldRun]:
    runs = []
    for run_id in store.names(estate.runs):
        try:
            header = read_header(store, estate.run(run_id))
        except (FileNotFoundError, NotADirectoryError, AuditError):
            continue  # not ours to judge: nothing says how old it is
        runs.append(OldRun(estate.run(run_id), header.created_at))
    return sorted(runs, key=lambda old: (old.planned_at, old.run.run_id))


def _needed_runs(store: Store, estate: EstateLayout) -> dict[str, str]:
    """Name the runs that others stand on, with the reason.

    Raises:
        ContractError: a baseline or `latest.json` cannot be read: nobody knows which runs they name.
    """
    latest = read_latest(store, estate)
    newest = latest.run_id if latest else None
    needed = {latest.last_full_run_id if latest else None: "it is the last full run", newest: "it is the newest run"}
    # The newest run may have been judged by a baseline of another place: its snapshot says by which.
    for key in (estate.baseline, *([estate.run(newest).file(BASELINE_FILE)] if newest else [])):
        if store.exists(key):
            baseline = parse_baseline(store.read(key).decode("utf-8", "replace"), key)
            needed[baseline.run_id] = "the baseline was made from it"
    return {run_id: reason for run_id, reason in needed.items() if run_id}


def _why_kept(store: Store, run: RunLayout, needed: dict[str, str]) -> str:
    if run.run_id in needed:
        return needed[run.run_id]
    lease = read_lease(store, run.file("lease.json"))
    is_held = lease is not None and why_stale(lease, socket.gethostname(), time.time()) is None  # noqa: TID251
    return "somebody works on it" if is_held else ""
