"""`python -m tests.benchmarks.endurance`: does a browser that is renewed in time keep the memory of a shard flat?

Visits one page of 1 MB many times, as a shard does, and prints the resident memory of the driver and of all processes
after each hundred visits, and how often a browser was launched.
"""

import argparse
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tasks.scan.browser import find_browser
from tasks.scan.process import descendants
from tests.browser.faulty_site import QUICK, Scanner, Site, html, planned

STEP = 100
PAGE_BYTES = 1_000_000
PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visits", type=int, default=500)
    parser.add_argument("--retire-after", type=int, default=50)
    options = parser.parse_args()
    site, scanner = Site(), Scanner(find_browser(None), replace(QUICK, retire_after=options.retire_after))
    try:
        big = html(f"<p>{'word ' * 4_000}</p>" * (PAGE_BYTES // 20_007))
        addresses = [site.put(f"/p{number}", big) for number in range(options.visits)]
        print(f"{'visits':>8}{'scanned':>9}{'driver MiB':>12}{'all MiB':>9}{'launches':>10}")
        for begin in range(0, options.visits, STEP):
            scanned = 0
            for few in range(begin, min(begin + STEP, options.visits), 10):
                found = scanner.visit_all(map(planned, addresses[few:few + 10]))
                scanned += sum(visited.outcome.outcome.was_scanned for visited in found.values())
            below = descendants(os.getpid())
            drivers = [pid for pid in below if "node" in _name(pid)]
            print(f"{min(begin + STEP, options.visits):8}{scanned:9}{_resident(drivers):12.0f}{_resident(below):9.0f}"
                  f"{scanner.browser.launch_count:10}")
    finally:
        scanner.close()
        site.close()


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").split("\0")[0]
    except OSError:
        return ""


def _resident(pids: Iterable[int]) -> float:
    total = 0
    for pid in pids:
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1]) * PAGE_SIZE
        except OSError:
            continue
    return total / 2**20


if __name__ == "__main__":
    main()
