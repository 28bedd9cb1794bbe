"""Commands on runs that are there: `report`, `runs`, `show`, `export`, `prune`.

Here: flags, and what is printed. Not here: what they do (`report_run.py`, `dataset.py`, `pruning.py`); `cli.py`
registers them.
"""

import json as json_module
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.errors import bad_input
from schemas.exit_code import ExitCode
from schemas.plural import plural

if TYPE_CHECKING:  # heavy, and `--help` needs none of it
    from schemas.layout import RunLayout
    from schemas.report_material import ReportMaterial
    from tasks.store import Store

SINGLE_BYTES = 5_000_000
RunId = Annotated[str, typer.Argument(help="Id of a run, `ESTATE/ID` if several estates have it, or `latest`.")]
StoreAt = Annotated[str | None, typer.Option("--store", help="Root of the store.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Output = Annotated[str | None, typer.Option(help="Folder to write to; default: the run's own.")]
Single = Annotated[bool, typer.Option("--single", help="One HTML page: for small runs.")]
Day = Annotated[str | None, typer.Option(help="Day, as 2026-11-30.")]
Keep = Annotated[int | None, typer.Option(min=0, help="Newest runs of each estate that stay.")]
OlderThan = Annotated[int | None, typer.Option("--older-than", min=0, help="Only runs older than so many days.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would go, remove nothing.")]
ContentOnly = Annotated[bool, typer.Option("--content-only", help="Remove page content, keep counts and verdicts.")]


def report(run_id: RunId, output: Output = None, single: Single = False, store: StoreAt = None) -> int:
    """Write the report of a run: HTML, JUnit, SARIF, CSV, Markdown. A run that is not folded gets one too."""
    from flows.settings import set_flags

    set_flags(store=store)
    from flows.report_run import write_files, write_report
    from flows.runs import ref_of
    from tasks.report import render_report
    from tasks.store import Store

    ref = ref_of(run_id)
    source = Store(ref.store)
    material = _material_of(source, ref.layout)
    if single:
        files = render_report(material, is_single=True)
        size = len(files["report.html"])
        if size > SINGLE_BYTES:
            raise bad_input("--single", f"the page would have {size / 1e6:.0f} MB", f"at most {SINGLE_BYTES / 1e6:.0f}",
                            "Leave the flag out: a folder of pages opens from disk just as well.")
        place = output or f"{ref.store}/{ref.layout.file('report')}"
        write_files(Store(place), files)
    elif output:
        place = output
        write_files(Store(place), render_report(material))
    else:
        place = f"{ref.store}/{write_report(source, ref.layout, material)}"
    print(material.first_line)
    print(f"{place}/{'report' if single else 'index'}.html")
    return ExitCode.PASSED


def runs(store: StoreAt = None, json: Json = False) -> int:
    """List the runs of the store, newest last."""
    from flows.settings import set_flags

    set_flags(store=store)
    from flows.commands.run_table import list_runs, print_runs
    from flows.settings import settings_in_force
    from tasks.store import Store

    settings, _ = settings_in_force()
    rows = list_runs(Store(settings.store))
    if json:
        print(json_module.dumps(rows, ensure_ascii=False, indent=1))
    else:
        print_runs(rows)
    return ExitCode.PASSED


def show(run_id: RunId, store: StoreAt = None, json: Json = False) -> int:
    """Show the verdict of a run again; of a run that is not folded, its plan."""
    from flows.settings import set_flags

    set_flags(store=store)
    from flows.runs import ref_of
    from flows.summary import print_json, print_plan, show_stored_verdict
    from tasks.freeze import read_plan
    from tasks.store import Store

    ref = ref_of(run_id)
    source = Store(ref.store)
    if not source.exists(ref.layout.file("verdict.json")):
        planned = read_plan(source, ref.layout)
        (print_json if json else print_plan)(planned)
        return ExitCode.PASSED
    if json:
        print(json_module.dumps(source.read_json(ref.layout.file("verdict.json")), ensure_ascii=False, indent=1))
    else:
        show_stored_verdict(ref)
    return ExitCode.PASSED


def export(output: Annotated[str, typer.Option(help="Root of the dataset: a folder or any fsspec address.")],
           since: Day = None, to: Day = None, store: StoreAt = None) -> int:
    """Write the tables of all folded runs into one dataset, partitioned by estate and run date."""
    from flows.settings import set_flags

    set_flags(store=store)
    from flows.dataset import export_runs
    from flows.settings import settings_in_force
    from tasks.store import Store

    for name, day in (("--since", since), ("--to", to)):
        _check_day(name, day)
    settings, _ = settings_in_force()
    exported = export_runs(Store(settings.store), Store(output), since, to)
    print(f"{plural(len(exported.run_ids), 'run')} with {plural(exported.row_count, 'row')} in {output}")
    for run, reason in exported.left_out.items():
        print(f"left out: {run}: {reason}")
    return ExitCode.PASSED


def prune(keep: Keep = None, older_than: OlderThan = None, dry_run: DryRun = False, content_only: ContentOnly = False,
          store: StoreAt = None) -> int:
    """Remove old runs, never the baseline's, the newest, or the last full one.

    Without its content a run keeps its counts, fingerprints and verdict; it cannot be folded or resumed again.
    """
    from flows.settings import set_flags

    set_flags(store=store)
    from flows.pruning import find_old_runs, prune_content, prune_run
    from flows.settings import settings_in_force
    from tasks.store import Store

    if keep is None and older_than is None:
        raise bad_input("prune", "no limit is given", "`--keep N`, `--older-than DAYS`, or both")
    settings, _ = settings_in_force()
    source = Store(settings.store)
    for old in find_old_runs(source, datetime.now(UTC).date().isoformat(), keep, older_than):
        name = f"{old.run.estate}/{old.run.run_id}"
        if old.kept_because:
            print(f"kept: {name}: {old.kept_because}")
            continue
        print(f"{'would remove' if dry_run else 'removing'}{' content of' if content_only else ''} {name}, "
              f"planned {old.planned_at}")
        if not dry_run:
            (prune_content if content_only else prune_run)(source, old.run)
    return ExitCode.PASSED


def _material_of(store: "Store", run: "RunLayout") -> "ReportMaterial":
    from flows.judged import stored_judged
    from flows.judging import gate_input, gather_run
    from flows.report_run import folded_material, stored_material
    from tasks.gate import decide_verdict
    from tasks.scan.clock import utc_now

    if store.exists(run.file("verdict.json")):
        return stored_material(store, run)
    gathered = gather_run(store, run)  # interrupted before it was folded: what the shards left so far is shown
    judged = stored_judged(store, run, gathered.plan.header.engine)
    verdict = decide_verdict(gate_input(gathered, judged, utc_now()))
    return folded_material(store, run, gathered.plan, gathered.evidence, gathered.converged, verdict)


def _check_day(name: str, day: str | None) -> None:
    from schemas.formats import is_day

    try:
        is_good = day is None or is_day(day)
    except ValueError:
        is_good = False
    if not is_good:
        raise bad_input(name, f"{day!r} is no day", "a day, as 2026-11-30")
