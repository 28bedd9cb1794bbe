"""Hide secrets in everything that leaves a visit: addresses, titles, messages, markup.

Here: values of secret parameters, user info, and the secrets that the process was handed, also where a text was cut
within one: every cut is at a text's end or before `…`. Not here: what is masked for privacy (`path.js`).
"""

import json
import re
from collections.abc import Iterable
from html import escape
from urllib.parse import quote, quote_plus

from schemas.address import HIDDEN
from schemas.parameter import is_open_secret

SHORTEST_SECRET = 4  # a shorter one would hide half of every text; also of the beginning of one
CUT = "…"  # ends what was cut
_NAME = re.compile(r"(?:^|[?&;#\s])([^?&;#=\s\"'<>]*?)(?:=|%3D)", re.IGNORECASE)
_VALUE = re.compile(r"[^&;#\s\"'<>]*")
_USER_INFO = re.compile(r"(//)[^/?#@\s\"'<>]+@")


class Redactor:
    """Hides secrets in texts.

    Args:
        secret_parameters: names of query parameters, as globs. secrets: values that must appear nowhere.
    """

    def __init__(self, secret_parameters: Iterable[str], secrets: Iterable[str] = ()) -> None:
        self._secret_parameters = tuple(secret_parameters)
        hidden = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
        spellings = {spelling for secret in hidden for spelling in _spellings(secret)}
        longest_first = sorted(spellings, key=lambda text: (-len(text), text))
        self._longest = max(map(len, longest_first), default=0)
        self._by_head: dict[str, list[str]] = {}
        for spelling in longest_first:
            self._by_head.setdefault(spelling[:SHORTEST_SECRET].lower(), []).append(spelling.lower())
        self._head = re.compile(f"(?=({'|'.join(map(re.escape, self._by_head))}))", re.IGNORECASE)
        self._secret = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if spellings else None

    def __call__(self, text: str) -> str:
        """Return a text without secrets."""
        if self._secret is not None:
            text = self._without_beginnings(self._secret.sub(HIDDEN, text))
        if "=" in text or "%3" in text:
            text = self._without_parameters(text)
        return _USER_INFO.sub(rf"\1{HIDDEN}@", text) if "@" in text else text

    def _without_beginnings(self, text: str) -> str:
        """Hide what is left of a secret where a text was cut: in the page, before anybody could know it."""
        pieces, end = [], 0
        for head in self._head.finditer(text):
            if head.start() < end:
                continue
            left = text[head.start():head.start() + self._longest].partition(CUT)[0]
            cut = head.start() + len(left)
            is_cut = cut == len(text) or text.startswith(CUT, cut)
            if is_cut and any(spelling.startswith(left.lower()) for spelling in self._by_head.get(head[1].lower(), ())):
                pieces += [text[end:head.start()], HIDDEN]
                end = cut
        return "".join([*pieces, text[end:]])

    def _without_parameters(self, text: str) -> str:
        """Hide the values of secret parameters; an address may stand in the value of another."""
        pieces, end = [], 0
        for name in _NAME.finditer(text):
            value = _VALUE.match(text, name.end())
            if value and name.start() >= end and is_open_secret(name[1], value[0], self._secret_parameters):
                pieces += [text[end:name.end()], HIDDEN]
                end = value.end()
        return "".join([*pieces, text[end:]])


def _spellings(secret: str) -> tuple[str, ...]:
    """Return a secret as it stands in texts, addresses, markup and JSON."""
    return (secret, quote(secret, safe=""), quote(secret), quote_plus(secret), escape(secret),
            escape(secret, quote=False), json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])


def fit(text: str | None, limit: int) -> str | None:
    """Cut a text to a length and clean it of what no file can hold."""
    if text is None:
        return None
    cleaned = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + CUT
