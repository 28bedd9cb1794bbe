"""A tree of sitemaps: all children, in order, each failure scoped to its child, within bounds."""

import gzip
import hashlib
from collections.abc import Callable, Mapping

import pytest

from schemas.errors import ContractError, Offence
from schemas.manifest import Manifest, SourceCount, SourceFailure
from schemas.settings import ScanSettings, Settings, SourceSettings
from tasks.load import load_manifest
from tasks.load.content import Limits, SourceError
from tasks.load.hosts import HostRule
from tasks.normalize import normalize
from tasks.plan import make_plan
from tests.small_manifest import request_of

E = "https://e.test"
ROOT = f"{E}/sitemap.xml"


def pages(*addresses: str) -> bytes:
    return b"<urlset>" + b"".join(f"<url><loc>{a}</loc></url>".encode() for a in addresses) + b"</urlset>"


def index(*addresses: str) -> bytes:
    return b"<sitemapindex>" + b"".join(f"<sitemap><loc>{a}</loc></sitemap>".encode() for a in addresses) \
        + b"</sitemapindex>"


class Web:
    """A fake web: answers by address, and what was asked for."""

    def __init__(self, answers: Mapping[str, bytes | str]) -> None:
        self.answers, self.asked = answers, list[str]()

    def __call__(self, address: str, rule: HostRule) -> bytes:
        self.asked.append(address)  # and asks no rule: the tree itself must
        answer = self.answers.get(address, "answers with status 404 Not Found")
        if isinstance(answer, str):
            raise SourceError(answer, "status 200")
        return answer


def load(web: Web, source: str = ROOT, *, settings: Settings | None = None, limits: Limits | None = None,
         clock: Callable[[], float] = lambda: 0.0, file: bytes = b"") -> Manifest:
    return load_manifest(source, settings or Settings(), read=lambda _: file, fetch=web, limits=limits, clock=clock)


def urls(manifest: Manifest) -> list[str]:
    return [entry.url for entry in manifest.entries]


def test_an_index_is_the_union_of_its_children() -> None:  # known fault 002
    web = Web({ROOT: index(f"{E}/s1.xml", f"{E}/s2.xml", f"{E}/s3.xml"), f"{E}/s1.xml": pages(f"{E}/a", f"{E}/b"),
               f"{E}/s2.xml": pages(f"{E}/b", f"{E}/c"), f"{E}/s3.xml": pages()})
    manifest = load(web)
    assert [route.url for route in normalize(manifest, Settings()).routes] == [f"{E}/a", f"{E}/b", f"{E}/c"]
    assert [entry.where for entry in manifest.entries] == [f"{E}/s1.xml"] * 2 + [f"{E}/s2.xml"] * 2
    assert manifest.children == (SourceCount(f"{E}/s1.xml", 2), SourceCount(f"{E}/s2.xml", 2),
                                 SourceCount(f"{E}/s3.xml", 0))
    assert manifest.warnings == (f"{E}/s3.xml lists no addresses.",)
    assert manifest.failures == ()
    digests = [hashlib.sha256(body).hexdigest() for body in web.answers.values() if isinstance(body, bytes)]
    assert manifest.digest == hashlib.sha256("\n".join(digests).encode()).hexdigest()


def test_children_may_be_gzip_text_or_further_indexes() -> None:
    web = Web({ROOT: gzip.compress(index(f"{E}/t.txt.gz", f"{E}/i.xml", f"{E}/p.xml.gz")),
               f"{E}/t.txt.gz": gzip.compress(f"# pages\n\n{E}/a\n".encode()), f"{E}/i.xml": index(f"{E}/d.xml"),
               f"{E}/d.xml": pages(f"{E}/b"), f"{E}/p.xml.gz": pages(f"{E}/c")})
    assert urls(load(web)) == [f"{E}/a", f"{E}/b", f"{E}/c"]


@pytest.mark.parametrize(("answer", "reason"), [
    ("answers with status 503 Service Unavailable", "answers with status 503 Service Unavailable"),
    (b"<!doctype html><title>Sign in</title>", "is a web page"),
    (b"<urlset><url>", "is broken XML (no element found: line 1, column 13)"),
    (gzip.compress(pages(f"{E}/x") * 9, mtime=0)[:-12], "is gzip that is cut off"),
    (b'["https://e.test/x"]', "is JSON, which no index can list"),
    (b"Maintenance", "is text without addresses"),
    (b"", "is empty"),
])
def test_a_failed_child_is_named_and_its_siblings_are_read(answer: bytes | str, reason: str) -> None:
    web = Web({ROOT: index(f"{E}/bad.xml", f"{E}/good.xml"), f"{E}/bad.xml": answer, f"{E}/good.xml": pages(f"{E}/a")})
    manifest = load(web)
    assert urls(manifest) == [f"{E}/a"]
    assert manifest.failures == (SourceFailure(f"{E}/bad.xml", reason),)


