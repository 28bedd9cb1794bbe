"""One sitemap document: which addresses count, and what is refused."""

import pytest

from tasks.load.content import SourceError
from tasks.load.sitemap import Sitemap, parse_sitemap

SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def test_only_pages_count() -> None:  # known fault 007
    document = f"""<?xml version="1.0" encoding="UTF-8"?>
    <s:urlset xmlns:s="{SPACE}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
        xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml">
      <s:url>
        <image:loc>https://e.test/direct.png</image:loc>
        <s:loc> https://e.test/a </s:loc>
        <s:nested><s:loc>https://e.test/nested</s:loc></s:nested>
        <image:image><image:loc>https://e.test/i.png</image:loc></image:image>
        <video:video><video:content_loc>https://e.test/v.mp4</video:content_loc></video:video>
        <xhtml:link rel="alternate" hreflang="de" href="https://e.test/de/a"/>
      </s:url>
      <s:loc>https://e.test/stray</s:loc>
    </s:urlset>"""
    assert parse_sitemap(document.encode()) == Sitemap(is_index=False, addresses=["https://e.test/a"])


def test_an_index_lists_sitemaps() -> None:
    document = f"<sitemapindex xmlns='{SPACE}'><sitemap><loc>https://e.test/s.xml</loc></sitemap><sitemap/>" \
               "</sitemapindex>"
    assert parse_sitemap(document.encode()) == Sitemap(is_index=True, addresses=["https://e.test/s.xml"], blank_count=1)


def test_cdata_comments_entities_of_xml_and_other_encodings_are_text() -> None:
    document = ("<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc><![CDATA[https://e.test/?a=1&b=2]]></loc>"
                "</url><url><loc>https://e.test/<!-- c -->caf\u00e9?a=1&amp;b=2</loc></url><url/><url><loc> </loc>"
                "</url></urlset>")
    assert parse_sitemap(document.encode("latin-1")) == Sitemap(
        is_index=False, addresses=["https://e.test/?a=1&b=2", "https://e.test/caf\u00e9?a=1&b=2"], blank_count=2)


def test_no_sitemap_is_empty_or_large_by_nature() -> None:
    assert parse_sitemap(b"<urlset/>") == Sitemap(is_index=False, addresses=[])
    many = b"<urlset>" + b"<url><loc>https://e.test/</loc></url>" * 10_000 + b"</urlset>"
    assert parse_sitemap(many) == Sitemap(is_index=False, addresses=["https://e.test/"] * 10_000)


BOMB = b"""<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<urlset><url><loc>https://e.test/&b;</loc></url></urlset>"""
EXTERNAL = b"""<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><urlset><url><loc>&a;</loc></url></urlset>"""


@pytest.mark.parametrize(("data", "fault"), [
    (BOMB, "is XML that is refused (EntitiesForbidden)"),
    (EXTERNAL, "is XML that is refused (EntitiesForbidden)"),
    (b"<urlset><url>", "is broken XML (no element found: line 1, column 13)"),
    (b"<?xml version='1.0' encoding='x-nonsense'?><urlset/>", "is XML that is refused (LookupError)"),
    (b"<?xml version='1.0'?><rss><channel/></rss>", "is a feed"),
    (b"<?xml version='1.0'?><html><body/></html>", "is a web page"),
    (b"<sitemapindex><sitemap><loc>a</loc></sitemap><url><loc>b</loc></url></sitemapindex>",
     "has a `url` among entries of the kind `sitemap`"),
    (b"<urlset><url><loc>a</loc></url><sitemap/></urlset>", "has a `sitemap` among entries of the kind `url`"),
    (b"<bookmarks/>", "is XML with the root `bookmarks`"),
    (b"<urlset>" + b"<a>" * 40 + b"</a>" * 40 + b"</urlset>", "is nested more than 32 deep"),
])
def test_what_is_no_sitemap_is_named(data: bytes, fault: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_sitemap(data)
    assert caught.value.fault == fault
