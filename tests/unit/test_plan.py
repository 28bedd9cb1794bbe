"""The plan: what routes cost, where they go, and what the header says of it."""

import math
from dataclasses import replace

import pytest

from schemas.action import Action, ActionKind
from schemas.errors import ContractError, IntegrityError, Offence
from schemas.history import TimingHistory
from schemas.manifest import ManifestEntry, SourceCount, SourceFailure
from schemas.plan import Excluded, Plan, ShardLoad
from schemas.route import Expectation, Journey
from schemas.settings import IdentitySwitches, Settings
from tasks.learn import merge_plain
from tasks.plan import make_plan
from tasks.plan.pace import Places
from tests.small_manifest import ENGINE, SITE, history_of, manifest_of, request_of, timing


def paths(plan: Plan) -> list[list[str]]:
    """The paths of each shard, in scan order."""
    return [[row.route.removeprefix(SITE) for row in plan.shard(i)] for i in range(plan.header.shard_count)]


def loads(plan: Plan) -> dict[str, int]:
    return {row.route.removeprefix(SITE): row.load_ms for row in plan.routes}


def test_a_row_carries_all_that_later_stages_need() -> None:
    entry = ManifestEntry(f"{SITE}/A/", "line 1", journey=Journey.SECONDARY, priority=0, owner="web", tags=("x",),
                          ready="#m", expect=Expectation(404, "https://e.test/b", "Gone", "h1"), ready_when="a",
                          actions=(Action(ActionKind.CLICK, "#a"),))
    history = history_of({}, timing("/A", 2_000, p99_ms=15_000))
    accepted = {f"{SITE}/A": ("http_error", "known, WEB-1")}
    plan = make_plan(request_of(manifest_of(entry, replace(entry, url=f"{SITE}/A")), history, accepted=accepted.get))
    (row,) = plan.routes
    assert (row.url, row.aliases, row.key.route) == (f"{SITE}/A/", (f"{SITE}/A",), f"{SITE}/A")
    assert (row.journey, row.journey_is_explicit, row.priority, row.owner, row.tags, row.ready) == (
        "secondary", True, 0, "web", ("x",), "#m")
    assert (row.expect, row.ready_when, row.actions, row.steps) == (
        entry.expect, "a", '[{"click":"#a"}]', entry.actions)
    assert (row.shard_index, row.position, row.load_ms, row.has_history, row.deadline_ms, row.was_html) == (
        0, 0, 2_000, True, 45_000, True)
    assert (row.accepted_outcome, row.accepted_reason) == ("http_error", "known, WEB-1")
    assert (row.is_in_scope, row.carried_from_run_id, row.carried_date) == (True, None, None)


def test_the_header_carries_where_the_plan_comes_from() -> None:
    manifest = manifest_of("/a", "/admin/x", failures=(SourceFailure("s1.xml", "404"),), warnings=("s2.xml is empty",))
    settings = Settings(identity=IdentitySwitches(path_case="fold"))
    header = make_plan(request_of(manifest, history_of({"/a": 10}), settings, last_full_run_id="r0",
                                  last_full_route_count=9)).header
    assert (header.run_id, header.estate, header.created_at, header.source, header.manifest_digest) == (
        "r1", "shop", "2026-11-30T08:00:00Z", "manifest.json", "1" * 64)
    assert (header.identity, header.scan, header.engine, header.browser_version) == (
        settings.identity, settings.scan, ENGINE, "149.0")
    assert (header.excluded, header.source_failures, header.warnings) == (
        (Excluded(f"{SITE}/admin/x", "glob:/admin/**"),), manifest.failures, ("s2.xml is empty",))
    assert (header.scope, header.last_full_run_id, header.last_full_route_count, header.program_version) == (
        "full", "r0", 9, "0.1.0")


def test_loads_are_balanced_and_the_header_says_how_well() -> None:
    history = history_of({"/a": 5, "/b": 5, "/c": 4, "/d": 4, "/e": 3, "/f": 3, "/g": 3})
    plan = make_plan(request_of(manifest_of(*(f"/{x}" for x in "gfedcba")), history, Settings(shards=3)))
    assert paths(plan) == [["/a", "/e", "/g"], ["/b", "/f"], ["/c", "/d"]]
    header = plan.header
    assert (header.method, header.shard_count, header.shard_count_reason) == ("lpt", 3, "3 asked for")
    assert header.shards == (ShardLoad(0, None, 3, 11), ShardLoad(1, None, 2, 8), ShardLoad(2, None, 2, 8))
    assert (header.makespan_ms, header.imbalance, header.lower_bound_ms) == (11, 1.2222, 9)
    assert (header.no_history_ratio, header.warnings) == (0.0, ())


