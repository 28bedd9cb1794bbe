"""What converge makes of the evidence: one outcome per planned route, findings by fingerprint, and what is still owed.

Here: the records, and which outcomes leave a hole in the coverage. Not here: merging (`tasks/converge/`).
Next: durations teach (`tasks/learn.py`), the gate decides (`tasks/gate/`), tables are written (`tasks/publish.py`).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from schemas.evidence import Quarantined
from schemas.finding import Finding, Sighting
from schemas.outcome import RULE_FAILED, Outcome, OutcomeKind

OWN_FRAMES, CUT_RESULTS = UNTESTED_PARTS = ("untested_own_frames", "cut_results")
FAILED_RULES = "failed_rules"  # no policy waves these through: switch the rule off, or accept the route by name


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A route that is owed a scan: a row of `dead_letters.parquet`, without `estate`, `run_id` and `run_date`.

    Attributes:
        attempt, attempt_name, triple_number: the triple that was judged; None where there was none. A receipt that
            names a newer triple for the route has answered the letter.
        is_accepted: known to be broken, or lacking no more than the policy lets pass: listed, never owed.
    """

    task_id: str
    route: str
    auth: str | None
    url: str
    owner: str | None
    shard_index: int
    attempt: int | None
    attempt_name: str | None
    triple_number: int | None
    outcome: OutcomeKind
    reason: str
    detail: str | None
    how_to_fix: str | None
    status: int | None
    final_url: str | None
    is_accepted: bool


def fixes_of(letters: Iterable[DeadLetter]) -> list[str]:
    """Say once for each reason what to do about the routes that it holds back; accepted ones nobody owes."""
    owed = Counter((f"{letter.outcome.value}/{letter.reason}", letter.how_to_fix) for letter in letters
                   if letter.how_to_fix and not letter.is_accepted)
    return [f"{count} {why}: {how_to_fix}" for (why, how_to_fix), count in sorted(owed.items())]


@dataclass(frozen=True, slots=True)
class Converged:
    """One dataset for the whole run.

    Attributes:
        outcomes: one per planned route, in the plan's order.
        occurrences, rule_results: rows of the winning triple of each route that was scanned, each once.
        findings: worst first, not judged yet. sightings: the same by route, sorted.
        dead_letters: in the plan's order, accepted ones included.
        quarantined: what counts against the run. superseded: quarantined records of routes that a newer triple holds.
    """

    outcomes: tuple[Outcome, ...]
    occurrences: pa.Table
    rule_results: pa.Table
    findings: tuple[Finding, ...]
    sightings: tuple[Sighting, ...]
    dead_letters: tuple[DeadLetter, ...]
    quarantined: tuple[Quarantined, ...]
    superseded: tuple[Quarantined, ...] = ()


def untested_parts(outcome: Outcome) -> frozenset[str]:
    """Name the coverage rules that judge what nobody looked at on a scanned route: `UNTESTED_PARTS`.

    Frames of other origins are the other side's duty: they are warned of, not counted as a hole. A partial scan that
    does not say what is lacking is a hole, and so is a rule that failed (`FAILED_RULES`), whatever the policy says.
    """
    if not outcome.outcome.was_scanned:
        return frozenset()
    parts = {OWN_FRAMES} if outcome.has_untested_own_frame else set()
    if outcome.is_cut:
        parts.add(FAILED_RULES if outcome.reason == RULE_FAILED else CUT_RESULTS)
    if not parts and outcome.outcome is OutcomeKind.PARTIALLY_SCANNED and outcome.frames_untested == 0:
        parts.add(OWN_FRAMES)
    return frozenset(parts)


def is_untested(outcome: Outcome) -> bool:
    """Whether a scanned route has a part that nobody looked at."""
    return bool(untested_parts(outcome))


def is_owed(outcome: Outcome) -> bool:
    """Whether a route of the run's scope is not covered, accepted or not."""
    if outcome.outcome is OutcomeKind.CARRIED:
        return False
    return not outcome.is_settled or is_untested(outcome)
