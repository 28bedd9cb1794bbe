"""Manifests, histories and plan requests made by hand, for tests of what happens before the scan.

Here: records with defaults that a test overrides. Not here: anything that a test asserts.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schemas.engine import EngineBuild, RuleInfo
from schemas.history import RouteTiming, TimingHistory
from schemas.manifest import Manifest, ManifestEntry
from schemas.route import RouteKey
from schemas.settings import Settings
from tasks.normalize import normalize
from tasks.plan import PlanRequest

SITE = "https://e.test"
ENGINE = EngineBuild("4.12.1", "e" * 64, "{}", "0" * 64, (RuleInfo("image-alt", ("wcag2a",), is_on=True),))


def absolute(path: str) -> str:
    """A path of the test site, or the address as it is."""
    return SITE + path if path.startswith("/") else path


def manifest_of(*entries: str | ManifestEntry, **changes: Any) -> Manifest:
    """A manifest of addresses, or of paths of the test site; `changes` are fields of `Manifest`."""
    made = tuple(entry if isinstance(entry, ManifestEntry) else ManifestEntry(absolute(entry), f"routes[{index}]")
                 for index, entry in enumerate(entries))
    return replace(Manifest("manifest.json", "1" * 64, made), **changes)


def timing(path: str, duration_ms: int | None, auth: str | None = None, **changes: Any) -> RouteTiming:
    """What is known of a route that always took the same; `changes` are fields of `RouteTiming`."""
    key = RouteKey(absolute(path), auth)
    made = RouteTiming(key.task_id, key.route, auth, duration_ms, duration_ms, duration_ms, duration_ms, None)
    return replace(made, **changes)


def history_of(durations_ms: Mapping[str, int], *timings: RouteTiming, **changes: Any) -> TimingHistory:
    """A history of paths and milliseconds, and further timings; `changes` are fields of `TimingHistory`."""
    known = [*(timing(path, duration_ms) for path, duration_ms in durations_ms.items()), *timings]
    return TimingHistory({one.task_id: one for one in known}, **changes)


def request_of(
    manifest: Manifest, history: TimingHistory | None = None, settings: Settings | None = None, **changes: Any
) -> PlanRequest:
    """A request for a plan; `changes` are fields of `PlanRequest`."""
    in_force = settings or Settings()
    made = PlanRequest(
        normalized=normalize(manifest, in_force), manifest=manifest, history=history or TimingHistory(),
        settings=in_force, engine=ENGINE, browser_version="149.0", estate="shop", run_id="r1",
        created_at="2026-11-30T08:00:00Z", program_version="0.1.0", shards_at_once=2)
    return replace(made, **changes)
