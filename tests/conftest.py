"""What holds for every test: commands hand their flags on over the environment, and no test sees another's."""

import os
from collections.abc import Iterator

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how to run the tests in this order again: it is another one each time."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(f"order of this run: --randomly-seed={config.getoption('randomly_seed')}")


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
