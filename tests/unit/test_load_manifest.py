"""A manifest from a file: JSON, text, CSV, Parquet, packed or not; the same routes from each."""

import gzip
import hashlib
import io
import json
from collections.abc import Mapping

import pandas as pd
import pytest

from schemas.action import Action, ActionKind, actions_in, actions_text
from schemas.errors import ContractError, Offence
from schemas.manifest import Manifest, ManifestEntry
from schemas.route import Expectation, Journey
from schemas.settings import Settings
from tasks.load import load_manifest

FULL: Mapping[str, object] = {
    "url": "https://a.test/b", "auth": "staff", "journey": "secondary", "priority": 1, "violation_density": 0.25,
    "monthly_views": 1200, "owner": "web", "tags": ["x", "y"], "ready": "#r",
    "expect": {"status": 404, "url": "https://a.test/c", "title": "T", "selector": "main"},
}


def full_entry(where: str) -> ManifestEntry:
    return ManifestEntry("https://a.test/b", where, "staff", Journey.SECONDARY, 1, 0.25, 1200, "web", ("x", "y"), "#r",
                         Expectation(404, "https://a.test/c", "T", "main"))


def load(data: str | bytes | object, name: str = "m") -> Manifest:
    raw = data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else json.dumps(data).encode()
    return load_manifest(name, Settings(), read=lambda path: {name: raw}[path])


def offences(data: str | bytes | object) -> list[Offence]:
    with pytest.raises(ContractError) as caught:
        load(data)
    return list(caught.value.offences)


def test_a_list_of_addresses_and_objects() -> None:
    raw = json.dumps(["https://a.test/", FULL])
    assert load(raw) == Manifest("m", hashlib.sha256(raw.encode()).hexdigest(),
                                 (ManifestEntry("https://a.test/", "[0]"), full_entry("[1]")))


def test_an_object_with_settings_of_the_estate() -> None:
    raw = json.dumps({"$schema": "x", "estate": "shop", "default_journey": "secondary", "exclude": ["glob:/x/**"],
                      "hosts": ["cdn.test"], "routes": [FULL]})
    assert load(raw) == Manifest("m", hashlib.sha256(raw.encode()).hexdigest(), (full_entry("routes[0]"),), "shop",
                                 Journey.SECONDARY, ("glob:/x/**",), settings={"scan.hosts": ["cdn.test"]})


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    """As `to_json` of pandas writes a column of numbers with a gap: no schema tells 1.0 from 1, but files do."""
    (entry,) = load('[{"url": "https://a.test/", "priority": 1.0, "expect": {"status": 2e2}, "monthly_views": 1e300,'
                    ' "violation_density": 0.5, "actions": [{"wait_ms": 100.0}]}]').entries
    numbers = [entry.priority, entry.expect.status, *(action.duration_ms for action in entry.actions)]
    assert (numbers, {type(number) for number in numbers}) == ([1, 200, 100], {int})
    assert (entry.monthly_views, entry.violation_density) == (1e300, 0.5)


def test_nulls_say_nothing() -> None:
    nulls = {key: None for key in FULL if key not in ("url", "tags")}
    assert load([{"url": "https://a.test/", **nulls}]).entries == (ManifestEntry("https://a.test/", "[0]"),)


def test_all_offences_come_at_once_each_with_its_entry_and_path() -> None:
    document = {"estate": "my shop", "exclude": ["*.pdf"], "routez": [], "routes": [
        "https://a.test/", {"url": "https://a.test/", "priority": 7}, {"url": ""}, 5,
        {"url": "https://a.test/", "expect": {"status": "ok"}, "ownr": "web"}]}
    found = offences(document)
    assert [(offence.subject, offence.fault) for offence in found] == [
        ("m", "unknown key `routez`"),
        ("m: $.estate", '"my shop" has the wrong form'),
        ("m: $.exclude[0]", '"*.pdf" has the wrong form'),
        ("m: $.routes[1].priority", "7 is out of range"),
        ("m: $.routes[2].url", "is empty"),
        ("m: $.routes[3]", "5 fits none of the allowed forms"),
        ("m: $.routes[4]", "unknown key `ownr`"),
        ("m: $.routes[4].expect.status", '"ok" is of the wrong type'),
    ]


