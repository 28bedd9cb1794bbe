"""The truth table of `docs/truth-table.md`, row by row: the page is the test."""

import json
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from schemas.baseline import Baseline, KnownFinding, identity_of_plan, parse_baseline, to_baseline_text
from schemas.errors import ContractError
from schemas.evidence import Quarantined
from schemas.gate_input import GateInput
from schemas.manifest import SourceFailure
from schemas.policy import parse_policy
from schemas.shard_fault import ShardFault
from schemas.verdict import ExitCode, from_document, to_document
from tasks.gate import decide_verdict
from tests.small_estate import (
    ENGINE,
    SITE,
    evidence_of,
    judge_of,
    occurrence,
    outcome,
    plan_of,
    receipt,
    results,
    route,
)

PAGE = Path(__file__).parents[2] / "docs" / "truth-table.md"
NEW_ONLY = {row: {"primary": "block_new"} for row in ("critical", "serious", "unknown")}
A, B, C = route("/a"), route("/b", 1), route("/c", 1, journey="secondary")
FILES = [route(f"/f{i}.pdf", 1, journey="secondary") for i in range(6)]


def rows_of(title: str) -> list[tuple[str, ...]]:
    """Read the table under a title; a row with several names is returned once for each combination."""
    part = PAGE.read_text("utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")][2:]
    return [combination for cells in lines
            for combination in product(*([name.strip() for name in cell.split(",")] for cell in cells))]


# ---- the run of each row

@cache
def run_of(coverage: str) -> GateInput:
    """Make the run that a row of the first table speaks of, without policy and baseline."""
    header = {"shrunk source": {"last_full_route_count": 12, "last_full_run_id": "r0"},
              "broken source": {"source_failures": (SourceFailure(SITE + "/map.xml", "status 500"),)}}
    plan = plan_of(A, B, C, *(FILES if coverage == "too many files" else ()), **header.get(coverage, {}))
    rows = [outcome(A), outcome(B), outcome(C)]
    rows = {
        "missing route": rows[:2], "expired route": rows[:2],
        "unsettled": [*rows[:2], outcome(C, "http_error")],
        "accepted": [*rows[:2], outcome(C, "http_error")],
        "acceptance expired": [*rows[:2], outcome(C, "http_error")],
        "untested frame": [*rows[:2], outcome(C, "partially_scanned", has_untested_own_frame=True, frames_untested=1)],
        "other frame": [*rows[:2], outcome(C, "partially_scanned", frames_untested=1)],
        "cut results": [*rows[:2], outcome(C, "partially_scanned", is_cut=True)],
        "failed rule": [*rows[:2], outcome(C, "partially_scanned", reason="rule_failed", is_cut=True)],
        "too many files": [*rows, *(outcome(page, "not_applicable") for page in FILES)],
        "nothing scanned": [outcome(page, "http_error", status=403) for page in (A, B, C)],
    }.get(coverage, rows)
    ran = [result for row in rows if row.outcome.was_scanned
           for result in results(row, ("image-alt",) if coverage == "rules not run" and row.route == C.route
                                 else ("image-alt", "color-contrast", "region"))]
    receipts = {0: receipt(plan, 0), 1: receipt(plan, 1)}
    if coverage == "missing shard":
        del receipts[1]
    if coverage == "expired route":
        receipts[1] = receipt(plan, 1, ended_by="run_budget")
    if coverage == "shard cut short":
        receipts[1] = receipt(plan, 1, ended_by="cancelled")
    if coverage == "mixed engine":
        receipts[1] = receipt(plan, 1, engine_digest="f" * 64, engine_version="4.11.0")
    if coverage == "mixed browser":
        receipts[1] = receipt(plan, 1, browser_version="150.0")
    set_aside = [Quarantined(1, "occurrences", "x", "impact", "row 1", C.task_id)] if coverage == "quarantine" else []
    return judge_of(plan, evidence_of(plan, rows, [occurrence(A)], ran, receipts, set_aside),
                    shard_faults=(ShardFault(1, "shard-0001 of 2: refused"),) if coverage == "shard fault" else ())


def gate_of(coverage: str, baseline: str, mode: str) -> GateInput:
    """Add policy and baseline to a run.

    Raises:
        ContractError: a baseline that cannot be read.
    """
    entry = {"pattern": "glob:/c", "outcome": "http_error", "reason": "moves", "owner": "web",
             "until": "2026-11-29" if coverage == "acceptance expired" else "2026-11-30"}
    policy = parse_policy({
        "cells": NEW_ONLY, "report_only": mode == "report_only",
        "accepted": [entry] if coverage.startswith("accept") else [],
        "baseline": "required" if baseline == "absent" else "if_present"}, "policy.yaml", None)
    given = run_of(coverage)
    return replace(given, policy=policy, baseline=baseline_of(given.plan, baseline))


