"""What a source is, told by its bytes; unpacking within bounds."""

import gzip
import zlib

import pytest

from tasks.load.content import Kind, Limits, SourceError, kind_of, text_of, unpack

SMALL = Limits(fetched_bytes=1_000, ratio=20, ratio_from_bytes=2_000)


@pytest.mark.parametrize(("data", "kind"), [
    (b'  {"routes": []}', Kind.JSON), (b"\xef\xbb\xbf[1]", Kind.JSON), ("[1]".encode("utf-16"), Kind.JSON),
    (b"<?xml version='1.0'?><urlset/>", Kind.XML), (b"<urlset/>", Kind.XML), ("<urlset/>".encode("utf-16"), Kind.XML),
    (b"PAR1....", Kind.PARQUET), (b"\n url ;owner\n", Kind.TABLE), (b'"URL",x\n', Kind.TABLE), (b"url\nhttps://a/",
                                                                                                Kind.TABLE),
    (b"https://a.test/?url=1\n", Kind.TEXT), (b"# urls\nhttps://a.test/", Kind.TEXT),
])
def test_the_kind_is_told_by_content(data: bytes, kind: Kind) -> None:
    assert kind_of(data) is kind


@pytest.mark.parametrize(("data", "fault"), [
    (b"", "is empty"), (b" \n\t", "is empty"), (b"<!DOCTYPE  html><p>", "is a web page"), (b"\n<HTML lang=en>",
                                                                                           "is a web page"),
    (b"PK\x03\x04....", "is a spreadsheet or zip file"), (b"%PDF-1.4\0", "is binary data"), (b"\0\0abc",
                                                                                             "is binary data"),
])
def test_what_lists_no_routes_is_named(data: bytes, fault: str) -> None:
    with pytest.raises(SourceError) as caught:
        kind_of(data)
    assert caught.value.fault == fault


def test_gzip_is_unpacked_once_or_twice_and_by_its_bytes() -> None:
    plain = b"https://a.test/"
    for packed in (plain, gzip.compress(plain), gzip.compress(gzip.compress(plain)),
                   gzip.compress(plain[:5]) + gzip.compress(plain[5:]), gzip.compress(plain) + b"\0\0"):
        assert unpack(packed, SMALL, 1_000) == plain


@pytest.mark.parametrize(("data", "fault"), [
    (gzip.compress(b"https://a.test/" * 9, mtime=0)[:-9], "is gzip that is cut off"),
    (b"\x1f\x8bnonsense", "is broken gzip (Error -3 while decompressing data: unknown compression method)"),
    (gzip.compress(b"x" * 1_001, mtime=0), "unpacks to more than 1000 bytes"),
    (b"x" * 1_001, "has more than 1000 bytes"),
    (gzip.compress(gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), mtime=0), "is packed more than 2 times"),
])
def test_what_cannot_be_unpacked_is_named(data: bytes, fault: str) -> None:
    with pytest.raises(SourceError) as caught:
        unpack(data, SMALL, 1_000)
    assert caught.value.fault == fault


def test_a_bomb_is_stopped_by_its_ratio_long_before_its_size() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    with pytest.raises(SourceError, match="more than 20 times its size"):
        unpack(bomb, SMALL, 1 << 40)


def test_text_in_another_encoding_is_named_with_its_line() -> None:
    assert text_of("ü".encode()) == text_of(b"\xef\xbb\xbf" + "ü".encode()) == text_of("ü".encode("utf-16")) == "ü"
    with pytest.raises(SourceError) as caught:
        text_of("url\nhttps://a.test/caf\u00e9".encode("latin-1"))
    assert caught.value.fault == "is no UTF-8: byte 0xe9 in line 2, which looks like Latin-1"


def test_zlib_without_gzip_is_not_unpacked() -> None:
    data = zlib.compress(b"x")
    assert unpack(data, SMALL, 1_000) == data
