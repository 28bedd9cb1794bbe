"""What happened to a route: exactly one outcome each.

Here: the closed set, which of it counts as covered, and the record. Not here: how a page is judged (`tasks/scan/`),
how many rows become one (`tasks/converge/`).
"""

from dataclasses import dataclass
from enum import StrEnum


class OutcomeKind(StrEnum):
    """The closed set of outcomes; the first group is settled, the second is scanned again by the next attempt."""

    SCANNED = "scanned"
    PARTIALLY_SCANNED = "partially_scanned"
    NOT_APPLICABLE = "not_applicable"
    REDIRECTED = "redirected"

    WRONG_PAGE = "wrong_page"
    HTTP_ERROR = "http_error"
    UNREACHABLE = "unreachable"
    NOT_READY = "not_ready"
    TIMED_OUT = "timed_out"
    UNSTABLE = "unstable"
    CRASHED = "crashed"
    ENGINE_ERROR = "engine_error"

    MISSING = "missing"
    EXPIRED = "expired"
    CARRIED = "carried"

    @property
    def is_settled(self) -> bool:
        return self in SETTLED

    @property
    def was_scanned(self) -> bool:
        """Whether findings of the route count."""
        return self in (OutcomeKind.SCANNED, OutcomeKind.PARTIALLY_SCANNED)


SETTLED = frozenset(
    {OutcomeKind.SCANNED, OutcomeKind.PARTIALLY_SCANNED, OutcomeKind.NOT_APPLICABLE, OutcomeKind.REDIRECTED}
)
RULE_FAILED = "rule_failed"  # the reason of a route on which a rule of the engine raised an error; goes before others
ADDED_BY_CONVERGE = frozenset({OutcomeKind.MISSING, OutcomeKind.EXPIRED, OutcomeKind.CARRIED})


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row of `outcomes.parquet`; the file's columns are `estate`, `run_id`, `run_date` and these.

    Attributes:
        attempt, attempt_name, triple_number: the triple that holds the row; None for rows that converge added.
        outcome: see `OutcomeKind`.
        reason: a short stable word (`sign_in`, `status_404`, `frame_untested`); `how_to_fix` is for people.
        redirected_to: `task_id` of the route that the address led to.
        visit_count: visits made, transient retries included.
        scan_ms: milliseconds of the successful visit; None without one. burned_ms: milliseconds of all visits.
        in_flight: routes that the shard worked on at once.
        accepted_by: reason given in the policy when the route is known to be broken.
        excluded_count: elements that the settings leave out, the outermost ones counted. excluded_by: their selectors.
            Both None where nothing was scanned.
        carried_from_run_id, carried_date: the scan that a delta run stands on for a route out of its scope.
    """

    task_id: str
    route: str
    auth: str | None
    url: str
    journey: str
    priority: int
    owner: str | None
    tags: tuple[str, ...]
    shard_index: int
    outcome: OutcomeKind
    reason: str
    detail: str | None = None
    how_to_fix: str | None = None
    attempt: int | None = None
    attempt_name: str | None = None
    triple_number: int | None = None
    visit_count: int = 0
    status: int | None = None
    final_url: str | None = None
    redirected_to: str | None = None
    content_type: str | None = None
    title: str | None = None
    settled_by: str | None = None
    launch_ms: int | None = None
    navigate_ms: int | None = None
    settle_ms: int | None = None
    engine_ms: int | None = None
    scan_ms: int | None = None
    burned_ms: int = 0
    in_flight: int = 0
    frames_tested: int = 0
    frames_untested: int = 0
    untested_frames: tuple[str, ...] = ()
    is_cut: bool = False
    has_untested_own_frame: bool = False
    excluded_count: int | None = None
    excluded_by: tuple[str, ...] | None = None
    violation_count: int = 0
    needs_review_count: int = 0
    engine_version: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    is_accepted: bool = False
    accepted_by: str | None = None
    is_in_scope: bool = True
    carried_from_run_id: str | None = None
    carried_date: str | None = None

    @property
    def is_settled(self) -> bool:
        return self.outcome.is_settled
