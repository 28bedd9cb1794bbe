"""The table of processes, as /proc has it and as `ps` has it where there is no /proc (macOS)."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.scan import process
from tasks.scan.process import children, descendants, kill_all, with_descendants
from tests.processes import kill

NEEDS_PS = pytest.mark.skipif(not Path("/bin/ps").exists(), reason="no `ps` here")


@pytest.fixture(params=["proc", pytest.param("ps", marks=NEEDS_PS)], autouse=True)
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if request.param == "ps":
        monkeypatch.setattr(process, "PROC", tmp_path / "none")


@pytest.fixture
def shell() -> Iterator["subprocess.Popen[str]"]:
    """A shell with one process below it."""
    with subprocess.Popen(["/bin/sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True) as made:
        yield made
        kill([made.pid, *descendants(made.pid)])


def inner_of(shell: "subprocess.Popen[str]") -> int:
    assert shell.stdout
    return int(shell.stdout.readline())


def test_looking_makes_no_process_of_ours(shell: "subprocess.Popen[str]") -> None:
    before = children(os.getpid())
    assert shell.pid in before
    assert children(os.getpid()) == before
    assert set(descendants(os.getpid())) > before
    assert len(descendants(shell.pid)) == 1


def test_all_below_is_known_with_its_beginning(shell: "subprocess.Popen[str]") -> None:
    inner = inner_of(shell)
    found = with_descendants([shell.pid, inner, 2**22 + 1])
    assert set(found) == {shell.pid, inner}
    assert all(found.values())


def test_a_number_that_was_given_away_again_is_not_killed(shell: "subprocess.Popen[str]") -> None:
    inner = inner_of(shell)
    kill_all({shell.pid: "another time", inner: ""})
    assert shell.poll() is None
    assert set(with_descendants([shell.pid])) == {shell.pid, inner}
    kill_all(with_descendants([shell.pid]))
    assert shell.wait(10) == -signal.SIGKILL
