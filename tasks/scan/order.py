"""What a shard process is told: plain values that fit a command line.

Here: the record and its two directions. Not here: secrets, which travel on standard input only.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NoReturn

from schemas.errors import bad_input


@dataclass(frozen=True, slots=True)
class ShardOrder:
    """One attempt of one shard.

    Attributes:
        attempt_name: folder that the attempt writes to.
        flow_attempt: the attempt of the flow that asks; deaths are counted within it.
        in_flight: routes worked on at once.
        per_host: routes of one host at once; 0 has no limit. Loopback never has one.
        budget_ms: what is left of the run's budget; None has no limit.
        browser: path of a browser, or None to look for one.
        rescan: patterns of routes that are scanned whatever is known of them.
        is_watched: a parent holds standard input: its first line is the secrets, its end is the end of the shard.
    """

    store: str
    estate: str
    run_id: str
    shard_index: int
    attempt_name: str
    flow_attempt: str
    in_flight: int = 2
    per_host: int = 16
    budget_ms: int | None = None
    browser: str | None = None
    rescan: tuple[str, ...] = ()
    is_watched: bool = False

    def arguments(self) -> list[str]:
        """Return the order as arguments of `python -m tasks.scan`."""
        words: list[str] = []
        for item in fields(self):
            value = getattr(self, item.name)
            flag = "--" + item.name.replace("_", "-")
            if isinstance(value, bool):
                words += [flag] if value else []
                continue
            for one in value if isinstance(value, tuple) else (value,):
                words += [flag, str(one)] if one is not None else []
        return words


class Parser(argparse.ArgumentParser):
    """Raises where the library's own would end the process with a code of its own."""

    def error(self, message: str) -> NoReturn:
        raise bad_input("python -m tasks.scan", message, "the arguments that --help lists")


def parse_order(words: Sequence[str]) -> ShardOrder:
    """Read an order from arguments.

    Raises:
        ContractError: an argument is unknown, missing or of the wrong type.
    """
    parser = Parser(prog="python -m tasks.scan", description="Scan one shard of a stored plan. For one address and no "
                    "plan see `--url ADDRESS --help`.")
    for name in ("store", "estate", "run_id", "attempt_name", "flow_attempt"):
        parser.add_argument("--" + name.replace("_", "-"), required=True)
    parser.add_argument("--shard-index", type=int, required=True)
    parser.add_argument("--in-flight", type=int, default=2)
    parser.add_argument("--per-host", type=int, default=16)
    parser.add_argument("--budget-ms", type=int)
    parser.add_argument("--browser")
    parser.add_argument("--rescan", action="append", default=[])
    parser.add_argument("--is-watched", action="store_true")
    values = vars(parser.parse_args(words))
    return ShardOrder(**values | {"rescan": tuple(values["rescan"])})
