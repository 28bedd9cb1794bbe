"""`fanfold`: the command line, a face like the flow.

Here: commands, flags, and the one `main` that maps every way out to an exit code (0 passed, 1 blocked, 2 incomplete, 3
bad input). Not here: what the commands do (`journey.py`), what they print (`summary.py`). What takes time to import is
imported in the command that needs it: an audit has started its server before.
"""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from flows.commands.automations import automations
from flows.commands.gate import baseline_group, gate, suppressions
from flows.commands.installation import doctor, settings
from flows.commands.kept_server import down, up
from flows.commands.stored_runs import export, prune, report, runs, show
from flows.server import server_at_hand
from schemas.errors import AuditError, ContractError
from schemas.exit_code import ExitCode
from schemas.terminal import for_terminal

app = typer.Typer(name="fanfold", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
                  help="Audit the accessibility of a web estate: fan out over balanced shards, fold into one verdict.")

SAMPLE = "sample"
SAMPLE_SHARDS = 3  # by its load one would do; three show what a plan is
USAGE_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

Source = Annotated[str, typer.Argument(help="Manifest or sitemap: a file or an http(s) address; `sample` for ours.")]
RunId = Annotated[str, typer.Argument(help="Id of a run, `ESTATE/ID` if several estates have it, or `latest`.")]
Policy = Annotated[str | None, typer.Option(help="Policy file.")]
Suppressions = Annotated[str | None, typer.Option(help="Suppressions file.")]
Baseline = Annotated[str | None, typer.Option(help="Baseline file.")]
History = Annotated[str | None, typer.Option(help="More timing history: a file.")]
Shards = Annotated[int | None, typer.Option(min=1, help="Number of shards; default: by load.")]
Named = Annotated[str | None, typer.Option("--run-id", help="Name of the run; default: made up.")]
Estate = Annotated[str | None, typer.Option(help="Name of the estate.")]
Budget = Annotated[int | None, typer.Option("--run-budget", min=1, help="Seconds after which no route is begun.")]
Rescan = Annotated[list[str] | None, typer.Option(help="Pattern of routes to scan again.")]
StoreAt = Annotated[str | None, typer.Option("--store", help="Root of the store.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AtOnce = Annotated[int | None, typer.Option(min=1, help="Shard processes at once.")]
InFlight = Annotated[int | None, typer.Option(min=1, help="Routes at once in one shard process.")]


@app.command()
def audit(
    source: Source, policy: Policy = None, suppressions: Suppressions = None, baseline: Baseline = None,
    history: History = None, shards: Shards = None, run_id: Named = None, estate: Estate = None,
    run_budget: Budget = None, rescan: Rescan = None, store: StoreAt = None, shards_at_once: AtOnce = None,
    in_flight: InFlight = None,
) -> int:
    """Audit an estate: the whole pipeline as a Prefect flow."""
    with server_at_hand() as server, _sample_files(source) as files:
        from flows.run_flow import run_audit

        _set_flags(store=store, shards_at_once=shards_at_once, in_flight=in_flight)
        return run_audit({
            "source": files.get("source", source), "policy": policy or files.get("policy"),
            "history": history or files.get("history"), "suppressions": suppressions, "baseline": baseline,
            "shards": shards or (SAMPLE_SHARDS if files else None), "run_id": run_id or new_run_id(),
            "estate": estate, "run_budget_s": run_budget, "rescan": rescan or [],
        }, server)


@app.command()
def plan(
    source: Source, policy: Policy = None, suppressions: Suppressions = None, baseline: Baseline = None,
    history: History = None, shards: Shards = None, run_id: Named = None, estate: Estate = None,
    store: StoreAt = None, json: Json = False,
) -> int:
    """Plan a run without a browser, keep the plan in the store, and show it."""
    _set_flags(store=store)
    from flows.journey import plan_run
    from flows.request import AuditRequest
    from flows.settings import variable_warnings
    from flows.summary import print_json, print_plan
    from tasks.freeze import read_plan
    from tasks.store import Store

    files = _sample_paths() if source == SAMPLE else {}
    for warning in variable_warnings():
        _say(f"warning: {warning}")
    name = run_id or new_run_id()
    request = AuditRequest(
        source=files.get("source", source), policy=policy or files.get("policy"), suppressions=suppressions,
        baseline=baseline, history=history or files.get("history"), shards=shards, estate=estate)
    run = plan_run(request, name, f"plan-{name}", is_browser_needed=False, is_first_look=True)
    planned = read_plan(Store(run.ref.store), run.ref.layout)
    if json:
        print_json(planned)
    else:
        print_plan(planned)
    return ExitCode.PASSED


@app.command()
def scan(
    run_id: Annotated[str, typer.Option("--plan", help="Id of the planned run, or `latest`.")],
    shard: Annotated[int, typer.Option(help="Index of the shard, from 0.")],
    rescan: Rescan = None, store: StoreAt = None, in_flight: InFlight = None,
) -> int:
    """Scan one shard of a planned run: a leg of a CI matrix. Exits 0 when it is settled, 2 when it is not."""
    _set_flags(store=store, in_flight=in_flight, shards_at_once=1)
    from flows.leg import scan_planned_shard

    with _sample_of(run_id):
        return scan_planned_shard(run_id, shard, tuple(rescan or ()))


@app.command()
def fold(run_id: RunId, store: StoreAt = None, json: Json = False) -> int:
    """Fold what the shards left into one dataset and decide."""
    _set_flags(store=store)
    from flows.journey import fold_run
    from flows.runs import ref_of
    from flows.summary import show_verdict

    ref = ref_of(run_id)
    verdict = fold_run(ref)
    show_verdict(verdict, ref, is_json=json)
    return verdict.exit_code


@app.command()
def resume(run_id: RunId, rescan: Rescan = None, store: StoreAt = None, shards_at_once: AtOnce = None,
           in_flight: InFlight = None) -> int:
    """Scan what is not settled in a run, and nothing else; then fold and decide."""
    with server_at_hand() as server:
        from flows.run_flow import run_audit
        from flows.runs import header_of_run

        _set_flags(store=store, shards_at_once=shards_at_once, in_flight=in_flight)
        header = header_of_run(run_id)
        _say(f"resuming run {header.run_id}: its plan stands")
        with _sample_of(run_id):
            return run_audit({"source": header.source, "run_id": header.run_id, "estate": header.estate,
                              "rescan": rescan or []}, server)


for command in (gate, suppressions, report, runs, show, export, prune, settings, doctor, up, down):
    app.command()(command)
app.add_typer(baseline_group, name="baseline")
app.add_typer(automations, name="automations")


def new_run_id() -> str:
    """Name a run: UTC time and 6 random hex digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def _set_flags(**flags: object) -> None:
    from flows.settings import set_flags

    set_flags(**flags)


def _sample_paths() -> dict[str, str]:
    from flows.sample import locate_sample

    files = locate_sample()
    return {"source": files.manifest, "policy": files.policy, "history": files.history}


@contextmanager
def _sample_files(source: str) -> Iterator[dict[str, str]]:
    """Serve the sample estate as long as it is audited; any other source is served by others."""
    if source != SAMPLE and source != _sample_paths()["source"]:
        yield {}
        return
    from flows.sample import serve_sample

    with serve_sample():
        yield _sample_paths()


@contextmanager
def _sample_of(run_id: str) -> Iterator[None]:
    from flows.runs import header_of_run

    with _sample_files(header_of_run(run_id).source):
        yield


def main() -> None:
    """Run the command line and leave with one of our exit codes.

    The process ends here and now: threads of libraries that are still at work when the interpreter takes itself apart
    have aborted it, and a passed audit must not end with the code of a crash.
    """
    code: int = ExitCode.INCOMPLETE
    try:
        code = exit_code_of(sys.argv[1:])
    finally:
        os._exit(code)


def exit_code_of(words: list[str]) -> int:
    """Run a command; every way out becomes an exit code of ours.

    The command-line library's 2 for a wrong flag and 1 for a reader that is gone, and Python's 1 for an uncaught
    exception, are not ours. An answer that cannot be written was not given: that is no pass and no block either.
    """
    try:
        code: Any = app(words, standalone_mode=False)
        print(end="", flush=True)
        return int(code or 0)
    except typer.Exit as error:
        return ExitCode.PASSED if error.exit_code == 0 else ExitCode.BAD_INPUT
    except USAGE_ERROR as error:
        with suppress(OSError):
            error.show()
        return ExitCode.BAD_INPUT
    except ContractError as error:
        _say(f"Bad input, nothing was written:\n{error}")
        return ExitCode.BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        _say("Interrupted. What was finished is kept; `fanfold resume RUN_ID` scans the rest.")
        return ExitCode.INCOMPLETE
    except AuditError as error:
        _say(f"Incomplete: {error}")
        return ExitCode.INCOMPLETE
    except (SystemExit, BrokenPipeError):
        return ExitCode.INCOMPLETE
    except Exception as error:  # noqa: BLE001 - the last door: whatever it is, it is no pass and no block
        import traceback

        with suppress(OSError):
            traceback.print_exc()
        _say(f"Incomplete: {type(error).__name__}: {error}")
        return ExitCode.INCOMPLETE


def _say(text: str) -> None:
    """Tell a person; where nobody listens the exit code says enough."""
    with suppress(OSError):
        print(for_terminal(text), file=sys.stderr, flush=True)
