"""Settings: who wins, from where each value came, and what is refused."""

from dataclasses import replace

import pytest

from schemas.errors import ContractError, Offence
from schemas.settings import DEFAULT_EXCLUDE, Exclusion, IdentitySwitches, ScanSettings, Settings, SourceSettings
from tasks.load.layers import setting_keys, setting_value
from tasks.load.settings import duration_ms, environment_warnings, load_settings


def offences(*layers: object) -> list[Offence]:
    with pytest.raises(ContractError) as caught:
        load_settings(*layers)  # type: ignore[arg-type]
    return list(caught.value.offences)


def test_nothing_given_is_all_defaults() -> None:
    assert load_settings({}, {}, None) == (Settings(), dict.fromkeys(setting_keys(), "default"))


def test_flags_go_before_environment_before_file() -> None:
    settings, provenance = load_settings(
        {"shards": 3, "estate": None}, {"FANFOLD_SHARDS": "4", "FANFOLD_ESTATE": "env", "PATH": "/bin"},
        {"shards": 5, "estate": "file", "run_budget": "1.5h", "scan": {"evidence": "masked"}},
    )
    assert settings == Settings(shards=3, estate="env", run_budget_ms=5_400_000, scan=ScanSettings(evidence="masked"))
    assert {key: origin for key, origin in provenance.items() if origin != "default"} == {
        "shards": "flag", "estate": "environment", "run_budget": "file", "scan.evidence": "file"}


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    settings, _ = load_settings({}, {"FANFOLD_SHARDS_AT_ONCE": "1.0", "FANFOLD_SCAN_DEVICE_SCALE": "2.0"},
                                {"shards": 2.0, "scan": {"retire_after": 1e2}})
    given = (settings.shards_at_once, settings.shards, settings.scan.retire_after, settings.scan.device_scale)
    assert (given, [type(value) for value in given]) == ((1, 2, 100, 2.0), [int, int, int, float])


def test_every_group_and_kind_of_value() -> None:
    settings, _ = load_settings({}, {
        "FANFOLD_SCAN_HOSTS": "cdn.test, help.test", "FANFOLD_SCAN_RULES": '{"region": false}',
        "FANFOLD_SOURCE_VERIFY_TLS": "false", "FANFOLD_SCAN_DEVICE_SCALE": "2", "FANFOLD_IDENTITY_QUERY": "drop",
        "FANFOLD_SETTLE_QUIET": "", "FANFOLD_SCAN_SETTLE_QUIET": "0ms", "FANFOLD_HISTORY": '["a,b.json"]',
    }, {"identity": {"secret_parameters": ["pin"]}, "source": {"headers": {"X-B": "2", "X-A": "1"}}})
    assert settings == Settings(
        history=("a,b.json",),
        identity=IdentitySwitches(query="drop", secret_parameters=("pin",)),
        scan=ScanSettings(hosts=("cdn.test", "help.test"), rules=(("region", False), ("target-size", True)),
                          device_scale=2, settle_quiet_ms=0, secret_parameters=("pin",)),
        source=SourceSettings(verify_tls=False, headers=(("X-A", "1"), ("X-B", "2"))),
    )


def test_patterns_of_all_layers_apply_and_are_shown() -> None:  # known fault 027
    settings, provenance = load_settings(
        {"exclude": ("glob:/a/**", "glob:/b/**")}, {}, {"exclude": ["re:format=feed", "glob:/a/**"]})
    assert settings.exclude == ("glob:/a/**", "glob:/b/**", "re:format=feed")
    assert provenance["exclude"] == "flag + file"
    assert load_settings({"exclude": []}, {}, None)[0].exclude == DEFAULT_EXCLUDE


def test_rules_are_merged_rule_by_rule_the_strongest_layer_last() -> None:
    settings, _ = load_settings({"scan.rules": {"region": True}}, {},
                                {"scan": {"rules": {"region": False, "target-size": False}}})
    assert settings.scan.rules == (("region", True), ("target-size", False))


def test_exclusions_of_all_layers_apply_each_once() -> None:
    settings, provenance = load_settings(
        {}, {"FANFOLD_SCAN_EXCLUDE_ELEMENTS": '[".ad", {"selector": "#chat", "routes": ["glob:/a"]}]'},
        {"scan": {"exclude_elements": [{"routes": ["glob:/a"], "selector": "#chat"}, ".map"]}})
    assert settings.scan.exclude_elements == (Exclusion(".ad"), Exclusion("#chat", ("glob:/a",)), Exclusion(".map"))
    assert provenance["scan.exclude_elements"] == "environment + file"
    assert setting_value(settings, "scan.exclude_elements") == [
        ".ad", {"selector": "#chat", "routes": ["glob:/a"]}, ".map"]


