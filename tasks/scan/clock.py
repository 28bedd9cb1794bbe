"""The clock of whoever scans: the time as records and receipts write it.

Here: reading it. Not here: durations (a monotonic clock), and nothing that a pure stage may import.
"""

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the time as ISO 8601 in UTC, to milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
