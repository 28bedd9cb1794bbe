"""`{{secret:NAME}}`: a secret by its name, in a text that anybody may read.

Here: finding and filling placeholders. Not here: where a secret comes from (`tasks/scan/credentials.py`).
"""

import re
from collections.abc import Callable

SECRET_PLACEHOLDER = re.compile(r"\{\{secret:[A-Za-z0-9][A-Za-z0-9._-]*\}\}")


def fill_secrets(text: str, secret: Callable[[str], str]) -> str:
    """Return a text with `secret` of its name in the place of each placeholder."""
    return SECRET_PLACEHOLDER.sub(lambda found: secret(found[0][9:-2]), text)
