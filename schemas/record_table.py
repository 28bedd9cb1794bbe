"""Many records of one kind as an Arrow table and back, column by column, a part at a time.

Here: what a million rows must not cost: a dictionary for each, and a text or number of its own for each value that many
have. Not here: single rows (`schemas/shape.py`), opening files (`tasks/store.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from schemas.shape import arrow_column, arrow_schema, enumerations, value_of

Record = TypeVar("Record")
Item = TypeVar("Item")
PART_ROWS = 50_000
FEW = 4  # a column has few values where they are less than a quarter of its rows


def table_of_records(name: str, records: Sequence[object], constants: Mapping[str, object]) -> pa.Table:
    """Make a table of records by the schema of their rows.

    Args:
        constants: columns that no record has, each with the one value of all rows.

    Raises:
        pyarrow.ArrowInvalid: a value that is not of its column's type.
    """
    schema = arrow_schema(name)
    parts = [pa.Table.from_arrays([_column(part, column, constants) for column in schema], schema=schema)
             for part in parts_of(records, PART_ROWS)]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def records_in(kind: type[Record], table: pa.Table) -> Iterator[Record]:
    """Return the rows of a table as records; equal values of a part are one object."""
    names = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    members = enumerations(kind)  # type: ignore[arg-type] # mypy does not see that a class can be hashed
    words: dict[object, object] = {}
    for batch in table.select(names).to_batches(max_chunksize=PART_ROWS):
        columns: list[list[Any]] = []
        wide: list[Any] = []  # the last column of texts of their own: an address is often its route
        for name, column in zip(names, batch.columns, strict=True):
            values = _shared(column, words)
            if values is None:
                values = column.to_pylist()
                if pa.types.is_string(column.type):
                    values = [first if first == own else own for first, own in zip(wide or values, values, strict=True)]
                    wide = values
            if name in members or pa.types.is_nested(column.type) or pa.types.is_temporal(column.type):
                values = [value_of(value, members.get(name)) for value in values]
            columns.append(values)
        for row in zip(*columns, strict=True):
            yield kind(*row)


def rows_in(table: pa.Table, names: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Return some columns of a table row by row."""
    for batch in table.select(names).to_batches(max_chunksize=PART_ROWS):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def parts_of(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Cut items into lists of a size; the last one may be shorter."""
    waiting = iter(items)
    while part := list(islice(waiting, size)):
        yield part


def _column(records: Sequence[object], column: "pa.Field[Any]", constants: Mapping[str, object]) -> Any:
    if column.name in constants:
        return arrow_column([constants[column.name]] * len(records), column.type)
    return arrow_column(list(map(attrgetter(column.name), records)), column.type)


def _shared(column: Any, words: dict[object, object]) -> list[Any] | None:
    """Return the values of a column of few values, each one object; None for any other column."""
    if pa.types.is_nested(column.type) or len(column) < FEW or column.null_count == len(column):
        return [None] * len(column) if column.null_count == len(column) else None
    if pc.count_distinct(column).as_py() * FEW > len(column):
        return None
    encoded = pc.dictionary_encode(column)
    known = [words.setdefault((type(value), value), value) for value in encoded.dictionary.to_pylist()]
    return [None if index is None else known[index] for index in encoded.indices.to_pylist()]
