"""What a user names: files below the configured root, and a run by the name that its source was asked for."""

import json
from dataclasses import replace

import pytest

from flows.journey import plan_run
from flows.request import AuditRequest
from flows.sample import locate_sample
from schemas.errors import ContractError
from schemas.plan import Plan
from tasks.freeze import read_header, read_plan, write_plan
from tasks.store import Store


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A configured root with a manifest, and a store beside it."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "m.json").write_text(json.dumps({"estate": "shop", "routes": ["https://e.test/a"]}), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FANFOLD_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("FANFOLD_ROOT", str(tmp_path / "root"))
    return tmp_path / "root"


def planned(**asked):
    return plan_run(AuditRequest(**asked), "r1", "f1", is_browser_needed=False, is_first_look=True)


def source_of(run):
    return read_header(Store(run.ref.store), run.ref.layout).source


def test_a_run_is_resumed_by_the_source_that_its_plan_names(root, monkeypatch):
    """`fanfold resume` asks with the header's words, with the root of the plan, another one, or none."""
    first = planned(source="m.json")
    assert source_of(first) == "m.json"
    assert planned(source=source_of(first)).plan_id == first.plan_id
    monkeypatch.delenv("FANFOLD_ROOT")
    assert planned(source=source_of(first)).plan_id == first.plan_id
    with pytest.raises(ContractError, match=r"exists with source m\.json"):
        planned(source="other.json")


def test_a_run_whose_plan_names_the_path_below_the_root_is_still_the_same_run(root):
    """Plans of before kept the joined path."""
    first = planned(source="m.json")
    store, layout = Store(first.ref.store), first.ref.layout
    plan = read_plan(store, layout)
    old = Plan(replace(plan.header, source=str(root / "m.json")), plan.routes).sealed()
    write_plan(store, layout, old, {})
    assert (planned(source="m.json").plan_id, planned(source=str(root / "m.json")).plan_id) == (first.plan_id,) * 2


def test_the_sample_needs_no_root(root):
    files = locate_sample()
    assert planned(source=files.manifest, policy=files.policy, history=files.history).ref.estate == "sample"


@pytest.mark.parametrize("name", ["/etc/passwd", "../m.json", "sub/../../m.json", "s3://bucket/m.json"])
def test_a_name_that_leaves_the_root_is_refused(root, name):
    for asked in ({"source": name}, {"source": "m.json", "policy": name}):
        with pytest.raises(ContractError, match="leaves the configured root"):
            planned(**asked)
