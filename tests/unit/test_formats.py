"""Days and moments as the schemas want them."""

import pytest

from schemas.formats import FORMATS


@pytest.mark.parametrize(("format_name", "text", "is_sound"), [
    ("date", "2027-01-31", True), ("date", "2027-02-30", False), ("date", "20270131", False),
    ("date", "2027-01-31T00:00:00Z", False), ("date", "2027-W01-1", False), ("date", "2027-01-31\n", False), ("date",
                                                                                                              "",
                                                                                                              False),
    ("date", 5, True),
    ("date-time", "2027-01-31T08:00:00Z", True), ("date-time", "2027-01-31T08:00:00.250+02:00", True),
    ("date-time", "2027-01-31T08:00:00", False), ("date-time", "2027-01-31", False), ("date-time", "yesterday", False),
    ("date-time", "2027-01-31T25:00:00Z", False), ("date-time", "20270131T080000Z", False), ("date-time", None, True),
])
def test_formats(format_name: str, text: object, is_sound: bool) -> None:
    assert FORMATS.conforms(text, format_name) is is_sound
