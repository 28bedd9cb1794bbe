"""A flow whose worker is gone: nobody reads its lines any more, and it goes on.

Here: what a line of a worker's flow does that cannot be written. Not here: logging, which is Prefect's; the signals
that end a flow (`audit.py`, `run_flow.py`); a command line's answer that nobody reads (`cli.py`).
"""

import os

from rich.console import Console


def outlive_readers() -> None:
    """Let lines that nobody reads go nowhere, for as long as this process lives.

    A worker is the reader of its flow's output. Prefect's log writes by way of rich, which otherwise ends the process
    at the first line after the worker's death: with a code that is a verdict's.
    """
    Console.on_broken_pipe = _write_nowhere  # type: ignore[method-assign, assignment]


def _write_nowhere(console: Console) -> None:
    """Put the null device in the place of the stream that is broken, and leave every other one alone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, console.file.fileno())
    os.close(nowhere)
