"""Run the engine on a page and every frame of it, each under a deadline outside the page.

Here: which documents a page has, in which process and world each is tested, and how the parts become one report.
Not here: what happens in a document (`engine.js`), what it means that a frame was not tested (`visit.py`).
A page without frames is one call; only pages with frames move parts, and they are capped.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from tasks.scan.redact import fit
from tasks.scan.report import NothingTested, Report, UntestedFrame, read_node, read_report
from tasks.scan.script import EngineRun
from tasks.scan.sessions import FrameSessions
from tasks.scan.unreached import list_unreached
from tasks.scan.world import DocumentMoved, ScriptFailed, World

FRAME_SECONDS = 10.0
FRAME_LIMIT = 60
RESERVED_SHARE = 0.25  # of the time that is left when the engine begins: for putting the parts together


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    frames: Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class _Walk:
    """State of a walk through a page's frames: parts in the engine's order, worlds and owner paths by frame number.

    `excluded`: what each tested document says of elements that were left out.
    """

    left_s: Callable[[], float]
    worlds: dict[int, World] = field(default_factory=dict)
    owner_paths: dict[int, list[Any]] = field(default_factory=dict)
    parts: list[str | None] = field(default_factory=list)
    untested: list[UntestedFrame] = field(default_factory=list)
    excluded: list[Mapping[str, Any]] = field(default_factory=list)
    number: int = 0
    reserve_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.reserve_s = self.left_s() * RESERVED_SHARE

    def refusal(self, number: int) -> str | None:
        """Say why a frame is not tested any more: so many, or so slow, that the rest of the visit would suffer."""
        if number > FRAME_LIMIT:
            return "too_many"
        return "deadline" if self.left_s() < self.reserve_s else None

    @property
    def frame_seconds(self) -> float:
        """Seconds that one frame has: a share of what is left, so that the rest can still be tested."""
        return min(FRAME_SECONDS, max(0.5, self.left_s() / 4))


async def run_engine(
    page: Page, session: CDPSession, world: World, run: EngineRun, left_s: Callable[[], float] = lambda: 60.0
) -> Report:
    """Run the engine on a page and its frames.

    Args:
        session: of the page's own process. world: of the page's own document.
        left_s: says how many seconds the visit has left: no number of frames may use them up.

    Raises:
        DocumentMoved: the page went elsewhere meanwhile. ScriptFailed: the engine raised. NothingTested: the settings
            leave nothing of the page to test.
    """
    if len(page.frames) == 1:
        raw = await _record(world, f"{run.source}\n;{run.call('run')}")
        if len(page.frames) == 1:  # a frame may have come meanwhile
            return read_report(raw, [read_node(node, []) for node in raw["nodes"]])
    return await _run_with_frames(page, session, world, run, left_s)


async def _run_with_frames(
    page: Page, session: CDPSession, world: World, run: EngineRun, left_s: Callable[[], float]
) -> Report:
    started = await _record(world, f"{run.source}\n;{run.call('start', 0, None)}")
    walk = _Walk(left_s, worlds={0: world}, owner_paths={0: []}, excluded=[started])
    sessions = FrameSessions(page, session)
    await _walk_frames(walk, sessions, 0, started["frames"], run)
    walk.untested += [UntestedFrame(address, "embedded") for address in await world.record("fanfold.embedded()")]
    raw = await world.record(run.call("finish", walk.parts))
    tested = {frame_id: one for frame_id, one in sessions.worlds.items() if one in walk.worlds.values()}
    walk.untested += await list_unreached(page, world, tested, walk.untested, lambda: walk.frame_seconds)
    await _describe(raw, walk, run)
    nodes = [read_node(node, walk.owner_paths[node["frame"]]) for node in raw["nodes"]]
    raw |= {"version": started["version"], "excluded_count": sum(one["excluded_count"] for one in walk.excluded),
            "excluded_by": {selector for one in walk.excluded for selector in one["excluded_by"]},
            "hidden": {name for one in walk.excluded for name in one["hidden"]}, "modal": started["modal"]}
    return read_report(raw, nodes, len(walk.worlds), walk.untested)


async def _record(world: World, expression: str) -> dict[str, Any]:
    raw: dict[str, Any] = await world.record(expression)
    if "fault" in raw:
        raise NothingTested(raw["fault"], raw["detail"])
    return raw


async def _walk_frames(
    walk: _Walk, sessions: FrameSessions, parent: int, children: Sequence[Mapping[str, Any]], run: EngineRun
) -> None:
    """Test children depth first: the order in which the engine puts parts together."""
    for index, child in enumerate(children):
        walk.number += 1
        number = walk.number
        place = len(walk.parts)
        walk.parts.append(None)
        why = walk.refusal(number)
        if why is None:
            tested = await _test_frame(walk, sessions, parent, index, child, number, run)
            if isinstance(tested, _Part):
                walk.parts[place] = tested.text
                await _walk_frames(walk, sessions, number, tested.frames, run)
                continue
            why = tested
        walk.untested.append(UntestedFrame(child["address"], why))


async def _test_frame(
    walk: _Walk, sessions: FrameSessions, parent: int, index: int, child: Mapping[str, Any], number: int, run: EngineRun
) -> "_Part | str":
    """Test one frame; return its part, or why it could not be tested."""
    try:
        async with asyncio.timeout(walk.frame_seconds):
            world = await sessions.world_of_owner(walk.worlds[parent], index)
            if world is None:
                return "unreachable"
            context = {"scope": child["scope"], "expectsDocument": child["expectsDocument"]}
            started = await world.record(f"{run.source}\n;{run.call('start', number, context)}")
            if "untested" in started:
                return str(started["untested"])
            text = await world.evaluate("fanfold.answer()")
    except TimeoutError:
        return "deadline"
    except DocumentMoved:
        return "gone"
    except (ScriptFailed, PlaywrightError) as error:
        return f"error ({fit(str(error), 100)})"
    if started["modal"] is not None:
        walk.untested.append(UntestedFrame(child["address"], "behind_modal"))
    walk.worlds[number] = world
    walk.excluded.append(started)
    walk.owner_paths[number] = [*walk.owner_paths[parent], *child["path"]]
    return _Part(text, started["frames"])


async def _describe(raw: Mapping[str, Any], walk: _Walk, run: EngineRun) -> None:
    """Ask frames for markup and ingredients of the nodes that were kept; a frame that is gone by now has neither."""
    for number, world in walk.worlds.items():
        nodes = [node for node in raw["nodes"] if node["frame"] == number and "path" not in node]
        if not nodes:
            continue
        try:
            async with asyncio.timeout(walk.frame_seconds):
                slots = json.dumps([node["slot"] for node in nodes])
                described = await world.record(f"fanfold.describe({slots}, {run.limits})")
        except (TimeoutError, DocumentMoved, ScriptFailed, PlaywrightError):
            described = [{"html": "", "path": [["gone", node["target"]]]} for node in nodes]
        for node, facts in zip(nodes, described, strict=True):
            node.update(facts)
