"""`python -m flows.guardian`: the small parent of an embedded Prefect server.

It starts the server in a process group of its own, reads standard input, and when that pipe closes (the audit ended,
however it ended) it ends the server. Where the kernel can (Linux), a server whose guardian was killed ends with it.
Standard library only, so that it is there in no time. Not here: settings of the server and waiting for it
(`server.py`).
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1  # prctl(2)


def main(words: list[str]) -> int:
    """Run a command until standard input closes.

    Args:
        words: a log file, then the command.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the audit's business; its pipe tells us
    die_with_guardian = _death_with_parent() if sys.platform == "linux" else None
    with Path(words[0]).open("ab") as log:
        server = subprocess.Popen(words[1:], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                  preexec_fn=die_with_guardian)  # no thread was started yet
    threading.Thread(target=_leave_with, args=(server,), daemon=True).start()
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    _end(server)
    return 0


def _death_with_parent() -> Callable[[], None]:
    """Return what a child calls before it becomes its program, to be killed when this process ends, however it ends."""
    prctl, guardian = ctypes.CDLL(None).prctl, os.getpid()

    def call() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guardian:  # it ended before it could be asked for
            os._exit(1)

    return call


def _leave_with(server: "subprocess.Popen[bytes]") -> None:
    server.wait()
    os._exit(1)  # a server that ended by itself leaves nothing to guard


def _end(server: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)  # its database is thrown away: there is nothing to save
    server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
