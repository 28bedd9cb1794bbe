"""One dataset over runs: every table of every folded run, partitioned by estate and day of the run.

Here: which runs, where each file goes, and the engine's rules beside the tables. Columns of the partition are in the
path and not in the file, as readers of such datasets expect. Tables of older programs get the columns of today: readers
take the columns of all files from one of them. A run's file is named by its run: writing it twice changes
nothing. Not here: reading it (`docs/recipes.md`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from schemas.errors import IntegrityError
from schemas.format_version import VERSION_KEY, complete_table
from schemas.layout import EstateLayout, RunLayout
from schemas.rule_row import RuleRow
from schemas.shape import row_of, table_of
from tasks.freeze import read_header
from tasks.store import Store

# Tables of a run's folder, and the schema of their rows; `rules` is made of its plan.
TABLES = {"outcomes": "outcome", "occurrences": "occurrence", "rule_results": "rule_result", "findings": "finding",
          "dead_letters": "dead_letter", "quarantine": "quarantine"}
PARTITION = ("estate", "run_date")


@dataclass(frozen=True, slots=True)
class Exported:
    """What went into the dataset; `left_out` says why a run did not, by `estate/run`."""

    run_ids: tuple[str, ...]
    row_count: int
    left_out: Mapping[str, str]


def export_runs(store: Store, output: Store, since: str | None, to: str | None) -> Exported:
    """Write the tables of all folded runs into a dataset.

    Args:
        output: its root becomes the dataset: `<table>/estate=…/run_date=…/<run id>.parquet`.
        since, to: first and last day, ISO 8601; None is open.
    """
    written: list[str] = []
    rows = 0
    left_out: dict[str, str] = {}
    for estate in store.names(""):
        layout = EstateLayout(estate)
        for run_id in store.names(layout.runs):
            run = layout.run(run_id)
            try:
                day = _day_of(store, run)
                if (since and day < since) or (to and day > to):
                    continue
                rows += _export_run(store, output, run, day)
                written.append(f"{estate}/{run_id}")
            except FileNotFoundError:
                left_out[f"{estate}/{run_id}"] = "is not folded"
            except IntegrityError as error:
                left_out[f"{estate}/{run_id}"] = str(error)
    return Exported(tuple(written), rows, left_out)


def _rules(store: Store, run: RunLayout, day: str) -> pa.Table:
    """Return the rules that the run's engine had: rule results name them, criteria stand only here."""
    columns = {"estate": run.estate, "run_id": run.run_id, "run_date": day}
    rules = read_header(store, run).engine.rules
    return table_of("rule", [columns | row_of(RuleRow.of(info)) for info in rules])


def _day_of(store: Store, run: RunLayout) -> str:
    return str(store.read_json(run.file("verdict.json"))["provenance"]["planned_at"])[:10]


def _export_run(store: Store, output: Store, run: RunLayout, day: str) -> int:
    document = store.read_json(run.file("verdict.json"))
    tables: dict[str, pa.Table] = {}
    footers: dict[str, Mapping[str, object]] = {}
    for name, schema in TABLES.items():  # all are proved before the first is written
        key = run.file(f"{name}.parquet")
        table, footer, digest = store.read_table(key)
        if digest != document["tables"][f"{name}.parquet"]["sha256"]:
            raise IntegrityError(key, "is not the file that the verdict names")
        tables[name] = complete_table(schema, table, footer, key)
        footers[name] = {word: value for word, value in footer.items() if word != VERSION_KEY}
    tables["rules"] = _rules(store, run, day)
    for name, table in tables.items():
        key = f"{name}/estate={run.estate}/run_date={day}/{run.run_id}.parquet"
        output.write_table(key, table.drop_columns(list(PARTITION)), footers.get(name))
    return sum(table.num_rows for table in tables.values())
