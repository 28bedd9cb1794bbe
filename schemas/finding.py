"""Occurrences with one fingerprint, seen over the whole estate.

Here: the finding, and the sighting: one finding on one route. Not here: folding occurrences (`tasks/converge/`),
deciding (`tasks/gate/`).
"""

from dataclasses import dataclass
from enum import StrEnum

UNKNOWN_IMPACT = "unknown"
# A rule without an impact is judged like a serious one: it must never fall below a threshold for lack of a word.
IMPACT_RANK = {"minor": 0, "moderate": 1, UNKNOWN_IMPACT: 2, "serious": 3, "critical": 4}
IMPACTS = ("critical", "serious", "moderate", "minor")


class Decision(StrEnum):
    """What the gate decided on a finding."""

    BLOCK = "block"
    WARN = "warn"
    IGNORE = "ignore"

    @property
    def rank(self) -> int:
        return ("ignore", "warn", "block").index(self.value)


class Standing(StrEnum):
    """A finding against the baseline."""

    NEW = "new"
    CARRIED = "carried"
    NEW_RULE = "new_rule"


@dataclass(frozen=True, slots=True)
class Sighting:
    """One finding on one route under one impact: the unit that the gate and the baseline count.

    Attributes:
        is_violation: False for an item that needs review; with one fingerprint the two are apart.
        impact: None where the engine gives none. count: occurrences.
    """

    fingerprint: str
    is_violation: bool
    task_id: str
    rule: str
    impact: str | None
    count: int

    @property
    def order(self) -> tuple[str, bool, str, int]:
        return (self.fingerprint, not self.is_violation, self.task_id, impact_rank(self.impact))


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of `findings.parquet`; the file's columns are `estate`, `run_id`, `run_date` and these.

    Attributes:
        impact: the highest among the occurrences. journey: the strongest among the routes.
        routes: keys as text, sorted. owners: of those routes, sorted.
        example_route, example_target, example_html, failure_summary: of the first route's first occurrence.
        decision, standing, suppressed_by, suppressed_until: filled by the gate; None before it.
        suppressed_count: occurrences that a suppression covers. suppressed_routes: those of the routes, all of whose
            occurrences are suppressed. None before the gate, and in files that are older than these columns.
    """

    fingerprint: str
    rule: str
    impact: str | None
    is_violation: bool
    journey: str
    occurrence_count: int
    route_count: int
    routes: tuple[str, ...]
    owners: tuple[str, ...]
    example_route: str
    example_target: str
    example_html: str
    failure_summary: str
    path: str
    tags: tuple[str, ...]
    criteria: tuple[str, ...]
    help: str
    help_url: str
    decision: Decision | None = None
    standing: Standing | None = None
    suppressed_by: str | None = None
    suppressed_until: str | None = None
    suppressed_count: int | None = None
    suppressed_routes: tuple[str, ...] | None = None

    @property
    def open_routes(self) -> tuple[str, ...]:
        """Routes with an occurrence that no suppression covers; of an older file, all routes."""
        suppressed = frozenset(self.suppressed_routes or ())
        return tuple(route for route in self.routes if route not in suppressed)

    @property
    def suppression(self) -> str:
        """Say how much is suppressed: `suppressed`, `7 of 14 suppressed`, or nothing."""
        if self.suppressed_by is None:
            return ""
        if self.suppressed_count is None:
            return "suppressed" if self.decision is Decision.IGNORE else "partly suppressed"
        is_whole = self.suppressed_count >= self.occurrence_count
        return "suppressed" if is_whole else f"{self.suppressed_count} of {self.occurrence_count} suppressed"

    @property
    def order(self) -> tuple[bool, int, int, str]:
        """Worst first: violations, highest impact, most occurrences."""
        return (not self.is_violation, -impact_rank(self.impact), -self.occurrence_count, self.fingerprint)


def impact_rank(impact: str | None) -> int:
    """Rank an impact, the worst highest; none ranks beside `serious`."""
    return IMPACT_RANK[impact or UNKNOWN_IMPACT]
