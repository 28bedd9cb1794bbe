"""`python -m tasks.scan --url`: what a person is told of one address, by the path that a shard takes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.layout import EstateLayout
from schemas.settings import ScanSettings
from tasks.freeze import write_plan
from tasks.scan.__main__ import main
from tasks.scan.browser import find_browser
from tasks.scan.engine import read_engine
from tasks.store import Store
from tests.browser.faulty_site import FAULT, Site, html, planned, redirect
from tests.small_estate import plan_of

LINE = re.compile(r" *\d+ ms  (\S+) +(.*)")
DEAD_FRAME = "http://127.0.0.1:1/"


def told(text: str) -> list[tuple[str, str]]:
    """The steps and what is said of each."""
    return [(match[1], match[2]) for match in map(LINE.fullmatch, text.splitlines()) if match]


def test_every_step_is_told_and_none_steers_the_terminal(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redirects, steps, settling, frames, rules, nodes and the outcome, in their order; secrets nowhere."""
    monkeypatch.setenv("FANFOLD_SECRET_T", "s3cr3t-value")
    site.put("/in", html(FAULT))
    page = site.put("/", html(f"""<button id="go" onclick="rest.hidden = false">Go</button><input id="q" aria-label="q">
        <div id="rest" hidden><p id="a\x1b[31m" style="color:#ccc">Pale</p>
        <iframe title="x" src="/in"></iframe><iframe title="y" src="{DEAD_FRAME}"></iframe></div>
        <script>q.oninput = () => rest.firstElementChild.id += q.value</script>"""))
    site.put("/from", redirect("/?token=abcdef"))
    manifest = tmp_path / "m.json"
    manifest.write_text(json.dumps({"default_journey": "secondary", "routes": [page, {
        "url": site.url("/from"), "ready": "#rest", "ready_when": "!rest.hidden // \x1b[2J\n",
        "expect": {"url": page + "?token=abcdef"},
        "actions": [{"dismiss": "#banner"}, {"fill": "#q", "value": "{{secret:T}}"}, {"click": "#go"}]}]}), "utf-8")
    assert main(["--url", site.url("/from"), "--manifest", str(manifest), "--explain"]) == 0
    text = capsys.readouterr().out
    found = told(text)
    build, engine = find_browser(None), read_engine(None, ScanSettings().rules)
    steps = [step for step, _ in found]
    assert [step for step, before in zip(steps, ["", *steps], strict=False) if step != before] == [
        "browser", "engine", "route", "phase", "context", "phase", "answer", "arrived", "phase", "action", "phase",
        "look", "settled", "address", "phase", "tested", "untested", "rules", "judged", "violation", "review",
        "outcome", "detail", "fix"]
    said = dict(found)
    hidden = page + "?token=***"
    assert said["browser"] == f"{build.kind} {build.version} ({build.path})"
    assert engine.options_digest[:12] in said["engine"] and engine.version in said["engine"]
    assert said["context"].startswith("viewport 1280×720, ") and "locale en-US" in said["context"]
    assert [text for step, text in found if step == "answer"] == [
        f"302 {site.url('/from')} leads to /?token=***", f"200 {hidden}"]
    assert said["arrived"] == f"{hidden} (status 200, text/html; charset=utf-8): may be tested"
    assert [text for step, text in found if step == "action"] == [
        "1, dismiss #banner: was not there", "2, fill #q: done", "3, click #go: done"]
    assert said["settled"] == "by ready"
    assert said["address"] == f"{hidden} (status 200, text/html): may be tested"
    assert said["tested"] == "2 documents by axe-core 4.12.1, 1 not tested"
    assert said["untested"] == f"{DEAD_FRAME} (error_page)"
    assert {"color-contrast (serious)", "image-alt (critical)"} <= {
        " ".join(text.split()[:2]) for step, text in found if step == "violation"}
    assert said["outcome"] == "partially_scanned (frame_untested)"
    assert "s3cr3t" not in text and "abcdef" not in text and "\x1b" not in text
    assert len(found) == len(text.splitlines()), "each line is one of ours"


