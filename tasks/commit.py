"""Commit triples and receipts, and read them back with proof.

Here: the commit protocol. A triple (occurrences, rule results, outcomes) counts once its outcomes file is there, which
is written last and whose footer holds rows and digests of the other two; an attempt counts once its receipt is there.
Not here: which rows win (`tasks/converge/`), what is still to scan (`tasks/scan/work.py`).
Both the shard (it adopts earlier triples) and the fold (`tasks/collect.py`) read through this module.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.compute as pc

from schemas.errors import IntegrityError
from schemas.format_version import complete_table, read_older
from schemas.layout import ATTEMPT_PATTERN, TRIPLE_KINDS, RunLayout
from schemas.receipt import RECEIPT_FORMAT, EndedBy, Receipt, TripleRef
from schemas.shape import faults_in, offences_in
from tasks.store import Store

ROW_SCHEMAS = {"occurrences": "occurrence", "rule_results": "rule_result", "outcomes": "outcome"}


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where one shard of one plan keeps its attempts."""

    store: Store
    run: RunLayout
    plan_id: str
    shard_index: int

    def attempts(self) -> list[str]:
        """List the attempt folders, oldest first (by attempt, then hex)."""
        names = self.store.names(self.run.shard(self.shard_index))
        found = [(int(match[1]), match[2], name) for name in names if (match := ATTEMPT_PATTERN.fullmatch(name))]
        return [name for *_, name in sorted(found)]

    def key(self, attempt_name: str, name: str) -> str:
        """Key of a file of an attempt."""
        return f"{self.run.attempt(self.shard_index, attempt_name)}/{name}"


@dataclass(frozen=True, slots=True)
class RowFault:
    """A row of a triple that breaks its schema, or speaks of a route that is not the shard's."""

    kind: str
    key: str
    index: int
    task_id: str
    reason: str
    row: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Triple:
    """A verified triple: sound rows in tables, the others as faults. A route with a fault counts as not scanned."""

    ref: TripleRef
    outcomes: pa.Table
    occurrences: pa.Table
    rule_results: pa.Table
    browser_version: str | None = None
    faults: tuple[RowFault, ...] = ()


def attempt_number(attempt_name: str) -> int:
    """Return the number in the name of an attempt folder.

    Raises:
        IntegrityError: it is no such name.
    """
    match = ATTEMPT_PATTERN.fullmatch(attempt_name)
    if match is None:
        raise IntegrityError(attempt_name, "is no name of an attempt")
    return int(match[1])


def write_triple(
    shelf: Shelf, attempt_name: str, number: int, tables: Mapping[str, pa.Table], browser_version: str | None = None
) -> TripleRef:
    """Write a triple; its outcomes file comes last and commits it.

    Args:
        tables: one for each of `TRIPLE_KINDS`, with the Arrow schema of its rows.
        browser_version: that saw the pages, so that no later attempt can call them another's.
    """
    footer = {**_place(shelf, attempt_name, number), "browser_version": browser_version}
    for kind in TRIPLE_KINDS[:-1]:
        key = shelf.run.triple(shelf.shard_index, attempt_name, kind, number)
        footer[kind] = {"rows": tables[kind].num_rows, "sha256": shelf.store.write_table(key, tables[kind])}
    key = shelf.run.triple(shelf.shard_index, attempt_name, "outcomes", number)
    digest = shelf.store.write_table(key, tables["outcomes"], footer)
    return TripleRef(attempt_name, number, tables["outcomes"].num_rows, digest)


def read_triple(
    shelf: Shelf, attempt_name: str, number: int, task_ids: Collection[str], outcomes_digest: str | None = None
) -> Triple:
    """Read a triple and prove it against its footer, its schemas and, if given, the digest in a receipt.

    Args:
        task_ids: routes of the shard; rows of others are faults.

    Raises:
        IntegrityError: a file is missing, cut, foreign, or not what the footer says.
    """
    outcomes, footer, digest = _read(shelf, attempt_name, "outcomes", number)
    key = shelf.run.triple(shelf.shard_index, attempt_name, "outcomes", number)
    if outcomes_digest is not None and digest != outcomes_digest:
        raise IntegrityError(key, "digest is not the one in the receipt")
    said = {"run_id": shelf.run.run_id, **footer}  # a footer of before names no run: its rows do
    for name, value in _place(shelf, attempt_name, number).items():
        if said.get(name) != value:
            raise IntegrityError(key, f"footer says {name} {said.get(name)!r}, expected {value!r}")
    tables = {"outcomes": outcomes}
    for kind in TRIPLE_KINDS[:-1]:
        table, _, digest_found = _read(shelf, attempt_name, kind, number)
        if footer.get(kind) != {"rows": table.num_rows, "sha256": digest_found}:
            raise IntegrityError(shelf.run.triple(shelf.shard_index, attempt_name, kind, number),
                                 "rows or digest are not those in the footer of the outcomes file")
        tables[kind] = table
    for kind, table in tables.items():
        _check_run(shelf, shelf.run.triple(shelf.shard_index, attempt_name, kind, number), table)
    faults = tuple(fault for kind, table in tables.items()
                   for fault in _row_faults(shelf, kind, attempt_name, number, table, task_ids))
    faulty = pa.array(sorted({fault.task_id for fault in faults}), pa.string())
    sound = {kind: table.filter(pc.invert(pc.is_in(table["task_id"], faulty))) for kind, table in tables.items()}
    return Triple(TripleRef(attempt_name, number, outcomes.num_rows, digest), faults=faults,
                  browser_version=str(footer["browser_version"]) if footer.get("browser_version") else None, **sound)


