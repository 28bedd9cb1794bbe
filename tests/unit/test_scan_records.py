"""Records of a visit: a rule that failed is no rule that ran, and masked evidence quotes no page."""

from dataclasses import replace

import pytest

from schemas.outcome import OutcomeKind
from schemas.settings import ScanSettings
from tasks.scan.judge import Judgement
from tasks.scan.records import RecordMaker, Tally, Trace, judgement_of
from tasks.scan.redact import Redactor
from tasks.scan.report import Report, UntestedFrame
from tests.browser.faulty_site import planned

FAILED = Report("4.12.1", [("image-alt", "incomplete", None, 1)], [], {}, failed=[("image-alt", "no \"Jane\"")])


def made(judgement: Judgement, trace: Trace, evidence: str = "full"):
    maker = RecordMaker(ScanSettings(evidence=evidence), Redactor(()))
    return maker.outcome(planned("https://shop.test/a"), trace, judgement, Tally(1, 1, 1, "a", "b"))


def test_a_page_on_which_a_rule_failed_is_scanned_in_part() -> None:
    found = made(judgement_of(FAILED), Trace(report=FAILED))
    assert (found.outcome, found.reason, found.is_cut, found.detail) == (
        OutcomeKind.PARTIALLY_SCANNED, "rule_failed", True, 'rule image-alt failed: no "Jane"')


def test_a_failed_rule_is_named_before_an_untested_frame() -> None:
    """A policy may let frames go untested; a failed rule beside one must not go with it."""
    both = replace(FAILED, untested=[UntestedFrame("https://ads.test/", "it did not answer")])
    said = judgement_of(both)
    assert said.reason == "rule_failed"
    assert said.detail is not None and said.detail.endswith("1 untested: https://ads.test/ (it did not answer)")


@pytest.mark.parametrize("title", ["Jane's \"own\" page", "Jane", 'Jane "x"', "Jane's"])
@pytest.mark.parametrize("evidence", ["masked", "none"])
def test_masked_evidence_quotes_no_title(evidence: str, title: str) -> None:
    judgement = Judgement("expect_title", f"title is {title!r}")
    assert made(judgement, Trace(title=title), evidence).detail == 'title is "•"'
    assert made(judgement, Trace(title=title)).detail == f"title is {title!r}"


def test_masked_evidence_quotes_no_page_in_the_error_of_a_rule() -> None:
    assert made(judgement_of(FAILED), Trace(report=FAILED), "masked").detail == 'rule image-alt failed: no "•"'
