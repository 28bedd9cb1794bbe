"""The shape of every record that crosses a file: one JSON Schema each, and what follows from it.

Here: finding offences in documents, deriving Arrow schemas, checking Arrow tables. Not here: opening files.
JSON Schema is the source; the Arrow schema is derived from it by `arrow_schema`; dataclasses are held against it by
`tests/contract/`. Our own keywords: `x-arrow` (`timestamp`, `date`, `int32`), `x-unit`, `x-page-content`.
"""

import difflib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from schemas.errors import Offence

Record = TypeVar("Record")
RUN_COLUMNS = ("estate", "run_id", "run_date")
ARROW_TYPES: Mapping[str, pa.DataType] = {
    "string": pa.string(), "integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(),
    "array": pa.list_(pa.string()), "int_list": pa.list_(pa.int64()),
    "timestamp": pa.timestamp("ms", tz="UTC"), "date": pa.date32(),
}


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Read `schemas/<name>.schema.json`."""
    loaded: dict[str, Any] = json.loads((files("schemas") / f"{name}.schema.json").read_text("utf-8"))
    return loaded


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=FormatChecker())


def offences_in(name: str, document: object, subject: str) -> list[Offence]:
    """Find every offence of a document against a schema, each with its path.

    Args:
        name: of the schema. document: parsed JSON or YAML. subject: what to call it (a file's name).
    """
    found = [_offence(error, subject) for error in _deepest(_validator(name).iter_errors(document))]
    return found + [Offence(f"{subject}: {path}", "not a finite number", "a finite number")
                    for path in _not_finite(document, "$")]


def is_valid(name: str, record: Mapping[str, object]) -> bool:
    """Whether a record keeps its schema; quick where it does."""
    return bool(_validator(name).is_valid(record))


def _deepest(errors: Iterable[ValidationError]) -> Iterable[ValidationError]:
    for error in errors:
        branches = [e for e in error.context or () if e.absolute_path != error.absolute_path]
        yield from branches or [error]


def _offence(error: ValidationError, subject: str) -> Offence:
    where = f"{subject}: {error.json_path}" if error.absolute_path else subject
    schema = error.schema if isinstance(error.schema, dict) else {}
    expected = str(schema.get("description", "")) if error.validator != "additionalProperties" else ""
    remedy = ""
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = sorted(schema.get("properties", {}))
        unknown = sorted(str(key) for key in error.instance if key not in known)
        near = {key: difflib.get_close_matches(key, known, n=1) for key in unknown}
        remedy = " ".join(f"Did you mean `{match[0]}` for `{key}`?" for key, match in near.items() if match)
        return Offence(where, f"unknown key {', '.join(f'`{key}`' for key in unknown)}",
                       f"one of {', '.join(known)}", remedy)
    message = error.message if len(error.message) <= 200 else error.message[:199] + "…"
    return Offence(where, message, expected, remedy)


def _not_finite(value: object, path: str) -> Iterable[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _not_finite(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_finite(item, f"{path}[{index}]")


@cache
def arrow_schema(name: str) -> pa.Schema:
    """Derive the Arrow schema of a row schema: the same columns in the same order, also for a table without rows."""
    schema = load_schema(name)
    return pa.schema([_field(column, spec) for column, spec in schema["properties"].items()])


def _field(column: str, spec: Mapping[str, Any]) -> pa.Field:
    kinds = [spec["type"]] if isinstance(spec["type"], str) else list(spec["type"])
    (kind,) = [k for k in kinds if k != "null"]
    return pa.field(column, ARROW_TYPES[spec.get("x-arrow", kind)], nullable="null" in kinds)


def table_of(name: str, rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """Make a table of rows by their schema. Timestamps and dates may be ISO 8601 text.

    Raises:
        pyarrow.ArrowInvalid: a value that is not of its column's type.
    """
    schema = arrow_schema(name)
    columns = []
    for column in schema:
        values = [row.get(column.name) for row in rows]
        if pa.types.is_temporal(column.type) and any(isinstance(v, str) for v in values):
            columns.append(pa.array(values, pa.string()).cast(column.type))
        else:
            columns.append(pa.array(values, column.type))
    return pa.Table.from_arrays(columns, schema=schema)


def row_of(record: object) -> dict[str, Any]:
    """Return a flat dataclass as a row: tuples become lists."""
    row: dict[str, Any] = {}
    for item in fields(record):  # type: ignore[arg-type]
        value = getattr(record, item.name)
        row[item.name] = list(value) if isinstance(value, tuple) else value
    return row


def record_of(kind: type[Record], row: Mapping[str, Any]) -> Record:
    """Return a row as a flat dataclass: lists become tuples, times ISO 8601 text, enumerations members."""
    values = {}
    for item in fields(kind):  # type: ignore[arg-type]
        value = row[item.name]
        if isinstance(value, list):
            value = tuple(value)
        elif hasattr(value, "isoformat"):
            value = value.isoformat().replace("+00:00", "Z")
        elif isinstance(item.type, type) and isinstance(value, str) and item.type is not str:
            value = item.type(value)
        values[item.name] = value
    return kind(**values)


def faults_in(name: str, table: pa.Table) -> dict[int, str]:
    """Check a table against the schema of its rows, column by column.

    Returns:
        The first reason for each faulty row, by row index. Empty when the table is sound.
    """
    faults: dict[int, str] = {}
    for column, spec in load_schema(name)["properties"].items():
        values = table.column(column)
        for reason, mask in _column_faults(values, spec, table.schema.field(column).nullable):
            for index in pc.indices_nonzero(pc.fill_null(mask, False)).to_pylist():  # noqa: FBT003
                faults.setdefault(index, f"{column} {reason}")
    return faults


def _column_faults(
    values: pa.ChunkedArray, spec: Mapping[str, Any], is_nullable: bool
) -> Iterable[tuple[str, pa.ChunkedArray]]:
    if not is_nullable:
        yield "is null", pc.is_null(values)
    if "enum" in spec:
        allowed = pa.array([value for value in spec["enum"] if value is not None], values.type)
        yield f"is none of {spec['enum']}", pc.and_(pc.is_valid(values), pc.invert(pc.is_in(values, allowed)))
    if pa.types.is_floating(values.type):
        yield "is not finite", pc.invert(pc.is_finite(values))
    if "minimum" in spec:
        yield f"is below {spec['minimum']}", pc.less(values, pa.scalar(spec["minimum"], values.type))
    if "maximum" in spec:
        yield f"is above {spec['maximum']}", pc.greater(values, pa.scalar(spec["maximum"], values.type))
    if pa.types.is_string(values.type):
        if "pattern" in spec:
            yield f"does not match {spec['pattern']}", pc.invert(pc.match_substring_regex(values, spec["pattern"]))
        if "maxLength" in spec:
            yield f"is longer than {spec['maxLength']}", pc.greater(pc.utf8_length(values), spec["maxLength"])
