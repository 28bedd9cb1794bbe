"""`make scale`: what an estate of a million routes costs from its sitemap index to its frozen plan, and back.

Prints a table: processor seconds and memory of each stage, for each of the counts. Serves an index with generated
sitemaps on loopback from a process of its own, so that only the program's memory is counted. Not here: scanning.
"""

import argparse
import multiprocessing
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

PAGES_PER_SITEMAP = 50_000  # what the protocol allows
SECTIONS = ("products", "articles", "help", "stores", "people")


def address(base: str, number: int) -> str:
    """Return an address such as shops have: about 70 characters, one in ten with a query."""
    query = f"?variant={number % 7}" if number % 10 == 0 else ""
    return f"{base}/{SECTIONS[number % 5]}/category-{number % 97}/item-{number}-blue-kettle{query}"


def serve(count: int, pipe: Connection) -> None:
    """Serve an index of so many addresses, and say at which address."""
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            base = f"http://127.0.0.1:{self.server.server_address[1]}"
            self.send_response(200)
            self.end_headers()
            for piece in _document(base, self.path, count):
                self.wfile.write(piece.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pipe.send(f"http://127.0.0.1:{server.server_address[1]}/index.xml")
    server.serve_forever()


def _document(base: str, path: str, count: int) -> Iterator[str]:
    if path == "/index.xml":
        children = range(-(-count // PAGES_PER_SITEMAP))
        yield "<sitemapindex>"
        yield from (f"<sitemap><loc>{base}/{number}.xml</loc></sitemap>" for number in children)
        yield "</sitemapindex>"
        return
    first = int(path.strip("/").removesuffix(".xml")) * PAGES_PER_SITEMAP
    yield "<urlset>"
    for number in range(first, min(first + PAGES_PER_SITEMAP, count)):
        yield f"<url><loc>{address(base, number)}</loc><lastmod>2026-11-30</lastmod></url>\n"
    yield "</urlset>"


class Meter:
    """Measures stages of this process: processor seconds, and memory at its highest and at the end."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, float, float]] = []

    def stage(self, name: str, work: Callable[[], Any]) -> Any:
        """Do the work of a stage and note what it cost."""
        _forget_peak()
        began = time.process_time()
        found = work()
        self.rows.append((name, time.process_time() - began, _memory_mib("VmHWM"), _memory_mib("VmRSS")))
        return found


def _forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    except OSError:
        print("peaks are of all stages so far", file=sys.stderr)


def _memory_mib(name: str) -> float:
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [line for line in status.read_text("ascii").splitlines() if line.startswith(name)]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def plan_estate(source: str, folder: str, pipe: Connection) -> None:
    """Take a source to its frozen plan and send what each stage cost."""
    from schemas.engine import EngineBuild
    from schemas.history import TimingHistory
    from schemas.layout import EstateLayout
    from schemas.settings import Settings
    from tasks.freeze import write_plan
    from tasks.load import load_manifest
    from tasks.normalize import normalize
    from tasks.plan import PlanRequest, make_plan
    from tasks.store import Store

    meter, settings = Meter(), Settings()
    meter.stage("start", lambda: None)
    manifest = meter.stage("load", lambda: load_manifest(source, settings))
    normalized = meter.stage("normalize", lambda: normalize(manifest, settings))
    manifest = replace(manifest, entries=())  # as `flows/journey.py` does
    request = PlanRequest(
        normalized=normalized, manifest=manifest, history=TimingHistory(), settings=settings,
        engine=EngineBuild("4.12.1", "e" * 64, "{}", "0" * 64, ()), browser_version="149.0", estate="scale",
        run_id="r1", created_at="2026-11-30T08:00:00Z", program_version="0.1.0", shards_at_once=16)
    plan = meter.stage("plan", lambda: make_plan(request))
    meter.stage("freeze", lambda: write_plan(Store(folder), EstateLayout("scale").run("r1"), plan, {}))
    pipe.send(meter.rows)


def read_estate(folder: str, pipe: Connection) -> None:
    """Read the frozen plan as a fold does, and send what it cost."""
    from schemas.layout import EstateLayout
    from tasks.freeze import read_plan
    from tasks.store import Store

    meter = Meter()
    meter.stage("start", lambda: None)
    meter.stage("read back", lambda: read_plan(Store(folder), EstateLayout("scale").run("r1")))
    pipe.send(meter.rows)


def _in_a_process(work: Callable[..., None], *arguments: Any) -> tuple[Any, Any]:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=work, args=(*arguments, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, ours.recv()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=[100_000, 1_000_000], help="routes of the estates")
    for count in parser.parse_args().counts:
        folder = tempfile.mkdtemp()
        server, source = _in_a_process(serve, count)
        print(f"\n{count} routes                CPU s   µs/route   peak MiB   after MiB   peak bytes/route")
        for work, arguments in ((plan_estate, (source, folder)), (read_estate, (folder,))):
            _print_rows(_in_a_process(work, *arguments)[1], count)
        server.terminate()
        shutil.rmtree(folder)


def _print_rows(rows: list[tuple[str, float, float, float]], count: int) -> None:
    start = rows[0][3]
    for name, seconds, peak, after in rows:
        print(f"  {name:<20} {seconds:>8.1f} {seconds / count * 1e6:>10.1f} {peak:>10.0f} {after:>11.0f} "
              f"{(peak - start) * 2**20 / count:>18.0f}", flush=True)


if __name__ == "__main__":
    main()
