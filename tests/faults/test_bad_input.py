"""Bad input: exit code 3, one clear message that names file, entry, expectation and way out; nothing is written."""

import json

import pytest

from flows.cli import exit_code_of
from schemas.verdict import ExitCode

SITE = "https://e.test"
GOOD = {"estate": "shop", "routes": [f"{SITE}/a"]}


@pytest.fixture
def fanfold(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own; returns exit code, messages, and whether the store was touched."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")  # bad input is found before it is asked
    for name in ("FANFOLD_STORE", "FANFOLD_BROWSER", "FANFOLD_SHARDS_AT_ONCE", "FANFOLD_IN_FLIGHT"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str) -> tuple[int, str, bool]:
        code = exit_code_of(list(words))
        said = capsys.readouterr()
        return code, said.err + said.out, (tmp_path / "fanfold-store").exists()

    return run


def written(tmp_path, document, name="m.json"):
    text = document if isinstance(document, str) else json.dumps(document)
    (tmp_path / name).write_text(text, encoding="utf-8")
    return name


MANIFESTS = {
    "empty file": ("", ["m.json", "empty"]),
    "no JSON": ('{"routes": [', ["m.json"]),
    "no routes": ({"estate": "shop", "routes": []}, ["m.json", "routes"]),
    "nothing left": ({"routes": [f"{SITE}/admin/x"]}, ["m.json", "nothing to audit", "exclude"]),
    "duplicates": ({"routes": [{"url": f"{SITE}/a", "owner": "x"}, {"url": f"{SITE}/a/", "owner": "y"}]},
                   ["routes[0]", "routes[1]", "owner"]),
    "other scheme": ({"routes": ["ftp://e.test/a", "javascript:alert(1)"]}, ["routes[0]", "routes[1]", "http"]),
    "user info": ({"routes": ["https://user:hunter2@e.test/a"]}, ["routes[0]", "auth"]),
    "secret parameter": ({"routes": [f"{SITE}/a?token=hunter2"]}, ["routes[0]", "{{secret:"]),
    "unknown key": ({"routes": [{"url": f"{SITE}/a", "jurney": "primary"}]}, ["routes[0]", "`jurney`", "`journey`"]),
    "estate no path": ({"estate": "../etc", "routes": [f"{SITE}/a"]}, ["estate", "../etc"]),
    "bad priority": ({"routes": [{"url": f"{SITE}/a", "priority": 7}]}, ["routes[0].priority"]),
    "control character": ({"routes": [f"{SITE}/a\n/b"]}, ["routes[0]", "control"]),
    "half a character": ({"routes": [{"url": f"{SITE}/a", "owner": "\ud800", "tags": ["\udfff"]}]},
                         ["routes[0].owner", "routes[0].tags[0]", "surrogate"]),
    "too many digits": ('{"routes": [{"url": "https://e.test/a", "monthly_views": 1' + "0" * 400 + "}]}",
                        ["routes[0].monthly_views", "a finite number"]),
    "backslash": ({"routes": ["https://e.test\\@evil.test/"]}, ["routes[0]"]),
}


@pytest.mark.parametrize(("document", "fragments"), MANIFESTS.values(), ids=MANIFESTS)
def test_a_bad_manifest_is_told_by_entry(fanfold, tmp_path, document, fragments):
    code, said, is_touched = fanfold("audit", written(tmp_path, document))
    assert (code, is_touched, [f for f in fragments if f not in said], "hunter2" in said) == (
        ExitCode.BAD_INPUT, False, [], False), said


POLICIES = {
    "impact": ("cells: {catastrophic: block}", ["policy.yaml", "catastrophic", "critical"]),
    "level": ("level: AAAA", ["policy.yaml", "AAAA"]),
    "rule": ("rules: {foo-bar: block}", ["policy.yaml", "foo-bar"]),
    "cell": ("cells: {critical: explode}", ["policy.yaml", "explode"]),
    "key": ("standrad: wcag22", ["policy.yaml", "`standrad`", "`standard`"]),
    "gates nothing": ("cells: {critical: warn, serious: warn, unknown: warn}", ["policy.yaml", "gates nothing"]),
    "unknown ignored": ("cells: {unknown: ignore}", ["policy.yaml", "unknown"]),
    "no YAML": ("a: [", ["policy.yaml"]),
}


@pytest.mark.parametrize(("text", "fragments"), POLICIES.values(), ids=POLICIES)
def test_a_bad_policy_is_told_by_place(fanfold, tmp_path, text, fragments):
    written(tmp_path, text, "policy.yaml")
    code, said, is_touched = fanfold("audit", written(tmp_path, GOOD), "--policy", "policy.yaml")
    assert (code, is_touched, [f for f in fragments if f not in said]) == (ExitCode.BAD_INPUT, False, []), said


def test_a_pattern_to_rescan_is_told_before_anything_is_read(fanfold):
    code, said, is_touched = fanfold("audit", "no-such-file.json", "--rescan", "/x")
    assert (code, is_touched, "names no language" in said) == (ExitCode.BAD_INPUT, False, True), said


def test_faults_of_several_files_are_told_together(fanfold, tmp_path):
    written(tmp_path, "level: AAAA", "policy.yaml")
    written(tmp_path, "{", "baseline.json")
    manifest = written(tmp_path, {"routes": [{"url": f"{SITE}/a", "jurney": "x"}]})
    code, said, is_touched = fanfold("plan", manifest, "--policy", "policy.yaml", "--baseline", "baseline.json")
    assert (code, is_touched) == (ExitCode.BAD_INPUT, False)
    assert [name for name in ("m.json", "policy.yaml", "baseline.json") if name not in said] == []


