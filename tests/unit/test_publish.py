"""What an estate remembers of its runs: the newest, and the newest full one that was whole."""

import json

import pytest

from flows.pruning import find_old_runs
from flows.runs import LastRun, last_full_run, require_run
from schemas.errors import ContractError
from tasks.store import Store
from tests.small_estate import evidence_of, outcome, plan_of, route
from tests.stored_run import folded_run

HOME, SHOP = route("/"), route("/shop")
PLAN = plan_of(HOME, SHOP)
WHOLE = evidence_of(PLAN, [outcome(HOME), outcome(SHOP)])
HOLE = evidence_of(PLAN, [outcome(HOME), outcome(SHOP, "timed_out")])
OF_BEFORE = {"last_full_run_id": "z", "last_full_route_count": 2}
DAYS = {"a": "2026-11-01", "b": "2026-11-02", "c": "2026-11-03"}


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path))


def fold(store, run_id, evidence, **header):
    folded_run(store, plan_of(HOME, SHOP, **header), evidence, run_id, DAYS[run_id])


def remembered(store):
    last = last_full_run(store, "shop")
    return store.read_json("shop/latest.json")["run_id"], last and last.run_id


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize(("of_a", "of_b", "expected"), [
    (WHOLE, HOLE, ("b", "a")), (WHOLE, WHOLE, ("b", "b")), (HOLE, WHOLE, ("b", "b")), (HOLE, HOLE, ("b", "z")),
], ids=["first whole", "both whole", "second whole", "none whole"])
def test_runs_that_overlap_leave_the_newest_whole_one_in_any_order(store, order, of_a, of_b, expected):
    """Both were planned before either was published, so neither plan knows of the other."""
    for run_id in order:
        fold(store, run_id, {"a": of_a, "b": of_b}[run_id], **OF_BEFORE)
    assert remembered(store) == expected


def test_folding_a_run_of_before_again_changes_nothing(store):
    for run_id in "abca":
        fold(store, run_id, WHOLE)
    assert remembered(store) == ("c", "c")


def test_a_run_that_is_whole_no_longer_is_not_the_last_full_one(store):
    fold(store, "a", WHOLE, **OF_BEFORE)
    fold(store, "a", HOLE, **OF_BEFORE)
    assert (remembered(store), last_full_run(store, "shop")) == (("a", "z"), LastRun("z", 2))


def test_a_run_that_is_not_full_leaves_the_last_full_one(store):
    fold(store, "a", WHOLE)
    fold(store, "b", WHOLE, scope="delta")
    assert remembered(store) == ("b", "a")


@pytest.mark.parametrize(("run_id", "expected"), [("a", ("b", "b")), ("c", ("c", "c"))])
def test_a_store_of_before_does_not_say_when_its_last_full_run_was(store, run_id, expected):
    """It was no later than the newest run."""
    store.write_json("shop/latest.json", {"run_id": "b", "created_at": "2026-11-02T08:00:00Z", "last_full_run_id": "b",
                                       "last_full_route_count": 2})
    fold(store, run_id, WHOLE)
    assert remembered(store) == expected


BROKEN = [b"{", b"[]", b"{}", b"null", b'"x"', b'{"run_id": 3, "created_at": null}', b"\xff",
          *(json.dumps({"run_id": "b", "created_at": "2026-11-02T08:00:00Z", "last_full_run_id": last_id,
                        "last_full_route_count": count}).encode()
            for last_id, count in (("b", "many"), ("b", -5), ("b", 0), ("b", None), (None, 3), ("../x", 3), (5, 3)))]


@pytest.mark.parametrize("found", BROKEN)
def test_a_broken_memory_is_bad_input_for_whoever_asks_it(store, found):
    """Nothing to compare with and a file that cannot be read are not the same: `max_shrink` would be off."""
    store.write("shop/latest.json", found)
    for ask in (lambda: last_full_run(store, "shop"), lambda: require_run(store, "latest"),
                lambda: find_old_runs(store, "2026-11-30", 1, None)):
        with pytest.raises(ContractError, match=r"shop/latest\.json: .*`fanfold fold shop/RUN_ID`"):
            ask()


def test_a_store_without_a_memory_has_none(store):
    assert last_full_run(store, "shop") is None


@pytest.mark.parametrize("found", BROKEN)
def test_what_cannot_be_read_is_written_anew(store, found):
    store.write("shop/latest.json", found)
    fold(store, "a", WHOLE)
    assert remembered(store) == ("a", "a")
