"""Plan: routes, history and a shard count become a frozen plan.

    weigh   what each route is thought to cost, and how long a visit of it may take
    share   how many shards, and how many of them each auth profile gets
    pack    which shard takes which route: LPT, or a stable hash where nothing is known
    pace    how long that takes on the clock, and whether the run budget is enough
    make    the plan, with everything that later stages need to stay pure

Here: decisions from values. Not here: storing the plan (`tasks/freeze.py`), reading history (`tasks/load/`),
percentiles (`tasks/learn.py`). Next: each shard scans its rows (`tasks/scan/`).
"""

from tasks.plan.make import PlanRequest, make_plan
from tasks.plan.pack import Load, assign, pack_shards

__all__ = ["Load", "PlanRequest", "assign", "make_plan", "pack_shards"]
