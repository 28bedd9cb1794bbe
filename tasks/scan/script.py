"""The script that goes into every document: the engine and ours, with options and limits.

Here: putting it together once for all visits. Not here: what it does there (`engine.js`, `path.js`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from schemas.occurrence import HTML_CHARACTERS
from schemas.settings import ScanSettings

PART_CHARACTERS = 24_000_000
NODE_LIMIT = 5_000
NODES_PER_RULE = 1_000

# Timers do not fire where scripting is off, and the engine needs only short ones.
SHORT_TIMERS = """(() => { const slow = globalThis.setTimeout; globalThis.setTimeout = (call, delay, ...rest) => {
if (delay > 1) return slow(call, delay, ...rest); queueMicrotask(() => call(...rest)); return 0; }; })();"""


@dataclass(frozen=True, slots=True)
class EngineRun:
    """The engine as it is put into a page: its source with our scripts, options and limits as literals."""

    source: str
    options: str
    limits: str

    @classmethod
    def prepare(cls, engine_source: str, options: str, scan: ScanSettings) -> "EngineRun":
        """Make the script of an engine's source and the settings."""
        limits = {
            "nodes": NODE_LIMIT, "nodesPerRule": NODES_PER_RULE, "partial": PART_CHARACTERS,
            "html": 0 if scan.evidence == "none" else HTML_CHARACTERS, "isMasked": scan.evidence != "full",
            "excluded": [],
        }
        return cls("\n;".join((SHORT_TIMERS, engine_source, *_scripts())), options, json.dumps(limits))

    def without(self, selectors: Sequence[str]) -> "EngineRun":
        """Return the run that leaves out what matches the selectors."""
        if not selectors:
            return self
        return replace(self, limits=json.dumps({**json.loads(self.limits), "excluded": selectors}))

    def call(self, name: str, *arguments: object) -> str:
        """Return an expression that calls one of our functions with options and limits behind the arguments."""
        written = [json.dumps(argument) for argument in arguments]
        return f"fanfold.{name}({', '.join([*written, self.options, self.limits])})"


@cache
def _scripts() -> tuple[str, ...]:
    folder = files("tasks.scan")
    return tuple((folder / name).read_text("utf-8") for name in ("still.js", "content.js", "path.js", "engine.js"))
