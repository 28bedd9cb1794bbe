"""`python -m tasks.scan`: one attempt of one shard, in a process of its own; with `--url`, one address for a person.

Here: reading the order, refusing what is not pinned in the plan, wiring, signals, exit codes (0 settled, 2 unsettled
or no receipt, 3 refused). Not here: the work itself (`worker.py`). Standard output carries heartbeat lines, one JSON
record each; the log goes to standard error.
"""

import asyncio
import json
import logging
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import version

from schemas.errors import AuditError, ContractError, bad_input
from schemas.layout import EstateLayout
from schemas.outcome import Outcome
from schemas.plan import Plan, PlannedRoute
from schemas.receipt import EndedBy, Receipt
from schemas.rescan import parse_rescan, rescanned
from tasks.commit import Shelf, attempt_number, write_receipt
from tasks.freeze import read_plan
from tasks.scan.access import Access
from tasks.scan.browser import Browser, BrowserBuild
from tasks.scan.clock import utc_now
from tasks.scan.credentials import Credentials
from tasks.scan.engine import engine_source
from tasks.scan.explain import explain_address
from tasks.scan.ledger import read_ledger
from tasks.scan.order import ShardOrder, parse_order
from tasks.scan.partial import Partial
from tasks.scan.pins import check_pinned, check_same_browser
from tasks.scan.question import is_question
from tasks.scan.route_finder import RouteFinder
from tasks.scan.sign_in import prove_signed_in
from tasks.scan.visit import Visitor
from tasks.scan.watch import EXIT_REFUSED, EXIT_SETTLED, EXIT_UNSETTLED
from tasks.scan.work import CommittedRow, Work, decide_work
from tasks.scan.worker import Limits, ShardWorker, unsettled_among
from tasks.store import Store

LOG = logging.getLogger("fanfold.scan")
HARD_STOP_SECONDS = 6.0
LANES_PER_PLACE = 2  # a visit that waits for its page to rest holds no place


def emit(event: str, facts: dict[str, object]) -> None:
    """Send one line to whoever watches; a watcher that is gone is noticed on standard input."""
    try:
        sys.stdout.write(json.dumps({"event": event, **facts}, ensure_ascii=True) + "\n")
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):
        LOG.debug("nobody reads standard output")


