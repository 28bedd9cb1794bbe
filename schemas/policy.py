"""The policy: what makes a run fail, as the user wrote it, checked and completed with the defaults.

Here: the record, reading it, and which cell judges what. Not here: judging (`tasks/gate/`), opening files
(`tasks/load/`). An empty policy is the default one.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from schemas.cells import (
    BEST_PRACTICE,
    JOURNEYS,
    NEEDS_REVIEW,
    OTHER,
    RULE_ROW,
    Cell,
    CellAction,
    CellTable,
    cells_of,
    default_cells,
)
from schemas.coverage_rules import Accepted, CoverageRules, Hygiene
from schemas.errors import ContractError, Offence
from schemas.finding import UNKNOWN_IMPACT
from schemas.format_version import check_not_newer
from schemas.outcome import OutcomeKind
from schemas.pattern import Pattern
from schemas.shape import offences_in
from schemas.standard import BEST_PRACTICE_TAG, tags_of

POLICY_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Override:
    """Other cells for the routes of a pattern; rows that it does not name stay as they are."""

    pattern: Pattern
    cells: CellTable


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that decides.

    Attributes:
        level: of WCAG; other standards have none.
        cells: every impact (`unknown` where the engine gives none), `needs_review`, `best_practice` and `other`, for
            each journey, and rows of named rules.
        overrides: in the order of the file; of those that match a route, the last that names the row holds.
        regression: `block` or `warn`. baseline: `if_present`, `required` or `none`.
    """

    cells: CellTable
    standard: str = "wcag22"
    level: str = "AA"
    report_only: bool = False
    regression: str = "block"
    baseline: str = "if_present"
    coverage: CoverageRules = field(default_factory=CoverageRules)
    accepted: tuple[Accepted, ...] = ()
    overrides: tuple[Override, ...] = ()
    suppressions: Hygiene = field(default_factory=Hygiene)

    @property
    def tables(self) -> tuple[CellTable, ...]:
        """The policy's own cells, then those of each override."""
        return (self.cells, *(override.cells for override in self.overrides))

    @property
    def tags(self) -> frozenset[str]:
        """The engine's tags of the standard, cumulative."""
        return tags_of(self.standard, self.level)

    @property
    def named_rules(self) -> frozenset[str]:
        """Rules that the policy names and does not ignore everywhere: they must have been run."""
        return frozenset(row.removeprefix(RULE_ROW) for table in self.tables for (row, _), cell in table.items()
                         if row.startswith(RULE_ROW) and cell.action is not CellAction.IGNORE)

    @property
    def ignored_rules(self) -> frozenset[str]:
        """Rules that the policy ignores on every journey and names nowhere else: nobody needs their results."""
        ignored = [row.removeprefix(RULE_ROW) for (row, _), cell in self.cells.items()
                   if row.startswith(RULE_ROW) and cell.action is CellAction.IGNORE]
        return frozenset(rule for rule in ignored if ignored.count(rule) == len(JOURNEYS)) - self.named_rules

    @property
    def tolerated_parts(self) -> frozenset[str]:
        """What a scanned route may lack without making the run incomplete; see `schemas.converged.untested_parts`."""
        rules = {"untested_own_frames": self.coverage.untested_own_frames, "cut_results": self.coverage.cut_results}
        return frozenset(name for name, weight in rules.items() if weight != "incomplete")

    def kind_of(self, tags: Collection[str], *, is_violation: bool) -> str:
        """Say which part of the policy judges a finding: `violation`, `needs_review`, `best_practice` or `other`."""
        if not is_violation:
            return NEEDS_REVIEW
        if not self.tags.isdisjoint(tags):
            return "violation"
        return BEST_PRACTICE if BEST_PRACTICE_TAG in tags else OTHER

    def cell_for(
        self, kind: str, rule: str, impact: str | None, journey: str, overrides: Collection[int] = ()
    ) -> tuple[str, Cell]:
        """Find the cell that judges.

        A named rule goes before an impact, an override before the policy's own row; what needs review is never judged
        by a rule's row, since nobody knows yet whether the rule is broken.

        Args:
            kind: see `kind_of`. overrides: indexes of the overrides whose pattern matches the route.

        Returns:
            The cell's name for people, and the cell.
        """
        row = (impact or UNKNOWN_IMPACT) if kind == "violation" else kind
        rows = (row,) if kind == NEEDS_REVIEW else (RULE_ROW + rule, row)
        for wanted in rows:
            for index in sorted(overrides, reverse=True):
                override = self.overrides[index]
                if (wanted, journey) in override.cells:
                    return f"{wanted} on {journey}, {override.pattern.text}", override.cells[wanted, journey]
            if (wanted, journey) in self.cells:
                return f"{wanted} on {journey}", self.cells[wanted, journey]
        raise KeyError(row, journey)  # the policy's own table has every row

    def matching_overrides(self, route: str, *, is_case_folded: bool) -> tuple[int, ...]:
        """Return the indexes of the overrides that hold for a route, by its identity."""
        return tuple(i for i, override in enumerate(self.overrides)
                     if override.pattern.holds_for(route, is_case_folded=is_case_folded))

    def acceptance_of(self, route: str, outcome: OutcomeKind, now: str, *, is_case_folded: bool) -> Accepted | None:
        """Return the first entry that accepts the route in this outcome today, if one does."""
        return next((entry for entry in self.accepted if entry.outcome is outcome and not entry.is_expired(now)
                     and entry.pattern.holds_for(route, is_case_folded=is_case_folded)), None)

    def acceptance_for(self, route: str, now: str, *, is_case_folded: bool) -> Accepted | None:
        """Return the first entry in force for the route, in whatever outcome: what the plan writes beside it."""
        return next((entry for entry in self.accepted if not entry.is_expired(now)
                     and entry.pattern.holds_for(route, is_case_folded=is_case_folded)), None)


