"""A pattern that says its language: `glob:` on the path, `re:` on the whole address.

Here: parsing and matching. Not here: what a match means (exclusion, acceptance, suppression).
"""

import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from schemas.errors import bad_input


@dataclass(frozen=True)
class Pattern:
    """One pattern as written.

    In a glob `*` and `?` stay within a path segment, `**` crosses segments, and `/admin/**` also matches `/admin`.
    A regular expression is searched for in the whole address.
    """

    text: str

    @classmethod
    def parse(cls, text: str, subject: str) -> "Pattern":
        """Check a pattern as written.

        Raises:
            ContractError: no language, or a regular expression that does not compile.
        """
        if not text.startswith(("glob:", "re:")):
            raise bad_input(subject, f"pattern {text!r} names no language", "`glob:` or `re:` in front",
                            f"Write `glob:{text}` to match paths.")
        pattern = cls(text)
        try:
            _ = pattern._compiled
        except re.error as error:
            raise bad_input(subject, f"pattern {text!r} is no regular expression ({error})") from None
        return pattern

    def matches(self, address: str) -> bool:
        """Whether the pattern matches an absolute address."""
        if self.text.startswith("re:"):
            return self._compiled.search(address) is not None
        return self._compiled.fullmatch(urlsplit(address).path or "/") is not None

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        language, _, body = self.text.partition(":")
        return re.compile(body if language == "re" else _glob_to_regex(body))


def _glob_to_regex(glob: str) -> str:
    tokens = {"/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(/\*\*$|\*\*|\*|\?)", glob)
    return "".join(tokens.get(piece, re.escape(piece)) for piece in pieces)
