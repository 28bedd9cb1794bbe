"""Run the engine on a page and every frame of it, each under a deadline outside the page.

Here: which documents a page has, in which process and world each is tested, and how the parts become one report.
Not here: what happens in a document (`engine.js`), what it means that a frame was not tested (`visit.py`).
A page without frames is one call; only pages with frames move parts, and they are capped.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from schemas.occurrence import HTML_CHARACTERS
from schemas.settings import ScanSettings
from tasks.scan.world import DocumentMoved, ScriptFailed, World, open_world, send

FRAME_SECONDS = 10.0
FRAME_LIMIT = 60
PART_CHARACTERS = 24_000_000
NODE_LIMIT = 5_000
NODES_PER_RULE = 1_000

# Timers do not fire where scripting is off, and the engine needs only short ones.
SHORT_TIMERS = """(() => { const slow = globalThis.setTimeout; globalThis.setTimeout = (call, delay, ...rest) => {
if (delay > 1) return slow(call, delay, ...rest); queueMicrotask(() => call(...rest)); return 0; }; })();"""


@dataclass(frozen=True, slots=True)
class EngineRun:
    """The engine as it is put into a page: its source with our scripts, options and limits as literals."""

    source: str
    options: str
    limits: str

    @classmethod
    def prepare(cls, engine_source: str, options: str, scan: ScanSettings) -> "EngineRun":
        """Make the script of an engine's source and the settings."""
        limits = {
            "nodes": NODE_LIMIT, "nodesPerRule": NODES_PER_RULE, "partial": PART_CHARACTERS,
            "html": 0 if scan.evidence == "none" else HTML_CHARACTERS, "isMasked": scan.evidence != "full",
        }
        return cls("\n;".join((SHORT_TIMERS, engine_source, *_scripts())), options, json.dumps(limits))

    def call(self, name: str, *arguments: object) -> str:
        """Return an expression that calls one of our functions with options and limits behind the arguments."""
        written = [json.dumps(argument) for argument in arguments]
        return f"fanfold.{name}({', '.join([*written, self.options, self.limits])})"


@cache
def _scripts() -> tuple[str, str]:
    folder = files("tasks.scan")
    return (folder / "path.js").read_text("utf-8"), (folder / "engine.js").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class UntestedFrame:
    """A frame that was not tested: its address and why (`blank`, `error_page`, `deadline`, `too_large`, `gone` …)."""

    address: str
    why: str


@dataclass(frozen=True, slots=True)
class Node:
    """A kept node as the page gave it; `path` starts with the frames that it lies in."""

    rule: str
    is_violation: bool
    impact: str | None
    target: Sequence[Any]
    summary: str
    html: str
    path: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Report:
    """What the engine says of a page.

    Attributes:
        rules: (rule, class, highest impact, nodes). found: tags, help and help address of rules with kept nodes.
        failed: rules that raised an error of their own, with it. is_cut: nodes were left out.
    """

    version: str
    rules: Sequence[tuple[str, str, str | None, int]]
    nodes: Sequence[Node]
    found: Mapping[str, Mapping[str, Any]]
    failed: Sequence[tuple[str, str]] = ()
    is_cut: bool = False
    tested_count: int = 1
    untested: Sequence[UntestedFrame] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    frames: Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class _Walk:
    """State of a walk through a page's frames: parts in the engine's order, worlds and owner paths by frame number."""

    worlds: dict[int, World] = field(default_factory=dict)
    owner_paths: dict[int, list[Any]] = field(default_factory=dict)
    parts: list[str | None] = field(default_factory=list)
    untested: list[UntestedFrame] = field(default_factory=list)
    number: int = 0


async def run_engine(page: Page, session: CDPSession, world: World, run: EngineRun) -> Report:
    """Run the engine on a page and its frames.

    Args:
        session: of the page's own process. world: of the page's own document.

    Raises:
        DocumentMoved: the page went elsewhere meanwhile. ScriptFailed: the engine raised.
    """
    if len(page.frames) == 1:
        raw = await world.record(f"{run.source}\n;{run.call('run')}")
        return _report(raw, [_node(node, []) for node in raw["nodes"]])
    return await _run_with_frames(page, session, world, run)


async def _run_with_frames(page: Page, session: CDPSession, world: World, run: EngineRun) -> Report:
    started = await world.record(f"{run.source}\n;{run.call('start', 0, None)}")
    walk = _Walk(worlds={0: world}, owner_paths={0: []})
    sessions = _Sessions(page, session)
    await _walk_frames(walk, sessions, 0, started["frames"], run)
    walk.untested += [UntestedFrame(address, "embedded") for address in await world.record("fanfold.embedded()")]
    raw = await world.record(run.call("finish", walk.parts))
    await _describe(raw, walk, run)
    nodes = [_node(node, walk.owner_paths[node["frame"]]) for node in raw["nodes"]]
    return _report({**raw, "version": started["version"]}, nodes, len(walk.worlds), walk.untested)