FLAGS = {
    "run id": (["--run-id", "../x"], ["run id", "../x"]),
    "estate": (["--estate", "a/b"], ["estate"]),
    "no such file": (["--policy", "none.yaml"], ["none.yaml", "cannot be read"]),
    "no such baseline": (["--baseline", "none.json"], ["none.json"]),
    "no number": (["--shards", "many"], ["--shards"]),
    "no shards": (["--shards", "0"], ["--shards"]),
    "no such flag": (["--sharts", "3"], ["--sharts"]),
    "budget": (["--run-budget", "-1"], ["--run-budget"]),
}


@pytest.mark.parametrize(("words", "fragments"), FLAGS.values(), ids=FLAGS)
def test_a_bad_flag_is_told(fanfold, tmp_path, words, fragments):
    code, said, is_touched = fanfold("audit", written(tmp_path, GOOD), *words)
    assert (code, is_touched, [f for f in fragments if f not in said]) == (ExitCode.BAD_INPUT, False, []), said


@pytest.mark.parametrize(("name", "value", "fragments"), [
    ("FANFOLD_BROWSER", "/nowhere/chromium", ["browser", "/nowhere/chromium"]),
    ("FANFOLD_STORE", "/proc/fanfold", ["store", "cannot be written"]),
    ("FANFOLD_STORE", "nosuch://x", ["store nosuch://x", "cannot be opened"]),
    ("FANFOLD_SHARDS_AT_ONCE", "few", ["FANFOLD_SHARDS_AT_ONCE"]),
    ("PREFECT_API_URL", "foo", ["PREFECT_API_URL", "http(s)://HOST:PORT/api"]),
    ("PREFECT_API_URL", "http://[::1", ["PREFECT_API_URL", "http(s)://HOST:PORT/api"]),
])
def test_what_is_missing_on_the_machine_is_told(fanfold, tmp_path, monkeypatch, name, value, fragments):
    """095 (a): no usable browser is found before anything starts."""
    monkeypatch.setenv(name, value)
    code, said, is_touched = fanfold("audit", written(tmp_path, GOOD))
    assert (code, is_touched, [f for f in fragments if f not in said]) == (ExitCode.BAD_INPUT, False, []), said


def test_a_store_that_forgot_its_last_full_run_is_told(fanfold, tmp_path):
    """No file is a first run; a broken one would let an estate shrink without a word."""
    (tmp_path / "fanfold-store" / "shop").mkdir(parents=True)
    (tmp_path / "fanfold-store" / "shop" / "latest.json").write_text("{}", "utf-8")
    for words in (["plan", written(tmp_path, GOOD)], ["show", "latest"], ["prune", "--keep", "1"]):
        code, said, _ = fanfold(*words)
        assert (code, "shop/latest.json: is broken" in said) == (ExitCode.BAD_INPUT, True), said


@pytest.mark.parametrize("name", ["runs", "history"])
def test_a_file_in_the_place_of_a_folder_of_the_store_is_told(fanfold, tmp_path, name):
    (tmp_path / "fanfold-store" / "shop").mkdir(parents=True)
    (tmp_path / "fanfold-store" / "shop" / name).write_text("", "utf-8")
    code, said, _ = fanfold("plan", written(tmp_path, GOOD))
    left = [path.name for path in (tmp_path / "fanfold-store").rglob("*")]
    assert (code, sorted(left)) == (ExitCode.BAD_INPUT, sorted(["shop", name])), said
    assert "in the place of the folder" in said


def test_an_unknown_setting_names_the_nearest(fanfold, tmp_path):
    written(tmp_path, "in_fligt: 3\n", "fanfold.yaml")
    code, said, is_touched = fanfold("plan", written(tmp_path, GOOD))
    assert (code, is_touched, "`in_fligt`" in said and "`in_flight`" in said) == (ExitCode.BAD_INPUT, False, True), said


def test_a_missing_manifest_is_told(fanfold):
    code, said, is_touched = fanfold("audit", "none.json")
    assert (code, is_touched, "none.json: cannot be read" in said) == (ExitCode.BAD_INPUT, False, True), said


@pytest.mark.parametrize("words", [
    ["scan", "--plan", "r1", "--shard", "7"], ["scan", "--plan", "nope", "--shard", "0"], ["fold", "nope"],
    ["resume", "nope"], ["audit", "other.json", "--run-id", "r1"],
], ids=["shard outside", "no plan", "no run", "nothing to resume", "run id with another source"])
def test_a_run_that_is_not_what_is_asked_for_is_told(fanfold, tmp_path, words):
    written(tmp_path, {"estate": "shop", "routes": [f"{SITE}/b"]}, "other.json")
    assert fanfold("plan", written(tmp_path, GOOD), "--run-id", "r1")[0] == ExitCode.PASSED
    before = sorted(str(path) for path in (tmp_path / "fanfold-store").rglob("*"))
    code, said, _ = fanfold(*words)
    after = sorted(str(path) for path in (tmp_path / "fanfold-store").rglob("*"))
    assert (code, after) == (ExitCode.BAD_INPUT, before), said
    assert words[0] != "audit" or "m.json" in said
