"""A pattern that says its language: `glob:` on the path, `re:` on the whole address.

Here: parsing and matching. Not here: what a match means (exclusion, acceptance, suppression).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

from schemas.address import PATH_SAFE
from schemas.errors import bad_input

LANGUAGES = ("glob:", "re:")
_TOKENS = {"/**/": "/(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "(?:%[0-9A-F]{2}|[^/])"}
_PATH = re.compile(r"[^:/?#]+://[^/?#]*([^?#]*)")
_PATH_END = re.compile(r"[?#]")
_TOKEN = re.compile(r"(/\*\*/|/\*\*$|\*\*|\*|\?)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern as written, to be matched against identities: for exclusions, policies and flags alike.

    In a glob `*` and `?` stay within a path segment, `**` crosses segments, `/admin/**` also matches `/admin`, and
    `/a/**/b` also matches `/a/b`. A glob sees neither host nor query. A regular expression is searched for in the
    whole address.
    """

    text: str

    @classmethod
    def parse(cls, text: str, subject: str) -> "Pattern":
        """Check a pattern as written.

        Raises:
            ContractError: no language, nothing after it, a glob that no path can match, or a regular expression that
                does not compile.
        """
        if not text.startswith(LANGUAGES):
            raise bad_input(subject, f"pattern {text!r} names no language", "`glob:` or `re:` in front",
                            f"Write `glob:{text}` to match paths.")
        body = text.partition(":")[2]
        if not body:
            raise bad_input(subject, f"pattern {text!r} is empty", "something to match")
        if text.startswith("glob:") and not body.startswith(("/", "*")):
            raise bad_input(subject, f"pattern {text!r} can match no path", "a glob that starts with `/` or `*`",
                            "Write `re:` to match the host or the whole address.")
        try:
            _compiled(text, False)
        except re.error as error:
            raise bad_input(subject, f"pattern {text!r} is no regular expression ({error})") from None
        return cls(text)

    def holds_for(self, identity: str, *, is_case_folded: bool) -> bool:
        """Whether the pattern matches an identity, with or without the slash at its end: the two are one page.

        Args:
            is_case_folded: identities have their paths in lower case, so the case of the pattern says nothing.
        """
        return any(self._matches(spelling, is_case_folded) for spelling in spellings(identity))

    def _matches(self, address: str, is_case_folded: bool) -> bool:
        compiled = _compiled(self.text, is_case_folded)
        if self.text.startswith("re:"):
            return compiled.search(address) is not None
        path = _PATH.match(address)
        return path is not None and compiled.fullmatch(path[1] or "/") is not None


class Patterns:
    """Many patterns at once: most addresses match none of them, and one look says so.

    Args:
        is_case_folded: identities have their paths in lower case, so the case of a pattern says nothing.
    """

    def __init__(self, patterns: Sequence[Pattern], *, is_case_folded: bool = False) -> None:
        self._patterns, self._is_case_folded = patterns, is_case_folded
        globs = [_glob_to_regex(one.text.partition(":")[2]) for one in patterns if one.text.startswith("glob:")]
        one_of = "|".join(f"(?:{glob})" for glob in globs) or r"(?!)"
        self._a_path = re.compile(f"(?:{one_of})", re.IGNORECASE if is_case_folded else 0)
        self._has_others = len(globs) < len(patterns)

    def matching(self, identity: str) -> list[str]:
        """Return the texts of the patterns that hold for an identity."""
        path = _PATH.match(identity)
        if not self._has_others and path is not None and not any(
                self._a_path.fullmatch(spelling) for spelling in (path[1] or "/", f"{path[1]}/")):
            return []
        return [pattern.text for pattern in self._patterns
                if pattern.holds_for(identity, is_case_folded=self._is_case_folded)]


def spellings(identity: str) -> tuple[str, ...]:
    """Return an identity without and with the slash at its end that was folded."""
    path = _PATH_END.split(identity, maxsplit=1)[0]
    return (identity,) if path.endswith("/") else (identity, f"{path}/{identity[len(path):]}")


@lru_cache(maxsize=1024)
def _compiled(text: str, is_case_folded: bool) -> re.Pattern[str]:
    language, _, body = text.partition(":")
    expression = body if language == "re" else _glob_to_regex(body)
    return re.compile(expression, re.IGNORECASE if is_case_folded else 0)


def _glob_to_regex(glob: str) -> str:
    """Translate a glob; its characters get the spelling that they have in an identity (`é` is `%C3%A9`)."""
    pieces = _TOKEN.split(glob)
    return "".join(_TOKENS.get(piece, re.escape(quote(piece, safe=PATH_SAFE + "%"))) for piece in pieces)
