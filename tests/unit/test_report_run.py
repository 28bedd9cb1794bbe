"""Commands on runs that are there: reports from the store, the list of runs, pruning, one dataset."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import typer

from flows import report_run
from flows.commands import stored_runs
from flows.commands.run_table import list_runs
from flows.dataset import TABLES, export_runs
from flows.pruning import find_old_runs, prune_content, prune_run, without_content
from flows.report_run import earlier_verdicts, stored_material, write_report
from schemas.baseline import to_baseline_text
from schemas.errors import ContractError, IntegrityError
from schemas.layout import EstateLayout
from schemas.shape import load_schema
from schemas.verdict import from_document
from tasks.gate import decide_verdict, make_baseline
from tasks.report import render_report
from tasks.report.dictionary import dictionary_md
from tasks.store import Store
from tests.small_estate import evidence_of, judge_of, occurrence, outcome, plan_of, route
from tests.small_report import hostile_material
from tests.stored_run import folded_run, planned_run

HOME, SHOP = route("/"), route("/shop", 1)
PLAN = plan_of(HOME, SHOP)
SHARDS_WITH_ALL = evidence_of(PLAN, [outcome(HOME, title="Welcome"), outcome(SHOP)], [occurrence(HOME)])
CLEAN = evidence_of(PLAN, [outcome(HOME), outcome(SHOP)])
HOLE = evidence_of(PLAN, [outcome(HOME), outcome(SHOP, "timed_out")])
DAYS = ("2026-09-01", "2026-10-01", "2026-11-01", "2026-11-30")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"))


@pytest.fixture
def commands(store: Store, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.setenv("FANFOLD_STORE", store.root)
    monkeypatch.delenv("FANFOLD_SETTINGS", raising=False)
    app = typer.Typer()
    for name in ("report", "runs", "show", "export", "prune"):
        app.command(name)(getattr(stored_runs, name))
    return app


def say(app: typer.Typer, *words: str) -> int:
    return app(list(words), standalone_mode=False)


def files_of(store: Store, key: str) -> dict[str, bytes]:
    return {name: store.read(f"{key}/{name}") for name in store.names(key)}


def four_runs(store: Store) -> None:
    for day, evidence in zip(DAYS, (SHARDS_WITH_ALL, CLEAN, HOLE, SHARDS_WITH_ALL), strict=True):
        folded_run(store, PLAN, evidence, f"run-{day}", day)


def test_a_report_from_the_store_is_the_report_of_the_fold(store):
    folded_run(store, PLAN, SHARDS_WITH_ALL, "early", "2026-11-01")
    folded_run(store, PLAN, HOLE)
    run = EstateLayout("shop").run("r1")
    assert files_of(store, run.file("report")) == dict(render_report(stored_material(store, run)))


@pytest.mark.parametrize(("evidence", "word"), [(SHARDS_WITH_ALL, "BLOCKED"), (CLEAN, "PASSED"), (HOLE, "INCOMPLETE")])
def test_every_fold_leaves_every_format(store, evidence, word):
    folded_run(store, PLAN, evidence)
    files = files_of(store, "shop/runs/r1/report")
    assert {"index.html", "findings.html", "junit.xml", "results.sarif", "findings.csv", "summary.md"} <= set(files)
    assert files["summary.md"].decode().startswith(f"# {word}")
    assert f'class="word">{word}' in files["index.html"].decode()


def test_files_of_an_earlier_fold_go(store):
    folded_run(store, PLAN, CLEAN)
    store.write("shop/runs/r1/report/findings-2.html", b"old")
    folded_run(store, PLAN, CLEAN)
    assert "findings-2.html" not in store.names("shop/runs/r1/report")


def test_a_table_that_is_not_the_judged_one_is_refused(store):
    folded_run(store, PLAN, CLEAN)
    table, footer, _ = store.read_table("shop/runs/r1/outcomes.parquet")
    store.write_table("shop/runs/r1/outcomes.parquet", table.slice(1), footer)
    with pytest.raises(IntegrityError, match="not the file that the verdict names"):
        stored_material(store, EstateLayout("shop").run("r1"))


def test_the_trend_has_earlier_runs_in_order(store):
    four_runs(store)
    run = EstateLayout("shop").run("run-2026-11-01")
    verdict = stored_material(store, run).verdict
    assert [one.provenance["run_id"] for one in earlier_verdicts(store, run, verdict)] == [
        "run-2026-09-01", "run-2026-10-01"]


def test_only_as_many_earlier_verdicts_are_checked_as_the_trend_has(store, monkeypatch):
    four_runs(store)
    for name, content in (("torn", b"{"), ("other", b"[]"), ("none", b'{"provenance": {"planned_at": "2026-10-20"}}')):
        store.write(f"shop/runs/{name}/verdict.json", content)
    run = EstateLayout("shop").run("run-2026-11-01")
    verdict = stored_material(store, run).verdict
    checked = []

    def check(document):
        checked.append(document)
        return from_document(document)

    monkeypatch.setattr(report_run, "TREND_RUNS", 1)
    monkeypatch.setattr(report_run, "from_document", check)
    earlier = earlier_verdicts(store, run, verdict)
    assert [one.provenance["run_id"] for one in earlier] == ["run-2026-10-01"]
    assert len(checked) == 2  # the newest is not sound


def test_report_writes_to_the_run_or_elsewhere(store, commands, tmp_path, capsys):
    folded_run(store, PLAN, HOLE)
    before = files_of(store, "shop/runs/r1/report")
    assert say(commands, "report", "latest") == 0
    assert files_of(store, "shop/runs/r1/report") == before
    assert say(commands, "report", "r1", "--output", str(tmp_path / "out")) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert say(commands, "report", "r1", "--output", str(tmp_path / "one"), "--single") == 0
    assert "report.html" in {path.name for path in (tmp_path / "one").iterdir()}
    assert "index.html" not in {path.name for path in (tmp_path / "one").iterdir()}
    assert capsys.readouterr().out.splitlines()[0].startswith("INCOMPLETE: Scanned 1 of 2 routes")


def test_a_run_that_was_interrupted_before_its_fold_gets_a_report(store, commands, tmp_path):
    planned_run(store, PLAN, "cut", "2026-11-30")
    assert say(commands, "report", "cut", "--output", str(tmp_path / "out")) == 0
    first = (tmp_path / "out" / "summary.md").read_text("utf-8").splitlines()[0]
    assert first.startswith("# INCOMPLETE \\(INTERRUPTED&#58; 2 of 2 shards were not finished\\)")
    assert not store.exists("shop/runs/cut/verdict.json")


def test_runs_are_listed_folded_or_not(store, commands, capsys):
    folded_run(store, PLAN, SHARDS_WITH_ALL, "a", "2026-11-01")
    planned_run(store, PLAN, "b", "2026-11-02")
    store.write("shop/runs/junk/file", b"")
    assert say(commands, "runs", "--json") == 0
    assert json.loads(capsys.readouterr().out) == list_runs(store) == [
        {"estate": "shop", "run_id": "a", "planned_at": "2026-11-01T08:00:00Z", "verdict": "blocked", "scope": "full",
         "routes": 2, "covered": 2, "findings": 1, "blocking": 1},
        {"estate": "shop", "run_id": "b", "planned_at": "2026-11-02T08:00:00Z", "verdict": "not folded",
         "scope": "full", "routes": 2}]
    assert say(commands, "runs") == 0
    assert "not folded" in capsys.readouterr().out


def test_show_says_the_verdict_or_the_plan(store, commands, capsys):
    folded_run(store, PLAN, SHARDS_WITH_ALL, "a", "2026-11-01")
    planned_run(store, PLAN, "b", "2026-11-02")
    assert say(commands, "show", "a") == 0
    assert capsys.readouterr().out.startswith("BLOCKED")
    assert say(commands, "show", "a", "--json") == 0
    assert json.loads(capsys.readouterr().out) == store.read_json("shop/runs/a/verdict.json")
    assert say(commands, "show", "b") == 0
    assert capsys.readouterr().out.startswith("plan ")


@pytest.mark.parametrize(("keep", "older_than", "expected"), [
    (2, None, ["run-2026-09-01", "run-2026-10-01"]), (None, 45, ["run-2026-09-01", "run-2026-10-01"]),
    (3, 45, ["run-2026-09-01"]), (1, 80, ["run-2026-09-01"]), (9, 0, []), (0, 9999, [])])
def test_old_runs_are_those_beyond_every_limit(store, keep, older_than, expected):
    four_runs(store)
    found = find_old_runs(store, "2026-11-30", keep, older_than)
    assert [old.run.run_id for old in found] == expected


def test_runs_that_others_stand_on_stay(store):
    four_runs(store)
    given = judge_of(PLAN, SHARDS_WITH_ALL)
    baseline = replace(make_baseline(given, decide_verdict(given)), run_id="run-2026-09-01")
    store.write("shop/baseline.json", to_baseline_text(baseline).encode())
    store.write_json("shop/runs/run-2026-10-01/lease.json", {"owner": "x", "host": "elsewhere", "pid": 1, "beat": 9e12})
    latest = store.read_json("shop/latest.json")
    store.write_json("shop/latest.json", latest | {"last_full_run_id": "run-2026-11-01"})
    kept = {old.run.run_id: old.kept_because for old in find_old_runs(store, "2026-11-30", 0, None)}
    assert kept == {
        "run-2026-09-01": "the baseline was made from it", "run-2026-10-01": "somebody works on it",
        "run-2026-11-01": "it is the last full run", "run-2026-11-30": "it is the newest run"}


def test_the_run_of_a_baseline_from_elsewhere_stays(store):
    four_runs(store)
    given = judge_of(PLAN, SHARDS_WITH_ALL)
    baseline = replace(make_baseline(given, decide_verdict(given)), run_id="run-2026-09-01")
    store.write("shop/runs/run-2026-11-30/baseline.json", to_baseline_text(baseline).encode())
    kept = {old.run.run_id: old.kept_because for old in find_old_runs(store, "2026-11-30", 2, None)}
    assert kept == {"run-2026-09-01": "the baseline was made from it", "run-2026-10-01": ""}


def test_a_broken_baseline_stops_pruning(store):
    four_runs(store)
    store.write("shop/baseline.json", b"{")
    with pytest.raises(ContractError, match="not JSON"):
        find_old_runs(store, "2026-11-30", 1, None)


def test_a_dry_run_removes_nothing(store, commands, capsys):
    four_runs(store)
    assert say(commands, "prune", "--keep", "2", "--dry-run") == 0
    assert capsys.readouterr().out.count("would remove shop/run-") == 2
    assert len(store.names("shop/runs")) == 4
    assert say(commands, "prune", "--keep", "2") == 0
    assert store.names("shop/runs") == ["run-2026-11-01", "run-2026-11-30"]


@pytest.mark.parametrize("words", [("prune",), ("export", "--output", "x", "--since", "yesterday"),
                                   ("export", "--output", "x", "--to", "2026-13-01"), ("report", "nowhere")])
def test_bad_words_are_bad_input(store, commands, words):
    four_runs(store)
    with pytest.raises(ContractError):
        say(commands, *words)


def test_pruned_content_leaves_counts_and_a_verdict_that_holds(store):
    folded_run(store, PLAN, SHARDS_WITH_ALL)
    run = EstateLayout("shop").run("r1")
    before = stored_material(store, run)
    prune_content(store, run)
    once = files_of_tables(store)
    prune_content(store, run)
    assert files_of_tables(store) == once
    after = stored_material(store, run)
    assert (after.verdict.coverage, after.verdict.decisions) == (before.verdict.coverage, before.verdict.decisions)
    assert [(f.fingerprint, f.routes, f.example_html, f.failure_summary) for f in after.verdict.findings] == [
        (f.fingerprint, f.routes, "", "") for f in before.verdict.findings]
    assert [row.title for row in before.outcomes] == ["Welcome", None]
    assert [row.title for row in after.outcomes] == [None, None]
    assert not store.exists(run.file("partials")) and not store.exists(run.file("report"))
    write_report(store, run, after)  # it can still be reported


def files_of_tables(store: Store) -> dict[str, bytes]:
    return {name: store.read(f"shop/runs/r1/{name}") for name in store.names("shop/runs/r1") if "." in name}


@pytest.mark.parametrize(("table", "schema"), [("findings", "finding"), ("outcomes", "outcome"),
                                               ("occurrences", "occurrence"), ("dead_letters", "dead_letter")])
def test_every_column_with_page_content_is_emptied(store, table, schema):
    folded_run(store, PLAN, evidence_of(PLAN, [outcome(HOME, title="t", detail="d", untested_frames=("f",)), outcome(
        SHOP, "timed_out", detail="d", final_url="https://e.test/x")], [occurrence(HOME)]))
    read, *_ = store.read_table(f"shop/runs/r1/{table}.parquet")
    emptied = without_content(read, schema)
    assert emptied.schema == read.schema
    for name, spec in load_schema(schema)["properties"].items():
        values = emptied[name].to_pylist()
        if spec.get("x-page-content"):
            assert set(map(str, values)) <= {"", "None", "[]"}, name
        else:
            assert values == read[name].to_pylist()


def test_a_pruned_run_is_gone_whole(store):
    four_runs(store)
    prune_run(store, EstateLayout("shop").run("run-2026-09-01"))
    assert store.names("shop/runs/run-2026-09-01") == []


def dataset_files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.parquet")}


def test_a_dataset_holds_each_run_once_however_often_it_is_written(store, tmp_path):
    four_runs(store)
    planned_run(store, PLAN, "open", "2026-11-29")
    output = tmp_path / "dataset"
    exported = export_runs(store, Store(str(output)), "2026-10-01", "2026-11-30")
    once = dataset_files(output)
    assert set(once) == {
        f"{table}/estate=shop/run_date={day}/run-{day}.parquet" for table in (*TABLES, "rules") for day in DAYS[1:]}
    assert {name for name in once if {"estate", "run_date"} & set(pq.read_schema(output / name).names)} == set()
    assert exported.run_ids == tuple(f"shop/run-{day}" for day in DAYS[1:])
    assert exported.left_out == {"shop/open": "is not folded"}
    export_runs(store, Store(str(output)), None, "2026-10-31")
    export_runs(store, Store(str(output)), "2026-11-01", None)
    again = dataset_files(output)
    assert {name: data for name, data in again.items() if name in once} == once
    table = ds.dataset(output / "outcomes", partitioning=ds.partitioning(
        pa.schema([("estate", pa.string()), ("run_date", pa.date32())]), flavor="hive")).to_table()
    rows = table.select(["estate", "run_date", "run_id", "route", "outcome"]).to_pylist()
    assert sorted((str(row["run_date"]), row["run_id"], row["route"], row["outcome"]) for row in rows) == sorted(
        (day, f"run-{day}", row.route, "timed_out" if (day, row) == ("2026-11-01", SHOP) else "scanned")
        for day in DAYS for row in (HOME, SHOP))
    assert {row["estate"] for row in rows} == {"shop"}


def test_a_broken_run_is_left_out_whole(store, tmp_path):
    four_runs(store)
    store.write("shop/runs/run-2026-09-01/quarantine.parquet", b"PAR1")
    exported = export_runs(store, Store(str(tmp_path / "dataset")), None, None)
    assert list(exported.left_out) == ["shop/run-2026-09-01"]
    assert not [name for name in dataset_files(tmp_path / "dataset") if "2026-09-01" in name]


def test_the_data_dictionary_is_that_of_the_schemas():
    written = (Path(__file__).parents[2] / "docs" / "data-dictionary.md").read_text("utf-8")
    assert written == dictionary_md(), "write it anew: python -m tasks.report.dictionary > docs/data-dictionary.md"


def test_the_locale_of_the_machine_does_not_matter(tmp_path):
    """A worker with `LC_ALL=C` writes the same bytes."""
    script = ("import sys; from pathlib import Path; from tasks.report import render_report; "
              "from tests.small_report import hostile_material\n"
              "for name, data in render_report(hostile_material()).items(): Path(sys.argv[1], name).write_bytes(data)")
    environment = {"PATH": os.environ["PATH"], "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], env=environment, check=True,
                   cwd=Path(__file__).parents[2])
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == dict(render_report(hostile_material()))
    for name in ("details.html", "findings.csv", "junit.xml", "results.sarif"):
        assert "Ünïcødé 漢字 🚀" in written[name].decode("utf-8"), name
