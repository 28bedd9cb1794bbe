"""Text on its way to a terminal: what a page or a manifest says must not steer it.

Here: taking control characters out. Not here: what is said (`flows/`, `tasks/scan/explain.py`).
"""

import re

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line feed
SUBSTITUTE = "\ufffd"


def one_line(text: str) -> str:
    """Return text for a line of its own: a line feed of a page cannot begin a line that looks like ours."""
    return for_terminal(text).replace("\n", SUBSTITUTE).replace("\t", SUBSTITUTE)


def for_terminal(text: str) -> str:
    """Return text without control characters: no escape sequence survives; tabs and line feeds stay."""
    return CONTROL.sub(SUBSTITUTE, text)
