"""The data dictionary: every column of every Parquet file, from the schemas.

Here: type, unit, meaning, who writes it, whether it holds page content. `python -m tasks.report.dictionary` prints
`docs/data-dictionary.md`; a test holds the file against it. Not here: the meaning itself (`schemas/*.schema.json`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from schemas.shape import RUN_COLUMNS, arrow_schema, load_schema

UNITS = {"_ms": "ms", "_bytes": "bytes", "_ratio": "share", "_count": "count"}
PLANNED = ("task_id", "route", "auth", "url", "journey", "priority", "owner", "tags", "shard_index", "is_in_scope",
           "carried_from_run_id", "carried_date")


@dataclass(frozen=True, slots=True)
class Described:
    """One Parquet file: where it lies, its row schema, who writes its columns (`others`, and some by name)."""

    file: str
    schema: str
    writer: str
    others: Mapping[str, str]


def _from_plan(**others: str) -> dict[str, str]:
    return {**dict.fromkeys(PLANNED, "plan"), **others}


FILES = (
    Described("runs/RUN_ID/plan.parquet", "plan_route", "plan", {}),
    Described("runs/RUN_ID/outcomes.parquet", "outcome", "scan", _from_plan(
        outcome="scan, converge", reason="scan, converge", how_to_fix="scan, converge", redirected_to="scan, converge",
        is_accepted="policy", accepted_by="policy")),
    Described("runs/RUN_ID/occurrences.parquet", "occurrence", "scan (engine)", _from_plan(
        fingerprint="scan", path="scan", attempt="scan", attempt_name="scan", triple_number="scan")),
    Described("runs/RUN_ID/rule_results.parquet", "rule_result", "scan (engine)", _from_plan(
        attempt="scan", attempt_name="scan", triple_number="scan")),
    Described("runs/RUN_ID/findings.parquet", "finding", "converge", dict.fromkeys(
        ("decision", "standing", "suppressed_by", "suppressed_until", "suppressed_count", "suppressed_routes"),
        "gate")),
    Described("runs/RUN_ID/dead_letters.parquet", "dead_letter", "converge", _from_plan(is_accepted="policy")),
    Described("runs/RUN_ID/quarantine.parquet", "quarantine", "collect, converge", {}),
    Described("rules, only in a dataset that `fanfold export` wrote", "rule", "export, from the plan", {}),
    Described("history/RUN_ID.parquet", "sample", "learn", {}),
    Described("timings.parquet", "timing", "learn", {}),
)
INTRODUCTION = """# Data dictionary

Every column of every Parquet file that a run leaves in the store, made from `schemas/*.schema.json` by
`python -m tasks.report.dictionary`; do not edit. *Written by* names the stage. Columns with page content hold text of
audited pages: `fanfold prune --content-only` empties them. Files with the columns `estate`, `run_id` and `run_date` can
be put together over runs; `fanfold export` does that.
"""


def dictionary_md() -> str:
    """Return `docs/data-dictionary.md`."""
    return "\n".join([INTRODUCTION, *(line for described in FILES for line in _file(described))])


def _file(described: Described) -> Iterator[str]:
    schema = load_schema(described.schema)
    yield f"## {described.file}\n"
    yield f"{schema['description']}\n"
    yield "| column | type | null | unit | meaning | written by | page content |"
    yield "|---|---|---|---|---|---|---|"
    for field in arrow_schema(described.schema):
        spec = schema["properties"][field.name]
        writer = "plan" if field.name in RUN_COLUMNS else described.others.get(field.name, described.writer)
        cells = (f"`{field.name}`", _type(field.type), "yes" if field.nullable else "", _unit(field.name, spec),
                 _meaning(spec), writer, "yes" if spec.get("x-page-content") else "")
        yield f"| {' | '.join(cells)} |"
    yield ""


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list of {kind.value_type}"
    return "timestamp" if pa.types.is_timestamp(kind) else "date" if pa.types.is_date(kind) else str(kind)


def _unit(column: str, spec: Mapping[str, Any]) -> str:
    unit = spec.get("x-unit")
    return str(unit) if unit else next((unit for suffix, unit in UNITS.items() if column.endswith(suffix)), "")


def _meaning(spec: Mapping[str, Any]) -> str:
    allowed = [f"`{value}`" for value in spec.get("enum", ()) if value is not None]
    text = str(spec.get("description", "")).replace("|", "\\|")
    return f"{text} One of {', '.join(allowed)}." if allowed else text


if __name__ == "__main__":
    print(dictionary_md(), end="")
