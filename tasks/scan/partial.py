"""The triples of one attempt: finished routes are buffered, checked and flushed.

Here: records to tables, the check of every row against its schema, the flush. Not here: visiting (`visit.py`).
A route whose records break their schema ends as `engine_error`: what can't be stored was not scanned.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from schemas.layout import TRIPLE_KINDS
from schemas.occurrence import Occurrence, RuleResult
from schemas.outcome import Outcome, OutcomeKind
from schemas.receipt import TripleRef
from schemas.shape import arrow_schema, faults_in, row_of, table_of
from tasks.commit import ROW_SCHEMAS, Shelf, attempt_number, write_triple
from tasks.store import concat

FLUSH_ROUTES = 24
FLUSH_SECONDS = 10.0

Records = Mapping[str, Sequence[Outcome | Occurrence | RuleResult]]


@dataclass(frozen=True, slots=True)
class Visited:
    """All records of one route."""

    outcome: Outcome
    occurrences: Sequence[Occurrence] = ()
    rule_results: Sequence[RuleResult] = ()


class Partial:
    """Buffer and triples of one attempt.

    Args:
        run_columns: `estate`, `run_id` and `run_date` of every row. browser_version: that sees the pages.
    """

    def __init__(
        self, shelf: Shelf, attempt_name: str, run_columns: Mapping[str, object], browser_version: str | None = None
    ) -> None:
        self._browser_version = browser_version
        self._shelf = shelf
        self._attempt_name = attempt_name
        self._columns = run_columns
        self._buffer: dict[str, list[pa.Table]] = {kind: [] for kind in TRIPLE_KINDS}
        self.triples: list[TripleRef] = []
        self.outcomes: dict[str, Outcome] = {}

    @property
    def buffered_count(self) -> int:
        return len(self._buffer["outcomes"])

    @property
    def counts(self) -> Counter[str]:
        return Counter(outcome.outcome.value for outcome in self.outcomes.values())

    def add(self, visited: Visited) -> Outcome:
        """Take the records of a route and return the outcome that is stored for it."""
        stamped = self._stamped(visited)
        try:
            tables = self._tables(stamped)
            faults = [f"{kind}: {reason}" for kind, table in tables.items()
                      for reason in faults_in(ROW_SCHEMAS[kind], table).values()]
        except (pa.ArrowException, TypeError, OverflowError) as error:
            faults = [str(error)[:200]]
        if faults:
            stamped = Visited(replace(
                stamped.outcome, outcome=OutcomeKind.ENGINE_ERROR, reason="malformed_record",
                detail=faults[0][:400], title=None, final_url=None, scan_ms=None, untested_frames=(),
                how_to_fix="The page gave values that no file can hold; report it with the route's address.",
            ))
            tables = self._tables(stamped)
        for kind, table in tables.items():
            self._buffer[kind].append(table)
        self.outcomes[stamped.outcome.task_id] = stamped.outcome
        return stamped.outcome

    def flush(self) -> int:
        """Write what is buffered as the next triple and return how many routes it holds."""
        count = self.buffered_count
        if count:
            tables = {kind: concat(parts, arrow_schema(ROW_SCHEMAS[kind])) for kind, parts in self._buffer.items()}
            self.triples.append(write_triple(self._shelf, self._attempt_name, self._next_number, tables,
                                             self._browser_version))
            self._buffer = {kind: [] for kind in TRIPLE_KINDS}
        return count

    @property
    def _next_number(self) -> int:
        return len(self.triples) + 1

    def _stamped(self, visited: Visited) -> Visited:
        shard_index, attempt = self._shelf.shard_index, attempt_number(self._attempt_name)
        place = {"shard_index": shard_index, "attempt": attempt, "attempt_name": self._attempt_name,
                 "triple_number": self._next_number}
        return Visited(
            replace(visited.outcome, **place),  # type: ignore[arg-type]
            [replace(row, **place) for row in visited.occurrences],  # type: ignore[arg-type]
            [replace(row, **place) for row in visited.rule_results],  # type: ignore[arg-type]
        )

    def _tables(self, visited: Visited) -> dict[str, pa.Table]:
        records: Records = {"occurrences": visited.occurrences, "rule_results": visited.rule_results,
                            "outcomes": [visited.outcome]}
        return {kind: table_of(ROW_SCHEMAS[kind], [self._columns | row_of(record) for record in rows])  # type: ignore[operator]
                for kind, rows in records.items()}
