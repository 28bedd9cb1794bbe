"""The runs of a store as a table.

Here: one row for each run, folded or not. Not here: the command (`stored_runs.py`).
"""

from collections.abc import Sequence

from schemas.errors import AuditError
from schemas.layout import EstateLayout, RunLayout
from schemas.verdict import from_document
from tasks.freeze import read_header
from tasks.store import Store

COLUMNS = ("estate", "run_id", "planned_at", "verdict", "scope", "routes", "covered", "findings", "blocking")
NUMBERS = range(5, len(COLUMNS))
NOT_FOLDED = "not folded"


def list_runs(store: Store) -> list[dict[str, object]]:
    """Read one row for each run of a store, by estate, then in the order in which they were planned."""
    rows = []
    for estate in store.names(""):
        layout = EstateLayout(estate)
        for run_id in store.names(layout.runs):
            try:
                rows.append(_row(store, layout.run(run_id)))
            except (FileNotFoundError, NotADirectoryError):
                continue  # a folder without a plan is no run
            except AuditError as error:
                rows.append({"estate": estate, "run_id": run_id, "verdict": f"not readable: {error}"[:120]})
    return sorted(rows, key=lambda row: tuple(str(row.get(name, "")) for name in ("estate", "planned_at", "run_id")))


def print_runs(rows: Sequence[dict[str, object]]) -> None:
    """Print the table in aligned columns; nothing is cut, for an id that is cut names no run."""
    if not rows:
        print("The store has no runs.")
        return
    lines = [[name.replace("_", " ") for name in COLUMNS], *([str(row.get(name, "")) for name in COLUMNS]
                                                             for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [cell.rjust(width) if index in NUMBERS else cell.ljust(width)
                 for index, (cell, width) in enumerate(zip(line, widths, strict=True))]
        print("  ".join(cells).rstrip())


def _row(store: Store, run: RunLayout) -> dict[str, object]:
    header = read_header(store, run)
    row: dict[str, object] = {
        "estate": run.estate, "run_id": run.run_id, "planned_at": header.created_at, "verdict": NOT_FOLDED,
        "scope": header.scope, "routes": header.route_count}
    if store.exists(run.file("verdict.json")):
        verdict = from_document(store.read_json(run.file("verdict.json")))
        row |= {"verdict": verdict.kind.value, "covered": verdict.coverage.covered_count,
                "findings": verdict.finding_count, "blocking": verdict.decisions.get("block", 0)}
    return row
