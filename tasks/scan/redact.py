"""Hide secrets in everything that leaves a visit: addresses, titles, messages, markup.

Here: values of secret parameters, user info, and the secrets that the process was handed. Not here: what is masked for
privacy (`path.js`).
"""

import json
import re
from collections.abc import Iterable
from html import escape
from urllib.parse import quote, quote_plus

from schemas.address import HIDDEN

SHORTEST_SECRET = 4  # a shorter one would hide half of every text


class Redactor:
    """Hides secrets in texts.

    Args:
        secret_parameters: names of query parameters, as globs. secrets: values that must appear nowhere.
    """

    def __init__(self, secret_parameters: Iterable[str], secrets: Iterable[str] = ()) -> None:
        names = "|".join(re.escape(name).replace(r"\*", r"[^=&;#\s\"'<>]*") for name in secret_parameters)
        self._parameter = re.compile(rf"([?&;#](?:{names or '(?!)'})(?:=|%3D))[^&;#\s\"'<>]+", re.IGNORECASE)
        self._user_info = re.compile(r"(//)[^/?#@\s\"'<>]+@")
        hidden = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
        spellings = {spelling for secret in hidden for spelling in _spellings(secret)}
        longest_first = sorted(spellings, key=lambda text: (-len(text), text))
        self._secret = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if spellings else None

    def __call__(self, text: str) -> str:
        """Return a text without secrets."""
        if self._secret is not None:
            text = self._secret.sub(HIDDEN, text)
        if "=" in text or "%3" in text:
            text = self._parameter.sub(rf"\1{HIDDEN}", text)
        return self._user_info.sub(rf"\1{HIDDEN}@", text) if "@" in text else text


def _spellings(secret: str) -> tuple[str, ...]:
    """Return a secret as it stands in texts, addresses, markup and JSON."""
    return (secret, quote(secret, safe=""), quote(secret), quote_plus(secret), escape(secret),
            escape(secret, quote=False), json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])


def fit(text: str | None, limit: int) -> str | None:
    """Cut a text to a length and clean it of what no file can hold."""
    if text is None:
        return None
    cleaned = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"
