"""Law of formats: what a schema takes for a moment is the same moment to the column that stores it."""

from datetime import datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from schemas.formats import FORMATS
from schemas.shape import arrow_column

LIKE_A_MOMENT = st.builds(
    "{:%Y-%m-%d}{}{:%H:%M:%S}{}{}".format, st.datetimes(datetime(1000, 1, 1)), st.sampled_from("TTt "), st.times(),
    st.from_regex(r"\A([.,][0-9]{0,9})?\Z"), st.from_regex(r"\A([Zz]?|[+-][0-2][0-9]:?[0-9]{0,2})\n?\Z"))


@given(LIKE_A_MOMENT)
def test_what_is_a_moment_is_the_same_moment_to_arrow(text: str) -> None:
    if FORMATS.conforms(text, "date-time"):
        assert arrow_column([text], pa.timestamp("us", tz="UTC")).to_pylist() == [datetime.fromisoformat(text)]
