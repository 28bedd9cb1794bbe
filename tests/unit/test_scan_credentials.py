"""Secrets and profiles are found by name, everything that is missing is told at once, and no message holds a value."""

import json
from collections.abc import Mapping

import pytest

from schemas.errors import ContractError
from tasks.scan.access import Access, SignInCheck, is_own_host
from tasks.scan.credentials import Credentials, check_access, secret_names, variable_for
from tests.small_estate import route

FILES: Mapping[str, bytes] = {
    "t.txt": b"from-a-file\n",
    "state.json": json.dumps({
        "cookies": [{"name": "c", "value": "v" * 12}],
        "origins": [{"origin": "https://e.test", "localStorage": [{"name": "jwt", "value": "w" * 20},
                                                                  {"name": "x", "value": "on"}]}],
        "check": {"url": "https://e.test/me?k={{secret:T}}", "selector": "#me"}}).encode(),
    "headers.json": b'{"headers": {"Authorization": "Bearer {{secret:api-token}}"}}',
    "split.json": b'{"headers": {"X-A": "{{secret:T}}"}}',
    "odd.json": b'{"header": {"A": "hush-hush"}}',
    "broken.json": b'{"headers": {"A": "hush-hush"',
}


def known(handed: Mapping[str, str] | None = None, **environment: str) -> Credentials:
    return Credentials(environment, handed or {}, FILES.__getitem__)


def missing(name: str, variable: str) -> str:
    return (f"secret {name}: is nowhere to be found; expected FANFOLD_SECRET_{variable}, or FANFOLD_SECRET_{variable}"
            "_FILE with the path of a file. Set one where shards are scanned, or name it under `secret_blocks` as a "
            "Prefect Secret.")


def said(error: "pytest.ExceptionInfo[ContractError]") -> list[str]:
    return [str(offence) for offence in error.value.offences]


def test_a_secret_that_a_step_types_must_be_there_before_anything_is_scanned() -> None:
    typing = route("/a", actions='[{"fill":"#q","value":"{{secret:T}}"}]')
    check_access([typing], known(FANFOLD_SECRET_T="x"))
    with pytest.raises(ContractError) as caught:
        check_access([typing], known())
    assert said(caught) == [missing("T", "T")]
    access = known(FANFOLD_SECRET_T="a b").access(None, typing.texts_with_secrets)
    assert access.with_secrets("<{{secret:T}}>") == "<a b>"


def test_names() -> None:
    assert variable_for("FANFOLD_SECRET_", "api-token.v2") == "FANFOLD_SECRET_API_TOKEN_V2"
    assert secret_names(["a?{{secret:b}}&{{secret:a}}", None, "{{secret:b}}", "plain"]) == ["a", "b"]


def test_a_secret_comes_from_the_parent_the_environment_or_a_file_in_this_order() -> None:
    everything = {"FANFOLD_SECRET_T": "from-a-variable", "FANFOLD_SECRET_T_FILE": "t.txt"}
    assert known({"T": "handed-over"}, **everything).secret("T") == "handed-over"
    assert known(**everything).secret("T") == "from-a-variable"
    assert known(FANFOLD_SECRET_T="", FANFOLD_SECRET_T_FILE="t.txt").secret("T") == "from-a-file"
    with pytest.raises(ContractError) as caught:
        known(FANFOLD_SECRET_T="").secret("T")
    assert said(caught) == [missing("T", "T")]


def test_a_storage_state_with_its_check() -> None:
    access = known(FANFOLD_PROFILE_STAFF="state.json", FANFOLD_SECRET_T="secret-t").access("staff", [])
    state = json.loads(FILES["state.json"])
    assert access == Access("staff", {key: state[key] for key in ("cookies", "origins")}, {}, {"T": "secret-t"},
                            SignInCheck("https://e.test/me?k={{secret:T}}", "#me"))
    assert access.secret_values == ("secret-t", "v" * 12, "w" * 20)


def test_headers_with_a_secret_and_secrets_of_other_routes_where_known() -> None:
    credentials = known({"api-token": "abc-def"}, FANFOLD_PROFILE_STAFF="headers.json", FANFOLD_SECRET_U="uuuu")
    access = credentials.access("staff", ["https://e.test/"], ["{{secret:U}}", "{{secret:UNKNOWN}}"])
    assert access == Access("staff", None, {"Authorization": "Bearer abc-def"}, {"api-token": "abc-def", "U": "uuuu"})
    assert access.resolve("https://e.test/{{secret:U}}?a={{secret:api-token}}") == "https://e.test/uuuu?a=abc-def"
    assert known().access(None, ["https://e.test/"]) == Access()


def test_all_that_is_missing_is_told_at_once() -> None:
    routes = [route("/a"), route("/b", auth="staff"), route("/c", auth="guest"), route("/d", auth="odd"),
              route("/e", auth="broken"), route("/f?{{secret:S}}"), route("/g?{{secret:LATER}}")]
    credentials = known(FANFOLD_PROFILE_STAFF="headers.json", FANFOLD_PROFILE_ODD="odd.json",
                        FANFOLD_PROFILE_BROKEN="broken.json")
    with pytest.raises(ContractError) as caught:
        check_access(routes, credentials, at_shard=["LATER"])
    assert said(caught) == [
        "auth profile broken: broken.json is no JSON (line 1); expected a JSON file in UTF-8",
        "auth profile guest: FANFOLD_PROFILE_GUEST is not set; expected the path of its file. Save one with "
        "`playwright open --save-storage`, or write its headers.",
        "auth profile odd (odd.json): unknown key `header`; expected one of check, cookies, headers, origins. Did you "
        "mean `headers` for `header`?",
        missing("S", "S"), missing("api-token", "API_TOKEN"),
    ]
    assert "hush-hush" not in str(caught.value)
    check_access(routes[:1], known())


def test_a_secret_never_breaks_out_of_its_header() -> None:
    with pytest.raises(ContractError) as caught:
        known(FANFOLD_PROFILE_STAFF="split.json", FANFOLD_SECRET_T="a\r\nX-Evil: 1").access("staff", [])
    assert said(caught) == ["auth profile staff: 'X-A' is no header that can be sent; expected a name and a value in "
                            "ASCII, on one line"]


@pytest.mark.parametrize(("own", "asked", "is_own"), [
    ("http://e.test/a", "http://e.test/b?c", True),
    ("http://e.test/a", "https://e.test/b", True),
    ("https://e.test/a", "http://e.test/b", False),
    ("https://e.test/a", "https://www.e.test/b", True),
    ("https://www.E.test./a", "https://e.test:443/b", True),
    ("https://e.test/a", "https://api.e.test/b", False),
    ("https://e.test/a", "https://e.test.evil.test/b", False),
    ("https://e.test/a", "https://e.test@evil.test/b", False),
    ("https://e.test/a", "https://e.test:8443/b", False),
    ("http://e.test:8080/a", "http://e.test:8081/b", False),
    ("https://e.test/a", "https://e.test:x/b", False),
    ("https://e.test/a", "wss://e.test/b", False),
    ("http://bücher.test/a", "https://www.xn--bcher-kva.test/b", True),
    ("https://e.test/a", "data:,x", False),
])
def test_own_host(own: str, asked: str, is_own: bool) -> None:
    assert is_own_host(own, asked) is is_own
