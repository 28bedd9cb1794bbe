"""Fault 024: what is secret reaches the site that it is for, and nothing that a run writes, prints or tells Prefect."""

import json
import os
import subprocess
import sys
import urllib.request

import pyarrow.parquet as pq
import pytest

from tests.browser.faulty_site import FAULT, Site, html, redirect

TOKEN, LEAKED, HEADER, BLOCK = "t0k/en value&1", "leak-8f2c", "Bearer h3ader-5d1e", "bl0ck-77aa"
SPELLINGS = ("t0k/en", "t0k%2Fen", LEAKED, "h3ader-5d1e", BLOCK)
SAVE_BLOCK = """
import os
from prefect.blocks.system import Secret
Secret(value=os.environ["VALUE"]).save("block-token")
"""


@pytest.fixture
def site():
    server = Site()
    yield server
    server.close()


def texts_of(folder):
    """Everything that lies in a folder, Parquet unpacked."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.suffix == ".parquet":
            file = pq.ParquetFile(path)
            yield path, f"{file.read().to_pylist()} {file.schema_arrow.metadata}"
        else:
            yield path, path.read_bytes().decode("utf-8", "replace")


def texts_of_server(address):
    """What Prefect was told: runs with their parameters and states, logs, artifacts."""
    for kind in ("flow_runs", "task_runs", "logs", "artifacts"):
        asked = urllib.request.Request(f"{address}/{kind}/filter", b'{"limit": 200}',
                                       {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=20) as answer:
            yield kind, answer.read().decode()


def echo(_count, headers):
    """A page that repeats all that it was sent, in its title, its text and a faulty element."""
    sent = f"{headers.get('Authorization')} {TOKEN} {BLOCK}"
    return html(f'<p>{sent}</p><img src="/pixel?token={LEAKED}" data-sent="{sent}"><p style="color:#aaa">{sent}</p>'
                f'{FAULT}<script>console.error("{sent}")</script>', title=f"You sent {sent}")


def test_no_secret_is_in_anything_that_a_run_leaves(fanfold, prefect_server, site):
    site.put("/echo", echo)
    site.put("/asked", redirect("/echo?token=t0k%2Fen%20value%261"))
    site.put("/led", redirect(f"/landed?token={LEAKED}"))
    site.put("/landed", html("<p>here</p>"))
    site.put("/staff", echo)
    site.put("/me", lambda _, headers: html(f'<p id="me">{headers.get("Authorization")}</p>'))
    site.put(f"/in/{BLOCK}/path", html("<p>here</p>"))
    routes = [site.url(path) for path in ("/echo?token={{secret:T}}", "/asked?x={{secret:T}}", "/led",
                                          "/in/{{secret:BLOCK_TOKEN}}/path")]
    (fanfold.folder / "m.json").write_text(json.dumps({"estate": "site", "routes": [
        *routes, {"url": site.url("/staff"), "auth": "staff"}]}), "utf-8")
    (fanfold.folder / "header.txt").write_text(HEADER + "\n", "utf-8")
    (fanfold.folder / "staff.json").write_text(json.dumps({
        "headers": {"Authorization": "{{secret:header}}"}, "check": {"url": site.url("/me"), "selector": "#me"}}),
        "utf-8")
    subprocess.run([sys.executable, "-c", SAVE_BLOCK], env=os.environ | fanfold.environment | {"VALUE": BLOCK},
                   check=True, capture_output=True, timeout=60)

    done = fanfold("audit", "m.json", "--run-id", "r1", FANFOLD_SECRET_T=TOKEN, FANFOLD_SECRET_HEADER_FILE="header.txt",
                   FANFOLD_PROFILE_STAFF="staff.json", FANFOLD_SECRET_BLOCKS="BLOCK_TOKEN", FANFOLD_NO_SUCH="1")

    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.count("FANFOLD_NO_SUCH is no setting.") == 1
    folder = fanfold.store / "site" / "runs" / "r1"
    outcomes = {row["url"].removeprefix(site.url("")): (row["outcome"], (row["final_url"] or "").removeprefix(
        site.url(""))) for row in pq.read_table(folder / "outcomes.parquet").to_pylist()}
    assert outcomes == {
        "/echo?token={{secret:T}}": ("scanned", "/echo?token=***"),
        "/asked?x={{secret:T}}": ("redirected", "/echo?token=***"),
        "/led": ("scanned", "/landed?token=***"),
        "/in/{{secret:BLOCK_TOKEN}}/path": ("scanned", "/in/***/path"),
        "/staff": ("scanned", "/staff"),
    }
    asked = {path: headers.get("Authorization") for path, headers in site.requests}
    assert {"/echo?token=t0k%2Fen%20value%261": None, "/asked?x=t0k%2Fen%20value%261": None, "/me": HEADER,
            "/staff": HEADER, f"/in/{BLOCK}/path": None}.items() <= asked.items()
    written = [*texts_of(fanfold.store), *texts_of_server(prefect_server), ("stdout", done.stdout),
               ("stderr", done.stderr)]
    assert any("You sent" in text for _, text in written)  # so the page's echo is in there, hidden
    assert [(str(name), word) for name, text in written for word in SPELLINGS if word in text] == []


def test_a_password_in_a_manifest_is_refused_and_not_repeated(alone):
    (alone.folder / "m.json").write_text(
        '["https://user:s3cret-99@127.0.0.1/a", "https://e.test/?token=abc-def"]', "utf-8")
    done = alone("plan", "m.json")
    assert (done.returncode, alone.store.exists()) == (3, False)
    assert "use an auth profile" in done.stderr.lower()
    assert not any(word in done.stdout + done.stderr for word in ("s3cret-99", "abc-def"))


def test_what_is_missing_is_refused_before_anything_is_written(alone):
    """Exit 3 names each secret and profile; a plan for other machines is made all the same."""
    (alone.folder / "m.json").write_text(json.dumps({"estate": "site", "routes": [
        {"url": "http://127.0.0.1:9/a", "auth": "staff"}, "http://127.0.0.1:9/b?t={{secret:T}}"]}), "utf-8")
    done = alone("audit", "m.json", "--run-id", "r1")
    assert (done.returncode, alone.store.exists()) == (3, False), done.stderr
    assert "auth profile staff: FANFOLD_PROFILE_STAFF is not set" in done.stderr
    assert "secret T: is nowhere to be found" in done.stderr
    planned = alone("plan", "m.json", "--run-id", "r1")
    leg = alone("scan", "--plan", "r1", "--shard", 0)
    assert (planned.returncode, leg.returncode) == (0, 3), leg.stderr
    assert list(alone.store.rglob("receipt.json")) == []
