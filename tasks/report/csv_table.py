"""Findings and routes as CSV: UTF-8 with a byte order mark, for spreadsheets, and no cell that is a formula.

Here: columns and parts. A file that would be too large for a mailbox is cut into numbered parts, none is left out.
Not here: the complete data (Parquet).
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from schemas.report_material import ReportMaterial
from tasks.report.inert import csv_cell

PART_BYTES = 4_000_000
FINDING_COLUMNS = (
    "fingerprint", "rule", "impact", "is_violation", "journey", "decision", "standing", "route_count",
    "occurrence_count", "owners", "criteria", "help", "help_url", "example_route", "example_target", "example_html",
    "failure_summary", "suppressed_by", "suppressed_until", "suppressed_count")
ROUTE_COLUMNS = (
    "route", "auth", "url", "journey", "priority", "owner", "tags", "shard_index", "outcome", "reason", "detail",
    "how_to_fix", "status", "final_url", "title", "violation_count", "needs_review_count", "scan_ms", "is_accepted",
    "carried_from_run_id")
MARK = b"\xef\xbb\xbf"


def csv_files(material: ReportMaterial) -> dict[str, bytes]:
    """Return `findings.csv` and `routes.csv`, and further parts (`routes-2.csv`) where one would be too large."""
    return {
        **_parts("findings", FINDING_COLUMNS, material.verdict.findings),
        **_parts("routes", ROUTE_COLUMNS, material.outcomes),
    }


def _parts(name: str, columns: Sequence[str], records: Iterable[object]) -> Mapping[str, bytes]:
    header = _line(columns)
    parts: list[list[bytes]] = [[]]
    size = 0
    for record in records:
        line = _line([csv_cell(_joined(getattr(record, column))) for column in columns])
        if size + len(line) > PART_BYTES and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += len(line)
    return {f"{name}.csv" if number == 1 else f"{name}-{number}.csv": MARK + header + b"".join(lines)
            for number, lines in enumerate(parts, 1)}


def _joined(value: object) -> object:
    return " ".join(map(str, value)) if isinstance(value, tuple) else value


def _line(cells: Sequence[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().encode("utf-8")
