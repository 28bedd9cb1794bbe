"""What the shards left behind, verified: the input of converge.

Here: the record. Not here: verifying (`tasks/collect.py`), merging (`tasks/converge/`).
"""

from dataclasses import dataclass, field

import pyarrow as pa

from schemas.outcome import Outcome
from schemas.receipt import Receipt


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One malformed record or file: a row of `quarantine.parquet`.

    Attributes:
        kind: `receipt`, `outcomes`, `occurrences`, `rule_results` or `triple`.
        file: key in the store. entry: which record of it, or None for the whole file.
        task_id: the route it speaks of, where that can be told; such a route is scanned again.
        reason: why. record: the record as JSON, at most 2 000 characters.
    """

    shard_index: int
    kind: str
    file: str
    reason: str
    entry: str | None = None
    task_id: str | None = None
    record: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """All verified rows of a run, of every triple that a chosen receipt names, in the order that receipts give.

    Attributes:
        receipts: the chosen receipt of each shard, by shard index; a shard without one is absent.
        outcomes: rows of all triples, oldest triple first: the last row of a route wins.
        occurrences, rule_results: tables with the columns of their schemas, rows of all triples.
        quarantined: what was set aside, by name.
        stray_attempts: attempts that hold committed triples no chosen receipt names (a shard that died).
    """

    receipts: dict[int, Receipt]
    outcomes: tuple[Outcome, ...]
    occurrences: pa.Table
    rule_results: pa.Table
    quarantined: tuple[Quarantined, ...] = ()
    stray_attempts: tuple[str, ...] = field(default=())
