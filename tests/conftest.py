"""What holds for every test: commands hand their flags on over the environment, and no test sees another's."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
