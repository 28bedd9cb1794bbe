"""How much of a machine an audit takes."""

import os

import pytest

from flows.capacity import ROUTE_MEMORY_BYTES, Capacity, fit_capacity, usable_cores, usable_memory_bytes

PLENTY = 100 * ROUTE_MEMORY_BYTES


@pytest.mark.parametrize(("asked", "cores", "expected"), [
    ((None, None), 1, (1, 1)),
    ((None, None), 2, (1, 2)),
    ((None, None), 8, (4, 2)),
    ((3, None), 2, (3, 2)),
    ((None, 4), 8, (2, 4)),
    ((5, 3), 2, (5, 3)),
])
def test_cores_decide_unless_asked(asked, cores, expected):
    assert fit_capacity(*asked, cores, PLENTY) == Capacity(*expected)


@pytest.mark.parametrize(("routes_that_fit", "expected"), [
    (8, (4, 2)), (5, (2, 2)), (2, (1, 2)), (1, (1, 1)), (0, (1, 1)),
])
def test_memory_lowers_it_with_a_message(routes_that_fit, expected):
    fitted = fit_capacity(4, 2, 8, routes_that_fit * ROUTE_MEMORY_BYTES + 1)
    assert (fitted.shards_at_once, fitted.in_flight) == expected
    assert (fitted.message is None) == (routes_that_fit == 8)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """64 cores and 256 GiB, with the limits of a container as the kernel tells them: `machine({file: text})`."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**26}.get)

    def tell(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text + "\n", "ascii")
        return tmp_path

    return tell


V1_QUOTA, V1_PERIOD = "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"


@pytest.mark.parametrize(("files", "cores"), [
    ({}, 64),
    ({"cpu.max": "max 100000"}, 64),
    ({"cpu.max": "200000 100000"}, 2),
    ({"cpu.max": "200000"}, 2),
    ({"cpu.max": "150000 100000"}, 2),
    ({"cpu.max": "10000 100000"}, 1),
    ({"cpu.max": "9900000 100000"}, 64),
    ({V1_QUOTA: "-1", V1_PERIOD: "100000"}, 64),
    ({V1_QUOTA: "200000", V1_PERIOD: "50000"}, 4),
    ({"cpu,cpuacct/cpu.cfs_quota_us": "200000", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 2),
    ({V1_QUOTA: "200000"}, 2),
    ({"cpu.max": "200000 0"}, 64),
    ({"cpu.max": ""}, 64),
    ({"cpu.max": "many few"}, 64),
])
def test_the_quota_of_a_container_is_seen(machine, files, cores):
    """Cores that the scheduler withholds are none; a part of one is used."""
    assert usable_cores(machine(files)) == cores


def test_cores_that_this_process_may_not_use_are_none(machine, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 7}, raising=False)
    assert usable_cores(machine({"cpu.max": "800000 100000"})) == 3


def test_a_system_without_affinity_counts_its_cores(machine, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 10)
    assert usable_cores(machine({})) == 10


@pytest.mark.parametrize(("files", "mib"), [
    ({}, 2**18),
    ({"memory.max": "max"}, 2**18),
    ({"memory.max": str(512 * 2**20)}, 512),
    ({"memory.max": str(2**60)}, 2**18),
    ({"memory/memory.limit_in_bytes": str(256 * 2**20)}, 256),
    ({"memory/memory.limit_in_bytes": "9223372036854771712"}, 2**18),
    ({"memory.max": ""}, 2**18),
])
def test_the_memory_of_a_container_is_seen(machine, files, mib):
    assert usable_memory_bytes(machine(files)) == mib * 2**20
