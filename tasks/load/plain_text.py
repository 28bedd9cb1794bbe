"""A manifest as plain text: one address a line.

Here: lines to entries. Not here: whether an address is sound (`tasks/normalize.py`).
"""

import re

from schemas.manifest import ManifestEntry
from tasks.load.content import SourceError

_COMMENT = re.compile(r"(^|\s)#.*")  # `#` within a word is a fragment


def text_entries(text: str) -> list[ManifestEntry]:
    """Read one address from each line; blank lines and what follows ` #` are left out.

    Raises:
        SourceError: there is text, and no line of it is an address: the error message of a server, for instance.
    """
    lines = ((number, _COMMENT.sub("", line).strip()) for number, line in enumerate(text.splitlines(), start=1))
    entries = [ManifestEntry(url=address, where=f"line {number}") for number, address in lines if address]
    if entries and not any(entry.url.lower().startswith(("http://", "https://")) for entry in entries):
        raise SourceError("is text without addresses", "one http or https address a line")
    return entries
