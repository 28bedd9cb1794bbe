"""Every recipe of `docs/recipes.md`, run against a small dataset: four tools, one answer."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from flows.dataset import PARTITION, export_runs
from schemas.engine import RuleInfo
from schemas.format_version import TABLE_FORMAT
from schemas.occurrence import RuleClass
from schemas.shape import arrow_schema
from schemas.suppression import parse_suppressions
from tasks.store import Store
from tests.small_estate import ENGINE, RULES, evidence_of, occurrence, outcome, plan_of, results, route
from tests.stored_run import folded_run

DOCUMENT = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text("utf-8")
BLOCKS = {tuple(head.removeprefix("# ").split(": ")): code
          for head, code in re.findall(r"```python\n(# \w+: \w+)\n(.*?)```", DOCUMENT, re.DOTALL)}
TOOLS = ("pandas", "duckdb", "polars", "pyarrow")
HOME, SHOP, NEWS = route("/"), route("/shop", owner="shop"), route("/news", owner=None, journey="secondary")
NEVER_RAN = RuleInfo("label", ("cat.forms", "wcag2a", "wcag412"), is_on=False)
PLAN = plan_of(HOME, SHOP, NEWS, engine=replace(ENGINE, rules=(*RULES, NEVER_RAN)))

EXPECTED = {
    "conformance": [
        {"run_date": "2026-09-01", "run_id": "a", "criterion": "1.1.1", "failed": 2, "needs_review": 0, "passed": 1,
         "not_applicable": 0, "not_run": 0},
        {"run_date": "2026-09-01", "run_id": "a", "criterion": "1.4.3", "failed": 1, "needs_review": 0, "passed": 2,
         "not_applicable": 0, "not_run": 0},
        {"run_date": "2026-09-11", "run_id": "b", "criterion": "1.1.1", "failed": 0, "needs_review": 0, "passed": 1,
         "not_applicable": 1, "not_run": 1},
        {"run_date": "2026-09-11", "run_id": "b", "criterion": "1.4.3", "failed": 0, "needs_review": 1, "passed": 1,
         "not_applicable": 0, "not_run": 1},
        {"run_date": "2026-09-21", "run_id": "c", "criterion": "1.1.1", "failed": 1, "needs_review": 0, "passed": 2,
         "not_applicable": 0, "not_run": 0},
        {"run_date": "2026-09-21", "run_id": "c", "criterion": "1.4.3", "failed": 2, "needs_review": 0, "passed": 1,
         "not_applicable": 0, "not_run": 0},
    ],
    # The region is suppressed on the home page only, whose owner has nothing open; the news have no owner.
    "open_findings": [{"owner": None, "open_count": 1, "oldest_days": 20},
                      {"owner": "shop", "open_count": 3, "oldest_days": 20}],
    # The logo was away in the run with a hole, which proves nothing; the whole run after it does. The text came back.
    "time_to_fix": [{"rule": "image-alt", "fixed_count": 1, "mean_days": 20.0}],
    "coverage": [
        {"run_date": "2026-09-01", "run_id": "a", "planned": 3, "settled": 3, "scanned": 3},
        {"run_date": "2026-09-11", "run_id": "b", "planned": 3, "settled": 2, "scanned": 2},
        {"run_date": "2026-09-21", "run_id": "c", "planned": 3, "settled": 3, "scanned": 3},
    ],
    "suppressed": [{"rule": "region", "suppressed_by": "redesign (web, W-1)", "suppressed_until": "2027-01-31",
                    "finding_count": 1, "suppressed_count": 2}],
}


def ran(row: Any, **classes: RuleClass) -> list[Any]:
    """Rules that ran on a route; those not named passed."""
    return [replace(one, rule_class=classes.get(one.rule.replace("-", "_"), RuleClass.PASS)) for one in results(row)]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("recipes")
    store = Store(str(folder / "store"))
    bad = RuleClass.VIOLATION
    whole = [outcome(HOME), outcome(SHOP), outcome(NEWS)]
    first = evidence_of(PLAN, whole, [
        occurrence(HOME, node="logo"), occurrence(SHOP, node="card"),
        occurrence(SHOP, "color-contrast", "p", "serious")],
        [*ran(HOME, image_alt=bad), *ran(SHOP, image_alt=bad, color_contrast=bad), *ran(NEWS)])
    hole = evidence_of(PLAN, [outcome(HOME), outcome(SHOP, "timed_out"), outcome(NEWS)], [
        occurrence(NEWS, "color-contrast", "b", None, is_violation=False)],
        [*ran(HOME, image_alt=RuleClass.INAPPLICABLE), *ran(NEWS, color_contrast=RuleClass.INCOMPLETE)])
    last = evidence_of(PLAN, whole, [
        occurrence(SHOP, node="card"), occurrence(SHOP, "color-contrast", "p", "serious"),
        occurrence(HOME, "region", "div", "moderate"),
        occurrence(HOME, "region", "div", "moderate", target='["div:nth-child(2)"]'),
        occurrence(SHOP, "region", "div", "moderate"), occurrence(NEWS, "color-contrast", "p", "serious")],
        [*ran(HOME, region=bad), *ran(SHOP, image_alt=bad, color_contrast=bad, region=bad),
         *ran(NEWS, color_contrast=bad)])
    suppressions = parse_suppressions({"suppressions": [{
        "rule": "region", "route": "glob:/", "reason": "redesign", "owner": "web", "ticket": "W-1",
        "expires": "2027-01-31"}]}, "suppressions.yaml", None)
    for run_id, day, evidence in (("a", "2026-09-01", first), ("b", "2026-09-11", hole), ("c", "2026-09-21", last)):
        folded_run(store, PLAN, evidence, run_id, day, suppressions=suppressions)
    elsewhere = route("/elsewhere")
    other = plan_of(elsewhere, estate="other")
    folded_run(store, other, evidence_of(other, [outcome(elsewhere)], [occurrence(elsewhere)]), "z", "2026-10-01")
    export_runs(store, Store(str(folder / "dataset")), None, None)
    yield str(folder / "dataset")


def plain(value: Any) -> Any:
    """A cell without the tool's own kind of number or date."""
    if isinstance(value, datetime | date):
        return value.isoformat()[:10]
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else value  # what pandas says where there is none


