"""The report of a run: its material from the store or fresh from a fold, and where its files go.

Here: reading what a report is made from, writing the files. Not here: rendering (`tasks/report`), the commands
(`commands/stored_runs.py`).
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import Any, TypeVar

from schemas.converged import Converged, DeadLetter
from schemas.errors import AuditError, IntegrityError
from schemas.evidence import Evidence, Quarantined
from schemas.finding import Finding
from schemas.format_version import complete_table
from schemas.layout import EstateLayout, RunLayout
from schemas.outcome import Outcome
from schemas.plan import Plan
from schemas.report_material import ReportMaterial
from schemas.shape import record_of
from schemas.verdict import Verdict, from_document
from tasks.commit import Shelf, read_receipt
from tasks.freeze import read_plan
from tasks.report import render_report
from tasks.store import Store

Row = TypeVar("Row")
TREND_RUNS = 60
FOLDER = "report"
ROW_SCHEMAS: Mapping[type, str] = {Finding: "finding", Outcome: "outcome", DeadLetter: "dead_letter",
                                   Quarantined: "quarantine"}


def folded_material(store: Store, run: RunLayout, plan: Plan, evidence: Evidence, converged: Converged,
                    verdict: Verdict) -> ReportMaterial:
    """Return the material of a run that was just folded: what the report says is what was decided on."""
    return ReportMaterial(plan, verdict, converged.outcomes, converged.dead_letters, converged.quarantined,
                          evidence.receipts, earlier_verdicts(store, run, verdict))


def stored_material(store: Store, run: RunLayout) -> ReportMaterial:
    """Read the material of a folded run from its files, each proved by the digest in the verdict.

    Raises:
        FileNotFoundError: the run is not folded. IntegrityError: a file is not the one that was judged.
    """
    document = store.read_json(run.file("verdict.json"))
    verdict = replace(from_document(document), findings=proved_rows(store, run, document, "findings", Finding))
    plan = read_plan(store, run)
    receipts = {}
    for index, attempt_name in document.get("receipts", {}).items():
        receipt = read_receipt(Shelf(store, run, plan.header.plan_id, int(index)), attempt_name)
        if receipt is not None:
            receipts[int(index)] = receipt
    return ReportMaterial(
        plan, verdict, proved_rows(store, run, document, "outcomes", Outcome),
        proved_rows(store, run, document, "dead_letters", DeadLetter),
        proved_rows(store, run, document, "quarantine", Quarantined), receipts, earlier_verdicts(store, run, verdict))


def write_report(store: Store, run: RunLayout, material: ReportMaterial) -> str:
    """Write a run's report into its folder and return the folder's key; what an earlier fold left there goes."""
    folder = run.file(FOLDER)
    files = render_report(material)
    write_files(store, files, f"{folder}/")
    for name in set(store.names(folder)) - set(files):
        store.remove(f"{folder}/{name}")
    return folder


def write_files(store: Store, files: Mapping[str, bytes], prefix: str = "") -> None:
    """Write files by name; the overview last, so that nobody opens one that leads nowhere."""
    for name in sorted(files, key=lambda name: (name == "index.html", name)):
        store.write(prefix + name, files[name], is_durable=False)


def earlier_verdicts(store: Store, run: RunLayout, verdict: Verdict) -> tuple[Verdict, ...]:
    """Read the verdicts of the estate's runs that were planned before this one: the newest `TREND_RUNS`, oldest first.

    A verdict that cannot be read is left out: it says nothing that could be trusted. Checking a document takes far
    longer than reading it: only those that are kept are checked.
    """
    mine = (str(verdict.provenance.get("planned_at", "")), run.run_id)
    documents = sorted(_verdict_documents(store, EstateLayout(run.estate)), key=itemgetter(0), reverse=True)
    found = filter(None, (_sound_verdict(document) for when, document in documents if when < mine))
    return tuple(reversed(list(islice(found, TREND_RUNS))))


def _verdict_documents(store: Store, layout: EstateLayout) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield when each run was planned, with its id, and its verdict as stored."""
    for run_id in store.names(layout.runs):
        with suppress(FileNotFoundError, NotADirectoryError, IntegrityError, KeyError, TypeError):
            document = store.read_json(layout.run(run_id).file("verdict.json"))
            yield (str(document["provenance"]["planned_at"]), run_id), document


def _sound_verdict(document: Any) -> Verdict | None:
    try:
        return from_document(document)
    except AuditError:
        return None


def proved_rows(
    store: Store, run: RunLayout, document: Mapping[str, Any], name: str, kind: type[Row]
) -> tuple[Row, ...]:
    """Read a table of a folded run as records, proved by the digest that its verdict names.

    Raises:
        IntegrityError: it is not the file that was judged.
    """
    key = run.file(f"{name}.parquet")
    table, footer, digest = store.read_table(key)
    expected = document.get("tables", {}).get(f"{name}.parquet", {}).get("sha256", digest)
    if digest != expected:
        raise IntegrityError(key, "is not the file that the verdict names; fold the run again")
    table = complete_table(ROW_SCHEMAS[kind], table, footer, key)
    return tuple(record_of(kind, row) for row in table.to_pylist())
