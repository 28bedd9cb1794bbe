"""Gathering offences, so that bad input of several files is reported at once.

Here: the list that readers add to. Not here: the readers (`inputs.py`, `judged.py`).
"""

from collections.abc import Callable
from typing import TypeVar

from schemas.errors import ContractError, Offence

Loaded = TypeVar("Loaded")


class Gathering:
    """Runs readers one after another and keeps their offences, so that all are reported together."""

    def __init__(self) -> None:
        self.offences: list[Offence] = []

    def take(self, read: Callable[[], Loaded]) -> Loaded | None:
        """Return what a reader gives, or None after an offence."""
        try:
            return read()
        except ContractError as error:
            self.offences += error.offences
            return None

    def check(self) -> None:
        """Raise what was gathered, if anything was."""
        if self.offences:
            raise ContractError(self.offences)
