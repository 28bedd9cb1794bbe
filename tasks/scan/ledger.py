"""What a shard attempt knows of earlier attempts: committed triples, deaths, and the last fold's dead letters.

Here: reading the shard's shelf at the start of an attempt. Not here: deciding from it (`work.py`), writing new triples
(`worker.py`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.errors import IntegrityError
from schemas.outcome import OutcomeKind
from schemas.plan import PlannedRoute
from schemas.receipt import TripleRef
from tasks.commit import Shelf, committed_numbers, read_triple
from tasks.scan.work import CommittedRow, TripleName

DEATH_FILE = "death.json"
IN_FLIGHT_FILE = "in-flight.json"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The past of a shard under this plan.

    Attributes:
        triples: verified triples of earlier attempts, oldest first: the ones that this attempt adopts.
        committed: newest sound row by `task_id`.
        deaths: how often each `task_id` was in flight when its worker died, in this flow attempt.
        dead_letters: the last fold's judgement: `task_id` and the triple that it judged.
        warnings: triples that were not adopted, and why.
        browser_versions: that saw the pages of the adopted triples.
    """

    triples: tuple[TripleRef, ...]
    committed: Mapping[str, CommittedRow]
    deaths: Mapping[str, int]
    dead_letters: Mapping[str, TripleName | None]
    warnings: tuple[str, ...]
    browser_versions: frozenset[str] = frozenset()


def read_ledger(shelf: Shelf, routes: Sequence[PlannedRoute], flow_attempt: str) -> Ledger:
    """Read the shelf of a shard.

    Args:
        routes: of the shard. flow_attempt: deaths of other flow attempts do not count.
    """
    task_ids = frozenset(route.task_id for route in routes)
    triples: list[TripleRef] = []
    committed: dict[str, CommittedRow] = {}
    warnings: list[str] = []
    browser_versions: set[str] = set()
    attempts = shelf.attempts()
    for attempt_name in attempts:
        for number in committed_numbers(shelf, attempt_name):
            try:
                triple = read_triple(shelf, attempt_name, number, task_ids)
            except IntegrityError as error:
                warnings.append(f"not adopted: {error}")
                continue
            triples.append(triple.ref)
            browser_versions |= {triple.browser_version} - {None}  # type: ignore[arg-type]
            for row in triple.outcomes.select(["task_id", "outcome", "reason", "how_to_fix"]).to_pylist():
                committed[row["task_id"]] = CommittedRow(OutcomeKind(row["outcome"]), (attempt_name, number),
                                                         row["reason"], row["how_to_fix"])
            for task_id in {fault.task_id for fault in triple.faults}:
                committed.pop(task_id, None)
    return Ledger(tuple(triples), committed, _deaths(shelf, attempts, flow_attempt), _dead_letters(shelf, task_ids),
                  tuple(warnings), frozenset(browser_versions))


def _deaths(shelf: Shelf, attempts: Sequence[str], flow_attempt: str) -> Counter[str]:
    deaths: Counter[str] = Counter()
    for attempt_name in attempts:
        try:
            death = shelf.store.read_json(shelf.key(attempt_name, DEATH_FILE))
        except (FileNotFoundError, IntegrityError):
            continue
        if death.get("flow_attempt") == flow_attempt:
            deaths.update(death.get("task_ids", []))
    return deaths


def _dead_letters(shelf: Shelf, task_ids: frozenset[str]) -> dict[str, TripleName | None]:
    try:
        table, *_ = shelf.store.read_table(shelf.run.file("dead_letters.parquet"))
    except FileNotFoundError:
        return {}
    rows = table.select(["task_id", "attempt_name", "triple_number", "is_accepted"]).to_pylist()
    return {row["task_id"]: (row["attempt_name"], row["triple_number"]) if row["attempt_name"] else None
            for row in rows if row["task_id"] in task_ids and not row["is_accepted"]}
