"""What the Prefect UI shows of a run: the plan, the shards, the verdict.

Here: small tables and text, escaped, for pages are hostile and markdown loads images. Not here: evidence (Parquet).
"""

import re

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.journey import PlannedRun
from flows.progress import in_words
from flows.runs import RunRef
from schemas.verdict import Reason, Verdict

SHOWN_ROWS = 200
SHOWN_CHARACTERS = 200
SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-!|~<>&])")


def inert(text: str) -> str:
    """Return text that markdown shows as it is: no link, no image, no markup, one line, short."""
    short = " ".join(text.split())
    short = short if len(short) <= SHOWN_CHARACTERS else short[: SHOWN_CHARACTERS - 1] + "…"
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return SPECIAL.sub(lambda match: entities.get(match[1], "\\" + match[1]), short).replace("://", ":&#47;&#47;")


def key_of(prefix: str, ref: RunRef) -> str:
    """Return the artifact key of an estate: lower-case letters, digits and dashes."""
    return f"{prefix}-{re.sub(r'[^a-z0-9]+', '-', ref.estate.lower()).strip('-')}"


def show_plan(run: PlannedRun) -> None:
    """Show what each shard is given."""
    rows = [{"shard": s.shard_index, "routes": s.route_count, "planned": in_words(s.load_ms)}
            for s in run.shards[:SHOWN_ROWS]]
    create_table_artifact(rows, key=key_of("plan", run.ref), description=inert(
        f"Plan {run.plan_id[:12]} of run {run.ref.run_id}: {sum(s.route_count for s in run.shards)} routes in "
        f"{len(run.shards)} shards"))


def show_verdict(run: PlannedRun, verdict: Verdict) -> None:
    """Show the verdict, its reasons and counts, and where the evidence lies."""
    coverage = verdict.coverage
    lines = [
        f"# {verdict.kind.value}", "", inert(verdict.summary), "",
        f"Planned {coverage.planned_count} routes, covered {coverage.covered_count}, scanned {coverage.scanned_count}. "
        f"{verdict.finding_count} findings with {verdict.occurrence_count} occurrences.", "",
        *_listed("Reasons", verdict.reasons), *_listed("Warnings", verdict.warnings),
        "## Outcomes", "", *(f"- {inert(name)}: {count}" for name, count in sorted(coverage.by_outcome.items())), "",
        f"Evidence: `{run.ref.layout.root}` in the store (Parquet).",
    ]
    create_markdown_artifact("\n".join(lines), key=key_of("verdict", run.ref))


def _listed(title: str, reasons: tuple[Reason, ...]) -> list[str]:
    if not reasons:
        return []
    rows = [f"- **{inert(reason.code)}** ({reason.count}): {inert(reason.text)}" for reason in reasons[:SHOWN_ROWS]]
    return [f"## {title}", "", *rows, ""]