def test_within_a_shard_priority_comes_first_then_the_heaviest_then_the_key() -> None:
    entries = [ManifestEntry(SITE + path, path, priority=priority)
               for path, priority in (("/a", 2), ("/b", 2), ("/c", 0), ("/d", 1), ("/e", 1), ("/f", 1))]
    history = history_of({"/a": 90, "/b": 10, "/c": 1, "/d": 5, "/e": 7, "/f": 5})
    plan = make_plan(request_of(manifest_of(*entries), history))
    assert paths(plan) == [["/c", "/e", "/d", "/f", "/a", "/b"]]


def test_routes_without_history_are_planned_at_the_p75_of_the_known() -> None:
    """Fault 029: the list of routes decides, stale names are listed as ignored."""
    history = history_of({f"/{n}": 1_000 * n for n in range(1, 8)} | {f"/gone/{n}": 99_000 for n in range(5)})
    plan = make_plan(request_of(manifest_of(*(f"/{n}" for n in range(1, 11))), history, Settings(shards=3)))
    assert sorted(path for shard in paths(plan) for path in shard) == sorted(f"/{n}" for n in range(1, 11))
    assert loads(plan) == {f"/{n}": 1_000 * n for n in range(1, 8)} | {"/8": 5_500, "/9": 5_500, "/10": 5_500}
    assert plan.header.no_history_ratio == 0.3
    assert plan.header.warnings == (
        "the timing history knows 7 of 10 routes: the balance of the shards is a guess for the others",
        f"names of the timing history that are no routes of this plan, and ignored: 5 ({SITE}/gone/0, {SITE}/gone/1,"
        f" {SITE}/gone/2, …)")


def test_the_default_load_is_rounded_to_a_whole_millisecond() -> None:
    plan = make_plan(request_of(manifest_of("/1", "/3", "/x"), history_of({"/1": 1, "/3": 3})))
    assert loads(plan) == {"/1": 1, "/3": 3, "/x": 3}


@pytest.mark.parametrize(("known_count", "warns"), [(8, False), (7, True), (0, True)])
def test_a_history_that_knows_few_routes_warns(known_count: int, warns: bool) -> None:
    history = history_of({f"/{n}": 10 for n in range(known_count)} | {"/other": 10})
    warnings = make_plan(request_of(manifest_of(*(f"/{n}" for n in range(10))), history)).header.warnings
    assert any(text.startswith(f"the timing history knows {known_count} of 10 routes") for text in warnings) is warns


def test_durations_that_are_none_fall_back_to_the_default() -> None:
    """Fault 030: each route once, the same plan in any order, a finite makespan, and a count of the bad values."""
    values = [3, math.nan, 5, 1, 9, -10, math.inf, "12s", None]
    durations = {f"{SITE}/{n}": value for n, value in enumerate(values)}
    addresses = [f"/{n}" for n in range(9)]
    plan = make_plan(request_of(manifest_of(*addresses), merge_plain(TimingHistory(), durations), Settings(shards=3)))
    back = dict(reversed(durations.items()))
    assert plan == make_plan(
        request_of(manifest_of(*reversed(addresses)), merge_plain(TimingHistory(), back), Settings(shards=3)))
    assert loads(plan) == {"/0": 3_000, "/2": 5_000, "/3": 1_000, "/4": 9_000} | dict.fromkeys(
        ("/1", "/5", "/6", "/7", "/8"), 6_000)
    assert plan.header.makespan_ms == 17_000
    assert plan.header.warnings[0] == (
        "values of the timing history that are no durations: 5; the default took their place")


def test_routes_of_equal_cost_spread_evenly() -> None:
    """Fault 030: nine routes of one cost over three shards are three each."""
    history = history_of({f"/{n}": 1 for n in range(9)})
    assert [shard.route_count for shard in make_plan(
        request_of(manifest_of(*(f"/{n}" for n in range(9))), history, Settings(shards=3))).header.shards] == [3, 3, 3]


