"""What an estate remembers of its runs: the newest, and the newest full one that was whole.

Here: the record of `latest.json`. Not here: reading and writing it (`tasks/publish.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LATEST_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Latest:
    """`latest.json`. The three that begin with `last_full` are null where no full run was whole.

    Attributes:
        created_at, last_full_created_at: when each was planned, ISO 8601; the second is empty where nobody knows.
        last_full_route_count: what `max_shrink` compares with.
    """

    run_id: str
    created_at: str
    last_full_run_id: str | None
    last_full_route_count: int | None
    last_full_created_at: str
    format_version: int = LATEST_FORMAT

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Latest":
        """Return a document that is known to keep `latest.schema.json`."""
        count = document["last_full_route_count"]
        return cls(document["run_id"], document["created_at"], document["last_full_run_id"],
                   None if count is None else int(count),
                   document.get("last_full_created_at", document["created_at"]))  # of before: no later than that run
