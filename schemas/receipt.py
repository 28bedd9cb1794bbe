"""The proof of one shard attempt: which triples count, and under which engine and browser they were made.

Here: the record, immutable and written last in its attempt. Not here: choosing among receipts (`tasks/collect.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

RECEIPT_FORMAT = 1


class EndedBy(StrEnum):
    """Why a shard attempt stopped."""

    FINISHED = "finished"
    RUN_BUDGET = "run_budget"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class TripleRef:
    """A committed triple by path and digest.

    Attributes:
        attempt_name: folder of the attempt that wrote it (`attempt-2-1a2b3c4d`).
        number: its number in that folder, from 1.
        outcomes_digest: SHA-256 of its outcomes file, whose footer holds the digests of the other two.
    """

    attempt_name: str
    number: int
    route_count: int
    outcomes_digest: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """`receipt.json` of one attempt. Triples are in order: the last that holds a route wins."""

    plan_id: str
    run_id: str
    shard_index: int
    attempt: int
    attempt_name: str
    flow_attempt: str
    program_version: str
    engine_version: str
    engine_digest: str
    options_digest: str
    browser_version: str
    triples: tuple[TripleRef, ...]
    ended_by: EndedBy
    started_at: str
    ended_at: str
    planned_ms: int
    actual_ms: int
    launch_count: int = 0
    outcome_counts: Mapping[str, int] = field(default_factory=dict)
    format_version: int = RECEIPT_FORMAT
