"""The details of every finding: example, markup, selector, routes; on pages that a browser opens at once.

Here: which finding is on which page. Not here: the list that leads there (`lists.py`), markup (`templates/`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from schemas.finding import Finding

PART_BYTES = 1_500_000
DETAILED_FINDINGS = 10_000
SHOWN_ROUTES = 100


@dataclass(frozen=True, slots=True)
class Details:
    """Articles by part, and where each finding is: its part, from 1, and its anchor."""

    parts: tuple[tuple[str, ...], ...]
    places: dict[tuple[str, bool], tuple[int, str]]
    cut_count: int


def lay_out_details(findings: Sequence[Finding], render: Callable[[Finding, str], str]) -> Details:
    """Render the details of findings, worst first, and cut them into parts.

    Args:
        render: makes the article of a finding with its anchor.
    """
    parts: list[list[str]] = [[]]
    places: dict[tuple[str, bool], tuple[int, str]] = {}
    size = 0
    for finding in findings[:DETAILED_FINDINGS]:
        anchor = f"f-{finding.fingerprint}" + ("" if finding.is_violation else "-review")
        article = render(finding, anchor)
        length = len(article.encode("utf-8", "replace"))
        if size + length > PART_BYTES and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(article)
        size += length
        places[finding.fingerprint, finding.is_violation] = (len(parts), anchor)
    return Details(tuple(map(tuple, parts)), places, max(0, len(findings) - DETAILED_FINDINGS))
