"""The estate after normalization: the routes, and what became of every other address of the manifest.

Here: the record. Not here: making it (`tasks/normalize.py`). Next: the plan (`tasks/plan/`).
"""

from dataclasses import dataclass

from schemas.plan import Excluded
from schemas.route import Route


@dataclass(frozen=True, slots=True)
class Normalized:
    """Routes and exclusions of a manifest.

    Attributes:
        routes: unique by key, in order of first appearance.
        excluded: unique by address, in order of first appearance.
        warnings: what a person should know, one sentence each.
        match_counts: each exclude pattern with the number of routes that it matches, in order of the settings.
    """

    routes: tuple[Route, ...]
    excluded: tuple[Excluded, ...] = ()
    warnings: tuple[str, ...] = ()
    match_counts: tuple[tuple[str, int], ...] = ()
