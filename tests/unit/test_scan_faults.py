"""The table of browser codes, row by row, and what is done with texts that are not in it."""

import re

import pytest

from schemas.outcome import OutcomeKind
from tasks.scan import faults
from tasks.scan.browser import BrowserDied
from tasks.scan.reasons import REASONS, STATUS_REASONS, reason_of_status, stable_word
from tasks.scan.visit import judge_error
from tasks.scan.world import DocumentMoved, ScriptFailed

NEVER_AGAIN = {"name_not_resolved", "certificate", "redirect_loop", "bad_redirect", "invalid_address", "unsafe_port",
               "invalid_response", "blocked_by_browser", "credentials_refused"}


@pytest.mark.parametrize("code", sorted(faults.NET_REASONS))
def test_every_code_has_a_reason_that_ends_in_an_unsettled_outcome(code: str) -> None:
    reason = faults.reason_of_code(code)
    assert reason == faults.NET_REASONS[code]
    assert REASONS[reason].outcome in (OutcomeKind.UNREACHABLE, OutcomeKind.CRASHED)
    assert REASONS[reason].is_transient == (reason not in NEVER_AGAIN)
    judgement = judge_error(Exception(f"Page.goto: net::{code} at http://x.test/\nCall log:"), "navigating")
    assert (judgement.reason, judgement.detail) == (reason, code)


def test_families_and_unknown_codes() -> None:
    assert {code: faults.reason_of_code(code) for code in (
        "ERR_CERT_DATE_INVALID", "ERR_SSL_PROTOCOL_ERROR", "ERR_QUIC_HANDSHAKE_FAILED", "ERR_BLOCKED_BY_ORB", "ERR_NEW")
    } == {"ERR_CERT_DATE_INVALID": "certificate", "ERR_SSL_PROTOCOL_ERROR": "certificate",
          "ERR_QUIC_HANDSHAKE_FAILED": "connection_lost", "ERR_BLOCKED_BY_ORB": "blocked_by_browser",
          "ERR_NEW": "unknown_network_error"}


ERRORS = {
    "moved": (DocumentMoved("x"), "navigates"),
    "script": (ScriptFailed("TypeError: x"), "engine_failed"),
    "browser": (BrowserDied("x"), "browser_died"),
    "closed": (Exception("BrowserContext.new_page: Target page, context or browser has been closed"), "browser_died"),
    "driver": (Exception("Connection closed while reading from the driver"), "browser_died"),
    "crash": (Exception("Page.goto: Page crashed"), "renderer_crashed"),
    "unknown": (KeyError("surprise"), "page_error"),
    "empty": (ValueError(), "page_error"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_that_end_a_visit(case: str) -> None:
    error, expected = ERRORS[case]
    assert judge_error(error, "testing").reason == expected


def test_an_unknown_error_is_named_with_its_type() -> None:
    assert judge_error(KeyError("surprise"), "testing").detail == "KeyError while testing: 'surprise'"


LOG = """Locator.click: Timeout 700ms exceeded.
Call log:
  - waiting for locator("#a").visible.first
    - locator resolved to <button id="a">A</button>
  - attempting click action
    2 × waiting for element to be visible, enabled and stable
"""


@pytest.mark.parametrize(("end", "obstacle"), [
    ("      - element is not enabled\n    - retrying click action\n", "element is not enabled"),
    ("    3 × <b>x</b> intercepts pointer events\n", "<b>x</b> intercepts pointer events"),
    ("    - performing click action\n", "the page does not answer"),
    ("    - waiting for scheduled navigations to finish\n", "the page that it leads to does not come"),
    ("", "the element does not come to rest"),
])
def test_what_stood_in_the_way_of_a_step(end: str, obstacle: str) -> None:
    assert faults.obstacle_in(LOG + end) == obstacle
    assert faults.obstacle_in(LOG.partition("    - locator")[0]) == "nothing that can be seen matches it"


@pytest.mark.parametrize("text", faults.MOVED)
def test_texts_of_documents_that_moved(text: str) -> None:
    assert faults.has_moved(f"Protocol error (Runtime.evaluate): {text}.")
    assert not faults.is_gone(text) and not faults.has_crashed(text)


@pytest.mark.parametrize("text", [*faults.GONE, *faults.CRASHED, *faults.DOWNLOADS])
def test_texts_do_not_overlap(text: str) -> None:
    found = [faults.has_moved(text), faults.is_gone(text), faults.has_crashed(text), faults.is_download(text)]
    assert found.count(True) == 1


def test_reasons_are_short_stable_words_with_a_sentence() -> None:
    assert [word for word in REASONS if not re.fullmatch(r"[a-z0-9_]{3,30}", word)] == []
    assert [word for word, reason in REASONS.items() if reason.how_to_fix is None] == ["tested"]
    assert [word for word, reason in REASONS.items() if reason.how_to_fix and not reason.how_to_fix.endswith(".")] == []
    assert {reason.outcome for reason in REASONS.values()} == {
        kind for kind in OutcomeKind if kind.value not in ("missing", "expired", "carried")}


def test_settled_reasons_are_never_tried_again() -> None:
    assert [word for word, reason in REASONS.items() if reason.is_transient and reason.outcome.is_settled] == []


def test_statuses() -> None:
    words = {status: stable_word(reason_of_status(status), status) for status in (301, 400, 404, 429, 500, 599, 600)}
    assert words == {status: f"status_{status}" for status in words}
    assert {reason_of_status(status) for status in words} == set(STATUS_REASONS)
    assert stable_word("tested", 200) == "tested"