def rows_of(tool: str, result: Any) -> list[dict[str, Any]]:
    found = {"pandas": lambda: result.to_dict("records"), "duckdb": lambda: result.to_arrow_table().to_pylist(),
             "polars": lambda: result.to_dicts(), "pyarrow": lambda: result.to_pylist()}[tool]()
    rows = [{name: plain(value) for name, value in row.items()} for row in found]
    return sorted(rows, key=lambda row: tuple(str(value) for value in row.values()))


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_run_of_an_older_program_has_the_columns_of_today(tmp_path, version):
    """Readers take the columns of a dataset from one of its files."""
    golden = Path(__file__).parents[1] / "golden" / "runs" / version
    export_runs(Store(str(golden)), Store(str(tmp_path)), None, None)
    for name, schema in (("findings", "finding"), ("outcomes", "outcome"), ("occurrences", "occurrence")):
        (file,) = tmp_path.glob(f"{name}/*/*/*.parquet")
        table, footer, _ = Store(str(file.parent)).read_table(file.name)
        assert [*table.column_names] == [one for one in arrow_schema(schema).names if one not in PARTITION]
        assert footer["format_version"] == TABLE_FORMAT


def test_there_is_a_recipe_for_each_question_and_tool():
    assert set(BLOCKS) == {(tool, name) for tool in TOOLS for name in ("read", *EXPECTED)}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", EXPECTED)
def test_a_recipe_gives_the_answer(dataset, tool, name):
    names: dict[str, Any] = {"dataset": dataset, "estate": "shop"}
    exec(BLOCKS[tool, "read"], names)
    exec(BLOCKS[tool, name], names)
    assert rows_of(tool, names["result"]) == EXPECTED[name]
