"""Visit one address as a shard does and tell a person what happened: the same path, nothing stored.

Here: wiring one visit, and lines for a terminal: redacted, and inert, for pages are hostile. Not here: what is asked
(`question.py`), what is said of each step (`tell.py`). Exit codes are those of a shard.
"""

import asyncio
import os
import sys
import time
from collections.abc import Sequence

from schemas.occurrence import Occurrence
from schemas.outcome import Outcome
from schemas.terminal import one_line
from tasks.scan.access import Access
from tasks.scan.browser import Browser
from tasks.scan.credentials import Credentials
from tasks.scan.engine import engine_source
from tasks.scan.partial import Visited
from tasks.scan.question import Question, parse_question
from tasks.scan.redact import Redactor
from tasks.scan.route_finder import RouteFinder
from tasks.scan.sign_in import prove_signed_in
from tasks.scan.tell import Tell, tell_nobody
from tasks.scan.visit import Visitor
from tasks.scan.watch import EXIT_SETTLED, EXIT_UNSETTLED

SHOWN_NODES = 100


def explain_address(words: Sequence[str]) -> int:
    """Visit the address that arguments name and return the exit code.

    Raises:
        ContractError: what is asked cannot be done.
    """
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace", line_buffering=True)
    question = parse_question(words)
    route = question.route
    access = Credentials(os.environ).access(route.auth, route.texts_with_secrets, [row.url for row in question.routes])
    redact = Redactor(question.scan.secret_parameters, access.secret_values)
    began = time.monotonic()

    def print_step(step: str, text: str) -> None:
        ms = round((time.monotonic() - began) * 1000)
        print(f"{ms:>7} ms  {step:<10} {one_line(redact(text))}")

    visited = asyncio.run(_visit(question, access, print_step if question.is_explained else tell_nobody))
    if question.is_explained:
        _tell_found(print_step, visited.occurrences)
        _tell_outcome(print_step, visited.outcome)
    else:
        print(one_line(redact(_summary(visited))))
    return EXIT_SETTLED if visited.outcome.outcome.is_settled else EXIT_UNSETTLED


async def _visit(question: Question, access: Access, tell: Tell) -> Visited:
    route, build, engine = question.route, question.build, question.engine
    tell("browser", f"{build.kind} {build.version} ({build.path})")
    tell("engine", f"axe-core {engine.version} ({engine.digest[:12]}), options {engine.options_digest[:12]}, "
                   f"{sum(rule.is_on for rule in engine.rules)} rules on")
    tell("route", ", ".join(filter(None, (
        route.url, route.auth and f"as {route.auth}", route.ready and f"ready {route.ready}",
        route.ready_when and f"ready when {route.ready_when}", f"{len(route.steps)} actions",
        f"deadline {route.deadline_ms} ms"))))
    async with Browser(build, question.scan) as browser:
        if access.check is not None:
            await prove_signed_in(browser, question.scan, access)
            tell("profile", f"{access.profile} is signed in")
        finder = RouteFinder(question.routes, question.identity, access.resolve)
        visitor = Visitor(browser, question.scan, engine, engine_source(question.scan.engine_path), finder.find,
                          access=access, is_case_folded=question.identity.is_case_folded, tell=tell)
        return await visitor.visit(route, lambda phase: tell("phase", phase))


def _tell_found(tell: Tell, occurrences: Sequence[Occurrence]) -> None:
    in_order = sorted(occurrences, key=lambda row: not row.is_violation)
    for row in in_order[:SHOWN_NODES]:
        tell("violation" if row.is_violation else "review",
             f"{row.rule} ({row.impact or 'no impact'}) {row.target_text}")
    if len(in_order) > SHOWN_NODES:
        tell("", f"… and {len(in_order) - SHOWN_NODES} more")


def _tell_outcome(tell: Tell, outcome: Outcome) -> None:
    visits = f" after {outcome.visit_count} visits" if outcome.visit_count > 1 else ""
    tell("outcome", f"{outcome.outcome} ({outcome.reason}){visits}")
    for step, text in (("detail", outcome.detail), ("fix", outcome.how_to_fix)):
        if text:
            tell(step, text)


def _summary(visited: Visited) -> str:
    outcome = visited.outcome
    found = f"{outcome.violation_count} violations, {outcome.needs_review_count} to review"
    said = found if outcome.outcome.was_scanned else "; ".join(filter(None, (outcome.detail, outcome.how_to_fix)))
    return f"{outcome.outcome} ({outcome.reason}) {outcome.url}: {said}"
