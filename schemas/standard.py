"""Standards and levels, in the engine's tags (axe-core, "Axe-core Tags").

Here: which tags make a standard. Not here: which rules carry them (`schemas/engine.py`), what a violation does
(`schemas/policy.py`).
"""

from collections.abc import Collection
from functools import cache

LEVELS = ("A", "AA", "AAA")
WCAG_VERSIONS = {"wcag20": ("wcag2",), "wcag21": ("wcag2", "wcag21"), "wcag22": ("wcag2", "wcag21", "wcag22")}
OTHER_STANDARDS = {"en-301-549": "EN-301-549", "section508": "section508"}
BEST_PRACTICE_TAG = "best-practice"
# A rule that its makers still try out, or have given up, is judged where it ran, and never asked for.
NEVER_NEEDED_TAGS = frozenset({"experimental", "deprecated"})


@cache  # asked once for each sighting
def tags_of(standard: str, level: str) -> frozenset[str]:
    """Return the tags of a standard, cumulative over WCAG versions and levels.

    Args:
        standard: `wcag20`, `wcag21`, `wcag22`, `en-301-549` or `section508`.
        level: `A`, `AA` or `AAA`; only WCAG has levels.
    """
    if standard in OTHER_STANDARDS:
        return frozenset({OTHER_STANDARDS[standard]})
    levels = LEVELS[:LEVELS.index(level) + 1]
    return frozenset(version + name.lower() for version in WCAG_VERSIONS[standard] for name in levels)


def is_needed(rule_tags: Collection[str], wanted: Collection[str]) -> bool:
    """Whether a rule with these tags must have been run for a claim about the wanted ones."""
    return not NEVER_NEEDED_TAGS.intersection(rule_tags) and not frozenset(wanted).isdisjoint(rule_tags)
