"""How much of a machine an audit takes."""

import pytest

from flows.capacity import ROUTE_MEMORY_BYTES, Capacity, fit_capacity

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
