"""Documents, rows and tables held against their schemas."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from schemas.errors import Offence
from schemas.history import Sample
from schemas.outcome import Outcome, OutcomeKind
from schemas.shape import arrow_schema, faults_in, is_valid, offences_in, record_of, row_of, table_of

OUTCOME = Outcome(
    task_id="0123456789abcdef", route="https://a.test/", auth=None, url="https://a.test/", journey="primary",
    priority=0,
    owner=None, tags=("home",), shard_index=0, outcome=OutcomeKind.SCANNED, reason="ok",
    started_at="2026-01-02T03:04:05Z", ended_at="2026-01-02T03:04:05.250Z",
)
RUN = {"estate": "e", "run_id": "r", "run_date": "2026-01-02"}


def row(**changes: object) -> dict[str, object]:
    return {**RUN, **row_of(OUTCOME), **changes}


def test_a_record_survives_the_way_through_arrow() -> None:
    table = table_of("outcome", [row()])
    assert table.schema == arrow_schema("outcome")
    assert faults_in("outcome", table) == {}
    assert record_of(Outcome, table.to_pylist()[0]) == OUTCOME


def test_no_rows_have_all_columns() -> None:
    assert table_of("outcome", []).schema == arrow_schema("outcome")


def test_times_finer_than_the_column_are_cut_and_not_refused() -> None:
    table = table_of("outcome", [row(ended_at="2026-01-02T03:04:05.250999+00:00")])
    assert record_of(Outcome, table.to_pylist()[0]) == OUTCOME


def test_each_faulty_row_is_named_with_its_first_reason() -> None:
    rows = [row(), row(priority=3), row(task_id="0123"), row(outcome="lost"), row(title="x" * 301), row(burned_ms=-1),
            row(tags=["a", None]), row(reason=None), row()]
    assert faults_in("outcome", table_of("outcome", rows)) == {
        1: "priority is above 2",
        2: "task_id does not match ^[0-9a-f]{16}$",
        3: f"outcome is none of {[str(kind) for kind in OutcomeKind]}",
        4: "title is longer than 300",
        5: "burned_ms is below 0",
        6: "tags has a null entry",
        7: "reason is null",
    }


def test_null_entries_are_found_in_tables_of_many_chunks() -> None:
    chunks = [table_of("outcome", [row()]), table_of("outcome", [row(), row(tags=["a", None])])]
    assert faults_in("outcome", pa.concat_tables(chunks)) == {2: "tags has a null entry"}


@pytest.mark.parametrize(
    "changes",
    [{"burned_ms": float("nan")}, {"burned_ms": float("inf")}, {"burned_ms": -1}, {"ended_at": "yesterday"},
     {"visit_count": True}, {"outcome": "lost"}, {"surprise": 1}],
)
def test_a_malformed_record_is_not_valid(changes: dict[str, object]) -> None:
    assert is_valid("outcome", row())
    assert not is_valid("outcome", row(**changes))


def test_what_no_file_can_hold_is_named_wherever_it_stands() -> None:
    manifest = [{"url": "https://a.test/", "owner": "\ud800", "tags": ["é", "\udfff"], "monthly_views": 10**400}]
    assert sorted(offences_in("manifest", manifest, "m")) == [
        Offence("m: $[0].monthly_views", "not a finite number", "a finite number"),
        Offence("m: $[0].owner", "has half a character (a surrogate)", "whole characters"),
        Offence("m: $[0].tags[1]", "has half a character (a surrogate)", "whole characters"),
    ]
    assert not is_valid("manifest", manifest)


def test_the_malformed_record_has_a_reason_of_its_own_for_each_fault() -> None:
    bad = row(burned_ms=float("nan"), priority=-1, ended_at="yesterday", visit_count=True)
    assert sorted(offences_in("outcome", bad, "row 1")) == [
        Offence("row 1: $.burned_ms", "NaN is of the wrong type", "a whole number (All visits of the attempt)"),
        Offence("row 1: $.burned_ms", "not a finite number", "a finite number"),
        Offence("row 1: $.ended_at", '"yesterday" is no date-time', "End of the last visit"),
        Offence("row 1: $.priority", "-1 is out of range", "at least 0 (0 is scanned first)"),
        Offence("row 1: $.visit_count", "true is of the wrong type",
                "a whole number (Visits made, transient retries included)"),
    ]


def test_a_choice_is_judged_by_the_branch_that_fits_the_value() -> None:
    document = [{"url": "https://a.test/", "jurney": "primary"}, {"journey": "primry"}, 7]
    assert sorted(offences_in("manifest", document, "m.json")) == [
        Offence("m.json: $[0]", "unknown key `jurney`",
                "one of actions, auth, expect, journey, monthly_views, owner, priority, ready, ready_when, tags, url, "
                "violation_density",
                "Did you mean `journey` for `jurney`?"),
        Offence("m.json: $[1]", "`url` is missing"),
        Offence("m.json: $[1].journey", '"primry" is not known', "one of primary, secondary",
                "Did you mean `primary` for `primry`?"),
        Offence("m.json: $[2]", "7 fits none of the allowed forms", "An address, or an object with its `url`"),
    ]


def test_of_branches_of_one_kind_the_nearest_speaks_and_none_where_none_is_near() -> None:
    forms = ('{"click": SELECTOR}, {"fill": SELECTOR, "value": TEXT}, {"wait": SELECTOR}, {"wait_ms": MILLISECONDS} or '
             '{"dismiss": SELECTOR}')
    actions = [{"click": 5}, {"fill": "#a"}, {"wait_ms": 0}, {"clik": "#a"}, {"click": "#a", "wait": "#b"}, "#a", {}]
    found = sorted(offences_in("manifest", [{"url": "https://a.test/", "actions": actions}], "m"))
    assert [(one.subject.removeprefix("m: $[0].actions"), one.fault, one.expected) for one in found] == [
        ("[0].click", "5 is of the wrong type", "text (CSS selector; it also finds what lies in open shadow roots)"),
        ("[1]", "`value` is missing", ""),
        ("[2].wait_ms", "0 is out of range", "at least 1 (Waits for this time in milliseconds)"),
        ("[3]", "an object fits none of the allowed forms", forms),
        ("[4]", "an object fits none of the allowed forms", forms),
        ("[5]", '"#a" fits none of the allowed forms', forms),
        ("[6]", "an object fits none of the allowed forms", forms)]


def test_no_message_repeats_an_address_or_the_inside_of_a_container() -> None:
    secret = "https://user:s3cret@a.test/"
    broken = [{"routes": secret}, {"routes": [{"url": "https://a.test/", "tags": secret}]}, {"routes": {"url": secret}},
              [[secret]], {"routes": [secret], "exclude": secret}]
    texts = [str(offence) for document in broken for offence in offences_in("manifest", document, "m.json")]
    assert len(texts) == len(broken)
    assert "s3cret" not in json.dumps(texts)


def test_a_part_of_a_schema_can_be_asked_for() -> None:
    assert is_valid("manifest", {"url": "https://a.test/"}, "entry")
    assert not is_valid("manifest", {"url": "https://a.test/", "priority": 9}, "entry")


def test_enumerations_and_nulls_come_back_as_they_were() -> None:
    sample = Sample("0123456789abcdef", "https://a.test/", None, "r", "2026-01-02T03:04:05Z", None, 30_000, 2, None)
    table = table_of("sample", [{**RUN, **row_of(sample)}, {**RUN, **row_of(replace(sample, scan_ms=1))}])
    assert [record_of(Sample, found) for found in table.to_pylist()] == [sample, replace(sample, scan_ms=1)]


def test_no_column_nests_records() -> None:  # known fault 084
    """Lists of records with long texts can be written and not read again: a row is one node."""
    kinds = {str(column.type) for name in ("outcome", "occurrence", "rule_result") for column in arrow_schema(name)}
    assert {kind for kind in kinds if "<" in kind} == {"list<item: string>"}
    assert str(arrow_schema("occurrence").field("html").type) == "string"
