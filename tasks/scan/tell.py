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


def tell_context(tell: Tell, options: Mapping[str, Any]) -> None:
    """Say in what surroundings a page is visited; of a profile's state only that there is one."""
    size = "×".join(map(str, options["viewport"].values()))
    state = ["storage_state of the profile"] if "storage_state" in options else []
    others = [f"{name} {value}" for name, value in options.items() if name not in ("viewport", "storage_state")]
    tell("context", ", ".join([f"viewport {size}", *others, *state]))


def tell_place(tell: Tell, step: str, trace: Trace, judgement: Judgement | None) -> None:
    """Say where the page is and what the judge makes of it."""
    answer = f"status {trace.status}, {trace.content_type or 'no media type'}"
    tell(step, f"{trace.url or 'nowhere'} ({answer}): {'may be tested' if judgement is None else judgement.reason}")


def tell_look(tell: Tell, look: Mapping[str, Any]) -> None:
    """Say what the last look at a page saw that was waited for."""
    if look:
        fonts = "fonts are there" if look["has_fonts"] else "fonts are on their way"
        frames = "frames are on their way" if look["has_late_frames"] else "no frame is on its way"
        content = "" if look["has_content"] else ", nothing can be seen"
        tell("look", f"{look['changes']} changes since the first look, {fonts}, {frames}{content}")


def tell_report(tell: Tell, report: Report) -> None:
    """Say what the engine tested and found."""
    tell("tested", f"{report.tested_count} documents by axe-core {report.version}, {len(report.untested)} not tested")
    for frame in report.untested:
        tell("untested", f"{frame.address} ({frame.why})")
    counts = Counter(rule_class for _, rule_class, _, _ in report.rules)
    tell("rules", ", ".join(f"{count} {rule_class}" for rule_class, count in sorted(counts.items())))
    for rule, _ in report.failed:  # what it says may quote the page; the outcome's detail has it, masked where need be
        tell("failed", rule)
