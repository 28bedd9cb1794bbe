"""A frozen plan: read back as it was written, held to its id, and read by programs that know more than it says."""

import json
from dataclasses import asdict, replace

import pytest

from schemas.errors import IntegrityError
from schemas.layout import EstateLayout
from schemas.plan import header_of
from schemas.plan_id import id_columns, plan_id_of
from tasks.freeze import read_plan, write_plan
from tasks.store import Store
from tests.small_estate import plan_of, route

RUN = EstateLayout("shop").run("r1")
PLAN = plan_of(route("/a", aliases=("https://e.test/A",), tags=("t",)), route("/b", 1), warnings=("w",), imbalance=1.1)
ROWS = RUN.file("plan.parquet")


@pytest.fixture
def store(tmp_path):
    store = Store(str(tmp_path))
    write_plan(store, RUN, PLAN, {"policy.yaml": b"{}\n"})
    return store


def without(document, *path):
    """A copy of a document without one of its keys."""
    copied = json.loads(json.dumps(document))
    inner = copied
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return copied


def test_a_plan_is_read_as_it_was_written_with_its_version_in_both_files(store):
    assert read_plan(store, RUN) == PLAN
    assert (store.read_json(RUN.file("plan.json"))["format_version"], store.read_table(ROWS)[1]) == (
        1, {"format_version": 1, "plan_id": PLAN.header.plan_id})


def test_a_plan_that_was_made_before_a_setting_was_known_keeps_its_id(store):
    document = without(asdict(PLAN.header), "scan", "redirects")
    table, *_ = store.read_table(ROWS)
    columns = id_columns(table.column_names)
    document["plan_id"] = plan_id_of(document, columns, [[row[name] for name in columns] for row in table.to_pylist()])
    assert document["plan_id"] != PLAN.header.plan_id
    store.write_json(RUN.file("plan.json"), document)
    store.write_table(ROWS, table, {"plan_id": document["plan_id"]})
    plan = read_plan(store, RUN)
    assert plan == replace(PLAN, header=replace(PLAN.header, plan_id=document["plan_id"]))
    assert plan.header == header_of(document)


@pytest.mark.parametrize("change", [
    lambda document: without(document, "scan", "redirects"),
    lambda document: document | {"scan": {**document["scan"], "locale": "de-DE"}},
    lambda document: document | {"imbalance": 1.2},
])
def test_a_header_that_was_changed_afterwards_is_found_out(store, change):
    store.write_json(RUN.file("plan.json"), change(asdict(PLAN.header)))
    with pytest.raises(IntegrityError, match="plan_id is not the digest"):
        read_plan(store, RUN)


def test_rows_that_were_changed_afterwards_are_found_out(store):
    table, footer, _ = store.read_table(ROWS)
    changed = table.set_column(table.column_names.index("priority"), table.schema.field("priority"),
                               [[2] * table.num_rows])
    store.write_table(ROWS, changed, footer)
    with pytest.raises(IntegrityError, match="plan_id is not the digest"):
        read_plan(store, RUN)
    store.write_table(ROWS, table.drop_columns(["priority"]), footer)
    with pytest.raises(IntegrityError, match="lacks priority"):
        read_plan(store, RUN)
    store.write_table(ROWS, table, {"plan_id": "0" * 64})
    with pytest.raises(IntegrityError, match="is of another plan"):
        read_plan(store, RUN)
