"""Sharing: how many shards there are and why, and which profile gets how many."""

import pytest

from tasks.plan.share import Group, count_shards, share_shards

MINUTE_MS = 60_000


@pytest.mark.parametrize(("route_count", "minutes", "asked", "shards_at_once", "count", "reason"), [
    (100, 13, None, 4, 7, "7 for a load of 13.0 min at 2 min each"),
    (100, 0.001, None, 4, 1, "1 for a load of 0.0 min at 2 min each"),
    (100, 13, None, 1, 4, "7 for a load of 13.0 min at 2 min each, lowered to 4: 1 shard at once, at most 4 each"),
    (3, 13, None, 4, 3, "7 for a load of 13.0 min at 2 min each, lowered to 3: 3 routes in all"),
    (100, 13, 50, 1, 50, "50 asked for"),
    (100, 13, 300, 1, 100, "300 asked for, lowered to 100: 100 routes in all"),
    (100, 13, 1, 1, 1, "1 asked for"),
])
def test_the_count_says_why_it_is_that(
    route_count: int, minutes: float, asked: int | None, shards_at_once: int, count: int, reason: str
) -> None:
    groups = {None: Group(route_count, round(minutes * MINUTE_MS))}
    assert count_shards(groups, asked, shards_at_once) == (count, reason)


def test_profiles_raise_the_count_above_what_was_asked_for() -> None:
    groups = {None: Group(10, MINUTE_MS), "guest": Group(1, 1), "staff": Group(1, 1)}
    assert count_shards(groups, 2, 4) == (3, "2 asked for, raised to 3: no shard mixes auth profiles")
    assert count_shards(groups, None, 4) == (
        3, "1 for a load of 1.0 min at 2 min each, raised to 3: no shard mixes auth profiles")


def test_profiles_beat_the_limit_of_shards_at_once() -> None:
    groups = {str(number): Group(5, 10 * MINUTE_MS) for number in range(6)}
    assert count_shards(groups, None, 1) == (
        6, "30 for a load of 60.0 min at 2 min each, lowered to 4: 1 shard at once, at most 4 each,"
           " raised to 6: no shard mixes auth profiles")


def test_profiles_get_shards_in_proportion_to_their_load() -> None:
    groups = {None: Group(100, 700), "guest": Group(100, 200), "staff": Group(100, 100)}
    assert share_shards(groups, 10) == {None: 7, "guest": 2, "staff": 1}
    assert share_shards(groups, 3) == {None: 1, "guest": 1, "staff": 1}


def test_no_profile_gets_more_shards_than_it_has_routes() -> None:
    groups = {None: Group(2, 1_000_000), "staff": Group(5, 5)}
    assert share_shards(groups, 7) == {None: 2, "staff": 5}
    assert share_shards({None: Group(1, 9)}, 1) == {None: 1}
