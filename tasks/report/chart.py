"""Plots as plain shapes: what stands where, in units of the drawing.

Here: geometry. Not here: colours and markup (templates), the numbers themselves (`facts.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.outcome import OutcomeKind
from schemas.report_material import ReportMaterial
from tasks.report.facts import ShardFact
from tasks.report.lists import runs_of

WIDTH = 1000.0
HEIGHT = 160.0
WIDEST = 36.0
LEAST = 4.0  # an outcome of one route in 40 000 can be seen
SHOWN_RUNS = 60


@dataclass(frozen=True, slots=True)
class Slice:
    """One outcome in the coverage bar."""

    kind: str
    count: int
    share: float
    x: float
    width: float
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; `y` is its top. `title` is for people who point at it."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str


def slice_coverage(material: ReportMaterial) -> list[Slice]:
    """Return the coverage bar: every outcome that occurs, settled ones first, none invisible."""
    counts = [(kind, material.verdict.coverage.by_outcome.get(kind.value, 0)) for kind in OutcomeKind]
    counts = [(kind, count) for kind, count in counts if count]
    whole = sum(count for _, count in counts)
    widths = [max(LEAST, WIDTH * count / whole) for _, count in counts]
    scale = WIDTH / sum(widths) if widths else 1.0
    slices, x = [], 0.0
    for (kind, count), width in zip(counts, widths, strict=True):
        slices.append(Slice(kind.value, count, count / whole, round(x, 2), round(width * scale, 2), kind.is_settled))
        x += width * scale
    return slices


def draw_shards(facts: Sequence[ShardFact]) -> list[Bar]:
    """Return two bars for each shard: planned load behind, actual load in front."""
    top = max([1, *(max(fact.planned_ms, fact.actual_ms or 0) for fact in facts)])
    step = WIDTH / max(1, len(facts))
    width = min(step * 0.4, WIDEST)
    bars = []
    for index, fact in enumerate(facts):
        middle = step * (index + 0.5)
        for kind, value, x in (("planned", fact.planned_ms, middle - width), ("actual", fact.actual_ms, middle)):
            if value is not None:
                height = HEIGHT * value / top
                bars.append(Bar(round(x, 2), round(HEIGHT - height, 2), round(width, 2), round(height, 2), kind,
                                f"shard {fact.shard_index}, {kind}: {value / 1000:.1f} s"))
    return bars


def draw_trend(material: ReportMaterial) -> list[Bar]:
    """Return a stack for each run: findings that block below, others above."""
    runs = runs_of(material)[-SHOWN_RUNS:]
    top = max([1, *(run.finding_count for run in runs)])
    step = WIDTH / max(12, len(runs))
    bars = []
    for index, run in enumerate(runs):
        floor = HEIGHT
        blocking = run.decisions.get("block", 0)
        for kind, value in (("block", blocking), ("other", run.finding_count - blocking)):
            height = HEIGHT * value / top
            floor -= height
            bars.append(Bar(round(step * (index + 0.2), 2), round(floor, 2), round(step * 0.6, 2), round(height, 2),
                            kind, f"{run.provenance.get('run_id', '')}: {value} {kind} ({run.kind.value})"))
    return bars
