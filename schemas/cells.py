"""Cells of the policy: what findings of one impact and journey do.

Here: actions, cells, and tables of them as written. Not here: the rest of the policy (`schemas/policy.py`), counting
what is in a cell (`tasks/gate/`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from schemas.finding import IMPACTS, UNKNOWN_IMPACT
from schemas.route import Journey

NEEDS_REVIEW, BEST_PRACTICE, OTHER = "needs_review", "best_practice", "other"
ROWS_APART = (NEEDS_REVIEW, BEST_PRACTICE, OTHER)
IMPACT_ROWS = (*IMPACTS, UNKNOWN_IMPACT)
JOURNEYS = tuple(journey.value for journey in Journey)
RULE_ROW = "rule "


class CellAction(StrEnum):
    """What findings of a cell do."""

    BLOCK = "block"
    BLOCK_NEW = "block_new"
    WARN = "warn"
    IGNORE = "ignore"

    @property
    def can_block(self) -> bool:
        return self in (CellAction.BLOCK, CellAction.BLOCK_NEW)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: an action, and how many findings it lets pass."""

    action: CellAction
    allowed: int = 0


CellTable = Mapping[tuple[str, str], Cell]  # (row, journey); a row is an impact, a kind apart, or `rule <id>`


def default_cells() -> dict[tuple[str, str], Cell]:
    """Return the table that holds where the user says nothing."""
    strict = ("critical", "serious", UNKNOWN_IMPACT)
    return {(row, journey): Cell(CellAction.BLOCK if row in strict and journey == Journey.PRIMARY else CellAction.WARN)
            for row in (*IMPACT_ROWS, *ROWS_APART) for journey in JOURNEYS}


def cells_of(document: Mapping[str, Any]) -> dict[tuple[str, str], Cell]:
    """Return the cells that a policy or an override names. `document` keeps its schema."""
    rows = dict(document.get("cells", {}))
    rows |= {RULE_ROW + rule: row for rule, row in document.get("rules", {}).items()}
    rows |= {name: document[name] for name in ROWS_APART if name in document}
    return {(name, journey): _cell(spec) for name, row in rows.items() for journey, spec in _by_journey(row).items()}


def _by_journey(row: Any) -> Mapping[str, Any]:
    if isinstance(row, str) or "action" in row:
        return dict.fromkeys(JOURNEYS, row)
    return {journey: row[journey] for journey in JOURNEYS if journey in row}


def _cell(spec: Any) -> Cell:
    return Cell(CellAction(spec)) if isinstance(spec, str) else Cell(CellAction(spec["action"]), spec.get("allowed", 0))
