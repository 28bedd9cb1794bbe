"""The file of another auditor: its addresses are taken, and every other key is answered with what to write here."""

import json

import pytest

from schemas.errors import ContractError, Offence
from schemas.manifest import ManifestEntry
from schemas.settings import Settings
from tasks.load import load_manifest, load_settings, load_yaml
from tasks.load.pa11y import COUNTERPARTS, SAYINGS

E = "https://e.test"


def load(document: object):
    return load_manifest(".pa11yci", Settings(), read=lambda _: json.dumps(document).encode())


def answers(**defaults: object) -> dict[str, str]:
    warnings = load({"defaults": defaults, "urls": [f"{E}/a"]}).warnings
    return {text.split("`")[1]: text.partition(": ")[2] for text in warnings}


def test_addresses_as_text_and_as_objects() -> None:
    loaded = load({"urls": [f"{E}/a", {"url": f"{E}/b", "timeout": 5000}, {"url": f"{E}/c"}]})
    assert loaded.entries == tuple(ManifestEntry(f"{E}/{name}", f"[{index}]") for index, name in enumerate("abc"))
    assert loaded.warnings == ("`timeout` of .pa11yci is not taken over: a visit has three times its usual time here; "
                               "write `route_deadline_max: 30s` to limit it.",)


def test_no_other_keys_no_warnings() -> None:
    assert load({"defaults": {}, "urls": [f"{E}/a"]}).warnings == ()


@pytest.mark.parametrize(("key", "value", "answer"), [
    ("timeout", 90000, "a visit has three times its usual time here; write `route_deadline_max: 90s` to limit it."),
    ("hideElements", ".ad, #chat", "elements stay under test; write suppressions with the selector '.ad' or '#chat'."),
    ("ignore", ["color-contrast", "notice", "WCAG2AA.Principle1.Guideline1_4.1_4_3.G18.Fail"],
     "write `scan: {rules: {color-contrast: false}}` to switch the rules off, or suppressions, each with a reason and "
     "an owner; notice: set the cells of the policy; WCAG2AA.Principle1.Guideline1_4.1_4_3.G18.Fail: not of this "
     "engine, so there is nothing to ignore."),
    ("standard", "WCAG2AAA", "write `standard: wcag20` and `level: AAA` in the policy."),
    ("rules", ["target-size"], "write `scan: {rules: {target-size: true}}` in fanfold.yaml."),
    ("viewport", {"width": 320, "height": 480, "isMobile": True},
     "write `scan: {viewport_width: 320, viewport_height: 480}` in fanfold.yaml."),
    ("concurrency", 4, "set `in_flight` and `shards_at_once` in fanfold.yaml."),
    ("headers", {"Authorization": "Bearer hush"}, "use an auth profile with `headers`."),
    ("somethingElse", 1, "it has no meaning here."),
    ("timeout", "soon", "it has no meaning here."),
])
def test_every_key_is_answered(key: str, value: object, answer: str) -> None:
    assert answers(**{key: value}) == {key: answer}


def test_what_the_answers_say_is_what_our_settings_know() -> None:
    """An answer that fanfold.yaml refuses would help nobody."""
    said = answers(timeout=45000, ignore=["region"], rules=["target-size"], viewport={"width": 320, "height": 480})
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
