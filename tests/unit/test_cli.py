"""Every way out of a command ends in an exit code of ours, also where nobody can be told what it found."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"
NEWEST = max(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())


@pytest.fixture
def start(tmp_path):
    """Start a command as a user does, on a store with a golden run, with standard streams as they are given."""
    shutil.copytree(GOLDEN / NEWEST, tmp_path / "store")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "FANFOLD_"))}

    def start(*words: str, **streams) -> int:
        given = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL} | streams
        buffering = given.pop("buffering", {})
        return subprocess.run([sys.executable, "-m", "flows", *words], cwd=tmp_path, check=False, timeout=60,
                              env=environment | {"FANFOLD_STORE": "store"} | buffering, **given).returncode

    return start


@pytest.fixture
def gone():
    """A pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("words", [("runs",), ("runs", "--json"), ("settings",), ("--help",)], ids=" ".join)
def test_an_answer_that_nobody_reads_is_no_block(start, gone, words, buffering):
    """Whoever asks `is it 1` must not hear of findings where there are none."""
    assert start(*words, buffering=buffering) == 0
    assert start(*words, stdout=gone, buffering=buffering) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
def test_an_answer_that_finds_no_room_is_no_block(start, buffering):
    with Path("/dev/full").open("wb") as full:
        for words in (("runs",), ("runs", "--json"), ("settings",)):
            assert start(*words, stdout=full, buffering=buffering) == 2, words


def test_bad_input_stays_bad_input_where_the_message_finds_no_reader(start, gone):
    for words in (("gate", "nobody"), ("gate", "r1", "--no-such-flag"), ("export", "--output", "o", "--since", "x")):
        assert start(*words, stderr=gone) == 3, words
        assert start(*words, stderr=gone, stdout=gone) == 3, words


def test_streams_that_were_closed_on_purpose_change_no_code(start):
    def close() -> None:
        os.close(1)
        os.close(2)

    assert start("runs", stdout=None, stderr=None, preexec_fn=close) == 0
