"""Runs by name: a store keeps them by estate, and two estates may use one id."""

import json

import pytest

from flows.cli import exit_code_of
from flows.journey import plan_run
from flows.request import AuditRequest
from flows.runs import RunRef, ref_of
from schemas.errors import ContractError


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANFOLD_ROOT", raising=False)
    monkeypatch.setenv("FANFOLD_STORE", "store")
    for estate in ("a", "b"):
        (tmp_path / f"{estate}.json").write_text(json.dumps({"routes": [f"https://{estate}.test/"]}), "utf-8")
    return tmp_path / "store"


def planned(source, run_id, estate=None):
    request = AuditRequest(source=source, estate=estate)
    return plan_run(request, run_id, "f1", is_browser_needed=False, is_first_look=True)


def test_a_run_of_an_estate_is_of_that_estate(store):
    planned("a.json", "r1", "a")
    assert ref_of("r1") == ref_of("a/r1") == RunRef("store", "a", "r1")
    for name in ("b/r1", "../r1", "a/b/r1", "/r1", "r2", "a/r2"):
        with pytest.raises(ContractError, match="is not in the store"):
            ref_of(name)


def test_two_estates_may_use_one_id(store):
    first, second = planned("a.json", "r1", "a"), planned("b.json", "r1", "b")
    assert (first.ref, second.ref) == (ref_of("a/r1"), ref_of("b/r1"))
    assert planned("a.json", "r1", "a").plan_id == first.plan_id != second.plan_id
    with pytest.raises(ContractError, match=r"estates a, b have one.*`ESTATE/RUN_ID`"):
        ref_of("r1")
    with pytest.raises(ContractError, match="estates a, b have one"):
        planned("a.json", "r1")


def test_the_estate_may_be_a_setting(store, monkeypatch):
    planned("a.json", "r1", "a")
    monkeypatch.setenv("FANFOLD_ESTATE", "b")
    assert planned("b.json", "r1").ref.estate == "b"


def test_a_run_is_found_without_its_estate_where_it_is_the_only_one(store):
    first = planned("a.json", "r1", "a")
    assert planned("a.json", "r1").plan_id == first.plan_id
    with pytest.raises(ContractError, match=r"exists with source a\.json;.*another estate"):
        planned("b.json", "r1")


def test_commands_take_the_estate_with_the_id(store, capsys):
    for estate in ("a", "b"):
        assert exit_code_of(["plan", f"{estate}.json", "--estate", estate, "--run-id", "r1"]) == 0
    capsys.readouterr()
    assert exit_code_of(["show", "b/r1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["header"]["estate"] == "b"
    assert exit_code_of(["show", "r1"]) == 3
