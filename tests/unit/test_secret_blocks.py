"""Prefect Secret blocks: names that Prefect allows, and a refusal that names every block that is missing."""

import pytest

from flows.secret_blocks import block_of, read_secret_blocks
from schemas.errors import ContractError


def test_names() -> None:
    assert [block_of(name) for name in ("T", "API_TOKEN", "api.token-2")] == ["t", "api-token", "api-token-2"]


def test_without_names_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.secret_blocks._read", lambda block: pytest.fail(f"asked for {block}"))
    assert read_secret_blocks(()) == {}


def test_all_that_is_missing_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = {"api-token": "hush-hush", "number": 7, "empty": ""}
    monkeypatch.setattr("flows.secret_blocks._read", blocks.get)
    assert read_secret_blocks(["API_TOKEN"]) == {"API_TOKEN": "hush-hush"}
    with pytest.raises(ContractError) as caught:
        read_secret_blocks(["API_TOKEN", "NUMBER", "EMPTY", "GONE"])
    assert [offence.subject for offence in caught.value.offences] == ["secret EMPTY", "secret GONE", "secret NUMBER"]
    assert caught.value.offences[1].expected == "a block `secret/gone`"
    assert "hush" not in str(caught.value)
