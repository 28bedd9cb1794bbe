"""List what is still owed: dead letters, and the quarantine that counts.

Not here: judging whether the run may pass (`tasks/gate/`); reading the letters on a retry (`tasks/scan/`).
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from schemas.converged import DeadLetter, is_owed, untested_parts
from schemas.evidence import Evidence, Quarantined
from schemas.outcome import Outcome
from tasks.converge.rows import Triple, triple_places

TRIPLE_FILE = re.compile(r"(attempt-(\d+)-[0-9a-f]{8})/[a-z_]+-(\d+)\.parquet$")
QUARANTINE_HOW_TO_FIX = "Resume the run: a record of the route could not be read, so it is scanned again."
PARTIAL_HOW_TO_FIX = "Part of the page was not tested: see the untested frames, or the size of its results."


def split_quarantine(
    outcomes: Sequence[Outcome], evidence: Evidence, found: Sequence[Quarantined]
) -> tuple[tuple[Quarantined, ...], tuple[Quarantined, ...]]:
    """Part what counts from what a newer triple of the same route has answered.

    Without this a route that was scanned again after a broken record could never be whole: old triples stay for ever.

    Returns:
        The quarantine that counts and the superseded rest, each sorted and without doubles.
    """
    places = triple_places(evidence)
    rows = {row.task_id: row for row in outcomes}
    parted: dict[bool, set[Quarantined]] = defaultdict(set)
    for item in (*evidence.quarantined, *found):
        parted[_is_superseded(item, rows.get(item.task_id or ""), places)].add(item)
    return _sorted(parted[False]), _sorted(parted[True])


def write_dead_letters(
    outcomes: Sequence[Outcome], quarantined: Sequence[Quarantined], tolerated: Collection[str]
) -> tuple[DeadLetter, ...]:
    """List every route that is owed a scan, in the order of the outcomes; each letter names the triple it judged.

    Args:
        tolerated: parts that a scanned route may lack: its letter is accepted, or every retry would scan it again.
    """
    broken = {item.task_id: item for item in quarantined if item.task_id is not None}
    return tuple(_letter(row, broken.get(row.task_id), tolerated) for row in outcomes
                 if is_owed(row) or row.task_id in broken)


def _letter(row: Outcome, broken: Quarantined | None, tolerated: Collection[str]) -> DeadLetter:
    is_accepted = row.is_accepted or (row.is_settled and untested_parts(row) <= set(tolerated))
    how_to_fix = row.how_to_fix if not row.is_settled else row.how_to_fix or PARTIAL_HOW_TO_FIX
    letter = DeadLetter(
        task_id=row.task_id, route=row.route, auth=row.auth, url=row.url, owner=row.owner,
        shard_index=row.shard_index, attempt=row.attempt, attempt_name=row.attempt_name,
        triple_number=row.triple_number, outcome=row.outcome, reason=row.reason, detail=row.detail,
        how_to_fix=how_to_fix, status=row.status, final_url=row.final_url, is_accepted=is_accepted)
    if broken is None:
        return letter
    letter = replace(letter, reason="quarantined", detail=broken.reason[:500], how_to_fix=QUARANTINE_HOW_TO_FIX,
                     is_accepted=False)
    named = TRIPLE_FILE.search(broken.file)
    if named is None:
        return letter
    return replace(letter, attempt=int(named[2]), attempt_name=named[1], triple_number=int(named[3]))


def _is_superseded(item: Quarantined, row: Outcome | None, places: dict[Triple, int]) -> bool:
    named = TRIPLE_FILE.search(item.file)
    if named is None or row is None:
        return False
    winner = places.get((row.shard_index, row.attempt_name, row.triple_number))
    place = places.get((item.shard_index, named[1], int(named[3])), -1)
    return winner is not None and item.shard_index == row.shard_index and place < winner


def _sorted(items: set[Quarantined]) -> tuple[Quarantined, ...]:
    return tuple(sorted(items, key=lambda q: (q.shard_index, q.file, q.kind, q.entry or "", q.reason, q.record or "")))
