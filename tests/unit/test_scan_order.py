"""An order survives the command line."""

import pytest

from schemas.errors import ContractError
from tasks.scan.order import ShardOrder, parse_order

ORDER = ShardOrder("data/store", "shop", "r1", 3, "attempt-1-00000001", "f1")


@pytest.mark.parametrize("order", [
    ORDER,
    ShardOrder("s3://b/x y", "shop", "r1", 0, "attempt-2-00000001", "f1:2", 4, 0, 1_000, "/opt/b", ("glob:/a", "re:b"),
               is_watched=True),
])
def test_an_order_is_read_as_it_was_written(order):
    assert parse_order(order.arguments()) == order


@pytest.mark.parametrize("words", [[], [*ORDER.arguments(), "--nope"], [*ORDER.arguments(), "--in-flight", "many"]])
def test_a_wrong_argument_is_bad_input(words):
    with pytest.raises(ContractError, match=r"python -m tasks\.scan"):
        parse_order(words)
