"""Lists, facts and plots of the report: what is counted, cut into parts, and drawn."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.suppression import parse_suppressions
from tasks.gate import decide_verdict, make_baseline
from tasks.report import details
from tasks.report import listing as listing_module
from tasks.report.chart import HEIGHT, WIDTH, Bar, draw_shards, draw_trend, slice_coverage
from tasks.report.details import lay_out_details
from tasks.report.facts import (
    OwnerShare,
    ShardFact,
    best_repairs,
    cell_rows,
    open_findings,
    owed_routes,
    owner_shares,
    shard_facts,
)
from tasks.report.inert import csv_cell, markdown_text, web_link, xml_text
from tasks.report.junit import junit_xml
from tasks.report.listing import Anchor, CellKind, Column, Listing, json_block
from tasks.report.lists import list_findings, list_shards
from tasks.report.page import html_files
from tests.small_estate import evidence_of, judge_of, occurrence, outcome, plan_of, route
from tests.small_report import calm_material, interrupted_material, material_of

COLUMNS = (Column("Name"), Column("Kind", is_facet=True, order=("b", "a")), Column("Count", CellKind.NUMBER),
           Column("Place", CellKind.ANCHOR))
ROWS = [("x", "a", 1, Anchor("t", "h.html#x")), ("y", "b", None, Anchor("u", "")), ("z", "c", 3, Anchor("v", ""))]


def test_the_data_names_each_value_of_a_facet_once_in_its_order():
    data = json.loads(Listing("n", "N", COLUMNS, ROWS).data)
    assert data["columns"][1] == {"label": "Kind", "kind": "text", "values": ["b", "a", "c"]}
    assert data["rows"] == [["x", 1, 1, ["t", "h.html#x"]], ["y", 0, None, ["u", ""]], ["z", 2, 3, ["v", ""]]]


def test_columns_that_say_nothing_are_left_out_but_the_first():
    rows = [("", None, 0, "x"), ("", "", 0, "y")]
    columns = (Column("A"), Column("B"), Column("C", CellKind.NUMBER), Column("D"))
    kept = Listing("n", "N", columns, rows).without_empty_columns()
    assert [column.label for column in kept.columns] == ["A", "C", "D"]
    assert kept.rows == [("", 0, "x"), ("", 0, "y")]


texts = (st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
         | st.sampled_from(["<&>\u2028\x00\"\\", "</script>"]))


@given(rows=st.lists(st.tuples(texts, st.sampled_from("abc"), st.none() | st.integers(0, 10**9), texts.map(
    lambda text: Anchor(text, "d.html#f"))), max_size=30))
def test_parts_hold_every_row_once_and_keep_their_size(rows):
    listing = Listing("n", "N", COLUMNS, rows)
    whole_bytes, listing_module.PART_BYTES = listing_module.PART_BYTES, 400
    try:
        parts = listing.parts()
    finally:
        listing_module.PART_BYTES = whole_bytes
    assert [row for part in parts for row in part.rows] == rows
    assert [(part.part, part.part_count, part.whole_count) for part in parts] == [
        (number, len(parts), len(rows)) for number in range(1, len(parts) + 1)]
    for part in parts:
        encoded = json_block(json.loads(part.data)["rows"]).encode()
        assert len(part.rows) == 1 or len(encoded) <= 400 + 2 + 2 * len(part.rows)


@given(text=st.text())
def test_no_text_ends_the_data_block(text):
    block = json_block({"x": text})
    assert not set("<>&\u2028\u2029").intersection(block)
    assert json.loads(block)["x"] == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


@given(text=st.text())
def test_no_cell_starts_a_formula(text):
    assert not csv_cell(text).lstrip().startswith(("=", "+", "-", "@"))
    assert csv_cell(text).lstrip("'") == xml_text(text).lstrip("'")


@pytest.mark.parametrize(("value", "cell"), [
    ("=1+1", "'=1+1"), ("  =1", "'  =1"), ("-5", "'-5"), (-5, "-5"), (None, ""), (True, "true"), (1.5, "1.5"),
    ("\t=1", "'\t=1"), ("＝1", "'＝1"), ("a=1", "a=1"), ("a\x00b", "a\ufffdb")])
def test_cells_of_each_kind(value, cell):
    assert csv_cell(value) == cell


@pytest.mark.parametrize(("address", "is_good"), [
    ("https://e.test/a?b=c#d", True), ("HTTP://e.test", True), ("javascript:alert(1)", False), ("//e.test", False),
    (" https://e.test", False), ("https://e.test/\na", False), ("data:text/html,x", False), ("", False), (None, False),
    ('https://e.test/"><script>', False), ("https:e.test", False), ("file:///etc/passwd", False)])
def test_links_are_web_addresses_only(address, is_good):
    assert web_link(address) == (address if is_good else None)


@given(text=st.text())
def test_markdown_has_no_bare_markup(text):
    told = markdown_text(text)
    assert "\n" not in told and "<" not in told and "://" not in told and "@" not in told
    bare = told.replace("\\\\", "")
    assert not [i for i, c in enumerate(bare) if c in "*_[]()`|!#" and (i == 0 or bare[i - 1] != "\\")
                and bare[i - 1:i + 1] != "&#"]


def test_a_repair_counts_the_routes_that_nothing_else_spoils():
    a, b, c = route("/a"), route("/b"), route("/c")
    plan = plan_of(a, b, c)
    evidence = evidence_of(plan, [outcome(a), outcome(b), outcome(c)], [
        occurrence(a, node="footer"), occurrence(b, node="footer"), occurrence(c, node="footer"),
        occurrence(c, node="logo"), occurrence(c, "color-contrast", "p", "serious"),
        occurrence(c, "region", "q", is_violation=False)])
    repairs = best_repairs(material_of(plan, evidence))
    assert [(repair.finding.path, repair.clean_count, repair.finding.route_count) for repair in repairs] == [
        ('[["footer"]]', 2, 3), ('[["logo"]]', 0, 1), ('[["p"]]', 0, 1)]


def test_suppressed_findings_and_reviews_are_not_open():
    assert [finding.rule for finding in open_findings(calm_material())] == ["image-alt", "color-contrast"]


def test_owners_have_their_routes_and_findings():
    assert owner_shares(calm_material()) == (
        OwnerShare("shop", 1, 0, 1, 1, 0), OwnerShare("web", 1, 0, 1, 1, 0), OwnerShare("(no owner)", 1, 0, 1, 0, 0))


def test_one_of_a_kind_is_said_as_one():
    home = route("/")
    plan = plan_of(home)
    given = judge_of(plan, evidence_of(plan, [outcome(home)], []))
    material = material_of(plan, evidence_of(plan, [outcome(home)], [occurrence(home)]),
                           baseline=make_baseline(given, decide_verdict(given)))
    page = html_files(material)["index.html"].decode()
    for said in ("of 1 route in scope is covered</dt>", "<dt>finding (1 occurrence): 1 violation, 0 to review</dt>",
                 "<dt>finding blocks</dt>", ": 1 new occurrence, 1 of them", "gone with 0 routes"):
        assert said in page, said
    assert material.verdict.summary.endswith(
        "1 finding (1 occurrence): 1 block, 0 warn, 0 ignored or wholly suppressed. 1 is new against the baseline.")
    assert "Planned: what the visits" in list_shards(material).intro


def test_an_owner_has_nothing_to_repair_where_all_is_suppressed():
    mine, theirs = route("/a"), route("/b", owner="shop")
    plan = plan_of(mine, theirs)
    entry = {"rule": "image-alt", "route": "glob:/b", "reason": "redesign", "owner": "shop", "expires": "2027-01-31"}
    other = occurrence(theirs, "region", "div", "moderate")
    material = material_of(plan, evidence_of(plan, [outcome(mine), outcome(theirs)], [
        occurrence(mine), occurrence(theirs), other]),
        suppressions=parse_suppressions({"suppressions": [entry]}, "s", None))
    assert owner_shares(material) == (OwnerShare("web", 1, 0, 1, 1, 0), OwnerShare("shop", 1, 0, 1, 0, 0))
    assert [(repair.finding.rule, repair.clean_count) for repair in best_repairs(material)] == [
        ("image-alt", 1), ("region", 1)]
    rows = list_findings(material, lambda finding: None, is_violation=True).rows
    assert [(row[2], row[6], row[7]) for row in rows] == [("block, partly suppressed", 2, 1), ("warn", 1, None)]
    junit = junit_xml(material).decode()
    assert "1 of 2 suppressed: redesign (shop)" in junit
    page = html_files(material)
    assert b"1 of 2 suppressed: redesign (shop)" in page["details.html"]
    assert b"1 suppressed occurrence is not counted in this table." in page["index.html"]


def test_a_shard_without_a_receipt_says_so():
    assert shard_facts(interrupted_material()) == (
        ShardFact(0, None, 2, 1, 1000, 1000, 1, "finished"), ShardFact(1, None, 1, 1, 1000, None, None, "no receipt"))


def test_a_shard_is_planned_in_time_as_it_went():
    """Two routes at once need half of what their visits take together; a shard that wrote nothing works like others."""
    a, b, c, lost, more = route("/a"), route("/b"), route("/c", 1), route("/lost", 2), route("/more", 2)
    plan = plan_of(a, b, c, lost, more)
    evidence = evidence_of(plan, [outcome(row, in_flight=2) for row in (a, b, c)])
    evidence.receipts.pop(2)
    assert [fact.planned_ms for fact in shard_facts(material_of(plan, evidence))] == [500, 1000, 500]


def test_accepted_routes_are_not_owed():
    material = interrupted_material()
    assert [row.route for row in owed_routes(material)] == ["https://e.test/broken", "https://e.test/lost"]


def test_cells_of_one_impact_stand_in_one_row():
    rows = {row.name: {journey: cell.text for journey, cell in row.by_journey.items()}
            for row in cell_rows(calm_material())}
    assert list(rows)[:5] == ["critical", "serious", "unknown", "moderate", "minor"]
    assert rows["critical"] == {"primary": "1 of 0", "secondary": "0"}
    assert rows["serious"] == {"primary": "0 of 0", "secondary": "1"}


def test_the_coverage_bar_shows_every_outcome_and_fills_its_width():
    slices = slice_coverage(interrupted_material())
    assert [(one.kind, one.count, one.is_settled) for one in slices] == [
        ("scanned", 1, True), ("http_error", 1, False), ("missing", 1, False)]
    assert sum(one.width for one in slices) == pytest.approx(WIDTH, abs=0.1)
    assert [one.x for one in slices] == pytest.approx([0, WIDTH / 3, 2 * WIDTH / 3], abs=0.1)


def test_bars_of_shards_stand_on_the_ground():
    bars = draw_shards([ShardFact(0, None, 1, 0, 500, 1000, 1, "finished"),
                        ShardFact(1, None, 1, 1, 500, None, None, "no receipt")])
    assert bars == [
        Bar(214.0, 80.0, 36.0, 80.0, "planned", "shard 0, planned: 0.5 s"),
        Bar(250.0, 0.0, 36.0, 160.0, "actual", "shard 0, actual: 1.0 s"),
        Bar(714.0, 80.0, 36.0, 80.0, "planned", "shard 1, planned: 0.5 s")]
    assert all(bar.y + bar.height == HEIGHT for bar in bars)


def test_the_trend_stacks_blocking_findings_below_the_others():
    earlier = interrupted_material().verdict
    material = calm_material()
    bars = draw_trend(replace(material, earlier_verdicts=(earlier,)))
    assert [(bar.kind, bar.y, bar.height) for bar in bars] == [
        ("block", 120.0, 40.0), ("other", 120.0, 0.0), ("block", 120.0, 40.0), ("other", 0.0, 120.0)]


def test_details_are_cut_into_parts_that_know_their_findings(monkeypatch):
    monkeypatch.setattr(details, "PART_BYTES", 10)
    monkeypatch.setattr(details, "DETAILED_FINDINGS", 3)
    findings = calm_material().verdict.findings
    laid = lay_out_details(findings, lambda finding, anchor: anchor[:6])
    assert [len(part) for part in laid.parts] == [1, 1, 1]
    assert laid.cut_count == 1
    assert list(laid.places.values()) == [
        (number, f"f-{finding.fingerprint}" + ("" if finding.is_violation else "-review"))
        for number, finding in enumerate(findings[:3], 1)]
