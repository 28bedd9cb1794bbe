"""Show closed shadow roots to our world: the engine looks into open ones only, and a closed one would look clean.

Here: noticing that a process holds nodes that our script cannot reach, finding the closed roots, and handing them to
the worlds of their documents, where `shadowRoot` answers with them from then on. The page's own world sees no
difference. Not here: what is tested in them (`frames.py`).
Looking for them costs a copy of the whole tree; counting nodes on both sides says cheaply that there are none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from tasks.scan.world import DocumentMoved, World, open_world, send

ROOT_LIMIT = 500
EVERY_NODE = ""  # as a search: it is in every tag and every text

# What the search finds where nothing is closed. Through prototypes: a form answers with its own field for a plain name.
COUNT = """(() => {
  const getter = (prototype, name) => (node) => Object.getOwnPropertyDescriptor(prototype, name).get.call(node);
  const typeOf = getter(Node.prototype, "nodeType"), shadowOf = getter(Element.prototype, "shadowRoot");
  const documentIn = (frame) => { try { return frame.contentDocument; } catch { return null; } };
  const roots = [document];
  let count = 0;
  for (const root of roots) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT |
      NodeFilter.SHOW_COMMENT | NodeFilter.SHOW_CDATA_SECTION);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      count += 1;
      if (typeOf(node) !== Node.ELEMENT_NODE) continue;
      const inner = shadowOf(node) ?? (/^i?frame$/.test(node.localName) ? documentIn(node) : null);
      if (inner) roots.push(inner);
    }
  }
  return count;
})()"""
SHOW = """function () {
  if (!Object.hasOwn(globalThis, "fanfoldClosed")) {
    const known = new WeakMap();
    const read = Object.getOwnPropertyDescriptor(Element.prototype, "shadowRoot").get;
    const get = function () { return known.get(this) ?? read.call(this); };
    Object.defineProperty(globalThis, "fanfoldClosed", { value: known });
    Object.defineProperty(Element.prototype, "shadowRoot", { configurable: true, get });
  }
  const isNew = !globalThis.fanfoldClosed.has(this.host);
  globalThis.fanfoldClosed.set(this.host, this);
  return isNew;
}"""


async def show_closed_roots(session: CDPSession, world: World) -> int:
    """Show the closed roots of a process to the worlds of their documents; return how many are new.

    Args:
        world: of a document of the process.

    Raises:
        DocumentMoved: the page went elsewhere meanwhile.
    """
    await send(session, "DOM.enable")
    found = await send(session, "DOM.performSearch", {"query": EVERY_NODE, "includeUserAgentShadowDOM": False})
    if found["resultCount"] == await world.evaluate(COUNT):
        return 0
    tree = await send(session, "DOM.getDocument", {"depth": -1, "pierce": True})
    return sum([await _show(session, world, *root) for root in list(_closed_in(tree["root"]))[:ROOT_LIMIT]])


def _closed_in(root: Mapping[str, Any]) -> Iterator[tuple[int, str | None]]:
    """Yield closed shadow roots with the frame that they lie in, None for the topmost document."""
    waiting: list[tuple[Mapping[str, Any], str | None]] = [(root, None)]
    while waiting:
        node, frame_id = waiting.pop()
        if node.get("shadowRootType") == "closed":
            yield node["backendNodeId"], frame_id
        waiting += [(below, frame_id) for below in (*node.get("shadowRoots", ()), *node.get("children", ()))]
        if "contentDocument" in node:
            waiting.append((node["contentDocument"], node.get("frameId")))


async def _show(session: CDPSession, world: World, node_id: int, frame_id: str | None) -> bool:
    try:
        own = world if frame_id is None else await open_world(session, frame_id)
        node = await send(session, "DOM.resolveNode", {"backendNodeId": node_id, "executionContextId": own.context_id})
        answer = await send(session, "Runtime.callFunctionOn", {
            "objectId": node["object"]["objectId"], "functionDeclaration": SHOW, "returnByValue": True})
    except (DocumentMoved, PlaywrightError):
        return False  # the frame or the root is gone
    return bool(answer["result"].get("value"))
