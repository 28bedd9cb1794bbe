"""Publish a run: evidence first (tables, replay manifest, history), the verdict last.

Here: which files a fold writes and in which order. Not here: deciding (`tasks/gate`), raising the verdict (`flows/`).
`verdict.json` names the digest of every table, so a reader can tell a whole run from a half-written one.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

import pyarrow as pa

from schemas.converged import Converged, DeadLetter
from schemas.errors import ContractError, IntegrityError, bad_input
from schemas.evidence import Evidence
from schemas.format_version import check_not_newer
from schemas.history import Sample
from schemas.latest import LATEST_FORMAT, Latest
from schemas.layout import EstateLayout, RunLayout
from schemas.manifest import MANIFEST_FORMAT
from schemas.occurrence import canonical_json
from schemas.plan import Plan, PlannedRoute
from schemas.shape import offences_in, row_of, table_of
from schemas.verdict import Verdict, VerdictKind, to_document
from tasks.store import Store

REPLAY_FIELDS = ("url", "auth", "journey", "priority", "owner", "tags", "ready", "ready_when")


@dataclass(frozen=True, slots=True)
class Publication:
    """All that a fold writes.

    Attributes:
        samples: this run's row of the timing history. timing_rows: the fold of all history, rows of `timings.parquet`.
        history_run_ids: runs that the fold of history holds.
    """

    plan: Plan
    evidence: Evidence
    converged: Converged
    verdict: Verdict
    samples: Sequence[Sample]
    timing_rows: Sequence[Mapping[str, object]]
    history_run_ids: Sequence[str]


def publish(store: Store, run: RunLayout, publication: Publication) -> dict[str, object]:
    """Write a folded run and return its verdict document.

    Publishing a fold again replaces its files by equal ones.
    """
    header = publication.plan.header
    columns = {"estate": run.estate, "run_id": run.run_id, "run_date": header.created_at[:10]}
    tables = _tables(publication, columns)
    digests = {}
    for name, table in tables.items():
        digest = store.write_table(run.file(f"{name}.parquet"), table, {"run_id": run.run_id})
        digests[f"{name}.parquet"] = {"rows": table.num_rows, "sha256": digest}
    store.write_json(run.file("replay.json"), replay_manifest(publication.plan, publication.converged.dead_letters))
    _write_history(store, EstateLayout(run.estate), run.run_id, publication, columns)
    receipts = {str(index): receipt.attempt_name for index, receipt in sorted(publication.evidence.receipts.items())}
    document = to_document(publication.verdict, tables=digests, receipts=receipts)
    store.write_json(run.file("verdict.json"), document)
    _write_latest(store, publication)
    return document


def _write_latest(store: Store, publication: Publication) -> None:
    """Name the newest run, and the newest full one that was whole: a source that shrank is held against that one.

    Runs overlap, and an old one may be folded again: each of the two is the one that was planned last.
    """
    header = publication.plan.header
    stored = _stored_latest(store, EstateLayout(header.estate))
    newest = (header.run_id, header.created_at)
    if stored and stored.run_id != header.run_id and stored.created_at > header.created_at:
        newest = (stored.run_id, stored.created_at)
    last_id, route_count, planned_at = _last_full(publication, stored)
    store.write_json(EstateLayout(header.estate).latest, asdict(Latest(*newest, last_id, route_count, planned_at)))


def _last_full(publication: Publication, stored: Latest | None) -> tuple[str | None, int | None, str]:
    """Choose between this run and the one that the store names, or this run's plan where that is no other one."""
    header = publication.plan.header
    known = (header.last_full_run_id, header.last_full_route_count, "")  # it was there before this run was planned
    if stored and stored.last_full_run_id not in (None, header.run_id):
        known = (stored.last_full_run_id, stored.last_full_route_count, stored.last_full_created_at)
    is_whole = header.scope == "full" and publication.verdict.kind is not VerdictKind.INCOMPLETE
    is_newer = header.created_at >= known[2]
    return (header.run_id, header.route_count, header.created_at) if is_whole and is_newer else known


