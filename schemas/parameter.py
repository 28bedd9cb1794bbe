"""A parameter of an address: is it on a list of names, and does it hold a secret.

Here: names and values. Not here: which parameters make an identity (`schemas/address.py`), hiding a secret in a text
(`tasks/scan/redact.py`).
"""

import re
from fnmatch import translate
from functools import lru_cache
from urllib.parse import unquote

from schemas.placeholder import SECRET_PLACEHOLDER


def is_listed(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a name, as it stands in an address, matches one of the globs."""
    return _listing(patterns, re.NOFLAG).match(name) is not None


def is_open_secret(name: str, value: str, secret_parameters: tuple[str, ...]) -> bool:
    """Whether a parameter holds a secret itself; placeholders name one and hold none.

    Args:
        name, value: as they stand in an address. secret_parameters: globs of names; their case says nothing.
    """
    is_open = bool(SECRET_PLACEHOLDER.sub("", value))
    return is_open and _listing(secret_parameters, re.IGNORECASE).match(unquote(name)) is not None


@lru_cache(maxsize=64)
def _listing(patterns: tuple[str, ...], flags: re.RegexFlag) -> re.Pattern[str]:
    """Compile a list of globs once: an estate asks for each parameter of each address."""
    return re.compile("|".join(translate(pattern) for pattern in patterns) if patterns else r"(?!)", flags)
