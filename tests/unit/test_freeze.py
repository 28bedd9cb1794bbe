"""A frozen plan: read back as it was written, held to its id, and read by programs that know more than it says."""

import json
from dataclasses import asdict, replace

import pytest

from schemas.errors import IntegrityError
from schemas.format_version import TABLE_FORMAT
from schemas.layout import EstateLayout
from schemas.plan import header_of
from schemas.plan_id import id_columns, plan_id_of
from tasks.freeze import read_plan, write_plan
from tasks.store import Store
from tests.small_estate import plan_of, route

RUN = EstateLayout("shop").run("r1")
FIRST = route("/a", aliases=("https://e.test/A",), tags=("t",), ready_when="a", actions='[{"click":"#a"}]')
PLAN = plan_of(FIRST, route("/b", 1), warnings=("w",), imbalance=1.1)
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
        1, {"format_version": TABLE_FORMAT, "plan_id": PLAN.header.plan_id})


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


def test_a_plan_of_before_there_were_actions_keeps_its_id_and_has_none(store):
    plan = plan_of(route("/a"))
    write_plan(store, RUN, plan, {})
    table = store.read_table(ROWS)[0].drop_columns(["ready_when", "actions"])
    columns, document = id_columns(table.column_names), asdict(plan.header)
    document["plan_id"] = plan_id_of(document, columns, [[row[name] for name in columns] for row in table.to_pylist()])
    assert document["plan_id"] != plan.header.plan_id
    store.write_json(RUN.file("plan.json"), document)
    store.write_table(ROWS, table, {"plan_id": document["plan_id"], "format_version": 1})
    assert read_plan(store, RUN).routes == plan.routes
    store.write_table(ROWS, table, {"plan_id": document["plan_id"]})
    with pytest.raises(IntegrityError, match=r"columns are not those .* \(lacks actions, ready_when\)"):
        read_plan(store, RUN)


@pytest.mark.parametrize(("name", "value"), [("priority", 2), ("ready_when", "b"), ("actions", '[{"click":"#b"}]')])
def test_rows_that_were_changed_afterwards_are_found_out(store, name, value):
    table, footer, _ = store.read_table(ROWS)
    changed = table.set_column(table.column_names.index(name), table.schema.field(name), [[value] * table.num_rows])
    store.write_table(ROWS, changed, footer)
    with pytest.raises(IntegrityError, match="plan_id is not the digest"):
        read_plan(store, RUN)


def test_rows_of_another_shape_or_plan_are_found_out(store):
    table, footer, _ = store.read_table(ROWS)
    store.write_table(ROWS, table.drop_columns(["priority"]), footer)
    with pytest.raises(IntegrityError, match="lacks priority"):
        read_plan(store, RUN)
    store.write_table(ROWS, table, {"plan_id": "0" * 64})
    with pytest.raises(IntegrityError, match="is of another plan"):
        read_plan(store, RUN)
