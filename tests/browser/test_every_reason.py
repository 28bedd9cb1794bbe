"""Every outcome and every reason that a page can cause is reached by a page of the browser tests."""

import ast
import re
from pathlib import Path

from schemas.outcome import ADDED_BY_CONVERGE, OutcomeKind
from tasks.scan.reasons import REASONS, STATUS_REASONS, reason_of_status

# Reasons that lie with the machine, or with us, each with the test that holds it.
NO_PAGE_CAUSES = {
    "name_resolution_failed": "a resolver that is silent: tests/unit/test_scan_faults.py",
    "connection_timeout": "a firewall: tests/unit/test_scan_faults.py",
    "no_network": "a machine without a network: tests/unit/test_scan_faults.py",
    "proxy": "a proxy of the machine: tests/unit/test_scan_faults.py",
    "credentials_refused": "answered with 401 by the browsers that we know: tests/unit/test_scan_faults.py",
    "invalid_address": "refused before it is planned: tests/unit/test_address.py",
    "blocked_by_browser": "a policy of the machine: tests/unit/test_scan_faults.py",
    "browser_out_of_resources": "a machine without memory: tests/unit/test_scan_faults.py",
    "unknown_network_error": "a code of a browser to come: tests/unit/test_scan_faults.py",
    "page_error": "an error that nobody knows yet: tests/unit/test_scan_faults.py",
    "engine_not_loaded": "a script of ours that fails before the engine: tests/unit/test_scan_faults.py",
}
HERE = Path(__file__)


def named() -> set[str]:
    """Return every word that a browser test holds, a status by its reason; `O.CRASHED` counts as `crashed`."""
    found = set()
    for file in HERE.parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))) if file != HERE else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                status = re.fullmatch(r"status_(\d{3})", node.value)
                found.add(reason_of_status(int(status[1])) if status else node.value)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.add(node.attr.lower() if node.value.id in ("O", "OutcomeKind") else "")
    return found


def test_every_reason_is_reached_by_a_page() -> None:
    words = named()
    assert [reason for reason in REASONS if reason not in words and reason not in NO_PAGE_CAUSES] == []
    assert [reason for reason in NO_PAGE_CAUSES if reason not in REASONS] == []
    assert set(STATUS_REASONS) <= words


def test_every_outcome_of_a_shard_is_reached_by_a_page() -> None:
    words = named()
    assert [kind for kind in OutcomeKind if kind.value not in words and kind not in ADDED_BY_CONVERGE] == []
    assert {reason.outcome for reason in REASONS.values()} == set(OutcomeKind) - ADDED_BY_CONVERGE