async def _walk_frames(
    walk: _Walk, sessions: "_Sessions", parent: int, children: Sequence[Mapping[str, Any]], run: EngineRun
) -> None:
    """Test children depth first: the order in which the engine puts parts together."""
    for index, child in enumerate(children):
        walk.number += 1
        number = walk.number
        place = len(walk.parts)
        walk.parts.append(None)
        why = "too_many"
        if number <= FRAME_LIMIT:
            tested = await _test_frame(walk, sessions, parent, index, child, number, run)
            if isinstance(tested, _Part):
                walk.parts[place] = tested.text
                await _walk_frames(walk, sessions, number, tested.frames, run)
                continue
            why = tested
        walk.untested.append(UntestedFrame(child["address"], why))


async def _test_frame(
    walk: _Walk, sessions: "_Sessions", parent: int, index: int, child: Mapping[str, Any], number: int, run: EngineRun
) -> "_Part | str":
    """Test one frame; return its part, or why it could not be tested."""
    try:
        async with asyncio.timeout(FRAME_SECONDS):
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
        return f"error ({str(error)[:100]})"
    walk.worlds[number] = world
    walk.owner_paths[number] = [*walk.owner_paths[parent], *child["path"]]
    return _Part(text, started["frames"])


async def _describe(raw: Mapping[str, Any], walk: _Walk, run: EngineRun) -> None:
    """Ask frames for markup and ingredients of the nodes that were kept; a frame that is gone by now has neither."""
    for number, world in walk.worlds.items():
        nodes = [node for node in raw["nodes"] if node["frame"] == number and "path" not in node]
        if not nodes:
            continue
        try:
            async with asyncio.timeout(FRAME_SECONDS):
                slots = json.dumps([node["slot"] for node in nodes])
                described = await world.record(f"fanfold.describe({slots}, {run.limits})")
        except (TimeoutError, DocumentMoved, ScriptFailed, PlaywrightError):
            described = [{"html": "", "path": [["gone", node["target"]]]} for node in nodes]
        for node, facts in zip(nodes, described, strict=True):
            node.update(facts)


def _node(raw: Mapping[str, Any], owner_path: Sequence[Any]) -> Node:
    return Node(raw["rule"], raw["is_violation"], raw["impact"], raw["target"], raw["summary"], raw["html"],
                [*owner_path, *raw["path"]])


def _report(
    raw: Mapping[str, Any], nodes: Sequence[Node], tested_count: int = 1, untested: Sequence[UntestedFrame] = ()
) -> Report:
    return Report(
        version=raw["version"], rules=[tuple(rule) for rule in raw["rules"]], nodes=nodes, found=raw["found"],
        failed=[tuple(one) for one in raw["failed"]], is_cut=raw["is_cut"], tested_count=tested_count,
        untested=untested,
    )


class _Sessions:
    """Finds the session of a frame: frames of other sites live in processes of their own."""

    def __init__(self, page: Page, session: CDPSession) -> None:
        self._page = page
        self._session = session
        self._by_frame: dict[str, CDPSession] | None = None
        self._has_asked_others = False

    async def world_of_owner(self, parent: World, index: int) -> World | None:
        """Open our world in the frame that an element of a parent document holds; None if nobody answers for it."""
        owner = await parent.handle(f"fanfold.owner({index})")
        described = await send(parent.session, "DOM.describeNode", {"objectId": owner})
        frame_id = described["node"].get("frameId")
        session = await self._session_of(frame_id) if frame_id else None
        return await open_world(session, frame_id) if session else None

    async def _session_of(self, frame_id: str) -> CDPSession | None:
        if self._by_frame is None:
            self._by_frame = dict.fromkeys(await _frame_ids(self._session), self._session)
        if frame_id not in self._by_frame and not self._has_asked_others:
            self._has_asked_others = True
            for frame in self._page.frames[1:]:
                try:
                    session = await self._page.context.new_cdp_session(frame)
                    self._by_frame |= dict.fromkeys(await _frame_ids(session), session)
                except (PlaywrightError, DocumentMoved):
                    continue  # it lives in its parent's process, or is gone
        return self._by_frame.get(frame_id)


async def _frame_ids(session: CDPSession) -> list[str]:
    tree = (await send(session, "Page.getFrameTree"))["frameTree"]
    found, todo = [], [tree]
    while todo:
        branch = todo.pop()
        found.append(branch["frame"]["id"])
        todo += branch.get("childFrames", [])
    return found
