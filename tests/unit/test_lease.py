"""The lease of a run: who waits for whom, and when it binds nobody."""

import os
import socket
import threading
import time

import pytest

from flows.lease import held_lease, read_lease, why_stale
from schemas.layout import EstateLayout
from tasks.store import Store

RUN = EstateLayout("shop").run("r1")
KEY = RUN.file("lease.json")
HOST = socket.gethostname()
DEAD_PID = 2**22 + 1  # above the largest id of a process on Linux and macOS


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path))


@pytest.mark.parametrize(("lease", "reason"), [
    ({"host": HOST, "pid": os.getpid(), "beat": 1000.0}, None),
    ({"host": HOST, "pid": DEAD_PID, "beat": 1000.0}, f"its owner (process {DEAD_PID}) is dead"),
    ({"host": "elsewhere", "pid": DEAD_PID, "beat": 1000.0}, None),
    ({"host": "elsewhere", "pid": 1, "beat": 960.0}, "its owner was last seen 50 s ago"),
    ({"host": HOST, "pid": 10**30, "beat": 1000.0}, f"its owner (process {10**30}) is dead"),
    ({"host": "elsewhere", "pid": 1, "beat": 90_000.0}, None),
    ({"beat": 0}, "its owner was last seen 1010 s ago"),
])
def test_a_lease_binds_while_its_owner_lives(lease, reason):
    assert why_stale(lease, HOST, 1010.0) == reason


def test_a_held_lease_is_there_and_then_gone(store):
    with held_lease(store, RUN):
        time.sleep(0.1)
        lease = read_lease(store, KEY)
        assert (lease["host"], lease["pid"]) == (HOST, os.getpid())
    assert read_lease(store, KEY) is None


def test_a_dead_owners_lease_is_taken_over_at_once(store):
    """127: a marker of a dead process does not block, and the takeover is said."""
    store.write_json(KEY, {"owner": "x", "host": HOST, "pid": DEAD_PID, "beat": time.time()})
    said = []
    with held_lease(store, RUN, said.append):
        pass
    assert said == [f"taking over the run's lease: its owner (process {DEAD_PID}) is dead"]


def test_a_second_owner_waits_for_the_first(store):
    order, said = [], []
    inside = threading.Event()

    def first():
        with held_lease(store, RUN):
            inside.set()
            time.sleep(0.5)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    time.sleep(0.1)
    with held_lease(store, RUN, said.append):
        order.append("second")
    thread.join()
    assert (order, len(said)) == (["first", "second"], 1)


def test_a_lease_from_the_future_that_does_not_move_is_taken_over(store, monkeypatch):
    """A clock that jumped, then a dead owner: it blocks no longer than one whose clock was right."""
    monkeypatch.setattr("flows.lease.STALE_SECONDS", 2.0)
    monkeypatch.setattr("flows.lease.POLL_SECONDS", 0.1)
    store.write_json(KEY, {"owner": "x", "host": "elsewhere", "pid": 1, "beat": time.time() + 86_400})
    said = []
    with held_lease(store, RUN, said.append):
        pass
    assert said == ["waiting for x, which works on this run",
                    "taking over the run's lease: its owner has not moved for 2 s"]


@pytest.mark.parametrize("lease", [{}, [], "x", None, {"owner": "x"}, {"owner": "x", "beat": "soon"},
                                   {"owner": "x", "beat": None}, {"owner": "x", "beat": 10**400}])
def test_what_is_no_lease_binds_nobody(store, lease):
    store.write_json(KEY, lease)
    said = []
    with held_lease(store, RUN, said.append):
        pass
    assert said == []
