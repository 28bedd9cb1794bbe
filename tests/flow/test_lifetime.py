"""An audit's processes live as long as the audit: killed, interrupted, two at once."""

import os
import signal
import socket
import sys
import time

import pyarrow.parquet as pq
import pytest

from tasks.scan.process import descendants
from tests.faults.conftest import OUTCOME_COLUMNS
from tests.processes import command_of, kill, marked
from tests.site import Answer, page, small_site

GONE_SECONDS = 10


def wait_until(is_true, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if is_true():
            return True
        time.sleep(0.1)
    return False


def slow_site(count=12):
    site = small_site(count)
    for path, answer in list(site.answers.items()):
        site.answers[path] = Answer(answer.body, delay_s=0.4)
    return site


def outcomes_of(folder, run_id):
    table = pq.read_table(folder / "fanfold-store" / "site" / "runs" / run_id / "outcomes.parquet")
    return sorted(table.select(list(OUTCOME_COLUMNS)).to_pylist(), key=repr)


def committed_urls(folder):
    """Addresses in every committed triple of the run."""
    run = folder / "fanfold-store" / "site" / "runs" / "r1"
    return {url for path in run.glob("partials/*/*/outcomes-*.parquet")
            for url in pq.read_table(path)["url"].to_pylist()}


def test_after_sigkill_of_an_audit_nothing_is_left_and_it_resumes(alone):
    """067, 123: the audit has a server of its own; SIGKILL of the audit alone, then of the whole tree."""
    with slow_site() as site:
        manifest = site.manifest(alone.folder / "m.json")
        audit = alone.start("audit", manifest, "--run-id", "r1")
        assert wait_until(lambda: len(site.log) >= 3, 120), audit.stdout.read()
        os.kill(audit.pid, signal.SIGKILL)
        began = time.monotonic()
        audit.stdout.read()  # the caller's pipe closes
        assert wait_until(lambda: marked(alone.folder) == [], GONE_SECONDS - (time.monotonic() - began))
        second = alone.start("resume", "r1")
        seen = len(site.log)
        assert wait_until(lambda: len(site.log) > seen + 1, 120)
        kill(marked(alone.folder))
        second.wait()
        assert marked(alone.folder) == []
        done = alone("resume", "r1")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = outcomes_of(alone.folder, "r1")
    assert ([row["outcome"] for row in rows], len(rows)) == (["scanned"] * 12, 12)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells a child of its parent's end: Linux only")
def test_after_sigkill_of_the_guardian_its_server_is_gone(alone):
    with slow_site() as site:
        audit = alone.start("audit", site.manifest(alone.folder / "m.json"), "--run-id", "r1")
        try:
            assert wait_until(lambda: len(site.log) >= 3, 120), audit.stdout.read()
            (guardian,) = marked(alone.folder, "flows.guardian")
            server = descendants(guardian)
            assert any("prefect server start" in command_of(pid) for pid in server)
            os.kill(guardian, signal.SIGKILL)
            assert wait_until(lambda: not any(map(command_of, server)), GONE_SECONDS)
        finally:
            kill(marked(alone.folder))
            audit.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_audit_keeps_what_it_finished_and_says_how_to_resume(fanfold, number):
    with slow_site() as site:
        manifest = site.manifest(fanfold.folder / "m.json")
        audit = fanfold.start("audit", manifest, "--run-id", "r1")
        assert wait_until(lambda: len(site.log) >= 9, 120)  # four at once: five have ended
        audit.send_signal(number)
        said, _ = audit.communicate(timeout=120)
        assert (audit.returncode, "fanfold resume r1" in said) == (2, True), said
        kept = committed_urls(fanfold.folder)
        assert len(kept) >= 4
        site.log.clear()
        assert fanfold("resume", "r1").returncode == 0
        assert {site.url(path) for path in site.log} == set(map(site.url, site.answers)) - kept


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_audit_that_waits_for_its_server_ends_when_it_is_told_to(alone, number):
    with small_site(1) as site, socket.create_server(("127.0.0.1", 0)) as silent:  # takes calls and answers none
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/api"
        audit = alone.start("audit", site.manifest(alone.folder / "m.json"), "--run-id", "r1", PREFECT_API_URL=address)
        try:
            assert wait_until(lambda: list(alone.store.glob("*/runs/r1/plan.json")), 60)
            audit.send_signal(number)
            said, _ = audit.communicate(timeout=60)
        finally:
            kill(marked(alone.folder))
    assert (audit.returncode, "fanfold resume r1" in said, site.log) == (2, True, []), said


def test_two_audits_at_once_do_not_disturb_each_other(fanfold):
    with small_site(3) as one, small_site(3) as two:
        two.answers["/p01"] = page("Another")
        first = fanfold.start("audit", one.manifest(fanfold.folder / "one.json"), "--run-id", "r1", "--estate", "one")
        second = fanfold.start("audit", two.manifest(fanfold.folder / "two.json"), "--run-id", "r2", "--estate", "two")
        said = [audit.communicate(timeout=300)[0] for audit in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), said
    assert (sorted(one.log), sorted(two.log)) == ([f"/p{i:02d}" for i in range(3)],) * 2
