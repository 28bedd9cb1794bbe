"""The id of a plan: what two plans have in common that scan the same routes in the same way.

Here: which parts count, and the digest. Not here: the plan (`schemas/plan.py`), reading it back (`tasks/freeze.py`).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schemas.occurrence import canonical_json
from schemas.record_table import parts_of
from schemas.shape import RUN_COLUMNS

PART_ROWS = 1_000
NOT_IN_PLAN_ID = ("plan_id", "run_id", "created_at", "source", "manifest_digest", "source_counts",
                  "source_settings", "last_full_run_id", "carried_from_run_id", "carried_date")


def plan_id_of(header: Mapping[str, Any], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return the SHA-256 of the canonical JSON of header and rows, without run id, dates, source and manifest digest.

    Args:
        header: as plain data. columns: see `id_columns`. rows: their values, in the plan's order.
    """
    kept = {name: value for name, value in header.items() if name not in NOT_IN_PLAN_ID}
    kept["warnings"] = ()  # they speak of how the routes came in, and one estate can come in many ways
    before, _, after = canonical_json({"header": kept, "columns": columns, "rows": []}).rpartition("[]")
    digest = hashlib.sha256(f"{before}[".encode())
    comma = ""
    for part in parts_of(rows, PART_ROWS):  # the text of a million rows would take a gigabyte
        digest.update(f"{comma}{canonical_json(part)[1:-1]}".encode())
        comma = ","
    digest.update(f"]{after}".encode())
    return digest.hexdigest()


def id_columns(names: Iterable[str]) -> list[str]:
    """Return the columns of a plan's rows that are part of its id, in their order."""
    return [name for name in names if name not in NOT_IN_PLAN_ID and name not in RUN_COLUMNS]
