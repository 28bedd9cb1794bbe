"""Versions of our files: a newer one is refused by name, an older one is read.

Here: the rule. A version is one whole number for each kind of file, raised with every change of its shape; a file that
says none is of the first. A reader takes its own version and all older ones. What a version added is marked in the
schema with `x-since`: a file older than that may lack it, and reads as if it said the default, or null.
Not here: the shapes (`schemas/*.schema.json`), opening files (`tasks/store.py`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from schemas.errors import IntegrityError, bad_input
from schemas.shape import arrow_schema, load_schema

FIRST_FORMAT = 1
TABLE_FORMAT = 3  # of every Parquet file, in its footer
VERSION_KEY = "format_version"


def newer_fault(document: object, known: int) -> str:
    """Say that a file is of a version that this program cannot know; nothing where it is not.

    Args:
        document: parsed, or the footer of a table. known: the newest version that this program reads.
    """
    version = document.get(VERSION_KEY) if isinstance(document, Mapping) else None
    if not isinstance(version, int) or version <= known:
        return ""
    return (f"has format version {version}, and this program reads versions up to {known}; use the program that wrote "
            "it, or a newer one")


def check_not_newer(document: object, known: int, subject: str) -> None:
    """Refuse a file of the user's that is of a newer version.

    Raises:
        ContractError: it is; no other offence is looked for, since all would be misread.
    """
    if fault := newer_fault(document, known):
        raise bad_input(subject, fault)


def read_older(name: str, document: Any, known: int, key: str) -> Any:
    """Return a stored document in the shape of today.

    Args:
        name: of its schema. known: the newest version that this program reads. key: what to call it.

    Raises:
        IntegrityError: it is of a newer version.
    """
    if fault := newer_fault(document, known):
        raise IntegrityError(key, fault)
    if not isinstance(document, Mapping):
        return document
    absent = later_keys(load_schema(name), document.get(VERSION_KEY)) - set(document)
    return {**document, **{key: load_schema(name)["properties"][key].get("default") for key in absent}}


def complete_table(schema_name: str, table: pa.Table, footer: Mapping[str, Any], key: str) -> pa.Table:
    """Return a stored table with the columns of today, in their order; those that are later than the file are null.

    Args:
        footer: of the file. key: what to call it.

    Raises:
        IntegrityError: its columns are not those of its version.
    """
    columns = arrow_schema(schema_name)
    table = add_later_columns(load_schema(schema_name), columns, table, footer)
    if table.schema != columns:
        raise IntegrityError(key, f"columns are not those of {schema_name}.schema.json"
                                  f"{_odd(table.column_names, columns.names)}")
    return table


def add_later_columns(
    schema: Mapping[str, Any], columns: pa.Schema, table: pa.Table, footer: Mapping[str, Any]
) -> pa.Table:
    """Add the columns that came after a table was written; what its own version should have is not added.

    Args:
        schema: JSON Schema of the rows. columns: the Arrow schema that follows from it. footer: of the file.
    """
    absent = sorted(later_keys(schema, footer.get(VERSION_KEY)) - set(table.column_names))
    for name in absent:
        table = table.append_column(columns.field(name), pa.nulls(table.num_rows, columns.field(name).type))
    return table.select(columns.names) if absent and sorted(table.column_names) == sorted(columns.names) else table


def later_keys(schema: Mapping[str, Any], version: object) -> frozenset[str]:
    """Return the keys of a schema that came after a version; what is no number is the first."""
    known = version if isinstance(version, int) else FIRST_FORMAT
    return frozenset(key for key, spec in schema["properties"].items() if spec.get("x-since", FIRST_FORMAT) > known)


def _odd(found: Iterable[str], expected: Iterable[str]) -> str:
    lacking, unknown = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    said = [f"{word} {', '.join(names)}" for word, names in (("lacks", lacking), ("unknown:", unknown)) if names]
    return f" ({'; '.join(said)})" if said else ""

