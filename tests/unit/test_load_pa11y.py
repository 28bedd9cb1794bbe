"""The file of another auditor: addresses and what it says of the test are taken; every other key is answered."""

import json

import pytest

from schemas.errors import ContractError, Offence
from schemas.exclusion import selectors_for
from schemas.manifest import ManifestEntry
from schemas.settings import ScanSettings, Settings
from tasks.load import in_force_of_source, load_manifest, load_settings, load_yaml
from tasks.load.pa11y import COUNTERPARTS, SAYINGS

E = "https://e.test"
RULES = ("color-contrast", "region", "target-size")
HIDDEN = "hideElements of .pa11yci"
CODE = "WCAG2AA.Principle1.Guideline1_4.1_4_3.G18.Fail"


def load(document: object):
    return load_manifest(".pa11yci", Settings(), read=lambda _: json.dumps(document).encode(), rules=RULES)


def answers(**defaults: object) -> dict[str, str]:
    warnings = load({"defaults": defaults, "urls": [f"{E}/a"]}).warnings
    return {text.split("`")[1]: text.partition(": ")[2] for text in warnings}


def test_addresses_as_text_and_as_objects() -> None:
    loaded = load({"urls": [f"{E}/a", {"url": f"{E}/b"}, {"url": f"{E}/c"}]})
    assert loaded.entries == tuple(ManifestEntry(f"{E}/{name}", f"[{index}]") for index, name in enumerate("abc"))
    assert (loaded.warnings, loaded.settings) == ((), {})


def test_no_other_keys_no_warnings() -> None:
    assert load({"defaults": {}, "urls": [f"{E}/a"]}).warnings == ()


def hidden_on(document: object) -> dict[str, tuple[str, ...]]:
    """The selectors that are left out on each page, under the settings of the file alone."""
    loaded = load(document)
    settings, _ = load_settings({}, {}, None, source=loaded.settings)
    return {entry.url: selectors_for(settings.scan, entry.url) for entry in loaded.entries}


def test_hidden_elements_are_exclusions() -> None:
    document = {"defaults": {"hideElements": ".ad, :is(.a, .b)"}, "urls": [f"{E}/a", f"{E}/b"]}
    assert load(document).settings == {"scan.exclude_elements": [
        {"selector": ".ad", "reason": HIDDEN}, {"selector": ":is(.a, .b)", "reason": HIDDEN}]}
    assert load(document).warnings == ()


def test_an_entry_replaces_what_the_defaults_hide_on_its_own_page() -> None:
    urls = [f"{E}/a", {"url": f"{E}/b", "hideElements": "#chat"}, f"{E}/c?x=1",
            {"url": f"{E}/d/", "hideElements": ""}]
    assert hidden_on({"defaults": {"hideElements": ".ad"}, "urls": urls}) == {
        f"{E}/a": (".ad",), f"{E}/b": ("#chat",), f"{E}/c?x=1": (".ad",), f"{E}/d/": ()}
    assert hidden_on({"defaults": {"hideElements": ".ad"}, "urls": [f"{E}/a", *urls[1:2], f"{E}/e", f"{E}/f"]}) == {
        f"{E}/a": (".ad",), f"{E}/b": ("#chat",), f"{E}/e": (".ad",), f"{E}/f": (".ad",)}


def test_a_rule_that_every_page_ignores_is_off() -> None:
    loaded = load({"defaults": {"ignore": ["Region", "color-contrast"]},
                   "urls": [f"{E}/a", {"url": f"{E}/b", "ignore": ["region"]}]})
    assert loaded.settings == {"scan.rules": {"region": False}}
    assert loaded.warnings == (
        "`ignore` of .pa11yci: color-contrast is ignored on 1 of 2 pages, and a rule is on or off for a whole run "
        "here, so it stays on; write suppressions for those routes.",)


@pytest.mark.parametrize(("of_file", "of_entry", "deadline", "said"), [
    (90_000, None, "90s", None), (45_500, 45_500, "45500ms", None),
    (5_000, None, "30s", "a visit has at least 30s here, so that is taken."),
    (40_000, 60_000, "1m", "a deadline holds for all routes here, so the longest, 1m, is taken."),
])
def test_a_timeout_is_the_deadline_of_every_route(
    of_file: int, of_entry: int | None, deadline: str, said: str | None
) -> None:
    entry = {"url": f"{E}/b"} | ({"timeout": of_entry} if of_entry else {})
    loaded = load({"defaults": {"timeout": of_file}, "urls": [f"{E}/a", entry]})
    assert loaded.settings == {"route_deadline_min": deadline, "route_deadline_max": deadline}
    assert [text.partition(": ")[2] for text in loaded.warnings] == ([said] if said else [])


