"""Group occurrences by fingerprint: by route (sightings), and over the estate (findings).

Not here: what a finding means for the release (`tasks/gate/`).
"""

from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.finding import Finding, Sighting, impact_rank
from schemas.outcome import Outcome
from schemas.route import Journey, RouteKey

Kind = tuple[str, bool]
EXAMPLE_COLUMNS = ("rule", "target_text", "html", "failure_summary", "path", "tags", "criteria", "help", "help_url")


def see_sightings(occurrences: pa.Table) -> tuple[Sighting, ...]:
    """Count occurrences by fingerprint, kind, route and impact, in a fixed order."""
    keys = ["fingerprint", "is_violation", "task_id", "rule", "impact"]
    groups = occurrences.select(keys).group_by(keys).aggregate([((), "count_all")])
    columns = [groups[name].to_pylist() for name in (*keys, "count_all")]
    return tuple(sorted((Sighting(*values) for values in zip(*columns, strict=True)), key=attrgetter("order")))


def fold_findings(
    outcomes: Sequence[Outcome], occurrences: pa.Table, sightings: Sequence[Sighting]
) -> tuple[Finding, ...]:
    """Make one finding of all sightings with one fingerprint; violations and items that need review stay apart.

    Args:
        outcomes: one per planned route: names, owners and journeys come from there, never from a table.
        occurrences: rows that count. sightings: their counts.

    Returns:
        Findings worst first. The example is the smallest target of the first route, whatever the order of rows.
    """
    rows = {row.task_id: row for row in outcomes}
    groups: dict[Kind, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        groups[sighting.fingerprint, sighting.is_violation].append(sighting)
    firsts = {kind: min((_name(rows[s.task_id]), s.task_id) for s in group)[1] for kind, group in groups.items()}
    examples = _examples(occurrences, firsts)
    return tuple(sorted((_finding(kind, group, examples[kind], rows) for kind, group in groups.items()),
                        key=attrgetter("order")))


def _examples(occurrences: pa.Table, firsts: dict[Kind, str]) -> dict[Kind, dict[str, Any]]:
    """Read one occurrence for each finding: only those rows leave the table."""
    if not firsts:
        return {}
    wanted = pa.table({"fingerprint": pa.array([kind[0] for kind in firsts], pa.string()),
                       "is_violation": pa.array([kind[1] for kind in firsts], pa.bool_()),
                       "task_id": pa.array(list(firsts.values()), pa.string())})
    keys = wanted.column_names
    light = occurrences.select([*keys, "target"]).append_column("row", _row_numbers(occurrences))
    candidates = light.join(wanted, keys=keys, join_type="inner")
    candidates = candidates.sort_by([("target", "ascending"), ("row", "ascending")])
    chosen: dict[Kind, int] = {}
    for fingerprint, is_violation, row in zip(
            *(candidates[name].to_pylist() for name in ("fingerprint", "is_violation", "row")), strict=True):
        chosen.setdefault((fingerprint, is_violation), row)
    is_chosen = pc.is_in(_row_numbers(occurrences), pa.array(sorted(chosen.values()), pa.int64()))
    picked = occurrences.filter(is_chosen).select(["fingerprint", "is_violation", *EXAMPLE_COLUMNS]).to_pylist()
    return {(row["fingerprint"], row["is_violation"]): row for row in picked}


def _row_numbers(table: pa.Table) -> Any:
    return pa.array(range(table.num_rows), pa.int64())


def _finding(kind: Kind, group: Sequence[Sighting], example: dict[str, Any], rows: dict[str, Outcome]) -> Finding:
    seen_on = {rows[sighting.task_id].task_id: rows[sighting.task_id] for sighting in group}
    names = tuple(sorted(_name(row) for row in seen_on.values()))
    is_primary = any(row.journey == Journey.PRIMARY for row in seen_on.values())
    return Finding(
        fingerprint=kind[0], rule=example["rule"], is_violation=kind[1],
        impact=max((sighting.impact for sighting in group), key=impact_rank),
        journey=(Journey.PRIMARY if is_primary else Journey.SECONDARY).value,
        occurrence_count=sum(sighting.count for sighting in group), route_count=len(names), routes=names,
        owners=tuple(sorted({row.owner for row in seen_on.values() if row.owner is not None})),
        example_route=names[0], example_target=example["target_text"], example_html=example["html"],
        failure_summary=example["failure_summary"], path=example["path"], tags=tuple(example["tags"]),
        criteria=tuple(example["criteria"]), help=example["help"], help_url=example["help_url"])


def _name(row: Outcome) -> str:
    return str(RouteKey(row.route, row.auth))
