"""What holds for every test: which run side by side, and that no test sees what another left in the environment."""

import os
from collections.abc import Iterator

import pytest

ONE_DEPLOYMENT = {"deployed", "working", "zombie"}  # fixtures of a session that take half a minute to make


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of a file to one worker, those of the deployment, which take longest, to the first."""
    groups = {item: "" if ONE_DEPLOYMENT.intersection(getattr(item, "fixturenames", ())) else str(item.path)
              for item in items}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group or "deployment"))
    items.sort(key=lambda item: groups[item] != "")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how to run the tests in this order again: it is another one each time."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(f"order of this run: --randomly-seed={config.getoption('randomly_seed', None)}")


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
