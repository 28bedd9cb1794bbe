"""Real pages for a benchmark: which of a folder, and the folder on loopback."""

import argparse
import functools
import http.server
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LARGEST_BYTES = 400_000


def asked_pages(description: str | None) -> tuple[Path, list[str]]:
    """Read the arguments; return the folder and the pages chosen from it: the same for the same seed."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=Path, help="folder of HTML pages")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    folder: Path = options.pages
    found = sorted(p for p in folder.rglob("*.html") if p.stat().st_size < LARGEST_BYTES)
    chosen = random.Random(options.seed).sample(found, min(options.count, len(found)))
    return folder, [page.relative_to(folder).as_posix() for page in chosen]


class Plain(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path, handler: type[Plain] = Plain) -> Iterator[str]:
    """Serve a folder and yield the address of its root."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
