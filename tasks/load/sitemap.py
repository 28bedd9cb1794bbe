"""A sitemap: a list of pages (`urlset`) or of further sitemaps (`sitemapindex`).

Here: one XML document to its addresses, read as a stream, no entities. Not here: the tree of sitemaps (`tree.py`).
Only the address of a page or sitemap counts; those of images, videos and other languages are no routes.

Source: sitemaps.org protocol 0.9.
"""

import io
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError

from defusedxml.ElementTree import iterparse

from tasks.load.content import SourceError

DEEPEST = 32
EXPECTED = "a `urlset` or a `sitemapindex`"


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What one sitemap lists. `blank_count` entries have no address."""

    is_index: bool
    addresses: list[str]
    blank_count: int = 0


def parse_sitemap(data: bytes) -> Sitemap:
    """Read one XML document.

    Raises:
        SourceError: no XML, no sitemap, or entities, which only an attacker needs here.
    """
    try:
        return _read(data)
    except ParseError as error:
        raise SourceError(f"is broken XML ({error})", EXPECTED) from None
    except (ValueError, LookupError) as error:  # of defusedxml, and of encodings that the parser does not know
        raise SourceError(f"is XML that is refused ({type(error).__name__})", EXPECTED) from None


def _read(data: bytes) -> Sitemap:
    addresses: list[str] = []
    entries = 0
    path: list[str] = []
    root: Element | None = None
    for event, element in iterparse(io.BytesIO(data), events=("start", "end"), forbid_entities=True):
        if event == "start":
            path.append(element.tag)
            root = _checked_root(element) if root is None else root
            if len(path) > DEEPEST:
                raise SourceError(f"is nested more than {DEEPEST} deep", EXPECTED)
            continue
        if _is_location(path):
            text = "".join(element.itertext()).strip()
            addresses += [text] if text else []
        path.pop()
        if len(path) == 1 and root is not None:
            entries += _local(element.tag) in ("url", "sitemap")
            root.clear()  # what was read is let go: memory holds the addresses only
    assert root is not None  # no XML is without a root
    return Sitemap(_local(root.tag) == "sitemapindex", addresses, max(entries - len(addresses), 0))


def _checked_root(root: Element) -> Element:
    name = _local(root.tag)
    if name not in ("urlset", "sitemapindex"):
        what = {"html": "a web page", "rss": "a feed", "feed": "a feed"}.get(name, f"XML with the root `{name[:40]}`")
        raise SourceError(f"is {what}", EXPECTED)
    return root


def _is_location(path: list[str]) -> bool:
    """Whether the element is the address of an entry: of the root's own namespace, at its place, by its name."""
    if len(path) != 3:
        return False
    space = path[0].rpartition("}")[0]
    entry = "sitemap" if _local(path[0]) == "sitemapindex" else "url"
    return [_local(tag) for tag in path[1:]] == [entry, "loc"] and all(
        tag.rpartition("}")[0] == space for tag in path[1:])


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
