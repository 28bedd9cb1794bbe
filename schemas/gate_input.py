"""Everything that the gate decides on, in one record: nothing else may weigh.

Here: the record. Not here: deciding (`tasks/gate/`), reading the files (`tasks/load/`, `tasks/store.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas.baseline import Baseline
from schemas.converged import Converged
from schemas.plan import Plan
from schemas.policy import Policy
from schemas.receipt import Receipt
from schemas.shard_fault import ShardFault
from schemas.suppression import Suppression


@dataclass(frozen=True, slots=True)
class GateInput:
    """One run and what it is judged by.

    Attributes:
        receipts: the chosen receipt of each shard, by shard index.
        now: the day of the judgement, ISO 8601 in UTC: it decides what has expired, nothing else.
        baseline: None where there is none, or the policy says `baseline: none`.
        digests: SHA-256 by name (`policy`, `suppressions`, `baseline`) for the verdict's provenance.
        shard_faults: what ended shards of this attempt other than by a receipt (a refusal, a death).
        stray_attempts: attempts with committed triples that no chosen receipt names.
    """

    plan: Plan
    converged: Converged
    receipts: Mapping[int, Receipt]
    policy: Policy
    now: str
    baseline: Baseline | None = None
    suppressions: tuple[Suppression, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    stray_attempts: tuple[str, ...] = ()
    shard_faults: tuple[ShardFault, ...] = ()

    @property
    def is_case_folded(self) -> bool:
        """Whether the identities that patterns are matched with have their paths in lower case."""
        return self.plan.header.identity.is_case_folded
