"""`make benchmarks PAGES=folder COUNT=60`: fanfold against the floor on the same pages, as ratios.

Prints wall seconds, CPU seconds of the whole process tree, peak memory and nodes that break a rule, for the floor,
one shard process alone, and the whole audit with its Prefect server; then how well the audit's shards were balanced by
the durations of the first scan, as planned and as it turned out. Control groups count the tree where this process
may make them (root on Linux); else what was waited for. Run it on a quiet machine and quote the ratios.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from flows.journey import fold_run
from flows.runs import RunRef
from tasks.freeze import read_plan
from tasks.store import Store
from tests.benchmarks.pages import asked_pages, served

CGROUP = Path("/sys/fs/cgroup")
SHARDS = 4


@dataclass(frozen=True)
class Measured:
    """What a command took; bytes are 0 where they can't be told."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    output: str


def measure(command: list[str], **environment: str) -> Measured:
    """Run a command and account for its whole tree."""
    groups = _make_groups()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, preexec_fn=lambda: [_enter(g) for g in groups])
    wall_s = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    peak = 0
    if groups:
        cpu_s, peak = _read_groups(groups)
    if done.returncode > 1:
        raise SystemExit(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return Measured(wall_s, cpu_s, peak, done.stdout)


def _make_groups() -> list[Path]:
    name = f"fanfold-{os.getpid()}-{time.monotonic_ns()}"
    is_second = (CGROUP / "cgroup.controllers").exists()
    groups = [CGROUP / name] if is_second else [CGROUP / "cpuacct" / name, CGROUP / "memory" / name]
    try:
        for group in groups:
            group.mkdir()
    except OSError:
        return []
    return groups


def _enter(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))


def _read_groups(groups: list[Path]) -> tuple[float, int]:
    if len(groups) == 1:
        usage = dict(line.split() for line in (groups[0] / "cpu.stat").read_text().splitlines())
        peak = groups[0] / "memory.peak"
        return int(usage["usage_usec"]) / 1e6, int(peak.read_text()) if peak.exists() else 0
    return (int((groups[0] / "cpuacct.usage").read_text()) / 1e9,
            int((groups[1] / "memory.max_usage_in_bytes").read_text()))


def main() -> None:
    folder, paths = asked_pages(__doc__)
    with served(folder) as base, tempfile.TemporaryDirectory(prefix="fanfold-benchmark-") as scratch:
        addresses = Path(scratch) / "pages.json"
        addresses.write_text(json.dumps([f"{base}/{path}" for path in paths]), "utf-8")
        print_table(compare(Path(scratch), addresses), len(paths))
        print_balance(Path(scratch) / "store" / "pages" / "runs" / "whole" / "partials")


def compare(folder: Path, addresses: Path) -> dict[str, tuple[Measured, int]]:
    """Measure the floor, the shards alone, and the whole audit, one after the other."""
    store = str(folder / "store")
    fanfold = [sys.executable, "-m", "flows"]
    measure([*fanfold, "plan", str(addresses), "--run-id", "alone", "--estate", "pages", "--shards", "1",
             "--store", store])
    ref = RunRef(store, "pages", "alone")
    header = read_plan(Store(store), ref.layout).header
    run_options = folder / "options.json"
    run_options.write_text(header.engine.options, "utf-8")
    floor = measure([sys.executable, str(Path(__file__).with_name("floor.py")), str(addresses), str(run_options)])
    shards = measure([*fanfold, "scan", "--plan", "alone", "--shard", "0", "--store", store])
    fold_run(ref)
    audit = measure([*fanfold, "audit", str(addresses), "--run-id", "whole", "--estate", "pages", "--shards",
                     str(SHARDS), "--store", store])
    return {"floor": (floor, int(floor.output)), "shard process": (shards, _nodes(ref)),
            "whole audit": (audit, _nodes(RunRef(store, "pages", "whole")))}


def _nodes(ref: RunRef) -> int:
    table = pq.read_table(Path(ref.store) / ref.layout.file("outcomes.parquet"))
    return sum(table["violation_count"].to_pylist())


def print_table(rows: dict[str, tuple[Measured, int]], page_count: int) -> None:
    """Print what was measured, and its ratio to the floor."""
    floor = rows["floor"][0]
    print(f"{page_count} pages\n{'':16}{'wall s':>9}{'cpu s':>9}{'cpu/page':>10}{'peak MiB':>10}{'nodes':>8}"
          f"{'wall ratio':>12}{'cpu ratio':>11}")
    for name, (measured, nodes) in rows.items():
        print(f"{name:16}{measured.wall_s:9.1f}{measured.cpu_s:9.1f}{measured.cpu_s / page_count:10.2f}"
              f"{measured.peak_bytes / 2**20:10.0f}{nodes:8}{measured.wall_s / floor.wall_s:12.2f}"
              f"{measured.cpu_s / floor.cpu_s:11.2f}")


def print_balance(partials: Path) -> None:
    """Print the load of each shard, planned and real; the imbalance is the heaviest over the mean."""
    receipts = [json.loads(path.read_text("utf-8")) for path in sorted(partials.glob("*/*/receipt.json"))]
    for word in ("planned", "actual"):
        loads = [receipt[f"{word}_ms"] / 1000 for receipt in receipts]
        print(f"{word:8} load of {len(loads)} shards, s: {', '.join(f'{load:.1f}' for load in loads)}; imbalance "
              f"{max(loads) * len(loads) / sum(loads):.3f}")


if __name__ == "__main__":
    main()