def test_a_route_that_failed_weighs_what_it_burned() -> None:
    """Fault 034: three time-outs weigh three deadlines; its success, if any, still teaches the deadline."""
    history = history_of(
        {"/ok": 2_000}, timing("/failed", 2_000, last_burned_ms=90_000), timing("/never", None, last_burned_ms=90_000),
        timing("/nothing", None, last_burned_ms=0))
    plan = make_plan(request_of(manifest_of("/ok", "/failed", "/never", "/nothing"), history))
    assert {row.route.removeprefix(SITE): (row.load_ms, row.has_history, row.was_html) for row in plan.routes} == {
        "/ok": (2_000, True, True), "/failed": (90_000, True, True), "/never": (90_000, True, False),
        "/nothing": (90_000, False, False)}
    assert {row.route: row.deadline_ms for row in plan.routes}[f"{SITE}/failed"] == 30_000


def test_excluded_routes_weigh_nothing() -> None:
    """Fault 036: the plan equals one that never heard of them."""
    history = history_of({f"/{n}": 100 * n for n in range(7)} | {f"/heavy/{n}": 90_000 for n in range(3)})
    light = [f"/{n}" for n in range(8)]
    settings = Settings(exclude=("glob:/heavy/*",), shards=3)
    plan = make_plan(request_of(manifest_of(*light, *(f"/heavy/{n}" for n in range(3))), history, settings))
    alone = make_plan(request_of(manifest_of(*light), history, settings))
    assert (plan.routes, plan.header.shards, plan.header.makespan_ms) == (
        alone.routes, alone.header.shards, alone.header.makespan_ms)


def test_a_shard_above_the_run_budget_is_named_with_its_heaviest_route() -> None:
    """Fault 038: a route of 900 s under a limit of 600 s."""
    history = history_of({"/slow": 900_000, "/a": 1_000, "/b": 1_000})
    request = request_of(manifest_of("/slow", "/a", "/b"), history, Settings(run_budget_ms=600_000, shards=2))
    assert make_plan(request).header.warnings == (
        "1 of 2 shards are estimated to outlast the run budget of 600 s: shard 0 takes about 900 s, its heaviest route"
        f" 900 s ({SITE}/slow); routes that are not reached make the run incomplete",)
    assert make_plan(replace(request, in_flight=8)).header.warnings == make_plan(request).header.warnings


def test_a_run_above_its_budget_warns_though_every_shard_fits() -> None:
    history = history_of({f"/{n}": 300_000 for n in range(8)})
    manifest = manifest_of(*(f"/{n}" for n in range(8)))
    request = request_of(manifest, history, Settings(run_budget_ms=600_000, shards=8))
    assert make_plan(request).header.warnings == (
        "the run is estimated to take 1200 s, longer than its budget of 600 s; routes that are not reached make the run"
        " incomplete",)
    assert make_plan(replace(request, shards_at_once=4)).header.warnings == ()
    assert make_plan(replace(request, settings=Settings(shards=8))).header.warnings == ()


def test_durations_of_the_plain_form_are_found_under_any_spelling() -> None:
    durations = {"HTTPS://e.test:443/a/": 3, f"{SITE}/a?utm_x=1": 4, f"{SITE}/a": 3, f"{SITE}/b": 2, "/c": 1,
                 "https://u:s3cret@e.test/d": 1}
    history = merge_plain(history_of({"/b": 9_000}), durations)
    plan = make_plan(request_of(manifest_of("/a", "/b", "/c", "/d"), history))
    assert loads(plan) == {"/a": 4_000, "/b": 9_000, "/c": 7_750, "/d": 7_750}
    assert [(row.has_history, row.was_html) for row in sorted(plan.routes, key=lambda row: row.route)] == [
        (True, False), (True, True), (False, False), (False, False)]
    assert plan.header.warnings[1] == ("names of the timing history that are no routes of this plan, and ignored: 2"
                                       " (/c, https://***@e.test/d)")


def test_without_history_a_hash_decides_and_no_shard_is_empty() -> None:
    plan = make_plan(request_of(manifest_of("/a", "/b", "/c"), settings=Settings(shards=3)))
    header = plan.header
    assert (header.method, header.no_history_ratio, header.warnings) == ("hash", 1.0, ())
    assert paths(plan) == [["/a", "/c"], ["/b"]]
    assert header.shards == (ShardLoad(0, None, 2, 10_000), ShardLoad(1, None, 1, 5_000))
    assert header.shard_count_reason == "3 asked for, 2 in use: the hash left 1 empty"