def _stored_latest(store: Store, estate: EstateLayout) -> Latest | None:
    """Read what the store names; nothing where it names none or cannot be read: it is then written anew."""
    try:
        return read_latest(store, estate)
    except ContractError:
        return None


def read_latest(store: Store, estate: EstateLayout) -> Latest | None:
    """Read what an estate remembers of its runs; None where it had none.

    Raises:
        ContractError: the file is broken: to go on would switch `max_shrink` off without a word.
    """
    key = estate.latest
    remedy = f"`fanfold fold {estate.estate}/RUN_ID` of the newest run that was whole writes it anew."
    try:
        document = store.read_json(key)
    except FileNotFoundError:
        return None
    except IntegrityError as error:
        raise bad_input(key, error.fault, "what the last fold wrote", remedy) from None
    check_not_newer(document, LATEST_FORMAT, key)
    faults = [str(offence) for offence in offences_in("latest", document, "it")[:3]]
    if not faults and (document["last_full_run_id"] is None) != (document["last_full_route_count"] is None):
        faults = ["it names a last full run or its routes, not both"]
    if faults:
        raise bad_input(key, f"is broken ({'; '.join(faults)})", "what the last fold wrote", remedy)
    return Latest.of(document)


def publish_verdict_beside(store: Store, run: RunLayout, verdict: Verdict, stored: Mapping[str, object]) -> str:
    """Write the verdict of another gating of a folded run beside the first and return its key.

    Args:
        stored: `tables` and `receipts` of the run's own verdict.
    """
    document = to_document(verdict, **stored)
    digest = hashlib.sha256(canonical_json(document).encode()).hexdigest()[:16]
    key = run.file(f"verdict-{digest}.json")
    store.write_json(key, document)
    return key


def replay_manifest(plan: Plan, dead_letters: Sequence[DeadLetter]) -> dict[str, object]:
    """Return the dead letters as a manifest that can be audited."""
    routes = {route.task_id: route for route in plan.routes}
    return {"format_version": MANIFEST_FORMAT, "estate": plan.header.estate,
            "routes": [_replay_entry(routes[letter.task_id]) for letter in dead_letters if not letter.is_accepted]}


def _replay_entry(route: PlannedRoute) -> dict[str, object]:
    entry = {name: value for name in REPLAY_FIELDS if (value := getattr(route, name)) not in (None, ())}
    expected = {item.name: getattr(route.expect, item.name) for item in fields(route.expect)}
    expect = {name: value for name, value in expected.items() if value is not None}
    further = {"tags": list(route.tags), "actions": [action.document for action in route.steps], "expect": expect}
    return entry | {name: value for name, value in further.items() if value}


def _tables(publication: Publication, columns: Mapping[str, object]) -> dict[str, pa.Table]:
    converged = publication.converged

    def rows(name: str, records: Sequence[object]) -> pa.Table:
        return table_of(name, [{**columns, **row_of(record)} for record in records])

    return {
        "outcomes": rows("outcome", converged.outcomes),
        "occurrences": converged.occurrences,
        "rule_results": converged.rule_results,
        "findings": rows("finding", publication.verdict.findings),
        "dead_letters": rows("dead_letter", converged.dead_letters),
        "quarantine": rows("quarantine", converged.quarantined),
    }


def _write_history(
    store: Store, estate: EstateLayout, run_id: str, publication: Publication, columns: Mapping[str, object]
) -> None:
    samples = table_of("sample", [{**columns, **row_of(sample)} for sample in publication.samples])
    store.write_table(estate.history_of(run_id), samples, {"run_id": run_id})
    timings = table_of("timing", [{**columns, **row} for row in publication.timing_rows])
    store.write_table(estate.timings, timings, {"run_ids": sorted(publication.history_run_ids)})
