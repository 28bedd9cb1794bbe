"""Turn what a visit gathered into the records that are stored: outcome, occurrences, rule results.

Here: fitting, masking and redacting values. Not here: gathering (`visit.py`), stamping with shard and attempt
(`partial.py`).
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from schemas.occurrence import (
    HTML_CHARACTERS,
    Occurrence,
    RuleClass,
    RuleResult,
    canonical_json,
    criteria_of,
    fingerprint_of,
)
from schemas.outcome import RULE_FAILED, Outcome
from schemas.plan import PlannedRoute
from schemas.settings import ScanSettings
from tasks.scan.judge import Judgement
from tasks.scan.reasons import REASONS, stable_word
from tasks.scan.redact import Redactor, fit
from tasks.scan.report import Node, Report, UntestedFrame

DETAIL_CHARACTERS = 500
TITLE_CHARACTERS = 300
SUMMARY_CHARACTERS = 2_000
SHOWN_FRAMES = 20
QUOTING_REASONS = ("expect_title", RULE_FAILED, "frame_untested", "results_cut", "engine_failed", "behind_modal")
QUOTED = re.compile(r"""(["'])(?:\\.|(?!\1).)*\1""", re.DOTALL)
MASK = "•"


@dataclass(slots=True)
class Trace:
    """What one try gathered so far; filled as the visit goes on.

    `launch_wait_ms`: spent on launching the browser for all; no route's own time. `acted_at`: where the steps of the
    manifest were taken. `loaded_url`: what the document was loaded from.
    """

    phase: str = "opening"
    url: str | None = None
    loaded_url: str | None = None
    status: int | None = None
    content_type: str | None = None
    title: str | None = None
    settled_by: str | None = None
    report: Report | None = None
    times_ms: dict[str, int] = field(default_factory=dict)
    total_ms: int = 0
    launch_wait_ms: int = 0
    retry_after: float | None = None
    acted_at: str | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """What the tries of one route add up to."""

    visit_count: int
    burned_ms: int
    in_flight: int
    started_at: str
    ended_at: str


class RecordMaker:
    """Makes records under the settings of a plan; nothing secret and nothing that no file holds leaves it."""

    def __init__(self, scan: ScanSettings, redact: Redactor) -> None:
        self._evidence = scan.evidence
        self._redact = redact

    def outcome(self, route: PlannedRoute, trace: Trace, judgement: Judgement, tally: Tally) -> Outcome:
        """Make the outcome of a route from its last try."""
        reason = REASONS[judgement.reason]
        report = trace.report if reason.outcome.was_scanned else None
        untested = tuple(report.untested) if report else ()
        return Outcome(
            task_id=route.task_id, route=route.route, auth=route.auth, url=route.url, journey=route.journey,
            priority=route.priority, owner=route.owner, tags=route.tags, shard_index=route.shard_index,
            outcome=reason.outcome, reason=stable_word(judgement.reason, trace.status),
            detail=self._detail(judgement), how_to_fix=reason.how_to_fix,
            visit_count=tally.visit_count, status=trace.status, final_url=self._text(trace.url, 4_000),
            redirected_to=judgement.redirected_to, content_type=self._text(trace.content_type, 200),
            title=self._title(trace.title), settled_by=trace.settled_by,
            launch_ms=trace.times_ms.get("launch"), navigate_ms=trace.times_ms.get("navigating"),
            settle_ms=trace.times_ms.get("settling"), engine_ms=trace.times_ms.get("testing"),
            scan_ms=trace.total_ms if report else None, burned_ms=tally.burned_ms, in_flight=tally.in_flight,
            frames_tested=report.tested_count if report else 0, frames_untested=len(untested),
            untested_frames=tuple(self._shown_frame(frame) for frame in untested[:SHOWN_FRAMES]),
            is_cut=report is not None and (report.is_cut or bool(report.failed)),
            has_untested_own_frame=any(_is_own(frame, trace.url or route.url) for frame in untested)
            or (report is not None and bool(report.hidden or report.modal)),
            excluded_count=report.excluded_count if report else None,
            excluded_by=tuple(report.excluded_by) if report else None,
            violation_count=_node_count(report, RuleClass.VIOLATION),
            needs_review_count=_node_count(report, RuleClass.INCOMPLETE),
            engine_version=report.version if report else None,
            started_at=tally.started_at, ended_at=tally.ended_at,
        )

    def occurrences(self, route: PlannedRoute, report: Report) -> list[Occurrence]:
        """Make an occurrence of every kept node."""
        return [self._occurrence(route, node, report.found.get(node.rule, {})) for node in report.nodes]

    def rule_results(self, route: PlannedRoute, report: Report) -> list[RuleResult]:
        """Make a row for every class that a rule has on the page."""
        return [
            RuleResult(route.task_id, route.route, route.auth, route.shard_index, 0, "", 0, rule,
                       RuleClass(rule_class), impact, count)
            for rule, rule_class, impact, count in report.rules
        ]

    def _occurrence(self, route: PlannedRoute, node: Node, rule: Any) -> Occurrence:
        target = _each_text(node.target, self._selector)
        path = _each_text(node.path, _clean)
        tags = tuple(rule.get("tags", ()))
        summary = self._redact(node.summary)
        return Occurrence(
            task_id=route.task_id, route=route.route, auth=route.auth, shard_index=route.shard_index, attempt=0,
            attempt_name="", triple_number=0, rule=node.rule, impact=node.impact, is_violation=node.is_violation,
            target=canonical_json(target), target_text=readable_target(target),
            path=canonical_json(_each_text(path, self._redact)) if self._evidence == "full" else _digest(
                canonical_json(path)),
            fingerprint=fingerprint_of(node.rule, path),
            html=fit(self._redact(node.html), HTML_CHARACTERS) or "" if self._evidence != "none" else "",
            failure_summary=fit(summary if self._evidence == "full" else _masked(summary), SUMMARY_CHARACTERS) or "",
            tags=tags, criteria=criteria_of(tags), help=rule.get("help", ""), help_url=rule.get("help_url", ""),
        )

    def _selector(self, text: str) -> str:
        shown = self._redact(_clean(text))
        return shown if self._evidence == "full" else _masked(shown)

    def _title(self, title: str | None) -> str | None:
        if title is not None and self._evidence != "full":
            return MASK if title.strip() else ""
        return self._text(title, TITLE_CHARACTERS)

    def _detail(self, judgement: Judgement) -> str | None:
        """A title that was not expected is quoted text of the page; a failed rule's message may quote the page."""
        detail = judgement.detail
        if detail is not None and self._evidence != "full" and judgement.reason in QUOTING_REASONS:
            detail = _masked(detail)
        return self._text(detail, DETAIL_CHARACTERS)

    def _text(self, text: str | None, limit: int) -> str | None:
        return None if text is None else fit(self._redact(text), limit)

    def _shown_frame(self, frame: UntestedFrame) -> str:
        return f"{self._text(frame.address, 500)} ({self._text(frame.why, 120)})"


def readable_target(target: Sequence[Any]) -> str:
    """Return a target in readable form: frames apart by `|`, shadow roots by `>>`."""
    return " | ".join(part if isinstance(part, str) else " >> ".join(map(str, part)) for part in target)


def judgement_of(report: Report) -> Judgement:
    """Judge a report: tested in full, or not, and what the rules themselves got wrong."""
    faults = [f"rule {rule} failed: {fault}" for rule, fault in report.failed]
    if report.untested:
        shown = "; ".join(f"{fit(frame.address, 100)} ({frame.why})" for frame in report.untested[:3])
        faults.append(f"{len(report.untested)} untested: {shown}")
    if report.failed:
        return Judgement(RULE_FAILED, "; ".join(faults))
    if report.modal:
        return Judgement("behind_modal", "; ".join([f"only {report.modal} was tested", *faults]))
    if report.untested:
        return Judgement("frame_untested", "; ".join(faults))
    if report.hidden:
        return Judgement("form_hidden", f"a field named {', '.join(report.hidden)}")
    if report.is_cut:
        return Judgement("results_cut", "only part of the faulty nodes is kept")
    return Judgement("tested")


def _node_count(report: Report | None, rule_class: RuleClass) -> int:
    return sum(count for _, name, _, count in report.rules if name == rule_class) if report else 0


def _is_own(frame: UntestedFrame, page_url: str) -> bool:
    one, page = urlsplit(frame.address), urlsplit(page_url)
    if one.scheme not in ("http", "https"):
        return True  # `about:`, `blob:` and `data:` come from the page itself
    return (one.scheme, one.netloc) == (page.scheme, page.netloc)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _each_text(item, change) for key, item in value.items()}
    return [_each_text(item, change) for item in value] if isinstance(value, list) else value


def _clean(text: str) -> str:
    return fit(text, 100_000) or ""


def _masked(text: str) -> str:
    return QUOTED.sub(f'"{MASK}"', text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

