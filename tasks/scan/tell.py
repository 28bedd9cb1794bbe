"""Tell whoever asked what a visit does, step by step.

Here: what is said of each step. Not here: who listens, and how it is shown (`explain.py`). A visit of a shard tells
nobody. The text is as the page has it: neither redacted nor fit for a terminal.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tasks.scan.judge import Judgement
from tasks.scan.records import Trace
from tasks.scan.report import Report

Tell = Callable[[str, str], None]  # a word for the step, and what is said of it


def tell_nobody(_step: str, _text: str) -> None:
    """Tell nobody."""


def tell_place(tell: Tell, step: str, trace: Trace, judgement: Judgement | None) -> None:
    """Say where the page is and what the judge makes of it."""
    seen = [trace.url or "nowhere", f"status {trace.status}", trace.content_type or "no media type"]
    verdict = "may be tested" if judgement is None else ": ".join(filter(None, (judgement.reason, judgement.detail)))
    tell(step, f"{', '.join(seen)}: {verdict}")


def tell_look(tell: Tell, look: Mapping[str, Any]) -> None:
    """Say what the last look at a page saw that was waited for."""
    if look:
        fonts = "fonts are there" if look["has_fonts"] else "fonts are on their way"
        frames = "frames are on their way" if look["has_late_frames"] else "no frame is on its way"
        tell("look", f"{look['changes']} changes since the first look, {fonts}, {frames}")


def tell_report(tell: Tell, report: Report) -> None:
    """Say what the engine tested and found."""
    tell("engine", f"axe-core {report.version} tested {report.tested_count} documents, {len(report.untested)} not")
    for frame in report.untested:
        tell("untested", f"{frame.address} ({frame.why})")
    counts = Counter(rule_class for _, rule_class, _, _ in report.rules)
    tell("rules", ", ".join(f"{count} {rule_class}" for rule_class, count in sorted(counts.items())))
    for rule, fault in report.failed:
        tell("failed", f"{rule}: {fault}")
