"""Errors, each with the policy for it in its docstring.

Here: what can go wrong, as records that survive a process border. Not here: how an error is shown (`flows/cli.py`).
All fields go to `super().__init__`, so that pickling keeps them; the text is made in `__str__`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

SHOWN_OFFENCES = 20


@dataclass(frozen=True, slots=True, order=True)
class Offence:
    """One thing that breaks a contract: where, what is wrong, what was expected, what to do."""

    subject: str
    fault: str
    expected: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        text = f"{self.subject}: {self.fault}"
        if self.expected:
            text += f"; expected {self.expected}"
        if self.remedy:
            text += f". {self.remedy}"
        return text


class AuditError(Exception):
    """Anything that this program raises on purpose. Ends a run as `Incomplete` unless a subclass says otherwise."""


class ContractError(AuditError):
    """Input breaks its schema or a rule of it. Never retried; ends as `BadInput`, exit code 3, with nothing written."""

    def __init__(self, offences: Iterable[Offence]) -> None:
        self.offences = tuple(sorted(set(offences)))
        super().__init__(self.offences)

    def __str__(self) -> str:
        lines = [str(offence) for offence in self.offences[:SHOWN_OFFENCES]]
        if len(self.offences) > SHOWN_OFFENCES:
            lines.append(f"… and {len(self.offences) - SHOWN_OFFENCES} more ({len(self.offences)} in all)")
        return "\n".join(lines)


class TransientError(AuditError):
    """A shard process died or a connection broke. Retried by the task runner."""

    def __init__(self, subject: str, fault: str, log_tail: str = "") -> None:
        self.subject, self.fault, self.log_tail = subject, fault, log_tail
        super().__init__(subject, fault, log_tail)

    def __str__(self) -> str:
        return f"{self.subject}: {self.fault}" + (f"\n{self.log_tail}" if self.log_tail else "")


class IntegrityError(AuditError):
    """A stored file does not match its digest, schema or plan. The piece is quarantined by name, never repaired."""

    def __init__(self, subject: str, fault: str) -> None:
        self.subject, self.fault = subject, fault
        super().__init__(subject, fault)

    def __str__(self) -> str:
        return f"{self.subject}: {self.fault}"


def bad_input(subject: str, fault: str, expected: str = "", remedy: str = "") -> ContractError:
    """Make the error for a single offence."""
    return ContractError([Offence(subject, fault, expected, remedy)])
