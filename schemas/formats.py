"""Formats of text that our schemas use, checked without the extras of jsonschema: those build a grammar at import.

Here: `date` and `date-time`. Not here: anything else that is checked (`schemas/shape.py`).
"""

import re
from datetime import UTC, date, datetime

from jsonschema import FormatChecker

FORMATS = FormatChecker(formats=())
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_OFFSET = r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?" + _OFFSET, re.ASCII)


@FORMATS.checks("date", raises=ValueError)
def is_day(value: object) -> bool:
    """Whether a text is a day (`2027-01-31`); what is no text is judged by its type."""
    return not isinstance(value, str) or bool(_DAY.fullmatch(value) and date.fromisoformat(value))


@FORMATS.checks("date-time", raises=(ValueError, OverflowError))
def is_moment(value: object) -> bool:
    """Whether a text is a moment with its offset (`2027-01-31T08:00:00.250Z`), one that a column of a table can hold.

    Source: RFC 3339 §5.6, as Arrow reads it: capitals, at most six digits of a second, a year of the calendar in UTC.
    """
    if not isinstance(value, str):
        return True
    return bool(_MOMENT.fullmatch(value) and datetime.fromisoformat(value).astimezone(UTC))