def default_policy() -> Policy:
    """Return the policy that holds when the user gives none."""
    return parse_policy({}, "default policy", None)


def parse_policy(document: object, subject: str, engine_rules: Collection[str] | None) -> Policy:
    """Read a policy.

    Args:
        document: parsed YAML or JSON. subject: its name in messages.
        engine_rules: ids of the engine's rules; None where they are not known (named rules are then not checked).

    Raises:
        ContractError: all offences: shape, unknown rules, patterns, a policy that gates nothing.
    """
    document = plain_dates({} if document is None else document)
    check_not_newer(document, POLICY_FORMAT, subject)
    offences = offences_in("policy", document, subject)
    if offences or not isinstance(document, dict):
        raise ContractError(offences)
    offences = [*_rule_offences(document, subject, engine_rules), *_pattern_offences(document, subject),
                *_unknown_offences(document, subject)]
    if offences:
        raise ContractError(offences)
    policy = _policy_of(document)
    if not policy.report_only and not _gates_anything(policy):
        raise ContractError([Offence(subject, "no cell blocks: the policy gates nothing",
                                     "at least one `block` or `block_new`", "Or say `report_only: true`.")])
    return policy


def plain_dates(value: object) -> Any:
    """Return a document with the dates that YAML makes of `2027-01-31` as text again."""
    if isinstance(value, date):
        return value.isoformat()[:10]
    if isinstance(value, Mapping):
        return {key: plain_dates(item) for key, item in value.items()}
    return [plain_dates(item) for item in value] if isinstance(value, list) else value


def unknown_rule(rule: str, where: str, engine_rules: Collection[str]) -> Offence:
    """Make the offence of a rule that the engine does not have, with the nearest ids first."""
    near = difflib.get_close_matches(rule, sorted(engine_rules), n=3)
    remedy = f"Did you mean {', '.join(f'`{match}`' for match in near)}?" if near else ""
    return Offence(where, f"`{rule}` is no rule of the engine", f"one of {', '.join(sorted(engine_rules))}", remedy)


def _policy_of(document: Mapping[str, Any]) -> Policy:
    plain = {name: document[name] for name in ("standard", "level", "report_only", "regression", "baseline")
             if name in document}
    return Policy(
        cells=default_cells() | cells_of(document), coverage=CoverageRules(**document.get("coverage", {})),
        accepted=tuple(Accepted(Pattern(entry["pattern"]), OutcomeKind(entry["outcome"]), entry["reason"],
                                entry["owner"], entry["until"]) for entry in document.get("accepted", [])),
        overrides=tuple(Override(Pattern(entry["pattern"]), cells_of(entry))
                        for entry in document.get("overrides", [])),
        suppressions=Hygiene(**document.get("suppressions", {})), **plain)


def _gates_anything(policy: Policy) -> bool:
    return any(cell.action.can_block for table in policy.tables for cell in table.values())


def _parts(document: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    yield "$", document
    for index, override in enumerate(document.get("overrides", [])):
        yield f"$.overrides[{index}]", override


def _rule_offences(document: Mapping[str, Any], subject: str, known: Collection[str] | None) -> Iterable[Offence]:
    for where, part in _parts(document):
        for rule in part.get("rules", {}):
            if known is not None and rule not in known:
                yield unknown_rule(rule, f"{subject}: {where}.rules", known)


def _pattern_offences(document: Mapping[str, Any], subject: str) -> Iterable[Offence]:
    for name in ("accepted", "overrides"):
        for index, entry in enumerate(document.get(name, [])):
            try:
                Pattern.parse(entry["pattern"], f"{subject}: $.{name}[{index}].pattern")
            except ContractError as error:
                yield from error.offences


def _unknown_offences(document: Mapping[str, Any], subject: str) -> Iterable[Offence]:
    for where, part in _parts(document):
        if any(cell.action is CellAction.IGNORE for (row, _), cell in cells_of(part).items() if row == UNKNOWN_IMPACT):
            yield Offence(f"{subject}: {where}.cells.unknown", "a finding without an impact cannot be ignored",
                          "block, block_new or warn", "The engine gave no impact: that says nothing about the harm.")