def test_a_failed_root_is_bad_input() -> None:
    with pytest.raises(ContractError) as caught:
        load(Web({ROOT: "answers with status 401 Unauthorized"}))
    assert caught.value.offences == (Offence(ROOT, "answers with status 401 Unauthorized", "status 200"),)
    with pytest.raises(ContractError, match="is a web page"):
        load(Web({ROOT: b"<html><body>Not found</body></html>"}))


def test_an_index_of_failures_only_is_bad_input() -> None:
    with pytest.raises(ContractError) as caught:
        load(Web({ROOT: index(f"{E}/a.xml")}))
    assert caught.value.offences == (
        Offence(f"{E}/a.xml", "answers with status 404 Not Found"), Offence(ROOT, "lists no routes",
                                                                            "at least one address"))


def test_cycles_and_repeats_end_after_one_reading() -> None:
    web = Web({ROOT: index(f"{E}/i.xml", f"{E}/s.xml", f"{E}/s.xml", ROOT), f"{E}/i.xml": index(ROOT, f"{E}/i.xml",
                                                                                                f"{E}/s.xml"),
               f"{E}/s.xml": pages(f"{E}/a")})
    manifest = load(web)
    assert (urls(manifest), web.asked) == ([f"{E}/a"], [ROOT, f"{E}/i.xml", f"{E}/s.xml"])
    assert manifest.warnings == (
        f"{ROOT} lists 2 sitemaps again; each was read once.", f"{E}/i.xml lists 2 sitemaps again; each was read once.")
    assert manifest.failures == ()


def test_an_endless_index_ends_at_the_limit_of_depth() -> None:
    class Endless(Web):
        def __call__(self, address: str, rule: HostRule) -> bytes:
            self.asked.append(address)
            return index(f"{address}x", f"{address}y")

    web = Endless({})
    with pytest.raises(ContractError) as caught:
        load(web, limits=Limits(depth=3))
    assert len(web.asked) == 1 + 2 + 4 + 8
    assert {offence.fault for offence in caught.value.offences} == {
        "lists no routes", "2 of its sitemaps were not read: they are below more than 3 indexes"}


def test_too_many_children_are_one_failure() -> None:
    children = [f"{E}/{number}.xml" for number in range(9)]
    web = Web({ROOT: index(*children)} | {child: pages(child) for child in children})
    manifest = load(web, limits=Limits(children=5))
    assert urls(manifest) == children[:5]
    assert manifest.failures == (SourceFailure(ROOT, "4 of its sitemaps were not read: a source may have 5 sitemaps"),)


def test_too_many_addresses_fail_the_child_that_brings_them() -> None:
    web = Web({ROOT: index(f"{E}/1.xml", f"{E}/2.xml"), f"{E}/1.xml": pages(f"{E}/a", f"{E}/b"),
               f"{E}/2.xml": pages(f"{E}/c", f"{E}/d")})
    manifest = load(web, limits=Limits(addresses=3))
    assert urls(manifest) == [f"{E}/a", f"{E}/b"]
    assert manifest.failures == (SourceFailure(f"{E}/2.xml", "brings the source above 3 addresses"),)


def test_the_time_of_a_source_ends() -> None:
    children = [f"{E}/{number}.xml" for number in range(5)]
    web = Web({ROOT: index(*children)} | {child: pages(child) for child in children})
    manifest = load(web, settings=Settings(source=SourceSettings(budget_ms=3_000)), clock=lambda: float(len(web.asked)))
    assert urls(manifest) == children[:2]
    assert manifest.failures == (SourceFailure(
        ROOT, "3 of its sitemaps were not read: the time of the source was over. Raise `source.budget`"),)


