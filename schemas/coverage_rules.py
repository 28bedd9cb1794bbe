"""What a run may lack: limits on coverage, routes that are known to be broken, and careless suppressions.

Here: these parts of the policy. Not here: cells and the policy itself (`schemas/policy.py`), judging (`tasks/gate/`).
"""

from dataclasses import dataclass

from schemas.outcome import OutcomeKind
from schemas.pattern import Pattern


@dataclass(frozen=True, slots=True)
class Accepted:
    """Routes known to be broken in one way. `until` is the last day, ISO 8601."""

    pattern: Pattern
    outcome: OutcomeKind
    reason: str
    owner: str
    until: str

    def is_expired(self, now: str) -> bool:
        """Whether the last day is past. `now` is an ISO 8601 date or time in UTC."""
        return self.until < now[:10]


@dataclass(frozen=True, slots=True)
class CoverageRules:
    """What a run may lack. Ratios are shares of routes in scope."""

    min_routes: int = 1
    max_shrink: float = 0.2
    max_not_applicable: float = 0.5
    free_not_applicable: int = 5
    max_unsettled: int = 0
    max_quarantined: int = 0
    untested_own_frames: str = "incomplete"
    untested_other_frames: str = "warn"
    cut_results: str = "incomplete"


@dataclass(frozen=True, slots=True)
class Hygiene:
    """What careless suppressions do: `ignore`, `warn` or `block`."""

    expired: str = "warn"
    unused: str = "warn"
    too_wide: str = "warn"
