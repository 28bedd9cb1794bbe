"""What the Prefect UI shows of a run: the plan and what became of it, progress, the verdict.

Here: small tables and text, inert, for pages are hostile and markdown loads images. Not here: evidence (Parquet), what
happens while a run goes (`live.py`). An artifact is for show: a server that refuses one changes nothing in a run.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import UUID

import httpx
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.orchestration import get_client
from prefect.events import emit_event
from prefect.exceptions import PrefectException
from prefect.logging import get_run_logger
from prefect.runtime import flow_run

from flows.journey import PlannedRun, ShardBrief
from flows.progress import in_words
from flows.report_run import proved_rows
from flows.runs import RunRef
from schemas.converged import DeadLetter, fixes_of
from schemas.errors import IntegrityError
from schemas.finding import Finding
from schemas.plural import plural
from schemas.receipt import Receipt
from schemas.verdict import Reason, Verdict
from tasks.commit import Shelf, read_receipt
from tasks.store import Store

SHOWN_ROWS = 200
SHOWN_FINDINGS = 20
SHOWN_EXAMPLES = 3
TEXT_BYTES = 60_000  # with its back-slashes doubled in JSON it stays under 100 KB
SHOWN_CHARACTERS = 200
SHOWN_FIX_CHARACTERS = 500  # sentences of ours, and nothing of a page
SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-!|~<>&])")
VERDICT_TAG = "verdict:"
FOLDED_EVENT = "fanfold.run-folded"
DEPTHS = (0, 10, 100, 1_000)  # automations compare names, not numbers: an event names every depth that it is over


def inert(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """Return text that markdown shows as it is: no link, no image, no markup, one line, short."""
    short = " ".join(text.split())
    short = short if len(short) <= limit else short[: limit - 1] + "…"
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return SPECIAL.sub(lambda match: entities.get(match[1], "\\" + match[1]), short).replace("://", ":\\/\\/")


def key_of(prefix: str, ref: RunRef) -> str:
    """Return the artifact key of an estate: lower-case letters, digits and dashes."""
    return f"{prefix}-{re.sub(r'[^a-z0-9]+', '-', ref.estate.lower()).strip('-')}"


@contextmanager
def for_show() -> Iterator[None]:
    """Let what is only shown fail with a warning: evidence and verdict do not hang on the server."""
    try:
        yield
    except (httpx.HTTPError, PrefectException, OSError) as error:
        get_run_logger().warning("not shown: %s: %s", type(error).__name__, str(error)[:SHOWN_CHARACTERS])


def show_plan(run: PlannedRun) -> None:
    """Show what each shard is given, and tag the flow run with its estate."""
    with for_show():
        create_table_artifact(plan_rows(run.shards, {}), key=key_of("plan", run.ref), description=_about(run))
        tag_run({"estate:": run.ref.estate})


def show_fold(run: PlannedRun, verdict: Verdict) -> None:
    """Show the verdict and what became of the plan, tag the flow run, and tell automations."""
    store, layout = Store(run.ref.store), run.ref.layout
    dead_letters = len(store.read_json(layout.file("replay.json"))["routes"])
    fixes = fixes_of(proved_rows(store, layout, store.read_json(layout.file("verdict.json")), "dead_letters",
                                 DeadLetter))
    with for_show():
        create_markdown_artifact(verdict_text(run.ref, verdict, fixes), key=key_of("verdict", run.ref))
        create_table_artifact(plan_rows(run.shards, receipts_of(run)), key=key_of("plan", run.ref),
                              description=_about(run))
        tag_run({"estate:": run.ref.estate, VERDICT_TAG: verdict.kind.value})
        emit_event(FOLDED_EVENT, resource={
            "prefect.resource.id": f"fanfold.estate.{run.ref.estate}", "prefect.resource.name": run.ref.estate,
            "fanfold.verdict": verdict.kind.value, **depth_labels(dead_letters)},
            payload={"run_id": run.ref.run_id, "dead_letters": dead_letters, "summary": verdict.summary[:1_000]})


def depth_labels(dead_letters: int) -> dict[str, str]:
    """Return a label for every depth: `fanfold.dead-letters-over-10: yes`."""
    return {f"fanfold.dead-letters-over-{depth}": "yes" if dead_letters > depth else "no" for depth in DEPTHS}


def plan_rows(shards: Sequence[ShardBrief], receipts: Mapping[int, Sequence[Receipt]]) -> list[dict[str, object]]:
    """Return a row for each shard: routes, planned load, and once there are receipts the actual one and attempts."""
    rows: list[dict[str, object]] = []
    for shard in shards[:SHOWN_ROWS]:
        planned = in_words(shard.lasts_ms(shard.load_ms))
        row: dict[str, object] = {"shard": shard.shard_index, "routes": shard.route_count, "planned": planned,
                                  "actual": "", "attempts": "", "ended by": ""}
        if done := receipts.get(shard.shard_index):
            row |= {"actual": in_words(sum(receipt.actual_ms for receipt in done)),
                    "attempts": done[-1].attempt, "ended by": done[-1].ended_by.value}
        rows.append(row)
    return rows


def receipts_of(run: PlannedRun) -> dict[int, list[Receipt]]:
    """Read every receipt of the shards that are shown, by shard, in the order of attempts."""
    found: dict[int, list[Receipt]] = {}
    for shard in run.shards[:SHOWN_ROWS]:
        shelf = Shelf(Store(run.ref.store), run.ref.layout, run.plan_id, shard.shard_index)
        for attempt_name in shelf.attempts():
            try:
                receipt = read_receipt(shelf, attempt_name)
            except IntegrityError:
                continue  # the fold has quarantined it by name
            if receipt is not None:
                found.setdefault(shard.shard_index, []).append(receipt)
    return found


def verdict_text(ref: RunRef, verdict: Verdict, fixes: Sequence[str] = ()) -> str:
    """Say the verdict, its reasons and counts, the top findings, and where the evidence lies, as inert markdown.

    Args:
        fixes: what to do about routes that are owed.
    """
    coverage = verdict.coverage
    place = f"{ref.store}/{ref.layout.root}"
    return _cut([
        f"# {verdict.kind.value}", "", inert(verdict.summary), "",
        f"Planned {plural(coverage.planned_count, 'route')}, covered {coverage.covered_count}, "
        f"scanned {coverage.scanned_count}. "
        f"{plural(verdict.finding_count, 'finding')} with {plural(verdict.occurrence_count, 'occurrence')}.", "",
        f"Evidence (Parquet): {inert(place)}", "",
        f"Report: `fanfold report {ref.run_id}` writes it to {inert(place + '/report/index.html')}", "",
        "## Outcomes", "", *(f"- {inert(name)}: {count}" for name, count in sorted(coverage.by_outcome.items())), "",
        *_listed("Reasons", verdict.reasons), *_mending(fixes), *_top(verdict.findings),
        *_listed("Warnings", verdict.warnings),
    ])


def tag_run(tags: Mapping[str, str]) -> None:
    """Tag the flow run; a tag replaces the one with its prefix that an earlier attempt left.

    Args:
        tags: prefix to value (`verdict:` to `blocked`).
    """
    if flow_run.get_id() is None:
        return
    run_id = UUID(str(flow_run.get_id()))
    with get_client(sync_client=True) as client:
        kept = [tag for tag in client.read_flow_run(run_id).tags if not tag.startswith(tuple(tags))]
        client.update_flow_run(run_id, tags=sorted({*kept, *(prefix + value for prefix, value in tags.items())}))


def _cut(lines: Sequence[str]) -> str:
    """Join lines, at most `TEXT_BYTES` of them."""
    size = 0
    kept: list[str] = []
    for line in lines:
        size += len(line.encode()) + 1
        if size > TEXT_BYTES:
            return "\n".join([*kept, "", "… cut here; the report has all of it"])
        kept.append(line)
    return "\n".join(kept)


def _about(run: PlannedRun) -> str:
    routes = sum(shard.route_count for shard in run.shards)
    about = inert(f"Plan {run.plan_id[:12]} of run {run.ref.run_id}: {plural(routes, 'route')} in "
                  f"{plural(len(run.shards), 'shard')}")
    not_tested = [f"- Not tested: {inert(text)}" for text in run.not_tested[:SHOWN_ROWS]]
    return _cut([about, *(["", *not_tested] if not_tested else [])])


def _listed(title: str, reasons: tuple[Reason, ...]) -> list[str]:
    rows = []
    for reason in reasons[:SHOWN_ROWS]:
        rows.append(f"- **{inert(reason.code)}** ({reason.count}): {inert(reason.text)}")
        rows += [f"    - {inert(example)}" for example in reason.examples[:SHOWN_EXAMPLES]]
    return [f"## {title}", "", *rows, ""] if rows else []


def _mending(fixes: Sequence[str]) -> list[str]:
    lines = [f"- {inert(fix, SHOWN_FIX_CHARACTERS)}" for fix in fixes[:SHOWN_ROWS]]
    return ["## To mend", "", *lines, ""] if lines else []


def _top(findings: Sequence[Finding]) -> list[str]:
    shown = [finding for finding in findings if finding.is_violation][:SHOWN_FINDINGS]
    if not shown:
        return []
    rows = [f"| {inert(f.impact or 'unknown')} | {inert(f.rule)} | {f.route_count} | {inert(f.decision or '')} | "
            f"{inert(f.example_route)} | {inert(f.example_target)} |" for f in shown]
    return ["## Top findings", "", "| impact | rule | routes | decision | example | target |",
            "|---|---|---|---|---|---|", *rows, ""]
