"""Where things lie in the store: every key in one place.

Here: names of files and folders, relative to the store's root, and the check of ids that become paths.
Not here: opening any of them (`tasks/store.py`).
"""

import re
from dataclasses import dataclass

from schemas.errors import Offence

ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ATTEMPT_PATTERN = re.compile(r"attempt-(\d{1,6})-([0-9a-f]{8})")
TRIPLE_KINDS = ("occurrences", "rule_results", "outcomes")  # outcomes last: it commits the other two


def id_offence(value: str, subject: str) -> Offence | None:
    """Say what is wrong with an id that becomes a path, if anything is."""
    if ID_PATTERN.fullmatch(value):
        return None
    return Offence(subject, f"{value!r} cannot be a name in the store",
                   "1 to 64 letters, digits, `.`, `_` or `-`, a letter or digit first")


@dataclass(frozen=True, slots=True)
class EstateLayout:
    """Keys of one estate."""

    estate: str

    @property
    def root(self) -> str:
        return self.estate

    @property
    def runs(self) -> str:
        return f"{self.estate}/runs"

    @property
    def latest(self) -> str:
        return f"{self.estate}/latest.json"

    @property
    def baseline(self) -> str:
        return f"{self.estate}/baseline.json"

    @property
    def history(self) -> str:
        return f"{self.estate}/history"

    def history_of(self, run_id: str) -> str:
        return f"{self.history}/{run_id}.parquet"

    @property
    def timings(self) -> str:
        return f"{self.estate}/timings.parquet"

    def run(self, run_id: str) -> "RunLayout":
        return RunLayout(self.estate, run_id)


@dataclass(frozen=True, slots=True)
class RunLayout:
    """Keys of one run."""

    estate: str
    run_id: str

    @property
    def root(self) -> str:
        return f"{self.estate}/runs/{self.run_id}"

    def file(self, name: str) -> str:
        """Key of a file of the run folder (`plan.json`, `outcomes.parquet`)."""
        return f"{self.root}/{name}"

    def shard(self, shard_index: int) -> str:
        return f"{self.root}/partials/shard-{shard_index:04d}"

    def attempt(self, shard_index: int, attempt_name: str) -> str:
        return f"{self.shard(shard_index)}/{attempt_name}"

    def receipt(self, shard_index: int, attempt_name: str) -> str:
        return f"{self.attempt(shard_index, attempt_name)}/receipt.json"

    def triple(self, shard_index: int, attempt_name: str, kind: str, number: int) -> str:
        return f"{self.attempt(shard_index, attempt_name)}/{kind}-{number:04d}.parquet"
