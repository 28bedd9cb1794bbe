"""A small run to report on, made by the real gate, with pages that try to break every format.

Here: records with defaults that a test overrides. Not here: anything that a test asserts.
"""

from collections.abc import Sequence
from typing import Any

from schemas.converged import Converged
from schemas.evidence import Evidence
from schemas.outcome import Outcome
from schemas.plan import Plan
from schemas.report_material import ReportMaterial
from schemas.suppression import parse_suppressions
from schemas.verdict import Verdict
from tasks.gate import decide_verdict
from tests.small_estate import evidence_of, judge_of, occurrence, outcome, plan_of, route

HOSTILE = (
    '</title><script>window.__x=1</script>', "<img src='x' onerror=\"window.__x=1\">", '"><svg onload=window.__x=1>',
    "=HYPERLINK(\"http://evil.test\",\"x\")", "]]>&lt;!--", "\x00\x01\x0b\x1b[31m\ufffe", "</script><!--<script>",
    "Ünïcødé 漢字 🚀", "{{7*7}} {% raw %}", "@everyone ![x](http://evil.test/x.png) | a | `b`")
HOSTILE_PATH = '/p?q="><script>window.__x=1</script>'


def material_of(plan: Plan, evidence: Evidence, earlier: Sequence[Verdict] = (), **changes: Any) -> ReportMaterial:
    """Judge evidence and return what its report is made from; `changes` are fields of `GateInput`."""
    given = judge_of(plan, evidence, **changes)
    converged: Converged = given.converged
    return ReportMaterial(plan, decide_verdict(given), converged.outcomes, converged.dead_letters,
                          converged.quarantined, evidence.receipts, tuple(earlier))


def calm_material(**changes: Any) -> ReportMaterial:
    """Three routes in two shards: one template fault on two of them, one fault that is suppressed, one to review."""
    home, shop, news = route("/"), route("/shop", 1, owner="shop"), route("/news", 1, journey="secondary", owner=None)
    plan = plan_of(home, shop, news)
    evidence = evidence_of(plan, [outcome(home), outcome(shop), outcome(news)], [
        occurrence(home), occurrence(shop), occurrence(shop, target='["img:nth-child(2)"]', target_text="img 2"),
        occurrence(news, "color-contrast", "p", "serious"),
        occurrence(home, "region", "div", "moderate"),
        occurrence(news, "color-contrast", "b", None, is_violation=False)])
    suppressions = parse_suppressions({"suppressions": [{
        "rule": "region", "route": "glob:/", "reason": "redesign", "owner": "web", "ticket": "W-1",
        "expires": "2027-01-31"}]}, "suppressions.yaml", None)
    return material_of(plan, evidence, **{"suppressions": suppressions, **changes})


def interrupted_material() -> ReportMaterial:
    """A shard without a receipt, a route that answers 404, and one that leads to a script."""
    done, broken, lost = route("/done"), route("/broken"), route("/lost", 1)
    plan = plan_of(done, broken, lost)
    rows = [outcome(done), outcome(broken, "http_error", reason="status_404", detail="not found", status=404,
                                   how_to_fix="Take the route out of the manifest.", final_url="javascript:alert(1)")]
    evidence = evidence_of(plan, rows, [occurrence(done)])
    evidence.receipts.pop(1)
    return material_of(plan, evidence)


def hostile_material() -> ReportMaterial:
    """Pages whose every text is hostile."""
    plan = plan_of(route(HOSTILE_PATH, owner=HOSTILE[0], tags=(HOSTILE[1],)), route("/b", owner=HOSTILE[3]))
    first, second = plan.routes
    occurrences = [occurrence(first, node=f"n{index}", target_text=text, html=text, failure_summary=text,
                              help=text, help_url="javascript:window.__x=1" if index % 2 else text)
                   for index, text in enumerate(HOSTILE)]
    rows: list[Outcome] = [
        outcome(first, title=HOSTILE[0], final_url="javascript:window.__x=1"),
        outcome(second, "wrong_page", reason="sign_in", detail=HOSTILE[0], how_to_fix=HOSTILE[4], title=HOSTILE[6],
                final_url="javascript:window.__x=1")]
    return material_of(plan, evidence_of(plan, rows, occurrences))


