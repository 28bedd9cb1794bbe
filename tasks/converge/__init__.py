"""Fold many rows per route into one outcome per route, and occurrences into findings.

Here: the order of the fold. `rows` picks the row that counts, `redirects` settles who led where, `tables` keeps what
belongs to those rows, `findings` groups by fingerprint, `letters` lists what is still owed.
Not here: reading files (`tasks/collect.py`), judging findings (`tasks/gate/`). Pure: no clock, no policy, no files.
Next: `tasks/learn.py` and `tasks/gate/`.
"""

from collections.abc import Collection

from schemas.converged import Converged
from schemas.evidence import Evidence
from schemas.plan import Plan
from tasks.converge.findings import fold_findings, see_sightings
from tasks.converge.letters import split_quarantine, write_dead_letters
from tasks.converge.redirects import settle_redirects
from tasks.converge.rows import pick_rows
from tasks.converge.tables import count_copies, keep_winning_rows

__all__ = ["converge"]


def converge(plan: Plan, evidence: Evidence, tolerated: Collection[str] = ()) -> Converged:
    """Make one dataset of all that the shards left behind.

    Every planned route gets exactly one outcome; the denominator is the plan, never the evidence. Of several rows of
    a route, the one of the triple that the shard's receipt names last wins, so a replay and a double writer change
    nothing and the order in which shards arrive does not matter. Rows of routes or shards that the plan does not have
    are quarantined by name and never counted.

    Args:
        plan: the frozen plan of the run.
        evidence: the verified rows of every triple that a chosen receipt names.
        tolerated: parts that a scanned route may lack, of `schemas.converged.UNTESTED_PARTS`: it is then not owed.

    Returns:
        Outcomes in the plan's order, the tables filtered to them, findings, dead letters and the quarantine.
    """
    picked = pick_rows(plan, evidence)
    outcomes = settle_redirects(plan, picked.outcomes)
    copies = count_copies(outcomes, evidence.outcomes)
    occurrences = keep_winning_rows("occurrences", plan, outcomes, evidence.occurrences, copies)
    rule_results = keep_winning_rows("rule_results", plan, outcomes, evidence.rule_results, copies)
    quarantined, superseded = split_quarantine(
        outcomes, evidence, picked.quarantined + occurrences.quarantined + rule_results.quarantined)
    sightings = see_sightings(occurrences.kept)
    return Converged(
        outcomes=outcomes, occurrences=occurrences.kept, rule_results=rule_results.kept,
        findings=fold_findings(outcomes, occurrences.kept, sightings), sightings=sightings,
        dead_letters=write_dead_letters(outcomes, quarantined, tolerated), quarantined=quarantined,
        superseded=superseded)
