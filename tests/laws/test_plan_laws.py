"""Laws of the plan: a partition, the same in any order, within Graham's bounds."""

from collections import Counter
from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from schemas.manifest import ManifestEntry
from schemas.plan import Plan
from schemas.settings import Settings
from tasks.plan import Load, assign, make_plan, pack_shards
from tasks.plan.share import Group, count_shards, share_shards
from tests.small_manifest import SITE, history_of, manifest_of, request_of, timing

LOADS = st.lists(st.integers(1, 10_000), min_size=1, max_size=40).map(
    lambda sizes: [Load(f"k{place:02d}", size) for place, size in enumerate(sizes)])
FEW_LOADS = st.lists(st.integers(1, 30), min_size=1, max_size=7).map(
    lambda sizes: [Load(f"k{place}", size) for place, size in enumerate(sizes)])
AUTHS = st.sampled_from([None, "guest", "staff"])
ENTRIES = st.lists(st.builds(
    lambda number, auth, priority: ManifestEntry(f"{SITE}/{number}", f"{number}", auth=auth, priority=priority),
    st.integers(0, 15), AUTHS, st.integers(0, 2)), min_size=1, max_size=25, unique_by=lambda e: (e.url, e.auth))
DURATIONS = st.dictionaries(st.tuples(st.integers(0, 20), AUTHS), st.integers(1, 200_000), max_size=25)
ASKED = st.one_of(st.none(), st.integers(1, 30))


def makespan(shards: list[list[Load]]) -> int:
    return max(sum(load.load_ms for load in shard) for shard in shards)


def best_makespan(loads: list[Load], shard_count: int) -> int:
    """The makespan of the best of all packings, by trying every one of them."""
    best = sum(load.load_ms for load in loads)
    for places in product(range(shard_count), repeat=len(loads) - 1):
        weights = [0] * shard_count
        for load, place in zip(loads, (0, *places), strict=True):
            weights[place] += load.load_ms
        best = min(best, max(weights))
    return best


@given(LOADS, st.integers(1, 12), st.randoms(use_true_random=False))
def test_packing_is_a_partition_that_no_order_changes(loads: list[Load], shard_count: int, random) -> None:  # type: ignore[no-untyped-def]
    shards = pack_shards(loads, shard_count)
    assert sorted(load for shard in shards for load in shard) == sorted(loads)
    assert sum(not shard for shard in shards) == max(shard_count - len(loads), 0)
    shuffled = list(loads)
    random.shuffle(shuffled)
    assert pack_shards(shuffled, shard_count) == shards


@given(LOADS, st.integers(1, 12))
def test_the_makespan_is_below_that_of_any_list_schedule(loads: list[Load], shard_count: int) -> None:
    total, longest = sum(load.load_ms for load in loads), max(load.load_ms for load in loads)
    packed = makespan(pack_shards(loads, shard_count))
    assert max(Fraction(total, shard_count), longest) <= packed
    assert packed <= Fraction(total, shard_count) + Fraction(shard_count - 1, shard_count) * longest


@given(FEW_LOADS, st.integers(1, 4))
def test_the_makespan_is_within_grahams_bound_of_the_best(loads: list[Load], shard_count: int) -> None:
    bound = Fraction(4, 3) - Fraction(1, 3 * shard_count)
    assert makespan(pack_shards(loads, shard_count)) <= bound * best_makespan(loads, shard_count)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.integers(1, 500))
def test_a_hash_names_a_shard_that_exists(key: str, shard_count: int) -> None:
    assert 0 <= assign(key, shard_count) < shard_count


@given(st.dictionaries(AUTHS, st.builds(Group, st.integers(1, 30), st.integers(1, 10_000_000)), min_size=1),
       ASKED, st.integers(1, 8))
def test_shares_add_up_and_leave_no_profile_without_or_with_too_many(
    groups: dict[str | None, Group], asked: int | None, shards_at_once: int
) -> None:
    count, _ = count_shards(groups, asked, shards_at_once)
    routes = sum(group.route_count for group in groups.values())
    assert len(groups) <= count <= routes
    shares = share_shards(groups, count)
    assert list(shares) == list(groups)
    assert sum(shares.values()) == count
    assert all(1 <= shares[auth] <= groups[auth].route_count for auth in groups)


def plan_of(entries: list[ManifestEntry], durations: dict[tuple[int, str | None], int], asked: int | None) -> Plan:
    history = history_of({}, *(timing(f"/{number}", ms, auth) for (number, auth), ms in durations.items()))
    return make_plan(request_of(manifest_of(*entries), history, Settings(shards=asked)))


@given(ENTRIES, DURATIONS, ASKED, st.randoms(use_true_random=False))
def test_the_plan_is_a_partition_that_no_order_changes(  # type: ignore[no-untyped-def]
    entries: list[ManifestEntry], durations: dict[tuple[int, str | None], int], asked: int | None, random
) -> None:
    plan = plan_of(entries, durations, asked)
    plan.check()
    assert Counter((row.route, row.auth) for row in plan.routes) == Counter((e.url, e.auth) for e in entries)
    shuffled, items = list(entries), list(durations.items())
    random.shuffle(shuffled)
    random.shuffle(items)
    assert plan_of(shuffled, dict(items), asked) == plan


@given(ENTRIES, DURATIONS, ASKED)
def test_no_shard_is_empty_or_mixes_profiles_and_each_is_in_order(
    entries: list[ManifestEntry], durations: dict[tuple[int, str | None], int], asked: int | None
) -> None:
    plan = plan_of(entries, durations, asked)
    for load in plan.header.shards:
        rows = plan.shard(load.shard_index)
        assert {row.auth for row in rows} == {load.auth}
        assert (len(rows), sum(row.load_ms for row in rows)) == (load.route_count, load.load_ms)
        assert [row.position for row in rows] == list(range(len(rows)))
        order = [(row.priority, -row.load_ms, row.route) for row in rows]
        assert order == sorted(order)


@given(ENTRIES, DURATIONS, ASKED)
def test_the_header_keeps_its_bounds(
    entries: list[ManifestEntry], durations: dict[tuple[int, str | None], int], asked: int | None
) -> None:
    header = plan_of(entries, durations, asked).header
    assert header.lower_bound_ms <= header.makespan_ms
    assert 1 <= header.imbalance <= header.shard_count
    assert header.method == ("hash" if header.no_history_ratio == 1 else "lpt")