def committed_numbers(shelf: Shelf, attempt_name: str) -> list[int]:
    """List the triples of an attempt whose outcomes file is there."""
    names = shelf.store.names(shelf.run.attempt(shelf.shard_index, attempt_name))
    stems = [name.removeprefix("outcomes-").removesuffix(".parquet") for name in names
             if name.startswith("outcomes-") and name.endswith(".parquet")]
    return sorted(int(stem) for stem in stems if stem.isdigit())


def write_receipt(shelf: Shelf, receipt: Receipt) -> None:
    """Write the receipt of an attempt: the last file of its folder."""
    shelf.store.write_json(shelf.run.receipt(shelf.shard_index, receipt.attempt_name), asdict(receipt))


def read_receipt(shelf: Shelf, attempt_name: str) -> Receipt | None:
    """Read the receipt of an attempt; None where there is none.

    Raises:
        IntegrityError: it breaks its schema or speaks of another plan, run, shard or attempt.
    """
    key = shelf.run.receipt(shelf.shard_index, attempt_name)
    try:
        document = shelf.store.read_json(key)
    except FileNotFoundError:
        return None
    document = read_older("receipt", document, RECEIPT_FORMAT, key)
    offences = offences_in("receipt", document, key)
    if offences:
        raise IntegrityError(key, "; ".join(offence.fault for offence in offences[:3]))
    said = (document["plan_id"], document["run_id"], document["shard_index"], document["attempt_name"])
    if said != (shelf.plan_id, shelf.run.run_id, shelf.shard_index, attempt_name):
        raise IntegrityError(key, f"is of plan, run, shard and attempt {said}")
    document["triples"] = tuple(TripleRef(**triple) for triple in document["triples"])
    document["ended_by"] = EndedBy(document["ended_by"])
    return Receipt(**document)


def _place(shelf: Shelf, attempt_name: str, number: int) -> dict[str, object]:
    """Return what a triple says of itself; two runs of one manifest have one plan id, so the run is said too."""
    return {"plan_id": shelf.plan_id, "run_id": shelf.run.run_id, "shard_index": shelf.shard_index,
            "attempt_name": attempt_name, "number": number}


def _check_run(shelf: Shelf, key: str, table: pa.Table) -> None:
    foreign = sorted(set(map(str, table["run_id"].unique().to_pylist())) - {shelf.run.run_id})
    if foreign:
        raise IntegrityError(key, f"holds rows of run {', '.join(foreign)}, expected {shelf.run.run_id}")


def _row_faults(
    shelf: Shelf, kind: str, attempt_name: str, number: int, table: pa.Table, task_ids: Collection[str]
) -> list[RowFault]:
    reasons = faults_in(ROW_SCHEMAS[kind], table)
    for index, task_id in enumerate(table["task_id"].to_pylist()):
        if task_id not in task_ids:
            reasons.setdefault(index, "speaks of a route that is not in the shard")
    key = shelf.run.triple(shelf.shard_index, attempt_name, kind, number)
    rows = ((index, reason, table.slice(index, 1).to_pylist()[0]) for index, reason in sorted(reasons.items()))
    return [RowFault(kind, key, index, row["task_id"], reason, row) for index, reason, row in rows]


def _read(shelf: Shelf, attempt_name: str, kind: str, number: int) -> tuple[pa.Table, dict[str, object], str]:
    key = shelf.run.triple(shelf.shard_index, attempt_name, kind, number)
    try:
        table, footer, digest = shelf.store.read_table(key)
    except FileNotFoundError:
        raise IntegrityError(key, "is missing") from None
    return complete_table(ROW_SCHEMAS[kind], table, footer, key), footer, digest
