"""Find frames that the engine's walk did not reach: in closed shadow roots, in objects, or come after it looked.

Here: asking the browser which frames a page has, and the frame's holder whether anybody can see it. Not here: the
walk (`frames.py`). A frame that the engine passes over on purpose, because nobody can perceive it, is none of these;
what lies in a frame that was not tested goes with that frame.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from tasks.scan.redact import fit
from tasks.scan.report import UntestedFrame
from tasks.scan.world import DocumentMoved, World, send

HOLDERS_WITHOUT_WALK = ("object", "embed")  # the engine looks for no documents in these

# Asked of the element that holds a frame. Says its name where the frame is missed, and nothing where the walk had it,
# where `fanfold.embedded` speaks for it, or where nobody can perceive it: then the engine passes it over as well.
MISSED = """function (isPage) {
  for (let index = 0, owner; (owner = globalThis.fanfold.owner(index)); index++) if (owner === this) return "";
  if (isPage && this.getRootNode() === document && this.contentDocument && this.localName === "object") return "";
  if (!this.checkVisibility({ visibilityProperty: true }) || globalThis.fanfold.isLeftOut(this)) return "";
  for (let node = this; node; node = node.parentNode ?? node.host) {
    if (node.inert || node.getAttribute?.("aria-hidden")?.toLowerCase() === "true") return "";
  }
  return this.localName;
}"""


async def list_unreached(
    page: Page, world: World, tested: Mapping[str, World], named: Sequence[UntestedFrame], share_s: Callable[[], float]
) -> list[UntestedFrame]:
    """List the frames of tested documents that were neither tested nor named, and that people can perceive.

    Args:
        world: of the page's own document. tested: worlds of tested frames, by the browser's id of the frame.
        named: frames that are known as untested. share_s: says how many seconds one step may take.

    Raises:
        DocumentMoved: the page went elsewhere meanwhile.
    """
    own = await _ask(world.session, share_s())
    frames = {frame["id"]: frame for frame in own}
    silent: list[UntestedFrame] = []
    if len(frames) < len(page.frames):
        for frame in page.frames[1:]:
            try:
                session = await asyncio.wait_for(page.context.new_cdp_session(frame), share_s())
                frames |= {one["id"]: one for one in await _ask(session, share_s())}
            except TimeoutError:
                silent.append(UntestedFrame(frame.url, "deadline"))
            except (PlaywrightError, DocumentMoved):
                continue  # it lives in its parent's process, or is gone
    parents = {own[0]["id"]: world, **tested}
    missed = [
        await _judge(frame, parents[frame["parentId"]], share_s(), is_page=frame["parentId"] == own[0]["id"])
        for frame_id, frame in frames.items() if frame_id not in tested and frame.get("parentId") in parents
    ]
    known = {frame.address for frame in named}
    return [*filter(None, missed), *(frame for frame in silent if frame.address not in known)]


async def _judge(frame: Mapping[str, Any], parent: World, seconds: float, *, is_page: bool) -> UntestedFrame | None:
    """Return a frame that was missed; one that has vanished was not."""
    address = str(frame["url"])
    try:
        async with asyncio.timeout(seconds):
            holder = await _ask_holder(frame["id"], parent, is_page=is_page)
    except TimeoutError:
        return UntestedFrame(address, "deadline")
    except DocumentMoved:
        return None
    except PlaywrightError as error:
        return UntestedFrame(address, f"error ({fit(str(error), 100)})")
    is_picture = holder in HOLDERS_WITHOUT_WALK and "html" not in frame.get("mimeType", "html")
    return None if not holder or is_picture else UntestedFrame(address, "unreachable")


async def _ask_holder(frame_id: str, parent: World, *, is_page: bool) -> str:
    owner = await send(parent.session, "DOM.getFrameOwner", {"frameId": frame_id})
    node = await send(parent.session, "DOM.resolveNode", {
        "backendNodeId": owner["backendNodeId"], "executionContextId": parent.context_id})
    reply = await send(parent.session, "Runtime.callFunctionOn", {
        "objectId": node["object"]["objectId"], "functionDeclaration": MISSED,
        "arguments": [{"value": is_page}], "returnByValue": True})
    return str(reply["result"].get("value", "unknown"))


async def _ask(session: CDPSession, seconds: float) -> list[dict[str, Any]]:
    """Return the frames that live in a session's process, the topmost first."""
    async with asyncio.timeout(seconds):
        return list(_flat((await send(session, "Page.getFrameTree"))["frameTree"]))


def _flat(tree: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield tree["frame"]
    for child in tree.get("childFrames", []):
        yield from _flat(child)
