"""A list that people search, filter and sort: columns, rows, and the data of the script that does it.

Here: the record, its parts where it is too large for one page, its data. Not here: which lists there are (`lists.py`),
markup (`templates/listing.html`), behaviour (`templates/listing.js`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tasks.report.inert import plain_text, web_link

PART_BYTES = 4_500_000
FACET_BYTES = 6
NUMBER_BYTES = 12
STATIC_ROWS = 100  # rows that are there without a script, and as many as the script shows at once
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class CellKind(StrEnum):
    """How a cell looks. An anchor is a pair: its text, and a place in this report."""

    TEXT = "text"
    NUMBER = "number"
    CODE = "code"
    ADDRESS = "address"
    ANCHOR = "anchor"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A link to a place in this report."""

    text: str
    href: str


Cell = str | int | Anchor | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column. A facet has few values and gets a filter; `order` ranks them, other values come after."""

    label: str
    kind: CellKind = CellKind.TEXT
    is_facet: bool = False
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """A list; `intro` says what it holds, `empty` what it means that there is nothing. `part` counts from 1."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]]
    intro: str = ""
    empty: str = "Nothing."
    part: int = 1
    part_count: int = 1
    whole_count: int = 0

    @property
    def shown_rows(self) -> Sequence[tuple[Cell, ...]]:
        return self.rows[:STATIC_ROWS]

    @property
    def data(self) -> str:
        """The data block for the script: JSON that cannot end its element; repeated values are named once."""
        values = {index: self._values(index, column) for index, column in enumerate(self.columns) if column.is_facet}
        places = {index: {value: place for place, value in enumerate(known)} for index, known in values.items()}
        columns = [{"label": column.label, "kind": column.kind.value, "values": values.get(index)}
                   for index, column in enumerate(self.columns)]
        return json_block({"name": self.name, "page": STATIC_ROWS, "columns": columns,
                           "rows": [_encoded(row, places) for row in self.rows]})

    def without_empty_columns(self) -> "Listing":
        """Leave out columns that say nothing in any row; the first stays."""
        kept = [index for index in range(len(self.columns))
                if index == 0 or any(row[index] not in (None, "") for row in self.rows)]
        return replace(self, columns=tuple(self.columns[index] for index in kept),
                       rows=[tuple(row[index] for index in kept) for row in self.rows])

    def parts(self) -> list["Listing"]:
        """Cut the list into parts that a browser opens easily; one part in nearly every case."""
        chunks: list[list[tuple[Cell, ...]]] = [[]]
        size = 0
        for row in self.rows:
            length = sum(_length(cell, column) for cell, column in zip(row, self.columns, strict=True))
            if size + length > PART_BYTES and chunks[-1]:
                chunks.append([])
                size = 0
            chunks[-1].append(row)
            size += length
        return [replace(self, rows=chunk, part=number, part_count=len(chunks), whole_count=len(self.rows))
                for number, chunk in enumerate(chunks, 1)]

    def _values(self, index: int, column: Column) -> list[str]:
        found = {str(row[index] if row[index] is not None else "") for row in self.rows}
        rank = {value: place for place, value in enumerate(column.order)}
        return sorted(found, key=lambda value: (rank.get(value, len(rank)), value))


def json_block(document: object) -> str:
    """Return JSON for a script element of data: no page text in it can end the element."""
    text = plain_text(json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return text


def _encoded(row: Sequence[Cell], places: Mapping[int, Mapping[str, int]]) -> list[object]:
    return list(_encoded_cells(row, places))


def _encoded_cells(row: Sequence[Cell], places: Mapping[int, Mapping[str, int]]) -> Iterator[object]:
    for index, cell in enumerate(row):
        if index in places:
            yield places[index]["" if cell is None else str(cell)]
        else:
            yield [cell.text, cell.href] if isinstance(cell, Anchor) else cell


def _length(cell: Cell, column: Column) -> int:
    """Return how many bytes a cell takes in the data with its comma; of a facet, at most: its values come once."""
    if column.is_facet:
        return FACET_BYTES
    if cell is None or isinstance(cell, int):
        return NUMBER_BYTES
    plain = [cell.text, cell.href] if isinstance(cell, Anchor) else cell
    return len(json_block(plain).encode("utf-8")) + 1


def is_link(address: object) -> bool:
    """Whether an address cell may be a link."""
    return isinstance(address, str) and web_link(address) is not None