@pytest.mark.parametrize(("key", "bad"), [
    ("url", 5), ("url", ""), ("owner", "x" * 201), ("priority", 3), ("priority", -1), ("priority", 0.5),
    ("priority", True), ("violation_density", 1.5), ("violation_density", float("nan")),
    ("monthly_views", float("nan")), ("monthly_views", 10**400), ("owner", "\ud800"), ("tags", ["\ud800"]),
    ("url", "https://a.test/\ud800"), ("tags", ["x" * 101]), ("journey", "main"), ("expect", {"status": 99}),
])
def test_among_entries_of_one_form_the_bad_one_is_found_wherever_it_stands(key: str, bad: object) -> None:
    good = [{**FULL, "url": f"https://a.test/{i}"} for i in range(9)]
    entries = [*good[:5], {**FULL, key: bad}, *good[5:]]
    with pytest.raises(ContractError) as caught:
        load(json.dumps(entries))
    assert {offence.subject[:7] for offence in caught.value.offences} == {"m: $[5]"}


@pytest.mark.parametrize(("data", "fault"), [
    ("", "is empty"),
    ("[", "is no JSON: Expecting value in line 1, column 2"),
    ('{"routes": ["https://a.test/"], "routes": []}', "the key `routes` is there twice in one object"),
    ("[]", "is empty"),
    ({"routes": []}, "is empty"),
    ({}, "`routes` is missing"),
    ('[{"url": "https://a.test/", "monthly_views": NaN}]', "not a finite number"),
    ('["https://a.test/", ' + "9" * 5_000 + "]", "is no JSON that can be read (ValueError)"),
    ("[" * 100_000, "is no JSON that can be read (RecursionError)"),
    ({"estate": "shop\n", "routes": ["https://a.test/"]}, "'shop\\n' cannot be a name in the store"),
    ([{"url": "https://a.test/", "auth": "x\n"}], "'x\\n' cannot be a name in the store"),
    (b"<!doctype html><title>Sign in</title>", "is a web page"),
    (b"PK\x03\x04", "is a spreadsheet or zip file"),
    ("# nothing yet\n", "lists no routes"),
    ("Service unavailable\n", "is text without addresses"),
])
def test_what_is_no_manifest_is_refused(data: str | bytes | object, fault: str) -> None:
    assert [offence.fault for offence in offences(data)] == [fault]


def test_no_message_repeats_a_password() -> None:
    found = offences([{"url": "https://user:s3cret@a.test/", "priority": 9}, {"urls": "https://user:s3cret@a.test/"}])
    assert "s3cret" not in str(ContractError(found))


def test_text_has_one_address_a_line() -> None:  # known fault 010
    text = "\ufeff# pages\r\nhttps://a.test/a#sec  # the first\r\n\r\n  https://a.test/b\nnonsense\n"
    expected = (ManifestEntry("https://a.test/a#sec", "line 2"), ManifestEntry("https://a.test/b", "line 4"),
                ManifestEntry("nonsense", "line 5"))
    assert load(text).entries == expected
    assert load(gzip.compress(text.encode())).entries == expected
    assert load(text.removeprefix("\ufeff").encode("utf-16")).entries == expected


def test_a_table_says_the_same_as_json() -> None:
    header = "url;auth;journey;priority;violation_density;monthly_views;owner;tags;ready;" \
             "expect_status;expect_url;expect_title;expect_selector;;"
    row = 'https://a.test/b;staff;secondary;1;0.25;1200;"web";x|y;#r;404;https://a.test/c;T;main;;'
    text = f"{header}\n{row}\n;;;;;;;;;;;;;;\nhttps://a.test/c;;;;;;;;;;;;;;\n"
    assert load(text).entries == (full_entry("row 2"), ManifestEntry("https://a.test/c", "row 4"))
    assert load(text.replace(";", "\t")).entries == load(text.replace(";", ",")).entries == load(text).entries


def test_parquet_says_the_same_as_json() -> None:
    rows = [{key: value for key, value in FULL.items() if key != "expect"} | {"expect_status": 404.0,
             "expect_url": "https://a.test/c", "expect_title": "T", "expect_selector": "main"},
            {"url": "https://a.test/c"}]
    buffer = io.BytesIO()
    pd.DataFrame(rows).to_parquet(buffer)
    assert load(buffer.getvalue()).entries == (full_entry("row 1"), ManifestEntry("https://a.test/c", "row 2"))


