"""Kill whatever can be killed, then go on: nothing committed is lost, nothing is doubled, nothing is clean unseen."""

import random
import threading

import pytest

from schemas.errors import TransientError
from schemas.outcome import OutcomeKind
from schemas.verdict import VerdictKind
from tasks.commit import Shelf, committed_numbers
from tasks.scan import partial
from tasks.scan.process import descendants
from tests.faults.conftest import kill_later, shard_processes
from tests.processes import command_of, kill
from tests.site import FAULT, page, small_site

MOMENTS = [random.Random(seed).uniform(1.0, 5.0) for seed in (3, 7)]


def undisturbed(start, site):
    legs = start(site, "calm")
    legs.scan()
    legs.fold()
    return legs.dataset()


def committed(legs, shard_index=0):
    """Routes whose outcome is in a committed triple."""
    shelf = Shelf(legs.store, legs.run.ref.layout, legs.run.plan_id, shard_index)
    paths = set()
    for name in shelf.attempts():
        for number in committed_numbers(shelf, name):
            table, *_ = legs.store.read_table(legs.run.ref.layout.triple(shard_index, name, "outcomes", number))
            paths |= {url.partition("/p")[2] for url in table["url"].to_pylist()}
    return paths


@pytest.mark.parametrize("moment_s", MOMENTS)
def test_a_killed_shard_goes_on_where_its_triples_end(start, moment_s):
    """081, 117, 124: the shard dies at some moment; the next attempt requests only what was not committed."""
    with small_site(30, faulty=frozenset({2, 9, 20})) as site:
        expected = undisturbed(start, site)
        legs = start(site, "storm")
        killer = kill_later(shard_processes, moment_s)
        try:
            legs.scan()
        except TransientError as death:
            assert "killed by signal 9" in str(death)
        killer.join()
        kept = committed(legs)
        site.log.clear()
        legs.scan_until_it_lives()
        assert {path.removeprefix("/p") for path in site.log} == {f"{i:02d}" for i in range(30)} - kept
        assert legs.fold().kind is VerdictKind.BLOCKED
        assert legs.dataset() == expected


@pytest.mark.parametrize("victim", ["headless", "driver/node"])
def test_a_killed_browser_or_driver_costs_only_the_routes_in_flight(start, victim):
    """052: the shard itself goes on with a new browser."""
    with small_site(12, faulty=frozenset({5})) as site:
        expected = undisturbed(start, site)
        legs = start(site, "storm")

        def kill_once(shard_index, event):
            if event.get("event") == "ended" and not killed.is_set():
                killed.set()
                kill([pid for shard in shard_processes() for pid in descendants(shard) if victim in command_of(pid)])

        killed = threading.Event()
        legs.on_event = kill_once
        report = legs.scan()
        assert (killed.is_set(), report.is_settled) == (True, True), report.log_tail
        legs.fold()
        assert legs.dataset() == expected


def test_two_writers_on_one_shard_double_nothing(start):
    """082: two processes run the same shard at once; one receipt wins whole."""
    with small_site(10, faulty=frozenset({1, 2})) as site:
        expected = undisturbed(start, site)
        legs = start(site, "storm")
        threads = [threading.Thread(target=legs.scan) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shelf = Shelf(legs.store, legs.run.ref.layout, legs.run.plan_id, 0)
        assert len(shelf.attempts()) == 2
        legs.fold()
        assert legs.dataset() == expected


def test_a_route_that_kills_its_process_twice_ends_as_crashed(start):
    """The poison rule: its neighbours are fine, and a Retry starts the count anew."""
    with small_site(8, faulty=frozenset({4})) as site:
        site.answers["/poison"] = page("Poison", FAULT)
        expected = undisturbed(start, site)
        site.answers["/poison"] = page("Poison", FAULT, before=lambda: kill(shard_processes()))
        legs = start(site, "storm")
        assert legs.scan_until_it_lives() == 2
        verdict = legs.fold()
        kinds = {row["url"].rpartition("/")[2]: (row["outcome"], row["reason"])
                 for row in legs.rows("outcomes", ("url", "outcome", "reason"))}
        assert kinds.pop("poison") == (OutcomeKind.CRASHED.value, "killed_its_worker")
        assert {kind for kind, _ in kinds.values()} == {"scanned"}
        assert verdict.kind is VerdictKind.INCOMPLETE
        assert len([path for path in site.log if path == "/poison"]) == 3  # once calm, twice deadly, then no more
        site.answers["/poison"] = page("Poison", FAULT)
        site.log.clear()
        legs.scan(flow_attempt="after-retry")
        legs.fold()
        assert (site.log, legs.dataset()) == (["/poison"], expected)


def test_flushes_are_small_enough_to_lose_little():
    """A kill loses what was not flushed: at most these."""
    assert (partial.FLUSH_ROUTES <= 36, partial.FLUSH_SECONDS <= 10) == (True, True)