def test_no_shard_mixes_auth_profiles() -> None:
    entries = [ManifestEntry(f"{SITE}/{n}", f"{auth}{n}", auth=auth) for auth in (None, "staff") for n in range(4)]
    history = history_of({f"/{n}": 30_000 for n in range(4)}, *(timing(f"/{n}", 10_000, "staff") for n in range(4)))
    plan = make_plan(request_of(manifest_of(*entries), history, Settings(shards=4)))
    assert plan.header.shards == (ShardLoad(0, None, 2, 60_000), ShardLoad(1, None, 1, 30_000),
                                  ShardLoad(2, None, 1, 30_000), ShardLoad(3, "staff", 4, 40_000))


@pytest.mark.parametrize(("p99_ms", "deadline_ms"), [(1_000, 30_000), (10_001, 30_003), (39_999, 119_997),
                                                     (50_000, 120_000)])
def test_the_deadline_is_three_times_the_p99_within_limits(p99_ms: int, deadline_ms: int) -> None:
    (row,) = make_plan(request_of(manifest_of("/a"), history_of({}, timing("/a", 500, p99_ms=p99_ms)))).routes
    assert row.deadline_ms == deadline_ms


def test_the_deadline_of_an_unknown_route_follows_the_known_ones() -> None:
    plan = make_plan(request_of(manifest_of("/a", "/b"), history_of({"/a": 20_000})))
    assert {row.deadline_ms for row in plan.routes} == {60_000}


@pytest.mark.parametrize(("per_host", "in_flight", "makespan_ms"), [
    (16, 4, 400), (4, 4, 800), (2, 4, 1_600), (1, 4, 1_600), (0, 4, 400), (1, 1, 400)])
def test_politeness_stretches_the_makespan(per_host: int, in_flight: int, makespan_ms: int) -> None:
    manifest, history = manifest_of(*(f"/{n}" for n in range(8))), history_of({f"/{n}": 100 for n in range(8)})
    request = request_of(manifest, history, Settings(shards=2, per_host=per_host), in_flight=in_flight)
    assert make_plan(request).header.makespan_ms == makespan_ms


@pytest.mark.parametrize(("shards_at_once", "per_host", "part"), [
    (1, 16, 16), (4, 16, 4), (3, 16, 5), (4, 1, 1), (4, 0, 0)])
def test_the_limit_of_a_host_is_parted_among_the_shards_at_once(
    shards_at_once: int, per_host: int, part: int
) -> None:
    assert Places(shards_at_once, 2, per_host).host_part == part


@pytest.mark.parametrize(("addresses", "settings", "said"), [
    ([f"/{n}" for n in range(4)], Settings(shards=4, per_host=1), "4 shards at once scan routes of e.test"),
    ([f"/{n}" for n in range(4)], Settings(shards=3, per_host=2), "3 shards at once scan routes of e.test"),
    ([f"/{n}" for n in range(4)], Settings(shards=2, per_host=2), None),
    ([f"/{n}" for n in range(4)], Settings(shards=4, per_host=4), None),
    ([f"/{n}" for n in range(4)], Settings(shards=4, per_host=0), None),
    ([f"https://{n}.e.test/" for n in range(4)], Settings(shards=4, per_host=1), None),
    ([f"http://shop.localhost/{n}" for n in range(4)], Settings(shards=4, per_host=1), None),
])
def test_a_limit_that_cannot_be_kept_is_told(addresses: list[str], settings: Settings, said: str | None) -> None:
    history = history_of(dict.fromkeys(addresses, 100))
    warnings = make_plan(request_of(manifest_of(*addresses), history, settings, shards_at_once=4)).header.warnings
    assert list(warnings) == ([] if said is None else [
        f"`per_host` ({settings.per_host}) is not kept: {said}, one each at the least. Lower `shards_at_once` to "
        f"{settings.per_host}, or make fewer shards"])


def test_politeness_is_for_each_host_and_never_for_loopback() -> None:
    apart = [f"https://{n}.e.test/" for n in range(4)]
    own = [f"http://127.0.0.1:8000/{n}" for n in range(4)]
    for addresses, makespan_ms in ((apart, 400), (own, 400), ([f"/{n}" for n in range(4)], 1_600)):
        history = history_of(dict.fromkeys(addresses, 100))
        request = request_of(manifest_of(*addresses), history, Settings(per_host=1, shards=1), in_flight=4)
        assert make_plan(request).header.makespan_ms == makespan_ms


