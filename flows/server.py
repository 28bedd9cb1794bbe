"""The embedded Prefect server: a real one, one per audit, on loopback and a free port, gone when the audit is gone.

Here: its settings, its database template, start and wait. Not here: ending it (`guardian.py`). An audit that is given a
server (`PREFECT_API_URL` or the active profile) uses that one.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from schemas.errors import TransientError

START_LIMIT_SECONDS = 180.0
POLL_SECONDS = 0.15

QUIET: Mapping[str, str] = {  # nothing leaves this machine
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
}


def known_server() -> str | None:
    """Return the API address that the user has set, in the environment or in the active profile."""
    if address := os.environ.get("PREFECT_API_URL"):
        return address
    home = Path(os.environ.get("PREFECT_HOME", "~/.prefect")).expanduser()
    try:
        profiles = tomllib.loads((home / "profiles.toml").read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError):
        return None
    active = os.environ.get("PREFECT_PROFILE", profiles.get("active", ""))
    address = profiles.get("profiles", {}).get(active, {}).get("PREFECT_API_URL")
    return str(address) if address else None


def state_folder() -> Path:
    """Return the folder for what outlives an audit: the migrated database template."""
    base = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
    return base / "fanfold"


@contextmanager
def embedded_server() -> Iterator[str]:
    """Start a server and yield its API address at once; `wait_until_healthy` waits for it.

    What it needs to start is done beside whatever the caller does next.
    """
    with tempfile.TemporaryDirectory(prefix="fanfold-prefect-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        _copy_template(home)
        port = _free_port()
        environment = os.environ | QUIET | {
            "PREFECT_HOME": folder,
            "PREFECT_SERVER_API_HOST": "127.0.0.1",
            "PREFECT_SERVER_API_PORT": str(port),
            "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
            "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{home / 'prefect.db'}",
        }
        command = [sys.executable, "-m", "prefect", "server", "start"]
        guardian = subprocess.Popen(
            [sys.executable, "-m", "flows.guardian", str(home / "server.log"), *command], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        assert guardian.stdin is not None
        try:
            yield environment["PREFECT_API_URL"]
        finally:
            guardian.stdin.close()
            guardian.wait()


def wait_until_healthy(address: str, limit_s: float = START_LIMIT_SECONDS) -> None:
    """Wait for a server's API.

    Raises:
        TransientError: it did not answer in time.
    """
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=2):  # noqa: S310 - our own loopback address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(POLL_SECONDS)
    raise TransientError("Prefect server", f"did not answer at {address} within {limit_s:.0f} s")


def client_environment(address: str) -> dict[str, str]:
    """Return what must be set before `prefect` is imported, so that it talks to a server and to nobody else."""
    level = os.environ.get("PREFECT_LOGGING_LEVEL", "WARNING")
    return {**QUIET, "PREFECT_API_URL": address, "PREFECT_LOGGING_LEVEL": level}


def _template() -> Path:
    return state_folder() / f"prefect-{version('prefect')}.db"


def _copy_template(home: Path) -> None:
    """Start from a database that was migrated once: half the start-up time."""
    if _template().exists():
        shutil.copyfile(_template(), home / "prefect.db")


def prepare_template() -> None:
    """Make the database template (set-up does this once)."""
    if _template().exists():
        return
    _template().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fanfold-template-") as folder:
        database = Path(folder) / "prefect.db"
        environment = os.environ | QUIET | {
            "PREFECT_HOME": folder, "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{database}"}
        subprocess.run([sys.executable, "-m", "prefect", "server", "database", "upgrade", "-y"], env=environment,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        beside = _template().with_name(f".{os.getpid()}-{_template().name}")
        shutil.copyfile(database, beside)
        beside.replace(_template())


def main() -> int:
    """`python -m flows.server`: the part of set-up that halves the start of every audit."""
    prepare_template()
    return 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
