"""Text on its way to a terminal, as the commands have it.

Here: the names. Not here: what they do (`schemas/terminal.py`).
"""

from schemas.terminal import for_terminal, one_line

__all__ = ["for_terminal", "one_line"]