def test_any_other_word_goes_before_the_file() -> None:
    brought = load({"defaults": {"timeout": 90_000, "ignore": ["region", "color-contrast"], "hideElements": ".ad"},
                    "urls": [f"{E}/a"]}).settings
    settings, origins = load_settings(
        {}, {"FANFOLD_SCAN_RULES": '{"region": true}', "FANFOLD_SCAN_EXCLUDE_ELEMENTS": "[role=x], .z"},
        {"route_deadline_max": "60s"}, source=brought)
    assert settings.scan.rules == (("color-contrast", False), ("region", True), ("target-size", True))
    assert [one.selector for one in settings.scan.exclude_elements] == ["[role=x]", ".z", ".ad"]
    assert (settings.route_deadline_min_ms, settings.route_deadline_max_ms) == (30_000, 60_000)
    assert {key: origin for key, origin in origins.items() if origin != "default"} == {
        "scan.rules": "environment + source", "scan.exclude_elements": "environment + source",
        "route_deadline_max": "file"}
    assert in_force_of_source(brought, settings, origins) == {
        "scan.rules": {"color-contrast": False}, "scan.exclude_elements": [{"selector": ".ad", "reason": HIDDEN}]}
    assert load_settings({}, {}, None, source={})[0] == Settings(scan=ScanSettings())


def test_what_is_no_selector_is_bad_input() -> None:
    with pytest.raises(ContractError) as caught:
        load({"defaults": {"hideElements": ".a, b)"}, "urls": [f"{E}/a"]})
    assert caught.value.offences == (
        Offence(".pa11yci: hideElements", "'b)' has a `)` that nothing opened", "a CSS selector"),)


@pytest.mark.parametrize(("key", "value", "answer"), [
    ("hideElements", [".ad"], "is no text with selectors, so nothing is hidden."),
    ("ignore", ["notice", "warning"], "notice, warning: set the cells of the policy."),
    ("ignore", [CODE, "no-such-rule"], f"{CODE}, no-such-rule: not of this engine, so there is nothing to ignore."),
    ("standard", "WCAG2AAA", "write `standard: wcag20` and `level: AAA` in the policy."),
    ("rules", ["target-size"], "write `scan: {rules: {target-size: true}}` in fanfold.yaml."),
    ("viewport", {"width": 320, "height": 480, "isMobile": True},
     "write `scan: {viewport_width: 320, viewport_height: 480}` in fanfold.yaml."),
    ("concurrency", 4, "set `in_flight` and `shards_at_once` in fanfold.yaml."),
    ("headers", {"Authorization": "Bearer hush"}, "use an auth profile with `headers`."),
    ("somethingElse", 1, "it has no meaning here."),
    ("timeout", "soon", "is no number of milliseconds, so it has no meaning here."),
    ("timeout", True, "is no number of milliseconds, so it has no meaning here."),
])
def test_every_other_key_is_answered(key: str, value: object, answer: str) -> None:
    assert answers(**{key: value}) == {key: answer}


def test_a_key_in_the_wrong_place_is_answered() -> None:
    loaded = load({"timeout": 90_000, "urls": [f"{E}/a"]})
    assert (loaded.settings, loaded.warnings) == ({}, (
        "`timeout` of .pa11yci is not taken over: it belongs into `defaults`, or into an entry of `urls`.",))


def test_what_the_answers_say_is_what_our_settings_know() -> None:
    """An answer that fanfold.yaml refuses would help nobody."""
    said = answers(rules=["target-size"], viewport={"width": 320, "height": 480})
    for text in said.values():
        line = text.split("`")[1]
        load_settings({}, {}, load_yaml(line.encode(), "fanfold.yaml"))


def test_each_key_has_one_answer() -> None:
    assert set(COUNTERPARTS) & set(SAYINGS) == set()


@pytest.mark.parametrize("urls", [[], "https://e.test/", None])
def test_no_addresses(urls: object) -> None:
    with pytest.raises(ContractError) as caught:
        load({"urls": urls})
    assert caught.value.offences == (Offence(".pa11yci: $.urls", "lists no addresses", "a list of addresses"),)
