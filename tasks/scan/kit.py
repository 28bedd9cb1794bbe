"""What every try of a shard works with.

Here: the record. Not here: making it (`visit.py`).
"""

from dataclasses import dataclass

from schemas.engine import EngineBuild
from schemas.settings import ScanSettings
from tasks.scan.access import Access
from tasks.scan.judge import Judge
from tasks.scan.script import EngineRun


@dataclass(frozen=True, slots=True)
class Kit:
    """Settings, engine, judge and access of a shard."""

    scan: ScanSettings
    engine: EngineBuild
    run: EngineRun
    judge: Judge
    access: Access
