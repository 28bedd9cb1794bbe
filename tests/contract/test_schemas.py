"""Every schema, held against good and broken documents, against Arrow, and against the records of the program."""

import json
import re
from dataclasses import MISSING, fields
from enum import StrEnum
from importlib.resources import files
from typing import Any, get_args, get_type_hints

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

from schemas.action import ActionKind
from schemas.column import COLUMN_KEYWORDS
from schemas.engine import EngineBuild, RuleInfo
from schemas.formats import FORMATS
from schemas.latest import Latest
from schemas.manifest import ManifestEntry, SourceCount, SourceFailure
from schemas.occurrence import HTML_CHARACTERS, RuleClass
from schemas.outcome import OutcomeKind
from schemas.plan import Excluded, PlanHeader, ShardLoad
from schemas.receipt import Receipt, TripleRef
from schemas.route import Expectation, Journey, RouteKey
from schemas.settings import IdentitySwitches, Settings
from schemas.shape import RUN_COLUMNS, arrow_schema, faults_in, is_valid, load_schema, offences_in, record_of, table_of
from schemas.shard_fault import ShardFault
from schemas.verdict import Verdict
from tasks.load import load_manifest, load_settings, setting_keys
from tasks.publish import replay_manifest
from tests.contract.breakage import breakages, unbroken_keys
from tests.contract.specimens import GOOD, LETTER, PLAN, RECORDS, ROUTE

NAMES = sorted(file.name.removesuffix(".schema.json") for file in files("schemas").iterdir()
               if file.name.endswith(".schema.json"))
ROWS = sorted([*RECORDS, "timing"])
ARROW_KEYWORDS = ("enum", "minimum", "maximum", "pattern", "maxLength")


def test_every_schema_has_its_specimen() -> None:
    assert sorted(GOOD) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_says_what_it_is(name: str) -> None:
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    assert (schema["$schema"], schema["title"]) == ("https://json-schema.org/draft/2020-12/schema", name)
    assert schema["description"]


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_asks_for_formats_that_are_checked(name: str) -> None:
    """The library passes over a format that it does not know."""
    used = set(re.findall(r'"format": "([^"]*)"', json.dumps(load_schema(name))))
    assert used <= set(FORMATS.checkers)


@pytest.mark.parametrize("name", NAMES)
def test_a_good_document_has_every_key_and_keeps_every_rule(name: str) -> None:
    document = GOOD[name]()
    assert offences_in(name, document, name) == []
    assert is_valid(name, document)
    assert unbroken_keys(load_schema(name), document) == set()


