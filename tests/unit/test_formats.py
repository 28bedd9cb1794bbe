"""Days and moments as the schemas want them."""

import pytest

from schemas.formats import FORMATS


@pytest.mark.parametrize(("format_name", "text", "is_sound"), [
    ("date", "2027-01-31", True), ("date", "2027-02-30", False), ("date", "20270131", False),
    ("date", "2027-01-31T00:00:00Z", False), ("date", "2027-W01-1", False), ("date", "2027-01-31\n", False),
    ("date", "", False), ("date", 5, True),
    ("date-time", "2027-01-31T08:00:00Z", True), ("date-time", "2027-01-31T08:00:00.250+02:00", True),
    ("date-time", "2027-01-31T08:00:00", False), ("date-time", "2027-01-31", False), ("date-time", "yesterday", False),
    ("date-time", "2027-01-31T25:00:00Z", False), ("date-time", "20270131T080000Z", False), ("date-time", None, True),
    ("date-time", "2027-01-31t08:00:00Z", False), ("date-time", "2027-01-31T08:00:00.123456789Z", False),
    ("date-time", "2027-01-31T08:00:00,250Z", False), ("date-time", "2027-01-31T08Z", False),
    ("date-time", "2027-01-31T08:00:00-00:60", False), ("date-time", "2027-01-31T08:00:00+23:59", True),
    ("date-time", "9999-12-31T23:59:59-10:00", False), ("date-time", "0001-01-01T00:00:00+10:00", False),
])
def test_formats(format_name: str, text: object, is_sound: bool) -> None:
    assert FORMATS.conforms(text, format_name) is is_sound
