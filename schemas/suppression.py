"""Suppressions: occurrences that do not block, by whose word, and until when.

Here: the record and reading it. Not here: applying it (`tasks/gate/`). A suppression never touches coverage and never
takes anything out of the data.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from schemas.errors import ContractError, Offence
from schemas.format_version import check_not_newer
from schemas.pattern import Pattern
from schemas.policy import plain_dates, unknown_rule
from schemas.shape import offences_in

SUPPRESSIONS_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Suppression:
    """One agreement. `expires` is its last day, ISO 8601; without a selector every target of the rule is meant."""

    rule: str
    route: Pattern
    selector: str | None
    reason: str
    owner: str
    ticket: str | None
    expires: str

    def is_expired(self, now: str) -> bool:
        """Whether the last day is past. `now` is an ISO 8601 date or time in UTC."""
        return self.expires < now[:10]

    def matches_target(self, target: str, target_text: str) -> bool:
        """Whether a node is meant: by the readable target, or by the last step of the target's JSON."""
        return self.selector is None or self.selector in (target_text, last_step(target))

    @property
    def by(self) -> str:
        """Who suppressed and why, in one line."""
        return f"{self.reason} ({self.owner}{f', {self.ticket}' if self.ticket else ''})"


def last_step(target: str) -> str:
    """Return the innermost selector of a canonical JSON target: frames and shadow hosts come before it."""
    try:
        step: Any = json.loads(target)
    except ValueError:
        return target
    while isinstance(step, list):
        step = step[-1] if step else ""
    return str(step)


def parse_suppressions(document: object, subject: str, engine_rules: Collection[str] | None
                       ) -> tuple[Suppression, ...]:
    """Read suppressions.

    Args:
        document: parsed YAML or JSON; None is an empty file. subject: its name in messages.
        engine_rules: ids of the engine's rules; None where they are not known.

    Raises:
        ContractError: all offences: shape, unknown rules, patterns, one agreement written twice.
    """
    document = plain_dates({} if document is None else document)
    check_not_newer(document, SUPPRESSIONS_FORMAT, subject)
    offences = offences_in("suppressions", document, subject)
    if offences or not isinstance(document, dict):
        raise ContractError(offences)
    seen: set[tuple[str, str, str | None]] = set()
    for index, entry in enumerate(document.get("suppressions", [])):
        where = f"{subject}: $.suppressions[{index}]"
        identity = (entry["rule"], entry["route"], entry.get("selector"))
        if identity in seen:
            offences.append(Offence(where, "the same rule, route and selector again", "one entry for each agreement"))
        seen.add(identity)
        if engine_rules is not None and entry["rule"] not in engine_rules:
            offences.append(unknown_rule(entry["rule"], f"{where}.rule", engine_rules))
        try:
            Pattern.parse(entry["route"], f"{where}.route")
        except ContractError as error:
            offences += error.offences
    if offences:
        raise ContractError(offences)
    return tuple(Suppression(entry["rule"], Pattern(entry["route"]), entry.get("selector"), entry["reason"],
                             entry["owner"], entry.get("ticket"), entry["expires"])
                 for entry in document.get("suppressions", []))
