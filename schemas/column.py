"""One column of a stored table, held against its JSON Schema by Arrow, without a Python object for each value.

Here: the Arrow type of each kind of value, and the faults of a column. Not here: whole tables (`schemas/shape.py`).
Keywords of JSON Schema that a row schema may use are the ones below, `type`, `format` and our own `x-…`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

ARROW_TYPES: Mapping[str, pa.DataType] = {
    "string": pa.string(), "integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(),
    "array": pa.list_(pa.string()), "int_list": pa.list_(pa.int64()),
    "timestamp": pa.timestamp("ms", tz="UTC"), "date": pa.date32(),
}
COLUMN_KEYWORDS = frozenset({"type", "format", "items", "description", "enum", "minimum", "maximum", "pattern",
                             "maxLength"})


def column_faults(values: Any, spec: Mapping[str, Any], is_nullable: bool) -> Iterable[tuple[str, Any]]:
    """Find what is wrong in a column.

    Args:
        values: the column, an Arrow chunked array. spec: its property in the row schema.

    Yields:
        A reason, and a mask of the rows to which it applies (null counts as false).
    """
    if not is_nullable:
        yield "is null", pc.is_null(values)
    if "enum" in spec:
        allowed = pa.array([value for value in spec["enum"] if value is not None], values.type)
        yield f"is none of {spec['enum']}", pc.and_(pc.is_valid(values), pc.invert(pc.is_in(values, allowed)))
    if pa.types.is_floating(values.type):
        yield "is not finite", pc.invert(pc.is_finite(values))
    if pa.types.is_list(values.type) and pc.list_flatten(values).null_count:
        yield "has a null entry", _has_null_entry(values)
    yield from _range_faults(values, spec)
    if pa.types.is_string(values.type):
        yield from _text_faults(values, spec)


def _range_faults(values: Any, spec: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    if "minimum" in spec:
        yield f"is below {spec['minimum']}", pc.less(values, pa.scalar(spec["minimum"], values.type))
    if "maximum" in spec:
        yield f"is above {spec['maximum']}", pc.greater(values, pa.scalar(spec["maximum"], values.type))


def _text_faults(values: Any, spec: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    if "pattern" in spec:
        yield f"does not match {spec['pattern']}", pc.invert(pc.match_substring_regex(values, spec["pattern"]))
    if "maxLength" in spec:
        yield f"is longer than {spec['maxLength']}", pc.greater(pc.utf8_length(values), spec["maxLength"])


def _has_null_entry(values: Any) -> Any:
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    parents = pc.list_parent_indices(whole)
    holders = pc.unique(pc.filter(parents, pc.is_null(pc.list_flatten(whole))))
    return pc.is_in(pa.array(range(len(whole)), parents.type), holders)
