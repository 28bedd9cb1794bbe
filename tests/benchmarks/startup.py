"""How long an audit with an embedded server takes to its first page request, beside that server's own start.

`python -m tests.benchmarks.startup --rounds 3` prints each round (server alone, then an audit of a page on loopback)
and the medians as seconds, difference and ratio; CPU seconds tell a busy machine from a slow start.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from flows.server import embedded_server, prepare_template, wait_until_healthy
from tests.site import page, small_site

ALLOWANCE_SECONDS = 3.0


@dataclass(frozen=True)
class Start:
    """How long something took to be there, and the CPU time that it took to its end."""

    seconds: float
    cpu_seconds: float


def children_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def start_server() -> Start:
    """Start the server as an audit does, until its API answers, and end it."""
    cpu, began = children_cpu_seconds(), time.monotonic()
    with embedded_server() as address:
        wait_until_healthy(address)
        seconds = time.monotonic() - began
    return Start(seconds, children_cpu_seconds() - cpu)


def start_audit() -> Start:
    """Audit one page on loopback: from the start of the process to the request."""
    requested: list[float] = []
    reached = threading.Event()

    def note() -> None:
        requested.append(time.monotonic())
        reached.set()

    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "FANFOLD_"))}
    with tempfile.TemporaryDirectory(prefix="fanfold-startup-") as folder, small_site(1) as site:
        site.answers = {"/": page("First", before=note)}
        manifest = site.manifest(Path(folder) / "m.json")
        cpu, began = children_cpu_seconds(), time.monotonic()
        audit = subprocess.run([sys.executable, "-m", "flows", "audit", str(manifest)], cwd=folder, check=False,
                               capture_output=True, text=True, stdin=subprocess.DEVNULL,
                               env=environment | {"PREFECT_HOME": str(Path(folder) / "prefect")})
        if audit.returncode or not reached.is_set():
            raise SystemExit(audit.stdout + audit.stderr)
        return Start(requested[0] - began, children_cpu_seconds() - cpu)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    prepare_template()
    servers, audits = [], []
    for number in range(1, rounds + 1):
        servers.append(start_server())
        audits.append(start_audit())
        server, audit = servers[-1], audits[-1]
        print(f"round {number}: server alone {server.seconds:.1f} s ({server.cpu_seconds:.1f} s CPU), first page after "
              f"{audit.seconds:.1f} s (whole audit {audit.cpu_seconds:.1f} s CPU)", flush=True)
    alone, first_page = (statistics.median(start.seconds for start in starts) for starts in (servers, audits))
    print(f"median: server alone {alone:.1f} s, first page after {first_page:.1f} s: "
          f"{first_page - alone:+.1f} s (allowed: {ALLOWANCE_SECONDS:+.1f} s), ratio {first_page / alone:.2f}")


if __name__ == "__main__":
    main()
