"""`make agreement PAGES=folder COUNT=300`: is it what the engine says, and under one name at every load?

Prints, for real pages: how many rows a scan and a direct run of the engine differ in; findings against occurrences; and
for the same pages with ids and classes that are new at every load, how many findings are new or gone in a second scan.
"""

import re
import secrets
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tasks.scan.browser import find_browser
from tasks.scan.partial import Visited
from tests.benchmarks.pages import Plain, asked_pages, served
from tests.browser.faulty_site import Scanner, planned
from tests.browser.test_fidelity import CLASSES, nodes_of, nodes_scanned, run_directly

TAG = re.compile(rb"<(a|p|div|span|td|th|pre|code|table|img|ul|ol|li|dl|dt|dd|h[1-6]|input|button)((?:\s[^>]*)?)>")
CLASS = re.compile(rb'class="')


class Renamed(Plain):
    """Gives every element an id and a class that no other load has."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.suffix != ".html" or not path.is_file():
            return super().do_GET()
        body = TAG.sub(_named, path.read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None


def _named(tag: re.Match[bytes]) -> bytes:
    name, rest = tag[1], tag[2]
    if b" id=" not in rest:
        rest = b' id="react-%s"' % secrets.token_hex(5).encode() + rest
    style = b"css-%s" % secrets.token_hex(4).encode()
    rest = CLASS.sub(b'class="%s ' % style, rest, count=1) if b"class=" in rest else rest + b' class="%s"' % style
    return b"<" + name + rest + b">"


def main() -> None:
    folder, paths = asked_pages(__doc__)
    scanner = Scanner(find_browser(None))
    try:
        with served(folder) as base:
            print_fidelity(scanner, [f"{base}/{path}" for path in paths])
        with served(folder, Renamed) as base:
            print_names(scanner, [f"{base}/{path}" for path in paths])
    finally:
        scanner.close()


def print_fidelity(scanner: Scanner, addresses: list[str]) -> None:
    """Compare rule × target, and rule × class × count, of each page with a direct run in the page's own world."""
    with ThreadPoolExecutor(2) as pool:
        directs = dict(zip(addresses, pool.map(lambda url: scanner.run(run_directly(scanner, url), 600), addresses),
                           strict=True))
    visits = scan(scanner, addresses)
    for url, visited in visits.items():
        if not visited.outcome.outcome.was_scanned:
            print(f"  {url}: {visited.outcome.outcome} ({visited.outcome.reason})")
    nodes = rows = node_differences = rule_differences = 0
    for url in addresses:
        direct, visited = Counter(nodes_of(directs[url])), Counter(nodes_scanned(visits[url]))
        rules = Counter((rule, CLASSES[group], len(hit)) for group, rule, hit in directs[url])
        seen = Counter((row.rule, row.rule_class.value, row.node_count) for row in visits[url].rule_results)
        nodes, rows = nodes + direct.total(), rows + rules.total()
        node_differences += ((direct - visited) | (visited - direct)).total()
        rule_differences += ((rules - seen) | (seen - rules)).total()
    print(f"{len(addresses)} pages: {nodes} nodes of a direct run, {node_differences} differ; "
          f"{rows} rules × pages, {rule_differences} differ")
    occurrences = sum(len(visited.occurrences) for visited in visits.values())
    print(f"{occurrences} occurrences under {len(names_of(visits))} findings")


def print_names(scanner: Scanner, addresses: list[str]) -> None:
    """Scan pages whose ids and classes change at every load twice."""
    first, second = (names_by_route(scan(scanner, addresses)) for _ in range(2))
    print(f"names that change at every load: {first.total()} occurrences, {(second - first).total()} new, "
          f"{(first - second).total()} gone in the second scan")


def scan(scanner: Scanner, addresses: list[str]) -> dict[str, Visited]:
    visits: dict[str, Visited] = {}
    for begin in range(0, len(addresses), 10):
        visits |= scanner.visit_all([planned(url, deadline_ms=120_000) for url in addresses[begin:begin + 10]])
    return visits


def names_of(visits: dict[str, Visited]) -> set[str]:
    return {row.fingerprint for visited in visits.values() for row in visited.occurrences}


def names_by_route(visits: dict[str, Visited]) -> Counter[tuple[str, str]]:
    return Counter((url, row.fingerprint) for url, visited in visits.items() for row in visited.occurrences)


if __name__ == "__main__":
    main()
