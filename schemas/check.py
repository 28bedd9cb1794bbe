"""What an examination of a machine found, one record for each thing that an audit needs.

Here: the record. Not here: looking (`flows/doctor.py`).
"""

from dataclasses import dataclass
from enum import StrEnum


class CheckState(StrEnum):
    """`fault`: an audit would fail. `warning`: it would run, with a drawback."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing: what was found, and how to mend it where that is called for."""

    name: str
    state: CheckState
    found: str
    remedy: str = ""

    @property
    def is_passable(self) -> bool:
        return self.state is not CheckState.FAULT


def ok(name: str, found: str) -> Check:
    """Make the record of a thing that is as it should be."""
    return Check(name, CheckState.OK, found)


def warning(name: str, found: str, remedy: str) -> Check:
    """Make the record of a drawback."""
    return Check(name, CheckState.WARNING, found, remedy)


def fault(name: str, found: str, remedy: str) -> Check:
    """Make the record of what would end an audit."""
    return Check(name, CheckState.FAULT, found, remedy)