def main(words: list[str]) -> int:
    """Run an attempt and return the exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        if is_question(words):
            return explain_address(words)
        order = parse_order(words)
        secret_values = _read_secrets() if order.is_watched else {}
        return asyncio.run(scan_shard(order, secret_values))
    except ContractError as error:
        LOG.error("%s", error)  # noqa: TRY400 - a refusal is no accident, its text says all
        if not is_question(words):
            emit("summary", {"offences": [[o.subject, o.fault, o.expected, o.remedy] for o in error.offences]})
        return EXIT_REFUSED
    except (AuditError, OSError) as error:
        LOG.error("%s: %s", type(error).__name__, error)  # noqa: TRY400
        return EXIT_UNSETTLED


async def scan_shard(order: ShardOrder, secret_values: Mapping[str, str]) -> int:
    """Scan what is open in a shard and leave a receipt."""
    began, started_at = time.monotonic(), utc_now()
    run = EstateLayout(order.estate).run(order.run_id)
    store = Store(order.store)
    plan = read_plan(store, run)
    if not 0 <= order.shard_index < plan.header.shard_count:
        raise bad_input(f"shard {order.shard_index}", "is not in the plan", f"0 to {plan.header.shard_count - 1}")
    routes = plan.shard(order.shard_index)
    build = check_pinned(plan, order.browser)
    shelf = Shelf(store, run, plan.header.plan_id, order.shard_index)
    ledger = read_ledger(shelf, routes, order.flow_attempt)
    for warning in ledger.warnings:
        LOG.warning("%s", warning)
    check_same_browser(ledger.browser_versions, build)
    again = rescanned(routes, parse_rescan(order.rescan), is_case_folded=plan.header.identity.is_case_folded)
    work = decide_work(routes, ledger.committed, ledger.dead_letters, ledger.deaths, again)
    access = access_for(plan, work, secret_values)
    emit("started", {"open": len(work.together) + len(work.alone) + len(work.crashed), "routes": len(routes),
                     "longest_deadline_ms": max(route.deadline_ms for route in routes)})
    partial = Partial(shelf, order.attempt_name,
                      {"estate": order.estate, "run_id": order.run_id, "run_date": plan.header.created_at[:10]},
                      build.version)

    def leave_receipt(ended_by: EndedBy, launch_count: int) -> int:
        rows: dict[str, CommittedRow | Outcome] = {
            task_id: row for task_id, row in ledger.committed.items() if task_id not in again}
        rows |= partial.outcomes
        receipt = Receipt(
            plan_id=plan.header.plan_id, run_id=order.run_id, shard_index=order.shard_index,
            attempt=attempt_number(order.attempt_name), attempt_name=order.attempt_name,
            flow_attempt=order.flow_attempt, program_version=version("fanfold"),
            engine_version=plan.header.engine.version, engine_digest=plan.header.engine.digest,
            options_digest=plan.header.engine.options_digest, browser_version=build.version,
            triples=(*ledger.triples, *partial.triples), ended_by=ended_by, started_at=started_at, ended_at=utc_now(),
            planned_ms=sum(route.load_ms for route in routes),
            actual_ms=round((time.monotonic() - began) * 1000), launch_count=launch_count,
            outcome_counts=dict(Counter(row.outcome.value for row in rows.values())),
        )
        write_receipt(shelf, receipt)
        return _report(receipt, routes, rows)

    if work.is_empty:
        return leave_receipt(EndedBy.FINISHED, 0)
    return await _work_off(order, plan, build, ShardWorker(shelf, order.attempt_name, partial, _limits(order), emit),
                           work, access, leave_receipt)


def access_for(plan: Plan, work: Work, secret_values: Mapping[str, str]) -> Access:
    """Gather profile and secrets of the open routes; of the others, whose pages a visit may be led to, what is known.

    Raises:
        ContractError: everything that is missing.
    """
    routes = (*work.together, *work.alone)
    if not routes:
        return Access()
    needed = [text for route in routes for text in route.texts_with_secrets]
    further = [route.url for route in plan.routes]
    return Credentials(os.environ, secret_values).access(routes[0].auth, needed, further)


async def _work_off(
    order: ShardOrder, plan: Plan, build: BrowserBuild, worker: ShardWorker, work: Work, access: Access,
    leave_receipt: Callable[[EndedBy, int], int],
) -> int:
    """Scan; the receipt is left before the browser is ended, for that may take its time."""
    stop = asyncio.Event()
    _stop_on_signal(stop)
    if order.is_watched:
        _stop_when_parent_is_gone(stop)
    async with Browser(build, plan.header.scan) as browser:
        await prove_signed_in(browser, plan.header.scan, access)
        visitor = Visitor(browser, plan.header.scan, plan.header.engine, engine_source(plan.header.scan.engine_path),
                          RouteFinder(plan.routes, plan.header.identity, access.resolve).find, order.in_flight, access,
                          is_case_folded=plan.header.identity.is_case_folded)
        ended_by = await worker.run(work, visitor.visit, stop)
        return leave_receipt(ended_by, browser.launch_count)


def _limits(order: ShardOrder) -> Limits:
    return Limits(LANES_PER_PLACE * order.in_flight, order.per_host, order.budget_ms)


def _report(
    receipt: Receipt, routes: tuple[PlannedRoute, ...], rows: Mapping[str, CommittedRow | Outcome]
) -> int:
    unsettled = unsettled_among(routes, rows)
    counts = dict(receipt.outcome_counts)
    LOG.info("shard %d %s in %d ms: %s", receipt.shard_index, receipt.ended_by, receipt.actual_ms, counts)
    emit("summary", {"ended_by": receipt.ended_by, "counts": counts, "planned_ms": receipt.planned_ms,
                     "actual_ms": receipt.actual_ms, "unsettled": [asdict(group) for group in unsettled]})
    return EXIT_UNSETTLED if unsettled else EXIT_SETTLED


def _read_secrets() -> dict[str, str]:
    values: dict[str, str] = json.loads(sys.stdin.buffer.readline() or b"{}").get("secrets", {})
    return values


def _stop_on_signal(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)


def _stop_when_parent_is_gone(stop: asyncio.Event) -> None:
    """End the shard when its parent's pipe closes: softly first, then hard; the browser follows its own pipe."""
    loop = asyncio.get_running_loop()

    def wait_for_the_end() -> None:
        while os.read(sys.stdin.fileno(), 4096):  # raw: a daemon thread may not hold the buffered reader at exit
            pass
        loop.call_soon_threadsafe(stop.set)
        time.sleep(HARD_STOP_SECONDS)
        os._exit(EXIT_UNSETTLED)

    threading.Thread(target=wait_for_the_end, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