def test_a_delta_carries_routes_outside_its_scope() -> None:
    history = history_of({"/a": 10, "/b": 20, "/c": 30})
    request = request_of(manifest_of("/a", "/b", "/c"), history, Settings(shards=2))
    ids = {row.route.removeprefix(SITE): row.task_id for row in make_plan(request).routes}
    plan = make_plan(replace(request, scope="delta", carried={ids["/a"]: ("r0", "2026-11-29")}))
    assert paths(plan) == [["/c"], ["/b"]]
    assert [(row.route.removeprefix(SITE), row.shard_index, row.position, row.is_in_scope, row.carried_from_run_id,
             row.carried_date) for row in plan.routes] == [
        ("/c", 0, 0, True, None, None), ("/a", 0, 1, False, "r0", "2026-11-29"), ("/b", 1, 0, True, None, None)]
    assert (plan.header.scope, plan.header.route_count, plan.header.shards, plan.header.warnings) == (
        "delta", 3, (ShardLoad(0, None, 1, 30), ShardLoad(1, None, 1, 20)), ())


def test_a_delta_without_any_route_is_bad_input() -> None:
    request = request_of(manifest_of("/a"))
    task_id = make_plan(request).routes[0].task_id
    with pytest.raises(ContractError) as caught:
        make_plan(replace(request, scope="delta", carried={task_id: ("r0", "2026-11-29")}))
    assert caught.value.offences == (Offence("manifest.json", "no route is in the scope of this delta run",
                                             "at least one route to scan"),)


def test_the_plan_id_depends_on_the_plan_only() -> None:
    manifest, history = manifest_of("/a", "/b", "/c"), history_of({"/a": 10, "/b": 20, "/c": 30})
    request = request_of(manifest, history, Settings(shards=2))
    plan = make_plan(request)
    moved = replace(request, run_id="r2", created_at="2027-01-01T00:00:00Z", last_full_run_id="r1",
                    manifest=replace(manifest, source="other.json", digest="2" * 64, warnings=("`x` is left out",),
                                     children=(SourceCount("https://e.test/s.xml", 3),)))
    assert make_plan(moved).header.plan_id == plan.header.plan_id
    for changed in (replace(request, settings=Settings(shards=3)), replace(request, history=history_of({"/a": 11})),
                    replace(request, browser_version=None), replace(request, accepted=lambda _: ("crashed", "x"))):
        assert make_plan(changed).header.plan_id != plan.header.plan_id
    steps = [ManifestEntry(f"{SITE}/a", "line 1", ready_when=when, actions=actions)
             for when, actions in ((None, ()), ("a", ()), (None, (Action(ActionKind.CLICK, "#a"),)),
                                   (None, (Action(ActionKind.DISMISS, "#a"),)))]
    assert len({make_plan(request_of(manifest_of(entry))).header.plan_id for entry in steps}) == 4


def test_a_plan_that_does_not_hold_is_refused() -> None:
    """Fault 081: what was planned can be told from what was changed."""
    plan = make_plan(request_of(manifest_of("/a", "/b"), history_of({"/a": 10, "/b": 20}), Settings(shards=2)))
    plan.check()
    first, second = plan.routes
    for rows, fault in (
        ((first, first), "1 routes are planned twice"),
        ((replace(first, task_id="0" * 16), second), "1 routes have the task_id of another key"),
        ((first,), "1 rows for 2 routes"),
        ((second, first), "rows are not sorted by shard and position"),
        ((first, replace(second, load_ms=11)), "shards of the rows are not the shards of the header"),
        ((first, replace(second, shard_index=2)), "shards of the rows are not the shards of the header"),
        ((first, replace(second, auth="staff")), "a shard mixes auth profiles"),
        ((first, replace(second, deadline_ms=1)), "plan_id is not the digest of the rows"),
    ):
        with pytest.raises(IntegrityError, match=fault):
            Plan(plan.header, rows).check()
    empty = (*plan.header.shards, ShardLoad(2, None, 0, 0))
    for header, fault in (
        (replace(plan.header, shard_count=3), "shard indexes are not 0 to shard_count - 1"),
        (replace(plan.header, shards=empty, shard_count=3), "a shard is empty"),
        (replace(plan.header, estate="other"), "plan_id is not the digest of the rows"),
    ):
        with pytest.raises(IntegrityError, match=fault):
            Plan(header, plan.routes).check()


def test_a_route_that_nobody_ever_scanned_gets_twice_the_least_deadline() -> None:
    """On a first run a heavy page is not known to be heavy: its lease must not be the shortest."""
    plan = make_plan(request_of(manifest_of("/ok", "/new"), history_of({"/ok": 2_000})))
    assert {row.route.removeprefix(SITE): row.deadline_ms for row in plan.routes} == {"/ok": 30_000, "/new": 60_000}