@pytest.mark.parametrize(("child", "is_read"), [
    ("https://e.test/s.xml", True), ("https://www.e.test/s.xml", True), ("http://e.test/s.xml", True),
    ("https://E.TEST:443/s.xml", True), ("https://cdn.test:9/s.xml", True), ("https://help.test:8080/s.xml", True),
    ("https://maps.shop.test/s.xml", True), ("https://xn--bcher-kva.test/s.xml", True),
    ("https://help.test/s.xml", False), ("https://e.test:8080/s.xml", False), ("https://sub.e.test/s.xml", False),
    ("https://e.test.evil.test/s.xml", False), ("http://127.0.0.1/s.xml", False), ("https://e.test@evil.test/s.xml",
                                                                                   False),
    ("file:///etc/passwd", False), ("/s.xml", False), ("https://e.test/s.xml?token=abc", False),
])
def test_children_stay_on_the_own_host_and_on_those_that_are_named(child: str, is_read: bool) -> None:
    web = Web({ROOT: index(child, f"{E}/s2.xml"), child: pages(f"{E}/a"), f"{E}/s2.xml": pages(f"{E}/b")})
    hosts = ("CDN.test", "help.test:8080", "*.shop.test", "bücher.test")
    manifest = load(web, settings=Settings(scan=ScanSettings(hosts=hosts)))
    assert urls(manifest) == ([f"{E}/a"] if is_read else []) + [f"{E}/b"]
    assert bool(manifest.failures) is not is_read
    assert "abc" not in repr(manifest)


def test_the_index_may_be_a_file_its_first_child_names_the_host() -> None:
    web = Web({f"{E}/1.xml": pages(f"{E}/a"), "https://f.test/2.xml": pages(f"{E}/b")})
    manifest = load(web, "index.xml", file=index(f"{E}/1.xml", "https://f.test/2.xml"))
    assert urls(manifest) == [f"{E}/a"]
    assert manifest.failures == (SourceFailure(
        "https://f.test/2.xml", "is on another host (f.test:443). If it is yours, add it to `scan.hosts`."),)


def test_a_sitemap_in_a_file_asks_nobody() -> None:
    web = Web({})
    manifest = load(web, "sitemap.xml", file=pages(f"{E}/a", " "))
    assert (urls(manifest), web.asked, manifest.children) == ([f"{E}/a"], [], ())
    assert manifest.warnings == ("sitemap.xml has 1 entry without an address.",)


def test_documents_and_feeds_beside_pages_are_routes() -> None:  # known fault 013: the response decides, never the name
    listed = [f"{E}/a", f"{E}/doc.pdf", f"{E}/feed?format=rss", f"{E}/gone.pdf"]
    assert urls(load(Web({ROOT: pages(*(a.replace('&', '&amp;') for a in listed))}))) == listed


def test_user_info_and_secrets_in_the_address_of_the_source_are_refused_without_being_repeated() -> None:
    for source in ("https://user:s3cret@e.test/sitemap.xml", "https://e.test/sitemap.xml?token=s3cret"):
        with pytest.raises(ContractError) as caught:
            load(Web({}), source)
        assert "s3cret" not in str(caught.value)
        assert "{{secret:NAME}}" in str(caught.value)


def test_the_same_routes_by_any_way_in_give_the_same_plan() -> None:  # known fault 028
    listed = [f"{E}/a?format=feed", f"{E}/b", f"{E}/c"]
    text, sitemap = "\n".join(listed).encode(), pages(*listed)
    objects = b'["https://e.test/a?format=feed", {"url": "https://e.test/b"}, "https://e.test/c"]'
    bodies = (text, sitemap, gzip.compress(sitemap), b"url\n" + text, b"URL;owner\n" + text.replace(b"\n",
                                                                                                    b";\n") + b";",
              objects)
    ways = [load(Web({ROOT: body})) for body in bodies]
    ways.append(load(Web({}), "m.txt", file=text))
    ways.append(load(Web({ROOT: index(f"{E}/s.xml"), f"{E}/s.xml": sitemap})))
    settings = Settings(exclude=("re:format=feed",))
    plans = [make_plan(request_of(way, settings=settings)) for way in ways]
    assert [row.url for row in plans[0].routes] in ([f"{E}/b", f"{E}/c"], [f"{E}/c", f"{E}/b"])
    assert {plan.header.plan_id for plan in plans} == {plans[0].header.plan_id}


def test_a_sitemap_names_no_secret() -> None:
    """It is written by the site, and would have our secrets sent wherever it likes."""
    stolen = "https://evil.test/?q={{secret:API}}"
    with pytest.raises(ContractError, match="names a secret"):
        load(Web({ROOT: pages(f"{E}/a", stolen)}))
    bait = E + "/more.xml?q={{secret:API}}"
    web = Web({ROOT: index(f"{E}/s1.xml", f"{E}/s2.xml", bait), f"{E}/s1.xml": pages(f"{E}/a"), f"{E}/s2.xml":
               pages(stolen), bait: pages(f"{E}/b")})
    manifest = load(web)
    assert urls(manifest) == [f"{E}/a"]
    assert ["names a secret" in failure.reason for failure in manifest.failures] == [True, True]
    assert bait not in web.asked