def test_columns_and_cells_of_a_table_are_judged_at_once() -> None:
    assert offences("url,ownr,url\nhttps://a.test/,x,y\n") == [
        Offence("m", "the column `url` is there twice", "one"),
        Offence("m", "unknown column `ownr`",
                "one of url, auth, journey, priority, violation_density, monthly_views, owner, "
                "tags, ready, ready_when, expect_status, expect_url, expect_title, expect_selector",
                "Did you mean `owner` for `ownr`?"),
    ]
    found = offences("url,priority,journey\nhttps://a.test/,7,primary\n,1,\nhttps://a.test/,one,main\n")
    assert [(offence.subject, offence.fault) for offence in found] == [
        ("m: row 2: $.priority", "7 is out of range"), ("m: row 3", "`url` is missing"),
        ("m: row 4: $.journey", '"main" is not known'), ("m: row 4: $.priority", '"one" is of the wrong type')]


def test_readiness_by_condition_and_actions() -> None:
    steps = [{"dismiss": "#c"}, {"fill": "#q", "value": "x {{secret:T}}"}, {"click": "#go"}, {"wait": "#r"},
             {"wait_ms": 250}]
    entry = ManifestEntry("https://a.test/", "[0]", ready_when="app.done", actions=(
        Action(ActionKind.DISMISS, "#c"), Action(ActionKind.FILL, "#q", "x {{secret:T}}"),
        Action(ActionKind.CLICK, "#go"), Action(ActionKind.WAIT, "#r"), Action(ActionKind.WAIT_MS, duration_ms=250)))
    assert load([{"url": "https://a.test/", "ready_when": "app.done", "actions": steps}]).entries == (entry,)
    assert [action.document for action in entry.actions] == steps
    assert [str(action) for action in entry.actions] == ["dismiss #c", "fill #q", "click #go", "wait #r", "wait 250 ms"]
    assert actions_in(actions_text(entry.actions)) == entry.actions
    assert (actions_text(()), actions_in(None)) == (None, ())
    assert load("url,ready_when\nhttps://a.test/,app.done\n").entries[0].ready_when == "app.done"
    found = offences("url,actions\nhttps://a.test/,x\n")
    assert [(one.fault, one.remedy) for one in found] == [
        ("unknown column `actions`", "Give the routes with actions in a JSON manifest.")]
    found = offences([{"url": "https://a.test/", "actions": [{"click": "#a"}] * 21}])
    assert [one.fault for one in found] == ["has 21"]


def test_a_table_in_latin_1_is_named() -> None:
    assert [offence.fault for offence in offences("url,owner\nhttps://a.test/,Ren\u00e9\n".encode("latin-1"))] == [
        "is no UTF-8: byte 0xe9 in line 2, which looks like Latin-1"]


def test_a_broken_table_is_named() -> None:
    assert offences("url,owner\nhttps://a.test/\nhttps://b.test/,a,b,c\n")[0].fault.startswith("is no table: ")
    assert offences(b"PAR1nonsense")[0].fault.startswith("is no Parquet file that can be read")


def test_another_auditors_file_is_taken_with_a_warning_for_each_key_that_is_not() -> None:
    manifest = load({"defaults": {"timeout": 5000, "ignore": ["x"]}, "concurrency": 4, "urls": [
        "https://a.test/", {"url": "https://a.test/b", "screenCapture": "x.png"}]})
    assert manifest.entries == (ManifestEntry("https://a.test/", "[0]"), ManifestEntry("https://a.test/b", "[1]"))
    assert manifest.warnings == (
        "`ignore` of m: x: not of this engine, so there is nothing to ignore.",
        "`timeout` of m: a visit has at least 30s here, so that is taken.",
        "`concurrency` of m is not taken over: set `in_flight` and `shards_at_once` in fanfold.yaml.",
        "`screenCapture` of m is not taken over: no pictures are taken; the evidence is markup.",
    )
    assert manifest.settings == {"route_deadline_min": "30s", "route_deadline_max": "30s"}
    assert [offence.fault for offence in offences({"urls": "https://a.test/"})] == ["lists no addresses"]
