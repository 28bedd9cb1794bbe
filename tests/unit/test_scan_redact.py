"""No secret leaves a visit, in whatever spelling and wherever it stands."""

import pytest

from schemas.address import address_for_messages
from schemas.settings import SECRET_PARAMETERS, IdentitySwitches
from tasks.scan.redact import Redactor, fit

REDACT = Redactor((*SECRET_PARAMETERS, "x-*"), ["p@ss word/1", "abc", 'x"y&<z>'])
CASES = {
    "https://h.test/?token=abc123&page=2": "https://h.test/?token=***&page=2",
    "https://h.test/?page=2&API_KEY=abc": "https://h.test/?page=2&API_KEY=***",
    "https://h.test/#access_token=zzz&x=1": "https://h.test/#access_token=***&x=1",
    "https://h.test/?X-Amz-Signature=ff&v=1": "https://h.test/?X-Amz-Signature=***&v=1",
    "https://user:secret@h.test/a": "https://***@h.test/a",
    "https://h.test/?tokens=1&broken=token": "https://h.test/?tokens=1&broken=token",
    "https://h.test/?token=": "https://h.test/?token=",
    '<a href="/x?sid=12&amp;token=99">go</a>': '<a href="/x?sid=***&amp;token=***">go</a>',
    "Welcome p@ss word/1!": "Welcome ***!",
    "/q?v=p%40ss%20word%2F1": "/q?v=***",
    "/q?v=p%40ss+word%2F1": "/q?v=***",
    "/q?v=p%40ss%20word%2f1&P@SS+word": "/q?v=***&P@SS+word",
    '<p title="x&quot;y&amp;&lt;z&gt;">x"y&amp;&lt;z&gt;</p>': '<p title="***">***</p>',
    '["x\\"y&<z>"]': '["***"]',
    "mail me@h.test or read //cdn.test/a@2x.png": "mail me@h.test or read //cdn.test/a@2x.png",
    "abc is too short to hide": "abc is too short to hide",
    "https://h.test/?%74oken=abc123&x%2Ds=1": "https://h.test/?%74oken=***&x%2Ds=***",
    "https://h.test/?next=/a?token=abc?d&p=1": "https://h.test/?next=/a?token=***&p=1",
    "https://h.test/?token%3Dabc123": "https://h.test/?token%3D***",
    "expected https://h.test/?token={{secret:T}}": "expected https://h.test/?token={{secret:T}}",
}


@pytest.mark.parametrize("text", CASES)
def test_secrets_are_hidden(text: str) -> None:
    assert REDACT(text) == CASES[text]
    assert REDACT(CASES[text]) == CASES[text]


@pytest.mark.parametrize(("listed", "name"), [
    ("tok?n", "token"), ("s[ie]d", "sid"), ("s[ie]d", "SED"), ("*-key", "my-key"), ("Token", "token"),
    ("token", "%74oken"), ("token", "TOKEN"), ("ключ", "%D0%BA%D0%BB%D1%8E%D1%87"), ("token", "tokens"),
])
def test_what_is_secret_in_an_address_of_the_manifest_is_secret_in_what_a_visit_says(listed: str, name: str) -> None:
    address = f"https://h.test/a?page=2&{name}=abc123#b"
    assert Redactor((listed,))(address) == address_for_messages(address, IdentitySwitches(secret_parameters=(listed,)))
    assert ("abc123" in Redactor((listed,))(address)) is (name == "tokens")


def test_without_secrets_nothing_changes() -> None:
    assert Redactor(())("https://h.test/?token=1&a=b") == "https://h.test/?token=1&a=b"


PREFIXES = {
    "a title that ends with p@ss w…": "a title that ends with ***…",
    "a title that ends with p@ss w": "a title that ends with ***",
    '<img src="/q?v=P%40ss%20w…" alt="p@ss wo…">p@ss …': '<img src="/q?v=***…" alt="***…">***…',
    '<p title="x&quot;y&am…">': '<p title="***…">',
    "p@ss p@ss wor…": "p@ss ***…",
    "P@ſS, a letter that only looks alike: p@ſs…": "P@ſS, a letter that only looks alike: p@ſs…",
    "a shorter one stays: p@s…": "a shorter one stays: p@s…",
    "another goes on: p@ss it on…": "another goes on: p@ss it on…",
    "reset token=hunter2 now": "reset token=*** now",
    "token=hunter2": "token=***",
}


@pytest.mark.parametrize("text", PREFIXES)
def test_what_was_cut_within_a_secret_is_hidden(text: str) -> None:
    assert REDACT(text) == PREFIXES[text]


@pytest.mark.parametrize("length", range(1, 60))
def test_no_cut_lets_more_of_a_secret_through_than_its_first_characters(length: int) -> None:
    secret = "Zq8WvK3p&Lm N5rT7yXb2cD9fG"
    redact = Redactor((), [secret])
    for spelling in (secret, "Zq8WvK3p%26Lm%20N5rT7yXb2cD9fG", "Zq8WvK3p&amp;Lm N5rT7yXb2cD9fG"):
        assert "Zq8W" not in redact(fit(f"a title of {spelling} and more of it", length) or "")


def test_a_long_secret_costs_no_time() -> None:
    redact = Redactor((), ["ab" * 20_000 + "c"])
    assert redact("ab" * 20_000 + "…") == "***…"


def test_texts_fit() -> None:
    assert fit(None, 5) is None
    assert fit("12345", 5) == "12345"
    assert fit("123456", 5) == "1234…"
    assert fit("a\0b\ud800c", 9) == "a\N{REPLACEMENT CHARACTER}b?c"