@pytest.mark.parametrize("name", NAMES)
def test_each_rule_is_kept(name: str) -> None:
    broken = list(breakages(load_schema(name), GOOD[name]()))
    assert len(broken) >= 3
    assert [bad.rule for bad in broken if is_valid(name, bad.document)] == []
    assert [bad.rule for bad in broken if not offences_in(name, bad.document, name)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_offence_is_said_in_words_of_ours(name: str) -> None:
    offences = [offence for bad in breakages(load_schema(name), GOOD[name]())
                for offence in offences_in(name, bad.document, name)]
    assert [offence for offence in offences if "breaks the rule" in offence.fault] == []


@pytest.mark.parametrize("name", ROWS)
def test_arrow_finds_what_json_schema_finds(name: str) -> None:
    good = GOOD[name]()
    spec = load_schema(name)["properties"]
    for bad in breakages(load_schema(name), good):
        column = bad.path[0] if bad.path else None
        is_null = bad.keyword == "type" and column is not None and bad.document[column] is None and len(bad.path) == 1
        if is_null or (bad.keyword in ARROW_KEYWORDS and len(bad.path) == 1 and "x-arrow" not in spec[column]):
            table = table_of(name, [good, bad.document, good])
            assert set(faults_in(name, table)) == {1}, bad.rule


@pytest.mark.parametrize("name", ROWS)
def test_a_row_schema_uses_only_keywords_that_arrow_can_check(name: str) -> None:
    schema = load_schema(name)
    used = {key for spec in schema["properties"].values() for key in spec if not key.startswith("x-")}
    assert used <= COLUMN_KEYWORDS
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False
    assert all(spec.get("description") for spec in schema["properties"].values())


def arrow_type_of(hint: object) -> tuple[pa.DataType, bool]:
    """The Arrow type of an annotation, and whether it may be null."""
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] if type(None) in get_args(hint) else [hint]
    (kind,) = kinds
    if kind == tuple[str, ...]:
        return pa.list_(pa.string()), kind != hint
    assert isinstance(kind, type)
    plain = str if issubclass(kind, StrEnum) else kind
    types: dict[type, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return types[plain], len(get_args(hint)) > 1


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_record_its_json_schema_and_its_arrow_schema_are_one_shape(name: str) -> None:
    kind = type(RECORDS[name])
    hints = get_type_hints(kind)
    columns = arrow_schema(name)
    own = [column for column in columns.names if column not in RUN_COLUMNS or column in hints]
    assert own == [column for column in columns.names if column in hints]
    assert set(own) == {item.name for item in fields(kind)}
    if name != "sample":  # its `run_id` is a field of the record
        assert columns.names == [*RUN_COLUMNS, *(item.name for item in fields(kind))]
    for column in own:
        field = columns.field(column)
        kind_of_time = pa.types.is_temporal(field.type)  # text in a record, a time in a file
        expected, is_nullable = arrow_type_of(hints[column])
        assert (pa.string() if kind_of_time else field.type, field.nullable) == (expected, is_nullable), column


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_record_survives_its_file(name: str) -> None:
    table = table_of(name, [GOOD[name]()])
    assert faults_in(name, table) == {}
    assert record_of(type(RECORDS[name]), table.to_pylist()[0]) == RECORDS[name]


def enum_of(schema: str, column: str) -> set[str]:
    return {value for value in load_schema(schema)["properties"][column]["enum"] if value is not None}


def test_closed_sets_are_the_same_in_schema_and_program() -> None:
    assert enum_of("outcome", "outcome") == enum_of("dead_letter", "outcome") == set(OutcomeKind)
    assert enum_of("rule_result", "rule_class") == set(RuleClass)
    for schema in ("outcome", "plan_route", "finding"):
        assert enum_of(schema, "journey") == set(Journey)
    for schema, record in RECORDS.items():
        for column, hint in get_type_hints(type(record)).items():
            for member in (get_args(hint) or (hint,)):
                if isinstance(member, type) and issubclass(member, StrEnum):
                    assert enum_of(schema, column) == set(member), (schema, column)
    assert set(load_schema("manifest")["$defs"]["journey"]["enum"]) == set(Journey)
    assert load_schema("occurrence")["properties"]["html"]["maxLength"] == HTML_CHARACTERS


def test_a_key_is_what_the_files_say() -> None:
    key = RouteKey("https://e.test/a", "staff")
    assert key.text == '["https://e.test/a","staff"]'
    assert key.task_id == ROUTE.task_id
    patterns = {name: spec.get("pattern") for name in ROWS
                if (spec := load_schema(name)["properties"].get("task_id")) is not None}
    assert patterns.pop("quarantine") is None  # it holds what is malformed
    assert set(patterns.values()) == {"^[0-9a-f]{16}$"}


def keys(spec: dict[str, Any]) -> set[str]:
    return set(spec["properties"])


def names(kind: type) -> set[str]:
    return {item.name for item in fields(kind)}


def test_documents_have_the_fields_of_their_records() -> None:
    plan = load_schema("plan")["properties"]
    assert set(plan) == names(PlanHeader)
    assert keys(plan["shards"]["items"]) == names(ShardLoad)
    assert keys(plan["identity"]) == names(IdentitySwitches)
    assert keys(plan["engine"]) == names(EngineBuild)
    assert keys(plan["engine"]["properties"]["rules"]["items"]) == names(RuleInfo)
    assert keys(plan["excluded"]["items"]) == names(Excluded)
    assert keys(plan["source_failures"]["items"]) == names(SourceFailure)
    assert keys(plan["source_counts"]["items"]) == names(SourceCount)
    receipt = load_schema("receipt")["properties"]
    assert set(receipt) == names(Receipt)
    assert keys(receipt["triples"]["items"]) == names(TripleRef)
    assert keys(load_schema("latest")) == names(Latest)
    stored = {"format_version", "tables", "receipts"}
    assert keys(load_schema("verdict")) == (names(Verdict) - {"findings"}) | stored
    assert keys(load_schema("verdict")["properties"]["shard_faults"]["items"]) == names(ShardFault)
    entry = load_schema("manifest")["$defs"]["entry"]
    assert keys(entry) == names(ManifestEntry) - {"where"}
    assert keys(entry["properties"]["expect"]) == names(Expectation)
    steps = load_schema("manifest")["$defs"]["action"]["anyOf"]
    assert {step["required"][0] for step in steps} == set(ActionKind)


def test_settings_have_the_keys_and_defaults_of_their_record() -> None:
    schema = load_schema("settings")["properties"]
    found = {key for key in schema if "properties" not in schema[key]}
    found |= {f"{group}.{key}" for group in schema for key in schema[group].get("properties", {})}
    assert found == set(setting_keys())
    defaults = {key: spec["default"] if "default" in spec else {k: s["default"] for k, s in spec["properties"].items()}
                for key, spec in schema.items()}
    settings, provenance = load_settings({}, {}, defaults)
    assert settings == Settings()
    assert set(provenance.values()) == {"file"}
    assert all(item.default is not MISSING or item.default_factory is not MISSING for item in fields(Settings))


def test_keys_that_people_write_are_described() -> None:
    for name in ("manifest", "settings", "policy", "suppressions"):
        schema = load_schema(name)
        undescribed = [place for place, spec in described(schema, ()) if not spec.get("description") and
                       "$ref" not in spec]
        assert undescribed == [], name


def described(schema: dict[str, Any], path: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for key, value in schema.items():
        if key == "properties":
            found += [(".".join((*path, name)), spec) for name, spec in value.items()]
        if isinstance(value, dict):
            found += described(value, (*path, key))
        elif isinstance(value, list):
            found += [item for one in value if isinstance(one, dict) for item in described(one, (*path, key))]
    return found


def test_the_dead_letters_of_a_run_are_a_manifest() -> None:
    replay = json.dumps(replay_manifest(PLAN, [LETTER])).encode()
    manifest = load_manifest("replay.json", Settings(), read=lambda _: replay)
    assert [(entry.url, entry.auth, entry.ready, entry.ready_when, entry.actions, entry.tags, entry.expect)
            for entry in manifest.entries] == [
        (ROUTE.url, "staff", "#r", "app.done", ROUTE.steps, ("t",), ROUTE.expect)]
    assert manifest.estate == PLAN.header.estate
