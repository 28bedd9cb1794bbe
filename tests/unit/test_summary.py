"""What a person reads of a plan: where its addresses came from."""

from flows.summary import count_lines
from schemas.manifest import SourceCount


def test_sitemaps_and_their_addresses() -> None:
    assert count_lines(()) == []
    assert count_lines([SourceCount("https://e.test/1.xml", 5), SourceCount("https://e.test/2.xml", 0)]) == [
        "2 sitemaps with 5 addresses:", "  5 in https://e.test/1.xml", "  0 in https://e.test/2.xml"]
    many = count_lines([SourceCount(f"https://e.test/{index}.xml", 1) for index in range(23)])
    assert (many[0], many[-1], len(many)) == ("23 sitemaps with 23 addresses:", "  … and 3 more", 22)
