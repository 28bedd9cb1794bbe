"""Versions: a newer file is refused by name, an older one is read, and what breaks its own version is neither."""

import json
from importlib.resources import files

import pyarrow as pa
import pytest

from schemas.errors import ContractError, IntegrityError
from schemas.format_version import add_later_columns, check_not_newer, complete_table, newer_fault, read_older
from schemas.policy import parse_policy
from schemas.settings import Settings
from schemas.shape import arrow_schema, load_schema, table_of
from schemas.suppression import parse_suppressions
from tasks.load import load_manifest

SCHEMA = {"title": "row", "properties": {
    "first": {"type": "integer"}, "later": {"type": ["string", "null"], "x-since": 2}, "last": {"type": "integer"}}}
COLUMNS = pa.schema([pa.field("first", pa.int64(), nullable=False), pa.field("later", pa.string()),
                     pa.field("last", pa.int64(), nullable=False)])
OLD = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])],
                           schema=pa.schema([COLUMNS.field("first"), COLUMNS.field("last")]))


@pytest.mark.parametrize("footer", [{}, {"format_version": 1}, {"format_version": "x"}])
def test_a_table_that_is_older_than_a_column_reads_it_as_null(footer):
    made = add_later_columns(SCHEMA, COLUMNS, OLD, footer)
    assert (made.schema, made.to_pylist()) == (COLUMNS, [{"first": 1, "later": None, "last": 3},
                                                         {"first": 2, "later": None, "last": 4}])


def test_a_table_that_should_have_the_column_is_left_as_it_is():
    assert add_later_columns(SCHEMA, COLUMNS, OLD, {"format_version": 2}) == OLD
    assert add_later_columns(SCHEMA, COLUMNS, OLD.select(["last"]), {}).column_names == ["last", "later"]


def test_columns_that_are_not_those_of_the_version_are_named():
    """A table without `impact` is broken, not old: nobody may take it for a table of unknown impacts."""
    table = table_of("rule_result", [])
    assert complete_table("rule_result", table, {}, "t.parquet").schema == arrow_schema("rule_result")
    broken = table.drop_columns(["impact"]).append_column("more", pa.array([], pa.string()))
    with pytest.raises(IntegrityError, match=r"t\.parquet: columns are not those of rule_result\.schema\.json "
                                             r"\(lacks impact; unknown: more\)"):
        complete_table("rule_result", broken, {"format_version": 1}, "t.parquet")
    assert table.select(table.column_names[::-1]).schema != table.schema
    with pytest.raises(IntegrityError, match="columns are not those"):
        complete_table("rule_result", table.select(table.column_names[::-1]), {}, "t.parquet")


@pytest.mark.parametrize(("document", "is_newer"), [
    ({"format_version": 3}, True), ({"format_version": 2}, False), ({"format_version": 1}, False), ({}, False),
    ({"format_version": "3"}, False), ([], False), (None, False),
])
def test_a_newer_document_is_refused_before_anything_else_is_said_of_it(document, is_newer):
    fault = ("has format version 3, and this program reads versions up to 2; use the program that wrote it, or a "
             "newer one") if is_newer else ""
    assert newer_fault(document, 2) == fault
    if not is_newer:
        assert read_older("policy", document, 2, "f.json") == document
        check_not_newer(document, 2, "f.json")
        return
    with pytest.raises(IntegrityError, match=r"f\.json: has format version 3"):
        read_older("policy", document, 2, "f.json")
    with pytest.raises(ContractError, match=r"f\.json: has format version 3"):
        check_not_newer(document, 2, "f.json")


def read_manifest(document):
    return load_manifest("file", Settings(), read=lambda _: json.dumps(document).encode())


@pytest.mark.parametrize(("read", "least", "newest"), [
    (lambda document: parse_policy(document, "file", None), {}, 1),
    (lambda document: parse_suppressions(document, "file", None), {}, 1),
    (read_manifest, {"routes": ["https://e.test/"]}, 2),
], ids=["policy", "suppressions", "manifest"])
def test_files_of_the_user_may_say_their_version(read, least, newest):
    for version in range(1, newest + 1):
        assert read({"format_version": version, **least}) is not None
    fault = f"file: has format version {newest + 1}, and this program reads versions up to {newest}"
    with pytest.raises(ContractError, match=fault):
        read({"format_version": newest + 1, "what": "came later"})


def test_what_came_later_can_be_absent():
    """Only what may be null or has a default can be read from a file that lacks it."""
    names = sorted(file.name.removesuffix(".schema.json") for file in files("schemas").iterdir()
                   if file.name.endswith(".schema.json"))
    later = [(name, key, spec) for name in names for key, spec in load_schema(name).get("properties", {}).items()
             if "x-since" in spec]
    assert [(name, key) for name, key, spec in later
            if spec["x-since"] < 2 or not ("null" in spec["type"] or "default" in spec)] == []
