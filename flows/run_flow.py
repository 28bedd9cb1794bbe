"""Run the flow from a command line: a server, a bar, signals, an exit code.

Here: what surrounds the flow in this process. Not here: the flow (`audit.py`), starting a server (`server.py`; the
command line does it first of all, so that an embedded one starts beside everything that is done here). Prefect is
imported only once its settings are in the environment.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from flows.progress import Terminal, listening
from flows.request import AuditRequest, as_request
from flows.server import client_environment, wait_until_healthy
from schemas.errors import TransientError
from schemas.exit_code import ExitCode
from schemas.terminal import for_terminal

if TYPE_CHECKING:
    from flows.runs import RunRef

SOON_SECONDS = 5.0
EXIT_CODES: Mapping[str, ExitCode] = {
    "Completed": ExitCode.PASSED, "Blocked": ExitCode.BLOCKED, "Incomplete": ExitCode.INCOMPLETE,
    "BadInput": ExitCode.BAD_INPUT,
}


def run_audit(request: Mapping[str, Any], address: str) -> int:
    """Run the flow on a request and return the exit code.

    Args:
        address: of the API of a server, which may still be starting.

    Raises:
        ContractError: bad input that shows before the flow starts.
    """
    asked: AuditRequest = as_request(request)
    with ExitStack() as stack:
        os.environ.update(client_environment(address))
        terminal = stack.enter_context(Terminal())
        stack.enter_context(stopping_on_signals())
        ref = _plan_first(asked, terminal)
        asked = asked.model_copy(update={"estate": ref.estate})  # of several runs with this id, this one
        _import_flow()
        if not _is_there_before_stop(address):
            return _interrupted(ref)
        with listening(terminal):
            try:
                state = _run(asked)
            except BaseException as error:
                if isinstance(error, Exception):
                    raise
                # Prefect takes SIGTERM while a flow runs, ends it as Crashed and raises its own signal.
                return _interrupted(ref)
    return _show(state, ref)


def _plan_first(asked: AuditRequest, terminal: Terminal) -> "RunRef":
    """Plan while the server starts, so that bad input is told at once; the flow then finds the plan in the store."""
    from flows.journey import plan_run

    assert asked.run_id is not None
    with listening(terminal):
        return plan_run(asked, asked.run_id, "before the flow", is_first_look=True).ref


def _is_there_before_stop(address: str) -> bool:
    """Wait for the server; False where a person ended the audit first.

    Raises:
        TransientError: it did not answer in time.
    """
    from tasks.scan.watch import STOP

    try:
        _wait_for_server(address, lambda: not STOP.is_set())
    except TransientError:
        if not STOP.is_set():
            raise
    return not STOP.is_set()


def _wait_for_server(address: str, is_awaited: Callable[[], bool]) -> None:
    """Wait for the server, and say so where it is not there soon: one that is set may be gone."""
    try:
        wait_until_healthy(address, SOON_SECONDS, is_awaited)
    except TransientError:
        if not is_awaited():
            raise
        print(f"waiting for the Prefect server at {for_terminal(address)} …", file=sys.stderr)
        wait_until_healthy(address, is_awaited=is_awaited)


def _interrupted(ref: "RunRef") -> ExitCode:
    print(f"Interrupted. What was finished is kept: fanfold resume {ref.run_id}", file=sys.stderr)
    return ExitCode.INCOMPLETE


def _import_flow() -> None:
    """Import all that the flow needs: it takes seconds, which a server that is starting has."""
    import fastapi  # noqa: F401 - Prefect's client takes it at the first call
    import prefect.flow_engine
    import prefect.task_engine
    import prefect.utilities.visualization  # noqa: F401

    import flows.audit  # noqa: F401


def _run(asked: AuditRequest) -> Any:
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    from flows.audit import audit_estate

    state = audit_estate(asked, return_state=True)
    APILogWorker.drain_all(timeout=5)  # before the server goes, and before this process does
    EventsWorker.drain_all(timeout=5)
    return state


def _show(state: Any, ref: "RunRef") -> int:
    """Show the verdict and return its code; a state that is not the verdict's own is no pass and no block."""
    from flows.summary import show_stored_verdict

    code = EXIT_CODES.get(state.name)
    if code is ExitCode.BAD_INPUT:
        print(f"Bad input, nothing was written:\n{for_terminal(str(state.message))}", file=sys.stderr)
        return code
    if code is None or code is not _stored_code(ref):
        print(f"Incomplete: the flow ended {state.name}: {for_terminal(str(state.message))}\n"
              f"To go on: fanfold resume {ref.run_id}", file=sys.stderr)
        return ExitCode.INCOMPLETE
    show_stored_verdict(ref)
    if code is ExitCode.INCOMPLETE:
        print(f"\nTo scan what is not settled: fanfold resume {ref.run_id}")
    return code


def _stored_code(ref: "RunRef") -> ExitCode | None:
    """Return the exit code of a run's verdict; None where it was never folded."""
    from tasks.store import Store

    store, key = Store(ref.store), ref.layout.file("verdict.json")
    return ExitCode(store.read_json(key)["exit_code"]) if store.exists(key) else None


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """On Ctrl-C or SIGTERM let every shard finish its writing, then fold what there is; a second one ends at once."""
    from tasks.scan.watch import STOP

    def stop(number: int, frame: FrameType | None) -> None:
        if STOP.is_set():
            raise KeyboardInterrupt
        STOP.set()
        print("\nStopping: shards keep what they finished …", file=sys.stderr)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
