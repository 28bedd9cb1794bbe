"""What a person reads at the end of an audit, and of a plan.

Here: text for the terminal. Not here: the verdict itself (`tasks/gate`). Page text is printed as it is, not as markup.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flows.progress import in_words
from flows.report_run import proved_rows
from flows.runs import RunRef
from schemas.converged import DeadLetter, fixes_of
from schemas.finding import Finding
from schemas.manifest import SourceCount
from schemas.plan import Plan
from schemas.plural import plural
from schemas.shape import row_of
from schemas.terminal import one_line
from schemas.verdict import Reason, Verdict, VerdictKind, from_document, to_document
from tasks.store import Store

SHOWN_FINDINGS = 10
SHOWN_EXAMPLES = 3
SHOWN_SHARDS = 40
SHOWN_SOURCES = 20
STYLES = {VerdictKind.PASSED: "bold green", VerdictKind.BLOCKED: "bold red", VerdictKind.INCOMPLETE: "bold yellow"}


def _text(text: str, style: str = "") -> Text:
    heading = "\n" if text.startswith("\n") else ""
    return Text(heading + one_line(text.removeprefix("\n")), style)


def print_verdict(
    verdict: Verdict, place: str, console: Console | None = None, fixes: Sequence[str] = ()
) -> None:
    """Print verdict, reasons, coverage, worst findings, and where the files are.

    Args:
        place: the run folder. console: where to; standard output without one. fixes: what to do about routes that are
            owed.
    """
    out = console or Console(soft_wrap=True, highlight=False)
    out.print(_text(verdict.kind.value.upper(), STYLES[verdict.kind]), _text(verdict.summary))
    for title, reasons in (("reasons", verdict.reasons), ("warnings", verdict.warnings)):
        if reasons:
            out.print(_text(f"\n{title}", "bold"))
            for reason in reasons:
                _print_reason(out, reason)
    if fixes:
        out.print(_text("\nto mend", "bold"))
        for fix in fixes:
            out.print(_text(f"  {fix}"))
    coverage = verdict.coverage
    out.print(_text("\ncoverage", "bold"))
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(coverage.by_outcome.items()) if count)
    out.print(_text(f"  {coverage.covered_count} of {plural(coverage.in_scope_count, 'route')}: {outcomes}"))
    _print_findings(out, verdict)
    out.print(_text("\nfiles", "bold"))
    out.print(_text(f"  {place}"))


def _print_reason(out: Console, reason: Reason) -> None:
    out.print(_text(f"  {reason.decision.value}: {reason.text}"))
    for example in reason.examples[:SHOWN_EXAMPLES]:
        out.print(_text(f"      {example}"))


def _print_findings(out: Console, verdict: Verdict) -> None:
    violations = [finding for finding in verdict.findings if finding.is_violation]
    if not violations:
        return
    occurrences = plural(sum(finding.occurrence_count for finding in violations), "occurrence")
    out.print(_text(f"\nworst findings ({plural(len(violations), 'violation')} in all, {occurrences})", "bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for name in ("impact", "rule", "routes", "decision", "example"):
        table.add_column(name, justify="right" if name == "routes" else "left", overflow="fold")
    for finding in violations[:SHOWN_FINDINGS]:
        cells = (finding.impact or "unknown", finding.rule, str(finding.route_count), finding.decision or "",
                 f"{finding.example_route}  {finding.example_target}"[:120])
        table.add_row(*(_text(cell) for cell in cells))
    out.print(table)


def print_plan(plan: Plan, console: Console | None = None) -> None:
    """Print what each shard is given, and how good the balance is."""
    out = console or Console(soft_wrap=True, highlight=False)
    header = plan.header
    out.print(_text(f"plan {header.plan_id[:12]}", "bold"),
              _text(f"of run {header.run_id}, estate {header.estate}: {plural(header.route_count, 'route')}"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for name in ("shard", "profile", "routes", "load"):
        table.add_column(name, justify="left" if name == "profile" else "right")
    for shard in header.shards[:SHOWN_SHARDS]:
        table.add_row(str(shard.shard_index), shard.auth or "", str(shard.route_count), in_words(shard.load_ms))
    out.print(table)
    if len(header.shards) > SHOWN_SHARDS:
        out.print(_text(f"  … and {len(header.shards) - SHOWN_SHARDS} more"))
    for line in plan_lines(plan):
        out.print(_text(line))


def plan_lines(plan: Plan) -> list[str]:
    """Say in sentences how the plan came about."""
    header = plan.header
    known = 1 - header.no_history_ratio
    return [
        f"{plural(header.shard_count, 'shard')}: {header.shard_count_reason}",
        f"method {header.method}; {known:.0%} of the routes have timing history",
        f"makespan {in_words(header.makespan_ms)}, lower bound {in_words(header.lower_bound_ms)}, "
        f"imbalance {header.imbalance:.3f}",
        *(f"{plural(count, 'route')} excluded by {pattern}"
          for pattern, count in sorted(Counter(excluded.pattern for excluded in header.excluded).items())),
        *count_lines(header.source_counts),
        *(f"not tested: {one}" for one in header.scan.exclude_elements),
        *(f"set by the source: {key} = {json.dumps(value, ensure_ascii=False)}"
          for key, value in sorted(header.source_settings.items())),
        *(f"not readable: {failure.source}: {failure.reason}" for failure in header.source_failures),
        *(f"warning: {warning}" for warning in header.warnings),
    ]


def count_lines(counts: Sequence[SourceCount]) -> list[str]:
    """Say how many addresses came from which sitemap."""
    if not counts:
        return []
    total = sum(count.address_count for count in counts)
    more = [f"  … and {len(counts) - SHOWN_SOURCES} more"] if len(counts) > SHOWN_SOURCES else []
    return [f"{plural(len(counts), 'sitemap')} with {plural(total, 'address', 'addresses')}:",
            *(f"  {count.address_count} in {count.source}" for count in counts[:SHOWN_SOURCES]), *more]


def print_json(plan: Plan) -> None:
    """Print a plan as JSON: the header, and the routes of every shard in scan order."""
    document = {"header": asdict(plan.header), "routes": [row_of(row) for row in plan.routes]}
    print(json.dumps(document, ensure_ascii=False, indent=1))


def show_verdict(verdict: Verdict, ref: RunRef, *, is_json: bool = False) -> None:
    """Print a verdict for a person or for a program."""
    if is_json:
        print(json.dumps(to_document(verdict), ensure_ascii=False, indent=1))
    else:
        print_verdict(verdict, place_of(ref))


def place_of(ref: RunRef) -> str:
    """Return the run's folder as it is shown."""
    return f"{ref.store}/{ref.layout.root}"


def show_stored_verdict(ref: RunRef) -> None:
    """Print the verdict of a folded run with its worst findings and what to do about routes, from the store."""
    store = Store(ref.store)
    document = store.read_json(ref.layout.file("verdict.json"))
    findings = proved_rows(store, ref.layout, document, "findings", Finding)
    letters = proved_rows(store, ref.layout, document, "dead_letters", DeadLetter)
    print_verdict(replace(from_document(document), findings=findings), place_of(ref), fixes=fixes_of(letters))
