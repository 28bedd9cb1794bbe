"""All that a report is made from: the records of one run, and the verdicts of earlier ones.

Here: the record. Not here: rendering it (`tasks/report/`), reading it from the store (`flows/`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas.converged import DeadLetter
from schemas.evidence import Quarantined
from schemas.outcome import Outcome
from schemas.plan import Plan
from schemas.receipt import EndedBy, Receipt
from schemas.verdict import Verdict


@dataclass(frozen=True, slots=True)
class ReportMaterial:
    """One run as people read it.

    Attributes:
        verdict: with its findings.
        outcomes: one per planned route.
        receipts: the chosen receipt of each shard, by shard index; a shard without one is absent.
        earlier_verdicts: of other runs of the estate, oldest first; without findings.
        generated_at: ISO 8601 in UTC; empty where a report must be the same bytes for the same run.
    """

    plan: Plan
    verdict: Verdict
    outcomes: tuple[Outcome, ...]
    dead_letters: tuple[DeadLetter, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    receipts: Mapping[int, Receipt] = field(default_factory=dict)
    earlier_verdicts: tuple[Verdict, ...] = ()
    generated_at: str = ""

    @property
    def unfinished_shards(self) -> tuple[int, ...]:
        """Shards that ended before they were done: without a receipt, out of budget, or cancelled."""
        return tuple(load.shard_index for load in self.plan.header.shards
                     if load.shard_index not in self.receipts
                     or self.receipts[load.shard_index].ended_by is not EndedBy.FINISHED)

    @property
    def headline(self) -> str:
        """Say the verdict in one word, and whether the run was interrupted."""
        word = self.verdict.kind.value.upper()
        if unfinished := self.unfinished_shards:
            word += f" (INTERRUPTED: {len(unfinished)} of {self.plan.header.shard_count} shards were not finished)"
        return word

    @property
    def sentence(self) -> str:
        """Say the rest of the verdict's summary."""
        said = self.verdict.summary.partition(": ")[2] or self.verdict.summary
        return said[:1].upper() + said[1:]

    @property
    def first_line(self) -> str:
        """The first words of every output."""
        return f"{self.headline}: {self.sentence}"
