"""One good document for each schema: complete, so that every rule of the schema has something to break.

Here: documents that people write, by hand; those that the program writes, by its own records. Not here: assertions.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from schemas.baseline import Baseline, KnownFinding, to_baseline_text
from schemas.converged import DeadLetter
from schemas.evidence import Quarantined
from schemas.finding import Decision, Finding, Standing
from schemas.history import Sample
from schemas.latest import Latest
from schemas.manifest import SourceCount, SourceFailure
from schemas.outcome import Outcome, OutcomeKind
from schemas.plan import Excluded
from schemas.rule_row import RuleRow
from schemas.settings import Exclusion, ScanSettings
from schemas.shape import row_of
from schemas.shard_fault import ShardFault
from schemas.verdict import (
    CellCount,
    Coverage,
    ExitCode,
    GroupCoverage,
    Reason,
    Regression,
    SuppressionUse,
    Verdict,
    VerdictKind,
    Weight,
    to_document,
)
from tasks.learn import fold_timings, timing_rows
from tests.small_estate import RUN, occurrence, outcome, plan_of, receipt, results, route

ROUTE = route("/a", auth="staff", aliases=("https://e.test/A",), tags=("t",), ready="#r", expect_status=200,
              expect_url="https://e.test/a", expect_title="T", expect_selector="main", accepted_outcome="timed_out",
              accepted_reason="known", carried_from_run_id="r0", carried_date="2026-11-29", ready_when="app.done",
              actions='[{"dismiss":"#c"},{"fill":"#q","value":"x"}]')
PLAN = plan_of(ROUTE, warnings=("w",), excluded=(Excluded("https://e.test/x", "glob:/x"),), last_full_run_id="r0",
               last_full_route_count=1, source_failures=(SourceFailure("https://e.test/s.xml", "is empty"),),
               source_counts=(SourceCount("https://e.test/t.xml", 1),), source_settings={"scan.hosts": ["cdn.test"]},
               scan=ScanSettings(exclude_elements=(Exclusion("#chat", ("glob:/a/**",), "not ours"),)))
OUTCOME: Outcome = replace(
    outcome(ROUTE), detail="d", how_to_fix="h", redirected_to=ROUTE.task_id, content_type="text/html", title="T",
    settled_by="quiet", launch_ms=1, navigate_ms=2, settle_ms=3, engine_ms=4, scan_ms=10, burned_ms=10, in_flight=1,
    frames_tested=1, frames_untested=1, untested_frames=("https://f.test/",), excluded_count=1, excluded_by=("#chat",),
    engine_version="4.12.1",
    started_at="2026-11-30T08:00:00.500Z", ended_at="2026-11-30T08:00:01Z", accepted_by="known (web)",
    carried_from_run_id="r0", carried_date="2026-11-29")
SAMPLE = Sample(ROUTE.task_id, ROUTE.route, "staff", "r1", "2026-11-30T08:00:01.250Z", 900, 1_000, 2, "4.12.1")
FAILED = replace(SAMPLE, run_id="r2", scan_ms=None, ended_at="2026-11-30T09:00:00Z")
FINDING = Finding(
    "0123456789abcdef", "image-alt", "critical", True, "primary", 3, 2, ("https://e.test/a as staff",), ("web",),
    "https://e.test/a", "img", "<img>", "Fix it", '[["img"]]', ("wcag2a",), ("1.1.1",), "Say it", "https://help.test",
    Decision.BLOCK, Standing.NEW, "agreed (web)", "2027-01-31", 2, ("https://e.test/b",))
LETTER = DeadLetter(ROUTE.task_id, ROUTE.route, "staff", ROUTE.url, "web", 0, 1, "attempt-1-00000001", 1,
                    OutcomeKind.TIMED_OUT, "deadline", "d", "h", 200, ROUTE.url, is_accepted=False)
QUARANTINED = Quarantined(0, "outcomes", "shop/runs/r1/x.parquet", "title is longer than 300", "3", ROUTE.task_id, "{}")
RESULT = replace(results(ROUTE)[0], impact="critical")

# A row schema, the record that it is held against, and what builds that record.
RECORDS: Mapping[str, object] = {
    "outcome": OUTCOME, "occurrence": occurrence(ROUTE), "rule_result": RESULT, "plan_route": ROUTE, "sample": SAMPLE,
    "finding": FINDING, "dead_letter": LETTER, "quarantine": QUARANTINED,
    "rule": RuleRow("image-alt", True, ("wcag2a", "wcag111"), ("1.1.1",), "Images have text"),
}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _verdict() -> Any:
    reason = Reason.of(Weight.BLOCK, "cell_over_limit", "Mend it.", ["https://e.test/a"])
    verdict = Verdict(
        VerdictKind.BLOCKED, ExitCode.BLOCKED, "Blocked", is_report_only=False, summary="Blocked.", reasons=(reason,),
        warnings=(replace(reason, decision=Weight.WARN),),
        coverage=Coverage(1, 1, 1, 1, 0, {"scanned": 1}, {"timed_out/deadline": 1}, (GroupCoverage("host", "e.test",
                                                                                                   1, 0),)),
        cells=(CellCount("critical on primary", "violation", "critical", "primary", "block", 1, 1, 1, 0),),
        decisions={"block": 1}, finding_count=1, occurrence_count=1, suppressed_count=0,
        regression=Regression(1, 1, 0, 0, 0, 0, 0, 0, ("https://e.test/b",), "r0", "2026-11-29"),
        suppressions=(SuppressionUse("region", "glob:/a", "main", "agreed", "web", "T-1", "2027-01-31", False, 0),),
        provenance={"plan_id": "x"}, shard_faults=(ShardFault(0, "shard-0000 of 1: Refused: x"),))
    return to_document(verdict, tables={"outcomes": {"digest": "d", "row_count": 1}},
                       receipts={"0": "attempt-1-00000001"})


def _baseline() -> Any:
    import json

    known = KnownFinding("0123456789abcdef", True, "image-alt", "critical", {ROUTE.task_id: 2})
    return json.loads(to_baseline_text(Baseline(
        "shop", "r1", "2026-11-30", {"path_case": "keep"}, 1, "4.12.1", "e" * 64, frozenset({"image-alt"}),
        {ROUTE.task_id: ROUTE.route}, (known,), frozenset({"#chat on glob:/a/**"}))))


MANIFEST = {
    "$schema": "manifest.schema.json", "format_version": 1, "estate": "shop", "default_journey": "secondary",
    "exclude": ["glob:/x/**"],
    "hosts": ["cdn.test"], "routes": [
        {"url": "https://e.test/", "auth": "staff", "journey": "primary", "priority": 1, "violation_density": 0.5,
         "monthly_views": 10, "owner": "web", "tags": ["t"], "ready": "#r", "ready_when": "app.done",
         "actions": [{"dismiss": "#c"}, {"fill": "#q", "value": "x"}, {"click": "#go"}, {"wait": "#r"}, {"wait_ms": 9}],
         "expect": {"status": 200, "url": "https://e.test/", "title": "T", "selector": "main"}},
        "https://e.test/b"],
}
SETTINGS = {
    "store": "data/store", "estate": "shop", "policy": "policy.yaml", "suppressions": "suppressions.yaml",
    "history": ["timings.json"], "exclude": ["glob:/x/**"], "shards": 4, "shards_at_once": 2, "in_flight": 2,
    "shard_retries": 1, "run_budget": "30m", "per_host": 4, "route_deadline_min": "30s", "route_deadline_max": "2m",
    "browser": "/usr/bin/chromium", "secret_blocks": ["T"],
    "identity": {"path_case": "fold", "query": "drop", "fragment": "drop", "noise_parameters": ["utm_*"],
                 "secret_parameters": ["token"]},
    "scan": {"viewport_width": 1280, "viewport_height": 720, "device_scale": 1.5, "locale": "de-DE",
             "time_zone": "Europe/Berlin", "rules": {"region": False},
             "exclude_elements": [".ad", {"selector": "#chat", "routes": ["glob:/a/**"], "reason": "not ours"}],
             "engine_path": "axe.js", "settle_quiet": "500ms",
             "settle_budget": "10s", "route_retries": 1, "retire_after": 100, "hosts": ["cdn.test"],
             "verify_tls": False,
             "redirects": "strict", "evidence": "masked"},
    "source": {"timeout": "10s", "budget": "5m", "verify_tls": False, "ca_file": "ca.pem",
               "headers": {"Authorization": "Bearer {{secret:T}}"}},
}
_CELL = {"primary": {"action": "block", "allowed": 2}, "secondary": "warn"}
_CELLS = dict.fromkeys(("critical", "serious", "moderate", "minor", "unknown"), _CELL)
POLICY = {
    "format_version": 1, "standard": "wcag22", "level": "AA", "report_only": False, "cells": _CELLS,
    "rules": {"region": "warn"}, "needs_review": "warn", "best_practice": "warn", "other": "ignore",
    "regression": "block", "baseline": "if_present",
    "coverage": {"min_routes": 1, "max_shrink": 0.2, "max_not_applicable": 0.5, "free_not_applicable": 5,
                 "max_unsettled": 0, "max_quarantined": 0, "untested_own_frames": "incomplete",
                 "untested_other_frames": "warn", "cut_results": "warn"},
    "accepted": [{"pattern": "glob:/old", "outcome": "timed_out", "reason": "r", "owner": "o", "until": "2027-01-31"}],
    "overrides": [{"pattern": "glob:/a/**", "cells": _CELLS, "rules": {"region": "warn"}, "needs_review": "warn",
                   "best_practice": "warn", "other": "warn"}],
    "suppressions": {"expired": "warn", "unused": "warn", "too_wide": "block"},
}
SUPPRESSIONS = {"format_version": 1, "suppressions": [
    {"rule": "region", "route": "glob:/a/**", "selector": "main", "reason": "r", "owner": "o", "ticket": "T-1",
     "expires": "2027-01-31"}]}

PROFILE = {
    "cookies": [{"name": "session", "value": "v", "domain": "e.test", "path": "/"}],
    "origins": [{"origin": "https://e.test", "localStorage": []}], "headers": {"Authorization": "Bearer {{secret:T}}"},
    "check": {"url": "https://e.test/account", "selector": "#name"},
}
GOOD: Mapping[str, Callable[[], Any]] = {
    **{name: (lambda record=record: {**RUN, **row_of(record)}) for name, record in RECORDS.items()},
    "timing": lambda: {**RUN, **timing_rows(fold_timings([SAMPLE, FAILED]))[0]},
    "timings_plain": lambda: {"https://e.test/": 1.5},
    "plan": lambda: _plain(asdict(PLAN.header)),
    "receipt": lambda: _plain(asdict(receipt(PLAN, 0, outcome_counts={"scanned": 1}))),
    "latest": lambda: asdict(Latest("r1", "2026-11-30T08:00:00Z", "r0", 2, "2026-11-29T08:00:00Z")),
    "verdict": _verdict,
    "baseline": _baseline,
    "manifest": lambda: MANIFEST,
    "settings": lambda: SETTINGS,
    "policy": lambda: POLICY,
    "suppressions": lambda: SUPPRESSIONS,
    "profile": lambda: PROFILE,
}
