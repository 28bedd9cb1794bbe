"""Judge whether all shards saw the estate with the same eyes, and whether they looked for what the policy asks.

Here: receipts, engine and browser builds, rules that ran. Not here: routes (`coverage`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.cells import BEST_PRACTICE
from schemas.gate_input import GateInput
from schemas.plural import plural
from schemas.receipt import EndedBy, Receipt
from schemas.standard import BEST_PRACTICE_TAG, is_needed
from schemas.verdict import Reason, Weight


def judge_builds(given: GateInput) -> list[Reason]:
    """Find everything about receipts, builds and rules that makes the run incomplete, or is to be said of it."""
    return [*_check_receipts(given), *_check_shards(given), *_check_builds(given), *_check_rules(given)]


def needed_rules(given: GateInput) -> frozenset[str]:
    """Return the rules that the policy needs: without their results it cannot be said to be kept.

    These are the engine's rules with a tag of the standard (best practice too where that can block), without
    experimental and deprecated ones and those that the policy ignores on every journey; and the rules that it names.
    """
    policy = given.policy
    wanted = policy.tags
    if any(row == BEST_PRACTICE and cell.action.can_block
           for table in policy.tables for (row, _), cell in table.items()):
        wanted |= {BEST_PRACTICE_TAG}
    of_standard = {info.rule for info in given.plan.header.engine.rules if is_needed(info.tags, wanted)}
    return frozenset(of_standard - policy.ignored_rules) | policy.named_rules


def count_unrun(given: GateInput) -> dict[str, int]:
    """Return the needed rules that did not run everywhere, with the number of scanned routes that lack them."""
    rules = sorted(needed_rules(given))
    scanned = [row.task_id for row in given.converged.outcomes if row.outcome.was_scanned]
    if not rules or not scanned:
        return {}
    table = given.converged.rule_results
    route_code: Any = pc.index_in(table["task_id"], pa.array(scanned, pa.string())).cast(pa.int64())
    rule_code: Any = pc.index_in(table["rule"], pa.array(rules, pa.string())).cast(pa.int64())
    # One number for each pair; null, and so dropped, where the rule is not needed or the route was not scanned.
    pairs: Any = pc.unique(pc.drop_null(pc.add(pc.multiply(route_code, len(rules)), rule_code)))
    whole_rounds: Any = pc.multiply(pc.divide(pairs, len(rules)), len(rules))
    counted = Counter({entry["values"]: entry["counts"]
                       for entry in pc.value_counts(pc.subtract(pairs, whole_rounds)).to_pylist()})
    return {rule: len(scanned) - counted[code] for code, rule in enumerate(rules) if counted[code] < len(scanned)}


def _check_receipts(given: GateInput) -> Iterable[Reason]:
    planned = {load.shard_index for load in given.plan.header.shards}
    absent = planned - set(given.receipts)
    if absent:
        yield Reason.of(Weight.INCOMPLETE, "missing_receipts",
                        f"{len(absent)} of {plural(len(planned), 'shard')} left no receipt, so did not end. Resume the "
                        "run.", (f"shard {index:04d}" for index in absent))
    foreign = [index for index, receipt in given.receipts.items()
               if index not in planned or receipt.plan_id != given.plan.header.plan_id or receipt.shard_index != index]
    if foreign:
        yield Reason.of(Weight.INCOMPLETE, "foreign_receipts", f"receipts of another plan: {len(foreign)}.",
                        (f"shard {index:04d}" for index in foreign))
    cut_short = {index: receipt.ended_by for index, receipt in sorted(given.receipts.items())
                 if receipt.ended_by is not EndedBy.FINISHED}
    if cut_short:
        yield Reason.of(Weight.INCOMPLETE, "shards_cut_short", f"{len(cut_short)} of {plural(len(planned), 'shard')} "
                        "ended before they were done. Resume the run.",
                        (f"shard {index:04d}: {ended_by}" for index, ended_by in cut_short.items()))


def _check_builds(given: GateInput) -> Iterable[Reason]:
    engine, browser = given.plan.header.engine, given.plan.header.browser_version
    planned = {"engine": f"{engine.version} {engine.digest}", "options": engine.options_digest, "browser": browser}
    seen: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, receipt in sorted(given.receipts.items()):
        for name, value in _builds_of(receipt).items():
            seen[name][value].append(index)
    odd = []
    for name, values in seen.items():
        expected = planned[name] if planned[name] is not None else next(iter(values))
        odd += [f"shard {index:04d}: {name} {value}, expected {expected}"
                for value, shards in values.items() if value != expected for index in shards]
    if odd:
        yield Reason.of(Weight.INCOMPLETE, "mixed_builds",
                        "shards used another engine, browser or options than the plan: their findings cannot be added "
                        "up. Start a new run.", odd)
    programs = {receipt.program_version for receipt in given.receipts.values()}
    if programs - {given.plan.header.program_version}:
        yield Reason.of(Weight.WARN, "program_versions",
                        f"the shards ran with {', '.join(sorted(programs))}, the plan was made with "
                        f"{given.plan.header.program_version}.", programs)


def _builds_of(receipt: Receipt) -> dict[str, str]:
    return {"engine": f"{receipt.engine_version} {receipt.engine_digest}", "options": receipt.options_digest,
            "browser": receipt.browser_version}


def _check_rules(given: GateInput) -> Iterable[Reason]:
    unrun = count_unrun(given)
    if unrun:
        scanned = sum(row.outcome.was_scanned for row in given.converged.outcomes)
        yield Reason.of(Weight.INCOMPLETE, "rules_not_run",
                        f"{plural(len(unrun), 'rule')} that the policy needs did not run on every scanned route: what "
                        "was not run is not clean. Switch them on in the scan settings (`rules`), or ignore them by "
                        "name in the policy.",
                        (f"{rule}: lacking on {count} of {plural(scanned, 'route')}" for rule, count in unrun.items()))


def _check_shards(given: GateInput) -> Iterable[Reason]:
    if given.shard_faults:
        yield Reason.of(Weight.INCOMPLETE, "shard_faults", "shards that ended by a fault: "
                        f"{len(given.shard_faults)}.", (fault.text for fault in given.shard_faults))
    if given.stray_attempts:
        yield Reason.of(Weight.WARN, "stray_attempts", "attempts left triples that no receipt names: "
                        f"{len(given.stray_attempts)}.", given.stray_attempts)
