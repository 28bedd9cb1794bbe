"""The baseline's document: stable bytes, and nothing that is read by halves."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.baseline import (
    Baseline,
    KnownFinding,
    check_comparable,
    identity_of_plan,
    parse_baseline,
    to_baseline_text,
    usable_baseline,
)
from schemas.errors import ContractError
from schemas.settings import IdentitySwitches
from tests.small_estate import plan_of, route

PLAN = plan_of(route("/a"))
IDS = st.sampled_from(["0" * 16, "1" * 16, "a" * 16])
KNOWN = st.builds(KnownFinding, IDS, st.booleans(), st.sampled_from(["image-alt", "größe"]),
                  st.sampled_from(["critical", None]), st.dictionaries(IDS, st.integers(1, 9), min_size=1))
MADE = Baseline("shop", "r1", "2026-11-30", identity_of_plan(PLAN.header), 1, "4.12.1", "e" * 64,
                frozenset({"image-alt"}), {"0" * 16: "https://e.test/ü"},
                (KnownFinding("a" * 16, True, "image-alt", "critical", {"0" * 16: 2}),), frozenset({"#chat"}))


@given(st.lists(KNOWN, max_size=4, unique_by=lambda known: (known.fingerprint, known.is_violation)), st.randoms())
def test_the_same_content_is_the_same_bytes(findings, random):
    shuffled = random.sample(findings, len(findings))
    turned = [replace(known, routes=dict(reversed(list(known.routes.items())))) for known in shuffled]
    text = to_baseline_text(replace(MADE, findings=tuple(findings)))
    assert to_baseline_text(replace(MADE, findings=tuple(turned))) == text
    assert to_baseline_text(parse_baseline(text, "baseline.json")) == text


def test_what_is_read_is_what_was_written():
    assert parse_baseline(to_baseline_text(MADE), "baseline.json") == MADE


def test_every_cut_of_the_file_is_bad_input():
    """Fault 094: a truncated baseline is never taken for a small one."""
    text = to_baseline_text(MADE)
    for length in range(len(text.rstrip())):
        with pytest.raises(ContractError):
            parse_baseline(text[:length], "baseline.json")


@pytest.mark.parametrize(("old", "new", "said"), [
    ('"format_version": 1', '"format_version": 2', "format version 2, .* up to 1"),
    ('"impact": "critical"', '"impact": "bad"', "impact"),
    (': 2', ': 0', "routes"), ('"estate": "shop",', "", "estate"), ('"rule": "image-alt"', '"rul": 1', "rule"),
    (': 2', ': NaN', "baseline.json"),
])
def test_what_breaks_the_schema_is_bad_input(old, new, said):
    text = to_baseline_text(MADE)
    assert old in text
    with pytest.raises(ContractError, match=said):
        parse_baseline(text.replace(old, new), "baseline.json")


def test_a_fingerprint_stands_once():
    twice = replace(MADE, findings=MADE.findings * 2)
    with pytest.raises(ContractError, match="twice"):
        parse_baseline(to_baseline_text(twice), "baseline.json")


@pytest.mark.parametrize(("changes", "said"), [
    ({"identity": identity_of_plan(PLAN.header) | {"path_case": "fold"}}, "path_case"),
    ({"identity": {}}, "query"), ({"fingerprint_version": 2}, "fingerprints of version 2"),
    ({"estate": "blog"}, "blog"),
])
def test_what_cannot_be_compared_is_bad_input(changes, said):
    with pytest.raises(ContractError, match=said):
        check_comparable(replace(MADE, **changes), PLAN.header)


def test_secrets_are_no_part_of_an_identity():
    other = plan_of(route("/a"), identity=IdentitySwitches(secret_parameters=("other",)))
    check_comparable(MADE, other.header)


def test_the_policy_says_whether_a_baseline_is_used():
    other = replace(MADE, estate="blog")
    assert [usable_baseline(*given, PLAN.header) for given in
            ((MADE, "if_present"), (None, "if_present"), (MADE, "required"), (other, "none"), (None, "none"))] == [
        MADE, None, MADE, None, None]
    with pytest.raises(ContractError, match=r"old\.json: there is no baseline"):
        usable_baseline(None, "required", PLAN.header, "old.json")
    with pytest.raises(ContractError, match=r"old\.json: is of estate `blog`"):
        usable_baseline(other, "if_present", PLAN.header, "old.json")
