"""The shape of every record that crosses a file: one JSON Schema each, and what follows from it.

Here: finding offences in documents, deriving Arrow schemas, checking Arrow tables. Not here: opening files.
JSON Schema is the source; the Arrow schema is derived from it by `arrow_schema`; dataclasses are held against it by
`tests/contract/`. Our own keywords: `x-arrow` (`timestamp`, `date`, `int32`), `x-unit`, `x-page-content`.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import date, datetime
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, get_args, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from schemas.column import ARROW_TYPES, column_faults
from schemas.complaint import offence_of
from schemas.errors import Offence
from schemas.formats import FORMATS

Record = TypeVar("Record")
RUN_COLUMNS = ("estate", "run_id", "run_date")


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Read `schemas/<name>.schema.json`."""
    loaded: dict[str, Any] = json.loads((files("schemas") / f"{name}.schema.json").read_text("utf-8"))
    return loaded


@cache
def _validator(name: str, part: str | None) -> Draft202012Validator:
    schema = load_schema(name)
    if part is not None:
        schema = {**schema["$defs"][part], "$defs": schema["$defs"]}
    return Draft202012Validator(schema, format_checker=FORMATS)


def offences_in(name: str, document: object, subject: str, part: str | None = None) -> list[Offence]:
    """Find every offence of a document against a schema, each with its path. No message repeats an address.

    Args:
        name: of the schema. document: parsed JSON or YAML. subject: what to call it (a file's name).
        part: hold the document against this definition (`$defs`) of the schema instead of the whole.
    """
    found = [offence_of(error, subject) for error in _precise(_validator(name, part).iter_errors(document))]
    return found + [Offence(f"{subject}: {path}", fault, expected)
                    for path, fault, expected in _not_storable(document, "$")]


def is_valid(name: str, record: object, part: str | None = None) -> bool:
    """Whether a record keeps its schema and no value is one that no file can hold; quick where it does."""
    return bool(_validator(name, part).is_valid(record)) and next(iter(_not_storable(record, "$")), None) is None


def _precise(errors: Iterable[ValidationError]) -> Iterable[ValidationError]:
    """Look into choices (`anyOf`): of the branches that fit the kind of the value, say what is wrong in the nearest."""
    for error in errors:
        branches: dict[object, list[ValidationError]] = {}
        for inner in error.context or ():
            branches.setdefault(inner.schema_path[0], []).append(inner)
        fitting = [branch for branch in branches.values() if not any(map(_is_wrong_kind, branch))]
        fewest = min(map(len, fitting), default=0)
        nearest = [branch for branch in fitting if len(branch) == fewest]
        if len(nearest) == 1:
            yield from _precise(nearest[0])
        else:
            yield error


def _is_wrong_kind(error: ValidationError) -> bool:
    return error.validator == "type" and not error.path


def is_finite(number: float) -> bool:
    """Whether a number is one that a column can hold: an integer may have more digits than any."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def is_unicode(text: str) -> bool:
    """Whether a text can be written: JSON and YAML can spell half a character (`"\\ud800"`), which UTF-8 has not."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _not_storable(value: object, path: str) -> Iterable[tuple[str, str, str]]:
    if isinstance(value, int | float) and not is_finite(value):
        yield path, "not a finite number", "a finite number"
    elif isinstance(value, str) and not is_unicode(value):
        yield path, "has half a character (a surrogate)", "whole characters"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _not_storable(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_storable(item, f"{path}[{index}]")


@cache
def arrow_schema(name: str) -> pa.Schema:
    """Derive the Arrow schema of a row schema: the same columns in the same order, also for a table without rows."""
    schema = load_schema(name)
    return pa.schema([_field(column, spec) for column, spec in schema["properties"].items()])


def _field(column: str, spec: Mapping[str, Any]) -> "pa.Field[Any]":
    kinds = [spec["type"]] if isinstance(spec["type"], str) else list(spec["type"])
    (kind,) = [k for k in kinds if k != "null"]
    return pa.field(column, ARROW_TYPES[spec.get("x-arrow", kind)], nullable="null" in kinds)


def table_of(name: str, rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """Make a table of rows by their schema. Timestamps and dates may be ISO 8601 text.

    Raises:
        pyarrow.ArrowInvalid: a value that is not of its column's type.
    """
    schema = arrow_schema(name)
    columns = [arrow_column([row.get(column.name) for row in rows], column.type) for column in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def arrow_column(values: list[Any], kind: pa.DataType) -> Any:
    """Make a column of values; timestamps and dates may be ISO 8601 text."""
    if not pa.types.is_temporal(kind) or not any(isinstance(value, str) for value in values):
        return pa.array(values, kind)
    text = pa.array(values, pa.string())
    if pa.types.is_date(kind):
        return text.cast(kind)
    # By way of microseconds: Python writes six digits, and what is finer than the column is cut.
    return text.cast(pa.timestamp("us", tz="UTC")).cast(kind, safe=False)


def row_of(record: object) -> dict[str, Any]:
    """Return a flat dataclass as a row: tuples become lists."""
    row: dict[str, Any] = {}
    for item in fields(record):  # type: ignore[arg-type]
        value = getattr(record, item.name)
        row[item.name] = list(value) if isinstance(value, tuple) else value
    return row


def record_of(kind: type[Record], row: Mapping[str, Any]) -> Record:
    """Return a row as a flat dataclass: lists become tuples, times ISO 8601 text to the millisecond, enumerations
    members."""
    members = enumerations(kind)  # type: ignore[arg-type] # mypy does not see that a class can be hashed
    return kind(**{item.name: value_of(row[item.name], members.get(item.name))
                   for item in fields(kind)})  # type: ignore[arg-type]


def value_of(value: Any, member: type[StrEnum] | None = None) -> Any:
    """Return a value of a table as a record holds it; `member` is the enumeration that it is one of."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return value if member is None or value is None else member(value)


@cache
def enumerations(kind: type) -> Mapping[str, type[StrEnum]]:
    """Return the fields of a dataclass that hold a member of an enumeration, also those that may be None."""
    found = {}
    for name, hint in get_type_hints(kind).items():
        kinds = [one for one in (get_args(hint) or (hint,)) if isinstance(one, type) and issubclass(one, StrEnum)]
        if kinds:
            found[name] = kinds[0]
    return found


def faults_in(name: str, table: pa.Table) -> dict[int, str]:
    """Check a table against the schema of its rows, column by column.

    Returns:
        The first reason for each faulty row, by row index. Empty when the table is sound.
    """
    faults: dict[int, str] = {}
    for column, spec in load_schema(name)["properties"].items():
        is_nullable = arrow_schema(name).field(column).nullable  # of the schema: a foreign table says what it likes
        for reason, mask in column_faults(table.column(column), spec, is_nullable):
            for index in pc.indices_nonzero(pc.fill_null(mask, False)).to_pylist():
                faults.setdefault(index, f"{column} {reason}")
    return faults
