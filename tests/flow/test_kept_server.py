"""`fanfold up` and `fanfold down`: a server that audits find, and that may be away for a while."""

import json
import shutil
import socket
import threading
import urllib.request

import pytest

from flows.server import free_port, state_folder
from tests.flow.api import wait_for
from tests.processes import marked
from tests.site import page, small_site

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def kept(alone, tmp_path):
    """The command line with a state folder of its own, its database migrated as set-up leaves it."""
    state = tmp_path / "state" / "fanfold"
    state.mkdir(parents=True)
    for template in state_folder().glob("prefect-*.db"):
        shutil.copyfile(template, state / template.name)
    alone.environment |= {"XDG_STATE_HOME": str(tmp_path / "state")}
    yield alone
    alone("down")
    assert marked(tmp_path / "state") == []


def flow_runs(address):
    request = urllib.request.Request(f"{address}/flow_runs/filter", b"{}", {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return {run["parameters"]["request"]["run_id"]: run["state_name"] for run in json.loads(answer.read())}


def test_an_audit_finds_a_kept_server_and_bears_its_restart(kept):
    """The server goes and comes back while shards are scanned; the run and its record are whole."""
    port = free_port()
    first = kept("up", "--port", port)
    address = f"http://127.0.0.1:{port}/api"
    assert (first.returncode, address in first.stdout) == (0, True), first.stdout + first.stderr
    assert "Already up" in kept("up").stdout
    with urllib.request.urlopen(urllib.request.Request(
            f"http://127.0.0.1:{port}/dashboard", headers={"Accept": "text/html"}), timeout=10) as answer:
        assert b"<html" in answer.read()[:500].lower()

    reached, go_on = threading.Event(), threading.Event()

    def hold():
        reached.set()
        go_on.wait(90)

    with small_site(5) as site:
        site.answers["/slow"] = page("Slow", before=hold)
        audit = kept.start("audit", site.manifest(kept.folder / "m.json"), "--run-id", "r1", "--shards", 3)
        assert reached.wait(120)
        assert flow_runs(address) == {"r1": "Running"}
        assert kept("down").stdout.startswith("Down: ")
        threading.Timer(3, go_on.set).start()  # the held shard ends while there is no server
        assert kept("up", "--port", port).returncode == 0
        output, _ = audit.communicate(timeout=150)
    assert audit.returncode == 0, output
    wait_for(lambda: flow_runs(address) == {"r1": "Completed"}, 30)
    down = kept("down")
    assert (down.returncode, down.stdout) == (0, f"Down: {address}\n")
    assert kept("down").stdout == "No server is kept.\n"


def test_a_kept_server_comes_back_on_its_port(kept):
    """What a shell has exported as PREFECT_API_URL holds; where the port was taken meanwhile, another one is found."""
    def up():
        return kept("up").stdout.partition("API: ")[2].partition("\n")[0]

    first = up()
    kept("down")
    assert (first.startswith("http://127.0.0.1:"), up()) == (True, first)
    kept("down")
    port = int(first.rpartition(":")[2].removesuffix("/api"))
    with socket.create_server(("127.0.0.1", port)):
        third = up()
    assert (third.startswith("http://127.0.0.1:"), third == first) == (True, False)


def test_an_audit_says_which_server_it_waits_for(alone):
    """A `PREFECT_API_URL` of a server that is gone: three silent minutes looked like a hanging audit."""
    address = f"http://127.0.0.1:{free_port()}/api"
    with small_site(1) as site:
        audit = alone.start("audit", site.manifest(alone.folder / "m.json"), PREFECT_API_URL=address)
        try:
            assert next((line for line in audit.stdout if "waiting" in line), "") == (
                f"waiting for the Prefect server at {address} …\n")
        finally:
            audit.kill()
            audit.wait()


def test_a_port_that_is_taken_is_bad_input(kept):
    with small_site(1) as site:
        done = kept("up", "--port", site.port)
    assert (done.returncode, "it ended at once" in done.stderr) == (3, True), done.stdout + done.stderr
    assert not (kept.folder / "state" / "fanfold" / "server.json").exists()
