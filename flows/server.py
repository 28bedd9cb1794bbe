"""The embedded Prefect server: a real one, one per audit, on loopback and a free port, gone when the audit is gone.

Here: its settings, its database template, start and wait. Not here: ending it (`guardian.py`). An audit that is given a
server (`PREFECT_API_URL`, the active profile, or one that `fanfold up` keeps) uses that one.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from http.client import HTTPException
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from schemas.errors import TransientError, bad_input
from schemas.host import is_loopback

START_LIMIT_SECONDS = 180.0
POLL_SECONDS = 0.05
START = (sys.executable, "-m", "prefect", "server", "start")

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
    """Return the API address of a server that is there: of the environment, the active profile, or `fanfold up`.

    A kept server counts only while it answers; one that the user has set is taken at its word.

    Raises:
        ContractError: what the user has set is no address.
    """
    if address := os.environ.get("PREFECT_API_URL") or _address_in_profile():
        _check_address(address)
        return address
    kept = kept_server()
    return kept["address"] if kept and is_healthy(kept["address"]) else None


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise bad_input("PREFECT_API_URL", "is no address of an API", "http(s)://HOST:PORT/api",
                        "Unset it, in the environment or the active profile, and the audit brings a server of its own.")


def kept_server() -> dict[str, Any] | None:
    """Return what `fanfold up` wrote down of its server; None where it keeps none."""
    try:
        kept = json.loads(kept_file().read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and {"address", "pid"} <= set(kept) else None


def kept_file() -> Path:
    """Return the file in which `fanfold up` writes down its server."""
    return state_folder() / "server.json"


def _address_in_profile() -> str | None:
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
def server_at_hand() -> Iterator[str]:
    """Yield the API address of the server that is there, else of one that is started for the block."""
    address = known_server()
    with nullcontext(address) if address else embedded_server() as found:
        yield found


@contextmanager
def embedded_server() -> Iterator[str]:
    """Start a server with a database of its own, thrown away at the end, and yield its API address at once.

    What it needs to start is done beside whatever the caller does next; `wait_until_healthy` waits for it.
    """
    with tempfile.TemporaryDirectory(prefix="fanfold-prefect-", ignore_cleanup_errors=True) as folder:
        copy_template(Path(folder))
        with guarded_server(Path(folder), free_port()) as address:
            yield address


@contextmanager
def guarded_server(home: Path, port: int) -> Iterator[str]:
    """Start a server that lives in a folder and ends with this block or this process; yield its address at once."""
    environment = server_environment(home, port)
    guardian = subprocess.Popen(
        [sys.executable, "-P", "-m", "flows.guardian", str(home / "server.log"), *START], env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )
    assert guardian.stdin is not None
    try:
        yield environment["PREFECT_API_URL"]
    finally:
        guardian.stdin.close()
        guardian.wait()


def wait_until_healthy(
    address: str, limit_s: float = START_LIMIT_SECONDS, is_awaited: Callable[[], bool] = lambda: True
) -> None:
    """Wait for a server's API.

    Args:
        is_awaited: says whether to wait on: its process is there, nobody ended the audit.

    Raises:
        TransientError: it did not answer in time, or is not waited for any longer.
    """
    until = time.monotonic() + limit_s
    while time.monotonic() < until and is_awaited():
        if is_healthy(address):
            return
        time.sleep(POLL_SECONDS)
    raise TransientError("Prefect server", f"did not answer at {address} within {limit_s:.0f} s")


def is_healthy(address: str) -> bool:
    """Say whether a server's API answers."""
    try:
        with ask_api(urllib.request.Request(f"{address}/health"), 2):  # noqa: S310 - an address of the user or our own
            return True
    except (OSError, HTTPException):  # nobody is there, or another program that speaks otherwise
        return False


def ask_api(asked: urllib.request.Request, limit_s: float) -> Any:
    """Send a request to a Prefect server and return its open answer; no proxy is asked for one on this machine."""
    is_near = is_loopback(urlsplit(asked.full_url).hostname or "")
    return urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if is_near else [])).open(
        asked, timeout=limit_s)


def client_environment(address: str) -> dict[str, str]:
    """Return what must be set before `prefect` is imported, so that it talks to a server and to nobody else.

    Lines of stages and shards go to the server; the terminal shows warnings, for it has a bar of its own.
    """
    quiet_terminal = {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": os.environ.get("PREFECT_LOGGING_LEVEL", "WARNING")}
    return {**QUIET, **quiet_terminal, **_without_proxy(urlsplit(address).hostname or ""), "PREFECT_API_URL": address}


def _without_proxy(host: str) -> dict[str, str]:
    """Return the variables by which a client asks no proxy for a host of this machine, beside those it has."""
    if not is_loopback(host):
        return {}
    named = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    hosts = {one.strip() for one in named.split(",") if one.strip()}
    if not {host, "*"} & hosts:
        named = f"{named},{host}" if hosts else host
    return {"NO_PROXY": named, "no_proxy": named}


def server_environment(home: Path, port: int) -> dict[str, str]:
    """Return the environment of a server that lives in a folder and listens on loopback.

    The port goes by setting, not by flag: a flag leaves the UI pointing at another one.
    """
    return os.environ | QUIET | {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_API_HOST": "127.0.0.1",
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_UI_URL": f"http://127.0.0.1:{port}",
        "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{home / 'prefect.db'}",
    }


def _template() -> Path:
    return state_folder() / f"prefect-{version('prefect')}.db"


def copy_template(home: Path) -> None:
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


def free_port() -> int:
    """Return a port of loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
