"""Load timing history from a file: the plain form `{"route": seconds}`, rows of `timings.parquet`, or samples.

Here: what the file is, and sound rows of it. Not here: percentiles, judging plain values (`tasks/learn.py`), the
history that the store keeps itself.
"""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from schemas.errors import ContractError, Offence
from schemas.plural import plural
from schemas.shape import arrow_schema, faults_in, is_valid, offences_in, table_of
from tasks.load.content import Kind, Limits, SourceError, kind_of, text_of, unpack
from tasks.load.json_manifest import parse_json
from tasks.store import read_source

Part = TypeVar("Part")
EXPECTED = "seconds by route as JSON, or the rows of timings.parquet as JSON or Parquet"


@dataclass(frozen=True, slots=True)
class LoadedTimings:
    """What one file of timing history holds, for `tasks/learn.py` to fold.

    Attributes:
        plain: durations as written, by route; bad values included.
        timings, samples: rows by their schemas, as Arrow gives them; malformed ones are left out, see `warnings`.
    """

    plain: Mapping[str, Any] = field(default_factory=dict)
    timings: tuple[dict[str, Any], ...] = ()
    samples: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()


def load_timings(source: str, read: Callable[[str], bytes] = read_source) -> LoadedTimings:
    """Load a file of timing history; JSON or Parquet, packed or not, by its content.

    Args:
        source: path of the file. read: returns its bytes.

    Raises:
        ContractError: it can't be read or is something else. A row or value that is bad is no reason: it is left out.
    """
    try:
        return _loaded_from(read(source), source)
    except SourceError as error:
        raise ContractError([Offence(source, error.fault, EXPECTED, error.remedy)]) from None


def _loaded_from(packed: bytes, source: str) -> LoadedTimings:
    limits = Limits()
    data = unpack(packed, limits, limits.file_bytes)
    kind = kind_of(data)
    if kind is Kind.PARQUET:
        return _from_table(_parquet_table(data), source)
    if kind is not Kind.JSON:
        raise SourceError(f"is {kind}")
    document = parse_json(text_of(data), source)
    return _from_rows(document, source) if isinstance(document, list) else _from_plain(document, source)


def _from_plain(document: Any, source: str) -> LoadedTimings:
    # Whether a number is a duration is for the learning to say: Infinity and NaN are counted there, not refused here.
    offences = [offence for offence in offences_in("timings_plain", document, source)
                if offence.fault != "not a finite number"]
    if offences:
        raise ContractError(offences)
    return LoadedTimings(plain=document)


def _from_rows(rows: list[Any], source: str) -> LoadedTimings:
    name = _schema_of(rows[0] if rows and isinstance(rows[0], dict) else {}, source)
    sound = [row for row in rows if is_valid(name, row)]
    found = _rows_held(sound, lambda some: table_of(name, some).to_pylist())
    return _loaded(name, found, len(rows) - len(found), source)


def _from_table(table: pa.Table, source: str) -> LoadedTimings:
    name = _schema_of(table.column_names, source)
    schema = arrow_schema(name)
    missing = [column for column in schema.names if column not in table.column_names]
    if missing:
        raise ContractError([Offence(source, f"has no column {', '.join(missing)}", "all columns of timings.parquet")])
    try:
        table = table.select(schema.names).cast(pa.schema([column.with_nullable(True) for column in schema]))
    except (pa.ArrowException, ValueError) as error:
        fault = f"has a column of another type ({str(error).splitlines()[0][:200]})"
        raise ContractError([Offence(source, fault, "the types of timings.parquet")]) from None
    faults = faults_in(name, table)
    found = _rows_held([index for index in range(table.num_rows) if index not in faults],
                       lambda some: table.take(some).to_pylist())
    return _loaded(name, found, table.num_rows - len(found), source)


def _rows_held(given: list[Part], read: Callable[[list[Part]], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Read rows by way of Arrow, without those that keep their schema and yet no column or no Python value can hold."""
    try:
        return read(given)
    except (pa.ArrowException, ValueError, OverflowError):
        half = len(given) // 2
        return _rows_held(given[:half], read) + _rows_held(given[half:], read) if half else []


def _loaded(name: str, rows: list[dict[str, Any]], bad_count: int, source: str) -> LoadedTimings:
    warnings = (f"{source}: {plural(bad_count, 'malformed row')} left out.",) if bad_count else ()
    found = tuple(rows)
    return LoadedTimings(timings=found, warnings=warnings) if name == "timing" else LoadedTimings(
        samples=found, warnings=warnings)


def _schema_of(columns: Any, source: str) -> str:
    for name, mark in (("timing", "sample_ms"), ("sample", "scan_ms")):
        if mark in columns:
            return name
    raise ContractError([Offence(source, "holds no timing history", EXPECTED)])


def _parquet_table(data: bytes) -> pa.Table:
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(data), dtype_backend="pyarrow")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SourceError(f"is no Parquet file that can be read ({type(error).__name__})") from None
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
