"""A manifest as a table: CSV (comma, semicolon or tab) or Parquet, one route a row, columns named like the JSON keys.

Here: rows to entries. Not here: identity (`tasks/normalize.py`). The parts of `expect` are columns of their own
(`expect_status`, `expect_url`, `expect_title`, `expect_selector`); tags are separated by `|` or spaces. Actions do not
fit into a cell.
"""

import io
import re
from collections.abc import Iterable
from typing import Any

from schemas.complaint import nearest
from schemas.errors import ContractError, Offence
from schemas.manifest import ManifestEntry, entry_of
from schemas.shape import is_valid, load_schema, offences_in
from tasks.load.content import SourceError
from tasks.load.json_manifest import form_of

EXPECT = "expect_"
NO_COLUMN = ("expect", "actions")
ACTIONS_REMEDY = "Give the routes with actions in a JSON manifest."
FIRST_ROW = 2  # as a spreadsheet counts: the header is row 1
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def csv_entries(text: str, subject: str) -> list[ManifestEntry]:
    """Read entries from CSV.

    Raises:
        ContractError: unknown columns or bad values, all at once. SourceError: no table.
    """
    import pandas as pd  # heavy, and most sources are no tables

    body = text.lstrip()
    separator = max(",;\t", key=body.splitlines()[0].count)
    try:
        frame = pd.read_csv(io.StringIO(body), sep=separator, dtype=str, keep_default_na=False, skip_blank_lines=False,
                            header=None, skipinitialspace=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise SourceError(f"is no table: {str(error).strip().splitlines()[-1][:200]}") from None
    header, *rows = [[cell.strip() for cell in row] for row in frame.fillna("").values.tolist()]
    names = [name.lower() for name in header]
    unused = {index for index, name in enumerate(names) if not name and not any(row[index] for row in rows)}
    _check_header([name for index, name in enumerate(names) if index not in unused], subject)
    documents = [_document(zip(names, row, strict=True), _from_text) for row in rows]
    return _entries(documents, subject, FIRST_ROW + text[: len(text) - len(body)].count("\n"))


def parquet_entries(data: bytes, subject: str) -> list[ManifestEntry]:
    """Read entries from Parquet; columns have the types of the JSON keys, tags are a list or text.

    Raises:
        ContractError: unknown columns or bad values, all at once. SourceError: no Parquet file.
    """
    import pandas as pd
    import pyarrow as pa

    try:
        frame = pd.read_parquet(io.BytesIO(data), dtype_backend="pyarrow")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SourceError(f"is no Parquet file that can be read ({type(error).__name__})") from None
    _check_header([str(name) for name in frame.columns], subject)
    rows = pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
    return _entries([_document(row.items(), _from_value) for row in rows], subject, first_row=1)


def _columns() -> list[str]:
    entry = load_schema("manifest")["$defs"]["entry"]["properties"]
    return [key for key in entry if key not in NO_COLUMN] + [f"{EXPECT}{key}" for key in entry["expect"]["properties"]]


def _check_header(header: list[str], subject: str) -> None:
    known = _columns()
    offences = [Offence(subject, f"unknown column `{name}`", f"one of {', '.join(known)}",
                        ACTIONS_REMEDY if name == "actions" else nearest(name, known))
                for name in header if name not in known]
    offences += [Offence(subject, f"the column `{name}` is there twice", "one")
                 for name in {name for name in header if header.count(name) > 1}]
    if "url" not in header:
        offences.append(Offence(subject, "has no column `url`", f"`url`, and perhaps {', '.join(known[1:])}"))
    if offences:
        raise ContractError(offences)


def _document(cells: Iterable[tuple[str, Any]], value_of: Any) -> dict[str, Any]:
    """Return a row as the entry that it would be in JSON; empty cells say nothing."""
    document: dict[str, Any] = {}
    expect: dict[str, Any] = {}
    for name, cell in cells:
        value = value_of(name, cell)
        if value is None:
            continue
        if name.startswith(EXPECT):
            expect[name.removeprefix(EXPECT)] = value
        else:
            document[name] = value
    return document | ({"expect": expect} if expect else {})


def _from_text(name: str, cell: str) -> object:
    if not cell:
        return None
    if name == "tags":
        return [tag for tag in re.split(r"[|\s]+", cell) if tag]
    if name in ("priority", "violation_density", "monthly_views", "expect_status") and _NUMBER.fullmatch(cell):
        number = float(cell)
        return int(number) if number.is_integer() else number
    return cell


def _from_value(name: str, cell: object) -> object:
    if isinstance(cell, float) and (cell != cell or cell.is_integer()):  # NaN is how a table says nothing
        return None if cell != cell else int(cell)
    return _from_text(name, cell) if name == "tags" and isinstance(cell, str) else cell


def _entries(documents: list[dict[str, Any]], subject: str, first_row: int) -> list[ManifestEntry]:
    numbered = [(f"row {number}", document) for number, document in enumerate(documents, start=first_row) if document]
    seen: set[str] = set()
    offences: list[Offence] = []
    for where, document in numbered:
        form = form_of(document)
        if form not in seen and not is_valid("manifest", document, "entry"):
            offences += offences_in("manifest", document, f"{subject}: {where}", "entry")
        else:
            seen.add(form)
    if offences:
        raise ContractError(offences)
    return [entry_of(document, where) for where, document in numbered]
