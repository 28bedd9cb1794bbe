"""A real Prefect server for the session, and the command line as a user starts it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from flows.server import client_environment, embedded_server, wait_until_healthy

AUDIT_SECONDS = 300


@pytest.fixture(scope="session")
def prefect_server():
    with embedded_server() as address:
        wait_until_healthy(address)
        yield address


@dataclass
class Fanfold:
    """Starts `fanfold` in a folder of its own with a store of its own."""

    folder: Path
    environment: dict[str, str]

    def __call__(self, *words: object, timeout: float = AUDIT_SECONDS, **environment: str):
        return subprocess.run([sys.executable, "-m", "flows", *map(str, words)], cwd=self.folder, timeout=timeout,
                              env=self.environment | environment, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)

    def start(self, *words: object, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen([sys.executable, "-m", "flows", *map(str, words)], cwd=self.folder, text=True,
                                env=self.environment | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL)

    @property
    def store(self) -> Path:
        return self.folder / "fanfold-store"


@pytest.fixture
def alone(tmp_path):
    """The command line without a server: an audit starts its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "FANFOLD_"))}
    return Fanfold(tmp_path, environment | {"PREFECT_HOME": str(tmp_path / "prefect")})


@pytest.fixture
def fanfold(alone, prefect_server):
    """The command line with the session's server."""
    return Fanfold(alone.folder, alone.environment | client_environment(prefect_server))