def test_without_it_only_the_outcome_is_told(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    url = site.put("/", html(FAULT + '<p style="color:#ccc">Pale</p>'))
    assert main(["--url", url]) == 0
    assert main(["--url", url, "--ready-when", "if (app)"]) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"scanned (tested) {url}: 2 violations, 0 to review",
        f"not_ready (ready_when_invalid) {url}: SyntaxError: Unexpected token 'if'; `ready_when` is no JavaScript "
        "expression. Correct the manifest: an expression has a value, without `;` or `return`."]


def test_a_step_that_fails_is_told_where_it_failed(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = site.put("/", html("<p>x</p>"))
    (tmp_path / "m.json").write_text(json.dumps([{"url": url, "actions": [{"wait": "h1"}, {"click": "#["}]}]), "utf-8")
    assert main(["--url", url, "--manifest", str(tmp_path / "m.json"), "--explain"]) == 2
    found = told(capsys.readouterr().out)
    assert [text for step, text in found if step in ("action", "outcome", "detail")] == [
        "1, wait h1: done", "2, click #[: failed", "not_ready (action_failed)",
        'step 2, click #[: Unexpected token "#" while parsing css selector "#[". Did you mean to CSS.escape it?']
    assert found[-1][0] == "fix"


def test_a_route_of_a_run_is_visited_as_it_was_planned(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its settings and its steps, whatever the manifest says by now. As a process, as a person starts it."""
    body = f'<button id="go" onclick="rest.hidden = false">Go</button><p id="rest" hidden>{FAULT}</p>'
    url = site.put("/", html(body))
    scan = ScanSettings(rules=(("region", False),), viewport_width=640, settle_quiet_ms=150)
    plan = plan_of(planned(url, actions='[{"click":"#go"}]'), scan=scan, browser_version=None,
                   engine=read_engine(None, scan.rules))
    write_plan(Store(str(tmp_path)), EstateLayout("shop").run("r1"), plan, {})
    run = ["--store", str(tmp_path), "--estate", "shop", "--run-id", "r1"]
    done = subprocess.run([sys.executable, "-m", "tasks.scan", "--url", url, "--explain", *run], capture_output=True,
                          text=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    found = dict(told(done.stdout))
    assert (done.returncode, found["action"], found["outcome"]) == (0, "1, click #go: done", "scanned (tested)")
    assert found["violation"] == "image-alt (critical) img"
    assert "viewport 640" in found["context"]
    assert plan.header.engine.options_digest[:12] in found["engine"]
    before = sorted(tmp_path.rglob("*"))
    assert main(["--url", url, *run]) == 0
    assert sorted(tmp_path.rglob("*")) == before, "nothing is stored"
    capsys.readouterr()


REFUSED = {
    "scheme": (["--url", "ftp://e.test/"], "--url: the scheme is not http or https"),
    "secret": (["--url", "https://e.test/?token=x"], "carries a value for the secret parameter `token`"),
    "half a run": (["--url", "https://e.test/", "--run-id", "r1"], "names part of a run"),
    "no such run": (["--url", "https://e.test/", "--run-id", "r1", "--estate", "shop", "--store", "STORE"],
                    "run r1: has no plan that can be read"),
    "not in the manifest": (["--url", "https://e.test/b", "--manifest", "STORE/m.json"],
                            "m.json: has no entry for https://e.test/b"),
    "no manifest": (["--url", "https://e.test/", "--manifest", "STORE/m.csv"], "m.csv: is no JSON"),
    "a bad manifest": (["--url", "https://e.test/", "--manifest", "STORE/bad.json"], "fits none of the allowed forms"),
    "no profile": (["--url", "https://e.test/", "--auth", "staff"], "FANFOLD_PROFILE_STAFF is not set"),
    "no browser": (["--url", "https://e.test/", "--browser", "/bin/false"], "/bin/false does not run"),
    "unknown": (["--url", "https://e.test/", "--explian"], "unrecognized arguments"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_asked_is_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, case: str
) -> None:
    (tmp_path / "m.json").write_text('["https://e.test/a"]', "utf-8")
    (tmp_path / "m.csv").write_text("url\nhttps://e.test/\n", "utf-8")
    (tmp_path / "bad.json").write_text('[{"url": "https://e.test/", "actions": [{"clik": "#a"}]}]', "utf-8")
    words, fault = REFUSED[case]
    assert main([word.replace("STORE", str(tmp_path)) for word in words]) == 3
    assert fault in caplog.text
    assert capsys.readouterr().out == ""