def baseline_of(plan, name: str) -> Baseline | None:
    """Make the baseline that a row speaks of; it was read from its text, as a program would."""
    if name in ("none", "absent"):
        return None
    known = KnownFinding(occurrence(A).fingerprint, True, "image-alt", "critical", {A.task_id: 1})
    other = KnownFinding(occurrence(A, node="old").fingerprint, True, "image-alt", "critical", {A.task_id: 1})
    findings = {"new": (other,), "stale": (), "fixed": (known, other)}.get(name, (known,))
    rules = frozenset(info.rule for info in ENGINE.rules if info.is_on)
    identity = identity_of_plan(plan.header) | ({"path_case": "fold"} if name == "other switches" else {})
    made = Baseline(
        plan.header.estate, "r0", "2026-11-01", identity, 1, *(("4.10.0", "9" * 64) if name == "stale" else
                                                              (ENGINE.version, ENGINE.digest)),
        rules=rules - {"image-alt"} if name == "stale" else rules,
        scanned={page.task_id: page.route for page in plan.routes}, findings=findings)
    text = to_baseline_text(made)
    return parse_baseline(text[:len(text) // 2] if name == "unreadable" else text, "baseline.json")


def decided(make) -> tuple[str, int, str, tuple[str, ...]]:
    """Decide as a program would: verdict, exit code, flow state, codes of the reasons."""
    try:
        verdict = decide_verdict(make())
    except ContractError:
        return "bad input", int(ExitCode.BAD_INPUT), "BadInput", ()
    return verdict.kind.value, int(verdict.exit_code), verdict.flow_state, tuple(r.code for r in verdict.reasons)


RUNS = rows_of("Coverage, baseline and mode")


@pytest.mark.parametrize(("coverage", "baseline", "mode", "kind", "exit_code", "flow_state", "reason"), RUNS)
def test_coverage_baseline_and_mode(coverage, baseline, mode, kind, exit_code, flow_state, reason):
    seen = decided(lambda: gate_of(coverage, baseline, mode))
    assert seen[:3] == (kind, int(exit_code), flow_state)
    assert reason in seen[3] if reason else seen[3] == ()


@pytest.mark.parametrize("coverage", sorted({row[0] for row in RUNS}))
def test_every_verdict_keeps_its_schema_and_can_be_read_back(coverage):
    verdict = decide_verdict(gate_of(coverage, "new", "enforce"))
    assert from_document(json.loads(json.dumps(to_document(verdict)))) == replace(verdict, findings=())


def test_every_combination_stands_in_the_table_once():
    named = [row[:3] for row in RUNS]
    assert sorted(named) == sorted(product(*(sorted({row[i] for row in named}) for i in range(3))))
    asked = {"full", "missing shard", "missing route", "unsettled", "accepted", "quarantine", "untested frame",
             "mixed engine", "rules not run", "shrunk source", "nothing scanned"}
    assert asked <= {row[0] for row in named}


# ---- cells

CELLS = rows_of("What a cell does")


@pytest.mark.parametrize(("cell", "standing", "impact", "decision", "kind"), CELLS)
def test_what_a_cell_does(cell, standing, impact, decision, kind):
    cells = {row: cell for row in ("critical", "serious", "moderate", "minor", "unknown") if row == impact}
    policy = parse_policy({"cells": cells}, "policy.yaml", None)
    plan = plan_of(A)
    found = occurrence(A, impact=None if impact == "unknown" else impact)
    known = {"carried": found, "new dirty route": occurrence(A, node="other")}.get(standing)
    rules = frozenset(info.rule for info in ENGINE.rules if info.is_on)
    baseline = None if standing == "none" else Baseline(
        "shop", "r0", "2026-11-01", identity_of_plan(plan.header), 1, ENGINE.version, ENGINE.digest,
        rules - {"image-alt"} if standing == "new rule" else rules,
        {} if standing == "new new route" else {A.task_id: A.route},
        () if known is None else (KnownFinding(known.fingerprint, True, "image-alt", known.impact, {A.task_id: 1}),))
    verdict = decide_verdict(judge_of(plan, evidence_of(plan, [outcome(A)], [found]), policy=policy,
                                      baseline=baseline))
    assert (verdict.findings[0].decision, verdict.kind) == (decision, kind)


def test_every_combination_of_cells_stands_in_the_table_once():
    named = [row[:3] for row in CELLS]
    wanted = set(product(*({row[i] for row in named} for i in range(3))))
    assert sorted(named) == sorted(row for row in wanted if row[0] != "ignore" or row[2] != "unknown")
