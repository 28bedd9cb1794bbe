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
    entries = depth = 0
    in_entry = False
    root: Element | None = None
    entry_tag = address_tag = ""
    for event, element in iterparse(io.BytesIO(data), events=("start", "end"), forbid_entities=True):
        if event == "start":
            depth += 1
            if root is None:
                root = element
                entry_tag, address_tag = _tags(root)
            elif depth == 2:
                in_entry = element.tag == entry_tag
                _check_not_mixed(element.tag, entry_tag)
            elif depth > DEEPEST:
                raise SourceError(f"is nested more than {DEEPEST} deep", EXPECTED)
            continue
        if depth == 3 and in_entry and element.tag == address_tag:
            text = "".join(element.itertext()).strip()
            addresses += [text] if text else []
        depth -= 1
        if depth == 1 and root is not None:
            entries += in_entry
            root.clear()  # what was read is let go: memory holds the addresses only
    assert root is not None  # no XML is without a root
    return Sitemap(_local(root.tag) == "sitemapindex", addresses, max(entries - len(addresses), 0))


def _tags(root: Element) -> tuple[str, str]:
    """Return the tags of an entry and of its address: in the root's own namespace, whatever its prefix."""
    name = _local(root.tag)
    if name not in ("urlset", "sitemapindex"):
        what = {"html": "a web page", "rss": "a feed", "feed": "a feed"}.get(name, f"XML with the root `{name[:40]}`")
        raise SourceError(f"is {what}", EXPECTED)
    space = root.tag.removesuffix(name)
    return f"{space}{'url' if name == 'urlset' else 'sitemap'}", f"{space}loc"


def _check_not_mixed(tag: str, entry_tag: str) -> None:
    """Refuse a page in an index and a sitemap in a list of pages: to pass over them would shrink the estate."""
    if tag != entry_tag and _local(tag) in ("url", "sitemap"):
        raise SourceError(f"has a `{_local(tag)}` among entries of the kind `{_local(entry_tag)}`", EXPECTED)


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
