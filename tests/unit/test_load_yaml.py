"""YAML that people write: plain values, and nothing behind their backs."""

import pytest

from schemas.errors import ContractError, Offence
from tasks.load.yaml_file import load_document, load_yaml


def offences(text: str | bytes) -> list[Offence]:
    with pytest.raises(ContractError) as caught:
        load_yaml(text.encode() if isinstance(text, str) else text, "f.yaml")
    return list(caught.value.offences)


def test_values_are_plain() -> None:
    text = b"\xef\xbb\xbfuntil: 2026-12-01\nat: 2026-12-01T00:00:00Z\ncount: 3\nnames: [a, b]\nnone:\n"
    assert load_yaml(text, "f.yaml") == {"until": "2026-12-01", "at": "2026-12-01T00:00:00Z", "count": 3,
                                         "names": ["a", "b"], "none": None}
    assert load_yaml(b"# nothing\n", "f.yaml") is None


@pytest.mark.parametrize("written", ["010", "-07", "00", "1_000", "0x1F", "0b1", "1:30", "1_0.5", "1:30.5", "0o7"])
def test_a_number_that_is_not_decimal_is_the_text_that_was_written(written: str) -> None:
    """YAML 1.1 makes 8 of 010 and 90 of 1:30; a limit that nobody wrote gates nothing."""
    assert load_yaml(f"a: {written}".encode(), "f.yaml") == {"a": written}
    with pytest.raises(ContractError, match=rf'"{written}" is of the wrong type; expected a whole number'):
        load_document(f"coverage: {{min_routes: {written}}}".encode(), "policy.yaml", "policy")


@pytest.mark.parametrize(("written", "number"), [
    ("0", 0), ("-0", 0), ("+5", 5), ("10", 10), ("1.0", 1.0), ("-1.5e+3", -1500.0), (".5", 0.5), ("010.5", 10.5),
    ("1.", 1.0), (".inf", float("inf")),
])
def test_a_decimal_number_is_one(written: str, number: float) -> None:
    found = load_yaml(f"a: {written}".encode(), "f.yaml")["a"]
    assert (found, type(found)) == (number, type(number))


def test_aliases_of_a_human_size_are_fine() -> None:
    text = b"base: &b {a: 1}\nother:\n  <<: *b\n  c: *b\n"
    assert load_yaml(text, "f.yaml") == {"base": {"a": 1}, "other": {"a": 1, "c": {"a": 1}}}


def test_doubled_keys_and_keys_that_are_no_text_are_all_named() -> None:
    assert offences("a: 1\nb:\n  c: 1\n  c: 2\na: 3\non: 1\n5: x\n[1]: y\n") == [
        Offence("f.yaml: line 4", "the key `c` is there twice", "one (the first is in line 3)"),
        Offence("f.yaml: line 5", "the key `a` is there twice", "one (the first is in line 1)"),
        Offence("f.yaml: line 6", "the key `on` is no text", "a word", "Put it in quotation marks."),
        Offence("f.yaml: line 7", "the key `5` is no text", "a word", "Put it in quotation marks."),
        Offence("f.yaml: line 8", "a key is no text", "a word", "Put it in quotation marks."),
    ]


def test_a_bomb_of_aliases_is_refused_before_it_is_written_out() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert offences("\n".join(levels)) == [
        Offence("f.yaml", "its aliases grow too large", "at most 200000 values", "Write them out.")]


def test_an_alias_within_itself_is_refused() -> None:
    assert offences("a: &a [*a]") == [
        Offence("f.yaml", "its aliases grow too large", "at most 200000 values", "Write them out.")]


@pytest.mark.parametrize(("text", "fault"), [
    ("a: [1", "is no YAML: expected ',' or ']', but got '<stream end>' in line 1, column 6"),
    ("a: 1\n---\nb: 2\n", "is no YAML: but found another document in line 2, column 1"),
    ("!!python/object:os.system {}", "is no YAML: could not determine a constructor for the tag "
     "'tag:yaml.org,2002:python/object:os.system' in line 1, column 1"),
    (b"a: \xff", "is no UTF-8 (byte 3)"),
    ("[" * 5_000, "is nested too deeply"),
    (b" " * (4 * 1024 * 1024 + 1), "has 4194305 bytes"),
])
def test_what_is_no_document_is_refused_with_its_place(text: str | bytes, fault: str) -> None:
    found = offences(text)
    assert [offence.fault for offence in found] == [fault]


def test_a_document_is_held_against_its_schema() -> None:
    assert load_document(b"shards: 2\n", "f.yaml", "settings") == {"shards": 2}
    assert load_document(b"", "f.yaml", "settings") == {}
    with pytest.raises(ContractError, match="unknown key `shard`"):
        load_document(b"shard: 2\n", "f.yaml", "settings")
