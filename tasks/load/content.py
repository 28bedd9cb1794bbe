"""What a source is, told by its bytes: names and media types lie, the first bytes do not.

Here: unpacking gzip within bounds, the kind of a document, its text. Not here: reading any kind (`json_manifest.py`,
`plain_text.py`, `table.py`, `sitemap.py`), fetching (`fetch.py`).
"""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from schemas.errors import AuditError

GZIP = b"\x1f\x8b"
GZIP_LAYERS = 2  # a packed file, packed again by the server
CHUNK_BYTES = 1 << 20
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class SourceError(AuditError):
    """A source or a child of it is not what it should be: bad input at the root, a counted failure in a child."""

    def __init__(self, fault: str, expected: str = "", remedy: str = "") -> None:
        self.fault, self.expected, self.remedy = fault, expected, remedy
        super().__init__(fault, expected, remedy)

    def __str__(self) -> str:
        return ". ".join(filter(None, (self.fault, self.remedy)))


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one source: what a hostile server can cost.

    Attributes:
        fetched_bytes: one fetched document, unpacked; the sitemap protocol allows 50 MB. file_bytes: a file that the
            user named, unpacked. ratio: unpacked over packed, looked at from `ratio_from_bytes` on.
        depth: indexes above a sitemap. children, addresses: of the whole source.
    """

    fetched_bytes: int = 64 << 20
    file_bytes: int = 512 << 20
    ratio: int = 250
    ratio_from_bytes: int = 8 << 20
    depth: int = 3
    children: int = 50_000
    addresses: int = 5_000_000


class Kind(StrEnum):
    """The kinds of document that list routes."""

    JSON = "JSON"
    XML = "XML"
    TABLE = "CSV"
    PARQUET = "Parquet"
    TEXT = "text"


def unpack(data: bytes, limits: Limits, limit_bytes: int) -> bytes:
    """Unpack gzip, once or twice; anything else is returned as it is.

    Raises:
        SourceError: broken, cut off, or larger than the limits allow.
    """
    for _ in range(GZIP_LAYERS):
        if data.startswith(GZIP):
            data = b"".join(_pieces(data, limits, limit_bytes))
    if len(data) > limit_bytes:
        raise SourceError(f"has more than {limit_bytes} bytes")
    if data.startswith(GZIP):
        raise SourceError(f"is packed more than {GZIP_LAYERS} times")
    return data


def _pieces(data: bytes, limits: Limits, limit_bytes: int) -> Iterator[bytes]:
    size, rest = 0, data
    while rest.startswith(GZIP):  # a file may have several members; what follows the last one is padding
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                piece = member.decompress(rest, CHUNK_BYTES)
            except zlib.error as error:
                raise SourceError(f"is broken gzip ({error})") from None
            rest = member.unconsumed_tail
            if not piece and not rest and not member.eof:
                raise SourceError("is gzip that is cut off")
            size += len(piece)
            if size > limit_bytes:
                raise SourceError(f"unpacks to more than {limit_bytes} bytes")
            if size > max(limits.ratio_from_bytes, limits.ratio * len(data)):
                raise SourceError(f"unpacks to more than {limits.ratio} times its size")
            yield piece
        rest = member.unused_data


def kind_of(data: bytes) -> Kind:
    """Tell the kind of an unpacked document.

    Raises:
        SourceError: it lists no routes: empty, a web page, a spreadsheet, or other binary data.
    """
    if data.startswith(b"PAR1"):
        return Kind.PARQUET
    if data.startswith(b"PK\x03\x04"):
        raise SourceError("is a spreadsheet or zip file", "", "Save the sheet as CSV in UTF-8.")
    head = _head(data)
    if not head:
        raise SourceError("is empty")
    if re.match(rb"<(!doctype\s+html|html|head|body)\b", head, re.IGNORECASE):
        raise SourceError("is a web page", "a sitemap, or a list of addresses as JSON, CSV or text")
    if b"\0" in head:
        raise SourceError("is binary data", "a sitemap, or a list of addresses as JSON, CSV, Parquet or text")
    if head.startswith(b"<"):
        return Kind.XML
    if head.startswith((b"{", b"[")):
        return Kind.JSON
    return Kind.TABLE if _has_header(head) else Kind.TEXT


def _head(data: bytes) -> bytes:
    head = data[:4096].removeprefix(b"\xef\xbb\xbf")
    if data[:2] in _UTF_16:
        head = head.decode("utf-16", "ignore").encode()
    return head.lstrip(b" \t\r\n")


def _has_header(head: bytes) -> bool:
    cells = re.split(rb"[,;\t]", head.splitlines()[0])
    return b"url" in [cell.strip(b" \"'").lower() for cell in cells]


def text_of(data: bytes) -> str:
    """Decode text: UTF-8, or UTF-16 with its mark.

    Raises:
        SourceError: another encoding, with the line where it shows.
    """
    try:
        return data.decode("utf-16" if data[:2] in _UTF_16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"is no UTF-8: byte 0x{data[error.start]:02x} in line {line}, which looks like Latin-1", "text in UTF-8",
            "Save it again as UTF-8 (in a spreadsheet: CSV UTF-8).",
        ) from None
