"""A rule of the engine as a row: what makes criteria of rule results.

Here: the record, a row of `rules` in an exported dataset. Not here: the engine build (`schemas/engine.py`).
"""

from dataclasses import dataclass

from schemas.engine import RuleInfo
from schemas.occurrence import criteria_of


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule that the engine build of a run has; `is_on` is its state under the run's options."""

    rule: str
    is_on: bool
    tags: tuple[str, ...]
    criteria: tuple[str, ...]
    help: str

    @classmethod
    def of(cls, info: RuleInfo) -> "RuleRow":
        """Make the row of a rule."""
        return cls(info.rule, info.is_on, info.tags, criteria_of(info.tags), info.help)
