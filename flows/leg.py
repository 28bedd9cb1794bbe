"""A leg of a CI matrix: one shard of a planned run, without Prefect.

Here: finding the run, and starting a process that died again. Not here: the shard itself (`journey.py`), the fold.
"""

from flows.journey import PlannedRun, scan_shard_of
from flows.progress import listener
from flows.runs import ref_of
from flows.settings import settings_in_force
from schemas.errors import TransientError, bad_input
from schemas.exit_code import ExitCode
from schemas.rescan import check_rescan, parse_rescan
from tasks.freeze import read_header, read_plan
from tasks.scan.clock import utc_now
from tasks.store import Store


def scan_planned_shard(run_id: str, shard_index: int, rescan: tuple[str, ...] = ()) -> int:
    """Scan one shard of a planned run as a leg of a CI matrix does; a process that died is started again.

    Args:
        rescan: patterns of routes to scan again; each must hold for a route of the run, in whatever shard.

    Returns:
        0 when the shard is settled, else 2.

    Raises:
        ContractError: no such run or shard, a pattern that is none or does nothing, or the shard refused.
    """
    patterns = parse_rescan(rescan)
    settings, _ = settings_in_force()
    ref = ref_of(run_id)
    header = read_header(Store(ref.store), ref.layout)
    if not 0 <= shard_index < header.shard_count:
        raise bad_input(f"shard {shard_index}", "is not in the plan", f"0 to {header.shard_count - 1}")
    if patterns:
        check_rescan(patterns, read_plan(Store(ref.store), ref.layout))
    now = utc_now()
    run = PlannedRun(ref, header.plan_id, (), f"leg-{now}", now, settings.run_budget_ms, rescan)
    listener().planned(header, 1)
    for attempts_left in range(settings.shard_retries, -1, -1):
        try:
            return ExitCode.PASSED if scan_shard_of(run, shard_index).is_settled else ExitCode.INCOMPLETE
        except TransientError as error:
            listener().stage(str(error))
            if attempts_left == 0:
                raise
    return ExitCode.INCOMPLETE
