"""Commands that judge: `gate`, `baseline update|diff|prune`, `suppressions`.

Here: flags, and what is printed. Not here: what they do (`judging.py`, `baselines.py`), how it looks (`gate_text.py`);
`cli.py` registers them.
"""

import json as json_module
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from schemas.exit_code import ExitCode
from schemas.terminal import one_line

RunId = Annotated[str, typer.Argument(help="Id of a folded run, `ESTATE/ID` if several have it, or `latest`.")]
Policy = Annotated[str | None, typer.Option(help="Policy file in place of the run's own.")]
Suppressions = Annotated[str | None, typer.Option(help="Suppressions file in place of the run's own.")]
Baseline = Annotated[str | None, typer.Option(help="Baseline file in place of the run's own.")]
Explain = Annotated[str | None, typer.Option(help="Route (address) to explain, rule by rule.")]
Against = Annotated[str | None, typer.Option("--baseline", help="Baseline file; default: the estate's own.")]
Anew = Annotated[bool, typer.Option("--anew", help="Leave the old baseline aside, also one that cannot be read.")]
StoreAt = Annotated[str | None, typer.Option("--store", help="Root of the store.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


baseline_group = typer.Typer(no_args_is_help=True,
                             help="What an estate is known to have: written only by these commands.")


def gate(
    run_id: RunId, policy: Policy = None, suppressions: Suppressions = None, baseline: Baseline = None,
    explain: Explain = None, store: StoreAt = None, json: Json = False,
) -> int:
    """Gate a folded run again, by its own policy or by other files; exits with the verdict's code."""
    _set_store(store)
    from flows.commands.gate_text import explanation_lines
    from flows.judging import gate_again
    from flows.runs import ref_of
    from flows.summary import show_verdict
    from tasks.scan.clock import utc_now
    from tasks.store import Store

    ref = ref_of(run_id)
    judgement = gate_again(Store(ref.store), ref.layout, utc_now(), policy, suppressions, baseline, explain)
    if explain is None:
        show_verdict(judgement.verdict, ref, is_json=json)
    elif json:
        _print_json([asdict(route) for route in judgement.explanation])
    else:
        print(judgement.verdict.summary)
        print_lines(explanation_lines(judgement.explanation))
    if judgement.key is not None and not json:
        print(f"  {ref.store}/{judgement.key}")
    return judgement.verdict.exit_code


@baseline_group.command()
def update(run_id: RunId, anew: Anew = False, store: StoreAt = None) -> int:
    """Take what a run saw as known. Refused from an incomplete run."""
    _set_store(store)
    from flows.baselines import update_baseline
    from flows.commands.gate_text import written_lines
    from flows.runs import ref_of
    from tasks.scan.clock import utc_now
    from tasks.store import Store

    ref = ref_of(run_id)
    print_lines(written_lines(update_baseline(Store(ref.store), ref.layout, utc_now(), is_anew=anew), ref.store))
    return ExitCode.PASSED


@baseline_group.command()
def prune(run_id: RunId, store: StoreAt = None) -> int:
    """Take out what a run saw fixed or gone; nothing new comes in. Refused from an incomplete run."""
    _set_store(store)
    from flows.baselines import prune_by_run
    from flows.commands.gate_text import written_lines
    from flows.runs import ref_of
    from tasks.scan.clock import utc_now
    from tasks.store import Store

    ref = ref_of(run_id)
    print_lines(written_lines(prune_by_run(Store(ref.store), ref.layout, utc_now()), ref.store))
    return ExitCode.PASSED


@baseline_group.command()
def diff(run_id: RunId, against: Against = None, store: StoreAt = None, json: Json = False) -> int:
    """List what is new, fixed, gone or not verified in a run against the baseline."""
    _set_store(store)
    from flows.baselines import diff_with_run
    from flows.commands.gate_text import change_lines
    from flows.runs import ref_of
    from tasks.scan.clock import utc_now
    from tasks.store import Store

    ref = ref_of(run_id)
    changes = diff_with_run(Store(ref.store), ref.layout, utc_now(), against)
    if json:
        _print_json([asdict(change) for change in changes])
    else:
        print_lines(change_lines(changes))
    return ExitCode.PASSED


def suppressions(run_id: RunId, store: StoreAt = None, json: Json = False) -> int:
    """List who suppressed what until when, and how often it applied in a run."""
    _set_store(store)
    from flows.commands.gate_text import state_of, suppression_lines
    from flows.judging import folded_document
    from flows.runs import ref_of
    from schemas.verdict import from_document
    from tasks.store import Store

    ref = ref_of(run_id)
    verdict = from_document(folded_document(Store(ref.store), ref.layout), ref.layout.file("verdict.json"))
    if json:
        _print_json([{"state": state_of(use), **asdict(use)} for use in verdict.suppressions])
    else:
        print_lines(suppression_lines(verdict.suppressions, str(verdict.provenance["judged_on"])))
    return ExitCode.PASSED


def _set_store(store: str | None) -> None:
    from flows.settings import set_flags

    set_flags(store=store)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines without control characters: a page's text must not drive the terminal."""
    for line in lines:
        print(one_line(line))


def _print_json(document: Any) -> None:
    print(json_module.dumps(document, ensure_ascii=False, indent=1))
