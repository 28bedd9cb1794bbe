"""The verdict as Markdown, for the summary of a CI job: short, and inert.

Here: what fits a job's page. Not here: everything else (the HTML report, Parquet).
"""

from collections.abc import Iterable, Iterator, Sequence

from schemas.plural import plural
from schemas.report_material import ReportMaterial
from schemas.verdict import Reason
from tasks.report.facts import best_repairs, cell_rows, owed_routes
from tasks.report.inert import markdown_text as inert

SHOWN_LETTERS = 20
SHOWN_REASONS = 50
SHOWN_CELLS = 60


def summary_md(material: ReportMaterial) -> bytes:
    """Return `summary.md`: verdict, reasons, coverage, cells, best repairs, dead letters."""
    verdict, header = material.verdict, material.plan.header
    coverage = verdict.coverage
    lines = [
        f"# {inert(material.first_line, 600)}", "",
        f"Estate {inert(header.estate)}, run {inert(header.run_id)}, {inert(header.scope)} scope, "
        f"planned {inert(header.created_at)}.", "",
        *_reasons("Reasons", verdict.reasons), *_reasons("Warnings", verdict.warnings),
        "## Coverage", "",
        f"{coverage.covered_count} of {plural(coverage.in_scope_count, 'route')} covered, "
        f"{coverage.scanned_count} scanned.", "",
        *_table(("outcome", "routes"), sorted(coverage.by_outcome.items())), "",
        "## Findings", "",
        f"{plural(verdict.finding_count, 'finding')}, {plural(verdict.occurrence_count, 'occurrence')}, "
        f"{plural(verdict.suppressed_count, 'occurrence')} suppressed.", "",
        *_table(("what", "journey", "action", "findings", "occurrences", "used"), _cells(material)), "",
        *_repairs(material), *_letters(material),
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _reasons(title: str, reasons: Sequence[Reason]) -> Iterator[str]:
    if reasons:
        yield from (f"## {title}", "")
        yield from (f"- **{inert(reason.decision.value)}** {inert(reason.text, 500)}"
                    for reason in reasons[:SHOWN_REASONS])
        if len(reasons) > SHOWN_REASONS:
            yield f"- … and {len(reasons) - SHOWN_REASONS} more"
        yield ""


def _cells(material: ReportMaterial) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        (row.name, journey, cell.action, cell.finding_count, cell.occurrence_count, cell.text)
        for row in cell_rows(material) for journey, cell in sorted(row.by_journey.items())]
    return rows[:SHOWN_CELLS]


def _repairs(material: ReportMaterial) -> Iterator[str]:
    repairs = best_repairs(material)
    if repairs:
        yield from ("## Repairs that pay most", "")
        yield from _table(("rule", "impact", "routes made clean", "routes", "occurrences", "first on"), [
            (repair.finding.rule, repair.finding.impact or "unknown", repair.clean_count, repair.finding.route_count,
             repair.finding.occurrence_count, repair.finding.example_route) for repair in repairs])
        yield ""


def _letters(material: ReportMaterial) -> Iterator[str]:
    owed = owed_routes(material)
    if owed:
        yield from (f"## Dead letters ({len(owed)})", "")
        yield from _table(("route", "outcome", "reason", "how to fix"), [
            (row.route, row.outcome.value, row.reason, row.how_to_fix or "") for row in owed[:SHOWN_LETTERS]])
        if len(owed) > SHOWN_LETTERS:
            yield from ("", f"… and {len(owed) - SHOWN_LETTERS} more.")
        yield ""


def _table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"
    for row in rows:
        yield f"| {' | '.join(inert(str(cell), 200) for cell in row)} |"
