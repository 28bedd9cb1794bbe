"""What every try of a shard works with.

Here: the record. Not here: making it (`visit.py`).
"""

from dataclasses import dataclass

from schemas.engine import EngineBuild
from schemas.exclusion import selectors_for
from schemas.settings import ScanSettings
from tasks.scan.access import Access
from tasks.scan.judge import Judge
from tasks.scan.script import EngineRun
from tasks.scan.tell import Tell, tell_nobody


@dataclass(frozen=True, slots=True)
class Kit:
    """Settings, engine, judge and access of a shard.

    Attributes:
        is_case_folded: identities have their paths in lower case.
        tell: is told what a visit does.
    """

    scan: ScanSettings
    engine: EngineBuild
    run: EngineRun
    judge: Judge
    access: Access
    is_case_folded: bool = False
    tell: Tell = tell_nobody

    def run_for(self, route: str) -> EngineRun:
        """Return the run of the engine on a route: some elements may be left out there."""
        return self.run.without(selectors_for(self.scan, route, is_case_folded=self.is_case_folded))
