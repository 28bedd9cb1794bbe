"""Commands around a Prefect server that is kept: `up` and `down`.

Here: starting it so that it outlives the command, writing it down, ending it. Not here: its settings and how an audit
finds it (`server.py`), the embedded one that ends with its audit (`guardian.py`).
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from schemas.errors import bad_input
from schemas.exit_code import ExitCode

END_LIMIT_SECONDS = 15.0
POLL_SECONDS = 0.2

PORT_FILE = "port"  # beside the database: an address that somebody has exported holds after `down` and `up`

Port = Annotated[int | None, typer.Option(min=1, max=65_535, help="Port on loopback; default: the last one, else any.")]


def up(port: Port = None) -> int:
    """Keep a Prefect server with its UI on this machine; audits find it until `fanfold down`."""
    from flows.server import is_healthy, kept_file, kept_server

    kept = kept_server()
    if kept and is_healthy(kept["address"]):
        print(f"Already up: {_ui_of(kept['address'])}")
        return ExitCode.PASSED
    if kept:
        _end(kept["pid"])  # it is there and does not answer: its successor needs its database
    home = kept_file().parent / "server"
    address, pid = _start(home, port)
    print(f"Up: {_ui_of(address)}\nAPI: {address}\nLog: {home / 'server.log'}\n`fanfold down` ends it (process {pid}).")
    return ExitCode.PASSED


def down() -> int:
    """End the server that `fanfold up` keeps; its database stays."""
    from flows.server import kept_file, kept_server

    kept = kept_server()
    if kept is None:
        print("No server is kept.")
        return ExitCode.PASSED
    has_ended = _end(kept["pid"])
    kept_file().unlink(missing_ok=True)
    print(f"Down: {kept['address']}" if has_ended else "The server had ended before.")
    return ExitCode.PASSED


def _start(home: Path, port: int | None) -> tuple[str, int]:
    """Start a server in a session of its own, wait until it answers, write it down.

    Raises:
        ContractError: it ended at once (the port is taken). TransientError: it did not answer in time.
    """
    from flows.server import START, copy_template, kept_file, server_environment, wait_until_healthy

    home.mkdir(parents=True, exist_ok=True)
    if not (home / "prefect.db").exists():
        copy_template(home)
    port = port or _port_of(home)
    environment = server_environment(home, port)
    log = home / "server.log"
    with log.open("ab") as output:
        server = subprocess.Popen(START, env=environment, cwd=home, stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=output, start_new_session=True)
    address = environment["PREFECT_API_URL"]
    try:
        wait_until_healthy(address, is_awaited=lambda: server.poll() is None)
    except BaseException:
        if server.poll() is not None:
            raise bad_input("Prefect server", "it ended at once", "a free port", f"Its log says why: {log}") from None
        _end(server.pid)
        raise
    record = {"address": address, "pid": server.pid, "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
              "prefect": version("prefect")}
    (home / PORT_FILE).write_text(f"{port}\n", "utf-8")
    beside = kept_file().with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(record) + "\n", "utf-8")
    beside.replace(kept_file())
    return address, server.pid


def _port_of(home: Path) -> int:
    """Return the port that the server had last where it is free, else a free one."""
    from flows.server import free_port

    try:
        last = int((home / PORT_FILE).read_text("utf-8"))
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as a server does: old connections linger
            probe.bind(("127.0.0.1", last))
    except (OSError, ValueError, OverflowError):
        return free_port()
    return last


def _end(pid: int) -> bool:
    """End a server and what it started; a process that is none of ours (its number was given again) is left alone.

    Returns:
        Whether there was one.
    """
    if "prefect" not in _command_of(pid):
        return False
    for number, limit_s in ((signal.SIGTERM, END_LIMIT_SECONDS), (signal.SIGKILL, END_LIMIT_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)  # where this very command had started it
            if "prefect" not in _command_of(pid):
                return True
            time.sleep(POLL_SECONDS)
    return True


def _command_of(pid: int) -> str:
    """Return a process's command line, empty where there is none: from /proc on Linux (slim images have no `ps`)."""
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""
    return subprocess.run(["/bin/ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True,
                          check=False).stdout


def _ui_of(address: str) -> str:
    return address.removesuffix("/api") + "/dashboard"
