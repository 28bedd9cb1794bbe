"""One server and one browser for all browser tests; each visit has a context of its own anyway."""

from collections.abc import Iterator

import pytest

from tasks.scan.browser import find_browser
from tests.browser.faulty_site import Scanner, Site


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    yield server
    server.close()


@pytest.fixture(scope="session")
def scanner() -> Iterator[Scanner]:
    made = Scanner(find_browser(None))
    yield made
    made.close()
