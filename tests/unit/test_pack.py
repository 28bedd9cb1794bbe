"""Packing: two packers, tried on loads that are not routes."""

import pytest

from tasks.plan import Load, assign, pack_shards


def test_the_heaviest_goes_first_on_to_the_lightest_shard() -> None:
    """Graham's own worst case: LPT needs 11 where 9 would do, and no more."""
    loads = [Load(key, load_ms) for key, load_ms in zip("abcdefg", (5, 5, 4, 4, 3, 3, 3), strict=True)]
    assert pack_shards(loads, 3) == [
        [Load("a", 5), Load("e", 3), Load("g", 3)], [Load("b", 5), Load("f", 3)], [Load("c", 4), Load("d", 4)]]


def test_ties_go_to_the_shard_with_fewest_loads_then_by_key() -> None:
    loads = [Load("f", 1), Load("e", 1), Load("d", 1), Load("c", 3), Load("b", 4), Load("a", 5)]
    assert pack_shards(loads, 2) == [  # 7 and 7 before the last, which goes where two are, not three
        [Load("a", 5), Load("d", 1), Load("e", 1)], [Load("b", 4), Load("c", 3), Load("f", 1)]]


@pytest.mark.parametrize("load_ms", [0, 1, -7])
def test_loads_without_a_cost_spread_evenly(load_ms: int) -> None:
    """Fault 030: nine loads of nothing over three shards are three each."""
    packed = pack_shards([Load(key, load_ms) for key in "abcdefghi"], 3)
    assert [[load.key for load in shard] for shard in packed] == [list("adg"), list("beh"), list("cfi")]


def test_fewer_loads_than_shards_leave_the_rest_empty() -> None:
    assert pack_shards([Load("a", 1)], 3) == [[Load("a", 1)], [], []]
    assert pack_shards([], 1) == [[]]


def test_a_key_has_its_shard_whatever_other_keys_there_are() -> None:
    assert [assign(key, 7) for key in ("a", "b", "é", "")] == [4, 6, 6, 3]
    assert assign("a", 1) == 0


@pytest.mark.parametrize("shard_count", [0, -1])
def test_no_shards_are_refused(shard_count: int) -> None:
    with pytest.raises(ValueError, match=f"shard_count is {shard_count}, expected at least 1"):
        pack_shards([Load("a", 1)], shard_count)
    with pytest.raises(ValueError, match=f"shard_count is {shard_count}, expected at least 1"):
        assign("a", shard_count)