def test_bad_exclusions_come_at_once() -> None:
    found = offences({}, {}, {"scan": {"exclude_elements": [":is(.a", {"selector": ".b", "routes": ["re:("]}]}})
    assert [(offence.subject, offence.fault[:9]) for offence in found] == [
        ("scan.exclude_elements", "':is(.a' "), ("scan.exclude_elements", "pattern '")]
    (wrong,) = offences({}, {}, {"scan": {"exclude_elements": [{"selector": ".b", "rotes": []}]}})
    assert "Did you mean `routes` for `rotes`?" in str(wrong)


def test_all_offences_of_all_layers_come_at_once() -> None:
    found = offences({"shard": 3}, {"FANFOLD_SHARDS": "many", "FANFOLD_SCAN_EVIDENCE": "fulll"},
                     {"shards_at_one": 4, "run_budget": 90, "scan": {"rules": {"region": "off"}}})
    assert found == [
        Offence("FANFOLD_SCAN_EVIDENCE: $.scan.evidence", '"fulll" is not known', "one of full, masked, none",
                "Did you mean `full` for `fulll`?"),
        Offence("FANFOLD_SHARDS: $.shards", '"many" is of the wrong type', "a whole number or null (Units of work; by "
                "default one for each two minutes of load, at most 4 × shards_at_once)"),
        Offence("fanfold.yaml", "unknown key `shards_at_one`", f"one of {', '.join(_top_keys())}",
                "Did you mean `shards_at_once` for `shards_at_one`?"),
        Offence("fanfold.yaml: $.run_budget", "90 is of the wrong type",
                "text or null (Time to live of the run with its "
                "unit: `90s`, `30m`, `2h`; routes that it does not reach are `expired`)"),
        Offence("fanfold.yaml: $.scan.rules.region", '"off" is of the wrong type', "true or false"),
        Offence("flag shard", "unknown key `shard`", "a setting", "Did you mean `shards` for `shard`?"),
    ]


def _top_keys() -> list[str]:
    return sorted({key.partition(".")[0] for key in setting_keys()})


def test_contradictions_come_at_once() -> None:
    found = offences({}, {}, {
        "exclude": ["re:("], "route_deadline_min": "5m", "run_budget": "0s",
        "scan": {"time_zone": "Europe/Pariss"}, "source": {"headers": {"Authorization": "Bearer abc", "B\n": "x"}}})
    assert [offence.subject for offence in found] == [
        "exclude", "route_deadline_min", "run_budget", "scan.time_zone", "source.headers",
        "source.headers.Authorization"]
    assert "abc" not in str(ContractError(found))


def test_a_header_may_name_a_secret() -> None:
    settings, _ = load_settings({}, {}, {"source": {"headers": {"Authorization": "Bearer {{secret:DOCS}}"}}})
    assert settings.source.headers == (("Authorization", "Bearer {{secret:DOCS}}"),)


def test_a_file_that_is_no_object_is_refused() -> None:
    assert offences({}, {}, ["shards"]) == [Offence("fanfold.yaml", "a list is of the wrong type",
                                                    "an object with keys "
        "(fanfold.yaml: settings of an audit. Flags go first, then FANFOLD_… variables, then this file)")]


def test_a_variable_that_is_no_setting_is_named_with_the_nearest() -> None:
    assert environment_warnings({"FANFOLD_SHARD": "1", "FANFOLD_SHARDS": "1", "FANFOLD_SECRET_X": "x",
                                 "HOME": "/"}) == (
        "FANFOLD_SHARD is no setting. Did you mean `FANFOLD_SHARDS` for `FANFOLD_SHARD`?",)


@pytest.mark.parametrize(("text", "milliseconds"), [("500ms", 500), ("1.5s", 1_500), ("30m", 1_800_000), ("2h",
                                                                                                          7_200_000)])
def test_times_say_their_unit(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


def test_identity_and_scan_share_one_list_of_secrets() -> None:
    settings, _ = load_settings({}, {}, {"identity": {"secret_parameters": ["pin"]}})
    assert settings == replace(Settings(), identity=IdentitySwitches(secret_parameters=("pin",)),
                               scan=ScanSettings(secret_parameters=("pin",)))
