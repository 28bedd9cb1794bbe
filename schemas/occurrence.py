"""One (route, rule, target), and which rules ran on a route at all.

Here: the records and the fingerprint that makes one finding of many occurrences. Not here: how ingredients are read
from a page (`tasks/scan/engine.js`).
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

FINGERPRINT_VERSION = 1
HTML_CHARACTERS = 1_000


class RuleClass(StrEnum):
    """The engine's four classes of a rule on a page."""

    VIOLATION = "violation"
    INCOMPLETE = "incomplete"
    PASS = "pass"  # noqa: S105 - the engine's word
    INAPPLICABLE = "inapplicable"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One row of `occurrences.parquet`; the file's columns are `estate`, `run_id`, `run_date` and these.

    Attributes:
        impact: `minor` to `critical`, or None where the engine gives none.
        target: canonical JSON of the engine's target (a list; frames outermost first, shadow roots as inner lists).
        target_text: the same in readable form.
        path: canonical JSON of the ingredients of the fingerprint, or their hash where evidence is masked.
        fingerprint: 16 hex digits, without the route: see `fingerprint_of`.
        html: the node's own markup, at most `HTML_CHARACTERS`.
        is_violation: False for an item that needs review.
    """

    task_id: str
    route: str
    auth: str | None
    shard_index: int
    attempt: int
    attempt_name: str
    triple_number: int
    rule: str
    impact: str | None
    is_violation: bool
    target: str
    target_text: str
    path: str
    fingerprint: str
    html: str
    failure_summary: str
    tags: tuple[str, ...]
    criteria: tuple[str, ...]
    help: str
    help_url: str


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One row of `rule_results.parquet`: without it nobody can tell a rule that passed from one that never ran."""

    task_id: str
    route: str
    auth: str | None
    shard_index: int
    attempt: int
    attempt_name: str
    triple_number: int
    rule: str
    rule_class: RuleClass
    impact: str | None
    node_count: int


def canonical_json(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN, text unescaped."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def fingerprint_of(rule: str, path: Sequence[object]) -> str:
    """Return the fingerprint (v1) of a node that breaks a rule, the same on every page of one template.

    Args:
        rule: the engine's rule id.
        path: ingredients per document or shadow root, outermost first; see `tasks/scan/engine.js`.

    Returns:
        First 16 hex digits of the SHA-256 of the canonical JSON of version, rule and path.
    """
    recipe = canonical_json([FINGERPRINT_VERSION, rule, list(path)])
    return hashlib.sha256(recipe.encode()).hexdigest()[:16]


def criteria_of(tags: Sequence[str]) -> tuple[str, ...]:
    """Return WCAG success criteria from the engine's tags: `wcag143` is `1.4.3`, `wcag1410` is `1.4.10`."""
    digits = (tag[4:] for tag in tags if tag.startswith("wcag") and tag[4:].isdigit() and len(tag) >= 7)
    return tuple(sorted(f"{d[0]}.{d[1]}.{d[2:]}" for d in digits))
