"""No secret leaves a visit, in whatever spelling and wherever it stands."""

import pytest

from schemas.settings import SECRET_PARAMETERS
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
}


@pytest.mark.parametrize("text", CASES)
def test_secrets_are_hidden(text: str) -> None:
    assert REDACT(text) == CASES[text]
    assert REDACT(CASES[text]) == CASES[text]


def test_without_secrets_nothing_changes() -> None:
    assert Redactor(())("https://h.test/?token=1&a=b") == "https://h.test/?token=1&a=b"


def test_texts_fit() -> None:
    assert fit(None, 5) is None
    assert fit("12345", 5) == "12345"
    assert fit("123456", 5) == "1234…"
    assert fit("a\0b\ud800c", 9) == "a\N{REPLACEMENT CHARACTER}b?c"
