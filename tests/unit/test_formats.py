"""Days and moments as the schemas want them."""

from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.formats import FORMATS
from schemas.shape import arrow_column

LIKE_A_MOMENT = st.builds(
    "{:%Y-%m-%d}{}{:%H:%M:%S}{}{}".format, st.datetimes(datetime(1000, 1, 1)), st.sampled_from("TTt "), st.times(),
    st.from_regex(r"\A([.,][0-9]{0,9})?\Z"), st.from_regex(r"\A([Zz]?|[+-][0-2][0-9]:?[0-9]{0,2})\n?\Z"))


@pytest.mark.parametrize(("format_name", "text", "is_sound"), [
    ("date", "2027-01-31", True), ("date", "2027-02-30", False), ("date", "20270131", False),
    ("date", "2027-01-31T00:00:00Z", False), ("date", "2027-W01-1", False), ("date", "2027-01-31\n", False),
    ("date", "", False), ("date", 5, True),
    ("date-time", "2027-01-31T08:00:00Z", True), ("date-time", "2027-01-31T08:00:00.250+02:00", True),
    ("date-time", "2027-01-31T08:00:00", False), ("date-time", "2027-01-31", False), ("date-time", "yesterday", False),
    ("date-time", "2027-01-31T25:00:00Z", False), ("date-time", "20270131T080000Z", False), ("date-time", None, True),
    ("date-time", "2027-01-31t08:00:00Z", False), ("date-time", "2027-01-31T08:00:00.123456789Z", False),
    ("date-time", "2027-01-31T08:00:00,250Z", False), ("date-time", "2027-01-31T08Z", False),
    ("date-time", "9999-12-31T23:59:59-10:00", False), ("date-time", "0001-01-01T00:00:00+10:00", False),
])
def test_formats(format_name: str, text: object, is_sound: bool) -> None:
    assert FORMATS.conforms(text, format_name) is is_sound


@given(LIKE_A_MOMENT)
def test_what_is_a_moment_is_the_same_moment_to_arrow(text: str) -> None:
    if FORMATS.conforms(text, "date-time"):
        assert arrow_column([text], pa.timestamp("us", tz="UTC")).to_pylist() == [datetime.fromisoformat(text)]
