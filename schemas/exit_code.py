"""What a shell sees of a run.

Here: the four codes. Not here: which verdict has which (`verdict.py`). The command line imports this first of all, so
it imports nothing that takes time.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a shell sees; the greater one wins."""

    PASSED = 0
    BLOCKED = 1
    INCOMPLETE = 2
    BAD_INPUT = 3
