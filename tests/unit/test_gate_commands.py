"""`fanfold gate`, `baseline` and `suppressions`, as a user calls them, on copies of the golden runs of each format."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from flows.cli import exit_code_of
from flows.judging import gate_again
from schemas.baseline import parse_baseline
from schemas.layout import EstateLayout
from schemas.shape import arrow_schema, load_schema
from schemas.verdict import from_document
from tasks.store import Store

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"
VERSIONS = sorted(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())
RUN = EstateLayout("golden").run("r1")
SITE = "http://127.0.0.1:18099"
IMAGE, LABEL, PALE = "db9eae26b256331a", "a5c96fa3337962eb", "1a2f100049f88e94"
ONLY_REPORT = "report_only: true\n"


@pytest.fixture(params=VERSIONS)
def folder(request, tmp_path, monkeypatch):
    """The run folder of a copy of a golden run, in the store of the settings in force, `store`."""
    shutil.copytree(GOLDEN / request.param, tmp_path / "store")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FANFOLD_STORE", "store")
    monkeypatch.delenv("FANFOLD_ROOT", raising=False)
    return tmp_path / "store" / "golden" / "runs" / "r1"


@pytest.fixture
def later_columns():
    """Schemas of a later program: every table has one more column, which no file of today has."""
    names = ("outcome", "occurrence", "rule_result", "plan_route", "finding", "dead_letter", "quarantine")
    for name in names:
        load_schema(name)["properties"]["came_later"] = {"type": ["string", "null"], "x-since": 99}
    arrow_schema.cache_clear()
    yield
    for name in names:
        del load_schema(name)["properties"]["came_later"]
    arrow_schema.cache_clear()


@pytest.fixture
def call(capfd):
    """Call the command line: its code and what it says on standard output and standard error."""
    def call(*words):
        code = exit_code_of([str(word) for word in words])
        said = capfd.readouterr()
        return int(code), said.out, said.err

    return call


def read(path):
    return json.loads(path.read_text("utf-8"))


def change(path, **keys):
    path.write_text(json.dumps(read(path) | keys), encoding="utf-8")


def decided(document):
    """A verdict of any version without the day of the judgement, what only its writer knows, and the summary: its words
    may change."""
    verdict = from_document(document)
    return replace(verdict, summary="", provenance={**verdict.provenance, "judged_on": ""})


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def baseline_of(folder):
    return parse_baseline((folder.parents[1] / "baseline.json").read_text("utf-8"), "baseline.json")


def lose_the_receipt(folder):
    (receipt,) = folder.glob("partials/*/*/receipt.json")
    receipt.unlink()


# gate


def test_a_run_of_every_format_gives_its_stored_verdict_and_writes_nothing(folder, call):
    before = tree(folder.parents[1])
    code, out, _ = call("gate", "r1", "--json")
    stored = read(folder / "verdict.json")
    assert (code, decided(json.loads(out))) == (stored["exit_code"], decided(stored))
    assert tree(folder.parents[1]) == before


@pytest.mark.usefixtures("later_columns")
def test_a_later_program_reads_the_tables_of_an_earlier_one(folder, call):
    stored = read(folder / "verdict.json")
    code, out, _ = call("gate", "r1", "--json")
    assert (code, decided(json.loads(out))) == (stored["exit_code"], decided(stored))
    code, out, _ = call("show", "r1")
    assert (code, stored["summary"] in out, "image-alt" in out) == (0, True, True)


def test_other_files_give_another_verdict_beside_the_first(folder, call):
    Path("policy.yaml").write_text(ONLY_REPORT, encoding="utf-8")
    first = (folder / "verdict.json").read_bytes()
    code, out, _ = call("gate", "latest", "--policy", "policy.yaml")
    (beside,) = folder.glob("verdict-*.json")
    assert (code, out.splitlines()[0][:6], f"store/golden/runs/r1/{beside.name}" in out) == (2, "INCOMP", True)
    document, stored = read(beside), read(folder / "verdict.json")
    assert (document["kind"], document["is_report_only"], document["tables"], document["receipts"]) == (
        "incomplete", True, stored["tables"], stored["receipts"])  # nobody accepts the page that is gone any more
    assert document["provenance"]["digests"]["policy"] != stored["provenance"]["digests"]["policy"]
    assert document["provenance"]["digests"]["baseline"] == stored["provenance"]["digests"]["baseline"]
    call("gate", "r1", "--policy", "policy.yaml")
    assert ([path.name for path in folder.glob("verdict-*.json")], (folder / "verdict.json").read_bytes()) == (
        [beside.name], first)


def test_other_suppressions_and_another_baseline_are_judged_by(folder, call):
    entry = {"route": "glob:/terms", "reason": "old form", "owner": "web", "expires": "2999-12-31"}
    Path("s.yaml").write_text(json.dumps({"suppressions": [{"rule": "image-alt", **entry}]}), encoding="utf-8")
    assert call("gate", "r1", "--suppressions", "s.yaml")[0] == 0
    old = baseline_of(folder)
    document = read(folder.parents[1] / "baseline.json")
    for finding in document["findings"]:
        if finding["fingerprint"] == IMAGE:
            finding["routes"] |= {task_id: 1 for task_id, route in old.scanned.items() if route.endswith("/terms")}
    Path("b.json").write_text(json.dumps(document), encoding="utf-8")
    assert call("gate", "r1", "--baseline", "b.json")[0] == 0
    assert call("gate", "r1")[0] == 1


def test_all_that_is_wrong_with_the_files_is_said_at_once(folder, call):
    before = tree(folder)
    code, _, said = call("gate", "r1", "--policy", "none.yaml", "--baseline", "none.json")
    assert (code, "none.yaml: cannot be read" in said, "none.json: there is no baseline" in said) == (3, True, True)
    Path("p.yaml").write_text("cells: {critical: blok}\n", encoding="utf-8")
    Path("s.yaml").write_text("suppressions: 1\n", encoding="utf-8")
    Path("b.json").write_text("{", encoding="utf-8")
    code, _, said = call("gate", "r1", "--policy", "p.yaml", "--suppressions", "s.yaml", "--baseline", "b.json")
    assert (code, [name in said for name in ("p.yaml", "s.yaml", "b.json")]) == (3, [True] * 3)
    assert tree(folder) == before


@pytest.mark.parametrize(("changes", "said"), [
    ({"estate": "blog"}, "blog"), ({"fingerprint_version": 9}, "fingerprints of version 9"),
    ({"format_version": 2}, r"b.json: has format version 2"),
])
def test_a_baseline_that_cannot_be_compared_is_bad_input(folder, call, changes, said):
    Path("b.json").write_bytes((folder / "baseline.json").read_bytes())
    change(Path("b.json"), **changes)
    code, _, err = call("gate", "r1", "--baseline", "b.json")
    assert (code, said in err, list(folder.glob("verdict-*.json"))) == (3, True, [])


def test_evidence_that_is_lost_makes_the_run_incomplete(folder, call):
    lose_the_receipt(folder)
    code, out, _ = call("gate", "r1", "--json")
    assert (code, [reason["code"] for reason in json.loads(out)["reasons"]][:1]) == (2, ["missing_receipts"])


def test_judging_again_does_not_undo_a_refusal(folder, call):
    """What ended a shard by a fault is not in its receipts: the first verdict remembers it (version 1 in words)."""
    text = "shard-0000 of 1 · 4 routes · about 8 s: Refused: no"
    reason = {"code": "shard_faults", "decision": "incomplete", "text": "x", "count": 1, "examples": [text]}
    stored = read(folder / "verdict.json")
    for keys in ({"format_version": 1, "reasons": [reason, *stored["reasons"]]},
                 {"format_version": 2, "shard_faults": [{"shard_index": 0, "text": text}]}):
        (folder / "verdict.json").write_text(json.dumps(stored | keys), encoding="utf-8")
        code, out, _ = call("gate", "r1", "--json")
        (found,) = [reason for reason in json.loads(out)["reasons"] if reason["code"] == "shard_faults"]
        assert (code, found["examples"]) == (2, [text])


def test_a_run_that_cannot_be_gated_again_says_why(folder, call):
    shutil.rmtree(folder / "partials")
    code, _, said = call("gate", "r1")
    assert (code, said.splitlines()[1:]) == (3, [
        "run r1: was pruned: what its shards left is gone; expected a run with its partials. Its verdict stands: "
        "`fanfold show` prints it."])
    (folder / "verdict.json").unlink()
    for words in (["gate", "r1"], ["baseline", "update", "r1"], ["baseline", "diff", "r1"], ["suppressions", "r1"]):
        code, _, said = call(*words)
        assert (code, "run r1: is not folded yet" in said) == (3, True), words
    assert call("gate", "nobody")[0] == 3


@pytest.mark.parametrize(("name", "newest"), [("plan.json", 1), ("verdict.json", 2)])
def test_a_run_of_a_newer_format_is_refused_by_name(folder, call, name, newest):
    change(folder / name, format_version=newest + 1)
    found, _, said = call("gate", "r1")
    fault = f"{name}: has format version {newest + 1}, and this program reads versions up to {newest}"
    assert (found, fault in said) == (2, True)


def test_a_partial_of_a_newer_format_is_set_aside_by_name(folder, call):
    (receipt,) = folder.glob("partials/*/*/receipt.json")
    change(receipt, format_version=2)
    code, out, _ = call("gate", "r1", "--json")
    (found,) = [reason for reason in json.loads(out)["reasons"] if reason["code"] == "quarantine"]
    assert (code, ["receipt.json: has format version 2" in example for example in found["examples"]]) == (2, [True])


# explain


def test_a_route_is_explained_rule_by_rule(folder, call):
    code, out, _ = call("gate", "r1", "--explain", f"{SITE}/terms", "--json")
    (route,) = json.loads(out)
    names = ("decision", "rule", "classes", "cell", "text")
    found = [tuple(rule[name] for name in names) for rule in route["rules"] if rule["decision"]]
    assert (code, route["route"], route["journey"], found) == (1, f"{SITE}/terms", "primary", [
        ("block", "image-alt", "violation 1", "critical on primary: block_new",
         f"{IMAGE}: violation, critical on primary: block, new"),
        ("warn", "label", "violation 1", "critical on primary: block_new",
         f"{LABEL}: violation, critical on primary: warn, known to the baseline, carried")])


def test_an_explanation_is_plain_lines(folder, call):
    code, out, _ = call("gate", "r1", "--explain", f"{SITE}/news")
    passed = len(read(folder / "plan.json")["engine"]["rules"])
    lines = out.splitlines()
    assert (code, lines[0][:7], lines[2:6]) == (1, "Blocked", [
        f"{SITE}/news (secondary)", "  coverage: scanned, tested. Covered.",
        "  ignore: color-contrast (pass 1, violation 1), judged by serious on secondary: warn",
        f"      {PALE}: suppressed until 2999-12-31: redesign (press, P-1)"])
    assert lines[6].endswith("rules ran and found nothing")
    assert 50 < int(lines[6].split()[0]) < passed


def test_an_unknown_route_is_bad_input_and_nothing_is_written(folder, call):
    Path("p.yaml").write_text(ONLY_REPORT, encoding="utf-8")
    code, out, said = call("gate", "r1", "--policy", "p.yaml", "--explain", "/nowhere")
    assert (code, out, "the plan has no route `/nowhere`" in said) == (3, "", True)
    assert list(folder.glob("verdict-*.json")) == []


def test_a_route_is_explained_as_it_was_judged_where_the_policy_wants_no_baseline(folder):
    Path("p.yaml").write_text((folder / "policy.yaml").read_text("utf-8") + "baseline: none\n", encoding="utf-8")
    judgement = gate_again(Store("store"), RUN, "2026-12-01", policy="p.yaml", explain=f"{SITE}/")
    (route,) = judgement.explanation
    assert [(rule.rule, rule.decision) for rule in route.rules if rule.decision] == [("image-alt", "block")]


# baseline


def test_a_difference_names_finding_route_and_count(folder, call):
    assert call("baseline", "diff", "r1") == (
        0, f"new: image-alt {IMAGE}: 1 on {SITE}/terms\noccurrences: 1 new\n", "")
    assert json.loads(call("baseline", "diff", "r1", "--json")[1]) == [
        {"change": "new", "rule": "image-alt", "fingerprint": IMAGE, "is_violation": True, "route": f"{SITE}/terms",
         "count": 1}]


def test_an_updated_baseline_is_what_the_run_saw_and_the_same_bytes_again(folder, call):
    old = baseline_of(folder)
    code, out, _ = call("baseline", "update", "r1")
    new = baseline_of(folder)
    assert (code, out.splitlines()[0]) == (0, "store/golden/baseline.json")
    assert {known.fingerprint: sorted(known.routes.values()) for known in new.findings} == {
        IMAGE: [1, 1], LABEL: [1], PALE: [1]}
    assert (new.run_id, new.scanned, new.rules) == ("r1", old.scanned, old.rules)
    written = (folder.parents[1] / "baseline.json").read_bytes()
    call("baseline", "update", "r1")
    assert (folder.parents[1] / "baseline.json").read_bytes() == written
    assert call("baseline", "diff", "r1") == (0, "The run has exactly what the baseline knows.\n", "")
    assert call("gate", "r1")[0] == 1  # the run's own snapshot still holds
    assert call("gate", "r1", "--baseline", "store/golden/baseline.json")[0] == 0


def test_what_a_run_could_not_look_at_stays_in_the_baseline(folder, call):
    gone = next(row for row in known_routes(folder) if row["route"].endswith("/gone"))["task_id"]
    document = read(folder.parents[1] / "baseline.json")
    document["findings"].append({"fingerprint": "f" * 16, "impact": "serious", "is_violation": True,
                                 "routes": {gone: 3}, "rule": "label"})
    (folder.parents[1] / "baseline.json").write_text(json.dumps(document), encoding="utf-8")
    assert call("baseline", "update", "r1")[0] == 0
    assert {known.fingerprint: dict(known.routes) for known in baseline_of(folder).findings}["f" * 16] == {gone: 3}
    assert call("baseline", "update", "r1", "--anew")[0] == 0
    assert {known.fingerprint for known in baseline_of(folder).findings} == {IMAGE, LABEL, PALE}


def known_routes(folder):
    table, *_ = Store(str(folder)).read_table("plan.parquet")
    return table.to_pylist()


def test_a_baseline_is_pruned_of_what_is_fixed_and_takes_nothing_in(folder, call):
    home = next(row for row in known_routes(folder) if row["route"] == f"{SITE}/")["task_id"]
    document = read(folder.parents[1] / "baseline.json")
    before = {known["fingerprint"]: known["routes"] for known in document["findings"]}
    document["findings"].append({"fingerprint": "f" * 16, "impact": "serious", "is_violation": True,
                                 "routes": {home: 3, "0" * 16: 1}, "rule": "label"})
    (folder.parents[1] / "baseline.json").write_text(json.dumps(document), encoding="utf-8")
    lost = {"rule": "label", "fingerprint": "f" * 16, "is_violation": True}
    assert json.loads(call("baseline", "diff", "r1", "--json")[1])[1:] == [
        {"change": "fixed", **lost, "route": f"{SITE}/", "count": 3},
        {"change": "gone", **lost, "route": "0" * 16, "count": 1}]
    assert call("baseline", "prune", "r1")[0] == 0
    assert {known.fingerprint: dict(known.routes) for known in baseline_of(folder).findings} == before


@pytest.mark.parametrize("command", ["update", "prune"])
def test_no_baseline_is_written_from_an_incomplete_run(folder, call, command):
    """094: a hole must not become known and allowed."""
    lose_the_receipt(folder)
    before = (folder.parents[1] / "baseline.json").read_bytes()
    code, _, said = call("baseline", command, "r1")
    assert (code, "from an incomplete run" in said) == (3, True)
    assert (folder.parents[1] / "baseline.json").read_bytes() == before


def test_a_first_baseline_needs_none_even_where_the_policy_requires_one(folder, call):
    (folder / "policy.yaml").write_text(
        (folder / "policy.yaml").read_text("utf-8") + "baseline: required\n", encoding="utf-8")
    for path in (folder / "baseline.json", folder.parents[1] / "baseline.json"):
        path.unlink()
    assert call("gate", "r1")[0] == 3
    for words in (["prune"], ["diff"]):
        code, _, said = call("baseline", *words, "r1")
        assert (code, "golden/baseline.json: there is no baseline" in said) == (3, True)
    code, out, _ = call("baseline", "update", "r1")
    assert (code, out.splitlines()[2]) == (0, "  before: none")


def test_a_baseline_that_cannot_be_read_is_left_alone_unless_it_is_written_anew(folder, call):
    path = folder.parents[1] / "baseline.json"
    path.write_text("{", encoding="utf-8")
    code, _, said = call("baseline", "update", "r1")
    assert (code, "baseline update --anew" in said, path.read_text("utf-8")) == (3, True, "{")
    assert (call("baseline", "update", "r1", "--anew")[0], baseline_of(folder).run_id) == (0, "r1")


# suppressions


def test_suppressions_say_who_until_when_and_how_often(folder, call):
    assert call("suppressions", "r1") == (
        0, "applied: color-contrast on glob:/news: 1 until 2999-12-31: redesign (press, P-1)\n"
           "1 suppression, 1 occurrence suppressed, as judged on 2026-11-30\n", "")
    assert json.loads(call("suppressions", "r1", "--json")[1]) == [
        {"state": "applied", **use} for use in read(folder / "verdict.json")["suppressions"]]


# a plan is held against its baseline before anything is scanned


@pytest.mark.parametrize(("estate", "policy", "said"), [
    ("blog", "{}", "store/golden/baseline.json: is of estate `golden`"),
    ("blog", "baseline: none", None),
    ("none", "baseline: required", "there is no baseline"),
])
def test_a_plan_is_refused_where_its_baseline_cannot_be_used(folder, call, estate, policy, said):
    Path("m.json").write_text(json.dumps({"estate": estate, "routes": [f"{SITE}/"]}), encoding="utf-8")
    Path("p.yaml").write_text(policy + "\n", encoding="utf-8")
    more = [] if estate == "none" else ["--baseline", "store/golden/baseline.json"]
    code, _, err = call("plan", "m.json", "--policy", "p.yaml", "--run-id", "new", *more)
    assert (code, said is None or said in err) == (3 if said else 0, True), err
    assert (folder.parents[2] / estate / "runs" / "new").exists() is (said is None)
