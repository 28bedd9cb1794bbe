"""The doctor's checks, each with what is well, what is a drawback and what would end an audit."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path

import pytest

import flows
from flows.cli import exit_code_of
from flows.doctor import examine_browser, examine_capacity, examine_credentials, examine_engine, examine_packages
from flows.surroundings import ServerAnswer, examine_clock, examine_server, examine_store
from schemas.check import CheckState, fault, ok, warning
from schemas.settings import Exclusion, ScanSettings, Settings

OWN = Path(flows.__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE", "FANFOLD_BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@contextmanager
def prefect_that_says(said: str, status: int = 200) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api"
    server.shutdown()
    server.server_close()


def test_a_browser_that_is_not_there() -> None:
    assert list(examine_browser(Settings(browser="/no/such/browser"))) == [
        fault("browser", "browser: /no/such/browser does not run",
              "Set `browser` to the path of a Chromium, or remove the setting.")]


def test_selectors_that_the_browser_does_not_know() -> None:
    scan = ScanSettings(exclude_elements=(Exclusion("#chat"), Exclusion("div:nonsense(1)")))
    (found,) = [check for check in examine_browser(Settings(scan=scan)) if check.state is CheckState.FAULT]
    assert (found.name, "'div:nonsense(1)' is no selector" in found.found) == ("settings", True)


def test_engines(tmp_path: Path) -> None:
    (found,) = examine_engine(Settings())
    assert (found.state, found.found.split()[:2]) == (CheckState.OK, ["axe", "4.12.1,"])
    (missing,) = examine_engine(Settings(scan=ScanSettings(engine_path=str(tmp_path / "axe.js"))))
    assert (missing.state, bool(missing.remedy)) == (CheckState.FAULT, True)


def test_capacity() -> None:
    (fair,) = examine_capacity(Settings(shards_at_once=1, in_flight=1))
    assert (fair.state, fair.found.partition("; ")[2]) == (CheckState.OK, "1 shard × 1 route at once")
    crowded = list(examine_capacity(Settings(shards_at_once=900, in_flight=64)))
    assert {check.state for check in crowded} == {CheckState.WARNING}


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    (good,) = examine_store(Settings(store=str(tmp_path / "new")))
    assert (good.state, (tmp_path / "new").exists()) == (CheckState.OK, False)
    (tmp_path / "file").write_text("x")
    (bad,) = examine_store(Settings(store=str(tmp_path / "file" / "store")))
    place = tmp_path / "file" / "store"
    assert bad == fault("store", f"cannot be written (a file is in the place of the folder {place}): {place}",
                        "Set `store` or FANFOLD_STORE to a folder or bucket that this user may write.")
    (odd,) = examine_store(Settings(store="nowhere://user:hush@x/y"))
    assert (odd.state, "hush" in odd.found) == (CheckState.FAULT, False)


def test_foreign_packages(tmp_path: Path) -> None:
    assert list(examine_packages(OWN, [str(OWN)])) == [ok("packages", f"ours, in {OWN}")]
    here, other = tmp_path / "here", tmp_path / "other"
    (here / "tasks").mkdir(parents=True)
    other.mkdir()
    # A folder that is no package: Python skips it.
    assert list(examine_packages(here, [str(OWN)])) == [ok("packages", f"ours, in {OWN}")]
    (here / "tasks" / "__init__.py").touch()
    (other / "schemas.py").touch()
    assert list(examine_packages(here, [str(OWN), str(other)])) == [
        warning("packages", f"`tasks` of another program in {here}",
                "Start fanfold in another folder: Python would take one for the other."),
        warning("packages", f"`schemas` of another program in {other}",
                "Give fanfold an environment of its own: Python would take one for the other.")]


def test_credentials(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("hush\n")
    (tmp_path / "staff.json").write_text('{"headers": {"X-A": "{{secret:T}}"}}')
    good = {"FANFOLD_SECRET_T_FILE": str(tmp_path / "t"), "FANFOLD_PROFILE_STAFF": str(tmp_path / "staff.json")}
    assert list(examine_credentials({**good, "FANFOLD_SECRET_U": "u", "HOME": "/"})) == [
        ok("credentials", "FANFOLD_PROFILE_STAFF, FANFOLD_SECRET_T_FILE")]
    assert list(examine_credentials({"FANFOLD_PROFILE_STAFF": str(tmp_path / "staff.json")}, ["T"])) == [
        ok("credentials", "FANFOLD_PROFILE_STAFF")]
    gone = list(examine_credentials({"FANFOLD_PROFILE_STAFF": str(tmp_path / "gone.json")}))
    assert [(check.state, check.found) for check in gone] == [(
        CheckState.FAULT, f"FANFOLD_PROFILE_STAFF: {tmp_path / 'gone.json'}: cannot be read (No such file or "
        "directory); expected a file that exists and may be read")]


def test_the_server_of_prefect(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = version("prefect")
    assert list(examine_server()) == [ok("prefect", f"{ours}; no server is set, each audit starts one of its own")]
    for said, status, expected in (
        (ours, 200, ok("prefect", f"{ours}; server {ours} at ADDRESS")),
        ("2.20.1", 200, warning("prefect", f"the server at ADDRESS is 2.20.1, this is {ours}",
                                "Bring the server to the version of its clients, or newer.")),
        ("no", 401, fault("prefect", "the server at ADDRESS answers with status 401",
                          "Start it, or unset PREFECT_API_URL (or the profile): an audit then starts one of its own.")),
    ):
        with prefect_that_says(said, status) as address:
            monkeypatch.setenv("PREFECT_API_URL", address)
            (found,) = examine_server()
        assert found == replace(expected, found=expected.found.replace("ADDRESS", address))
    (gone,) = examine_server()
    assert gone.found == f"the server at {address} does not answer (ConnectionRefusedError)"


def test_the_clock() -> None:
    now = datetime.now(UTC)
    assert list(examine_clock(now, ServerAnswer("3", time=now - timedelta(seconds=5)))) == [
        ok("clock", f"{now:%Y-%m-%d %H:%M} UTC")]
    (ahead,) = examine_clock(now, ServerAnswer("3", time=now - timedelta(minutes=5)))
    assert (ahead.state, ahead.found) == (CheckState.WARNING, "is 300 s ahead of the Prefect server's")
    for wrong in (datetime(1970, 1, 1, tzinfo=UTC), datetime(2400, 1, 1, tzinfo=UTC)):
        (found,) = examine_clock(wrong, ServerAnswer())
        assert (found.state, "NTP" in found.remedy) == (CheckState.FAULT, True)


def test_the_command_says_what_would_fail(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FANFOLD_BROWSER", "/no/such/browser")
    monkeypatch.setenv("FANFOLD_SHARD", "3")
    assert exit_code_of(["doctor", "--json"]) == 3
    said = json.loads(capsys.readouterr().out)
    states = {check["name"]: check["state"] for check in said["checks"]}
    assert said["is_fit"] is False
    assert states == {"program": "ok", "settings": "warning", "browser": "fault", "engine": "ok", "capacity": "ok",
                      "store": "ok", "packages": "ok", "prefect": "ok", "clock": "ok"}
    assert all(check["remedy"] for check in said["checks"] if check["state"] != "ok")
    monkeypatch.setenv("FANFOLD_SHARDS", "none")
    assert exit_code_of(["doctor"]) == 3
    out = capsys.readouterr().out
    assert "fault    settings  FANFOLD_SHARDS: $.shards: \"none\" is of the wrong type" in out
    assert out.endswith("\nAn audit would fail here: mend what is marked `fault`.\n")
    assert list(tmp_path.glob("*-store")) == []


def test_settings_say_where_they_come_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fanfold.yaml").write_text(
        "run_budget: 90m\nexclude: ['glob:/x/**']\nscan: {settle_quiet: 250ms}\n"
        "source: {headers: {X-Key: hush-hush, Authorization: 'Bearer {{secret:T}}'}}\n", "utf-8")
    monkeypatch.setenv("FANFOLD_IN_FLIGHT", "3")
    monkeypatch.setenv("FANFOLD_EXCLUDE", "glob:/y")
    monkeypatch.setenv("FANFOLD_IN_FLIGHTS", "1")
    assert exit_code_of(["settings", "--json"]) == 0
    text = capsys.readouterr().out
    said = json.loads(text)
    rows = {row["key"]: (row["value"], row["origin"]) for row in said["settings"]}
    assert {key: row for key, row in rows.items() if row[1] != "default"} == {
        "run_budget": ("90m", "file fanfold.yaml"), "in_flight": (3, "environment FANFOLD_IN_FLIGHT"),
        "exclude": (["glob:/y", "glob:/x/**"], "environment FANFOLD_EXCLUDE + file fanfold.yaml"),
        "scan.settle_quiet": ("250ms", "file fanfold.yaml"),
        "source.headers": ({"X-Key": "***", "Authorization": "Bearer {{secret:T}}"}, "file fanfold.yaml")}
    assert (rows["route_deadline_max"], rows["scan.rules"]) == (("2m", "default"), ({"target-size": True}, "default"))
    assert "hush" not in text
    assert said["warnings"] == [
        "FANFOLD_IN_FLIGHTS is no setting. Did you mean `FANFOLD_IN_FLIGHT` for `FANFOLD_IN_FLIGHTS`?"]
    assert exit_code_of(["settings"]) == 0
    assert "in_flight                   environment FANFOLD_IN_FLIGHT" in capsys.readouterr().out
