"""Find the session and the world of a frame: frames of other sites live in processes of their own.

Here: from an element that holds a frame to a world in it. Not here: what is done there (`frames.py`).
"""

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from tasks.scan.closed import show_closed_roots
from tasks.scan.world import DocumentMoved, World, open_world, send


class FrameSessions:
    """Knows the sessions of a page's frames; asks for those of other processes only when one is needed.

    Attributes:
        worlds: that were opened, by the browser's id of their frame.
    """

    def __init__(self, page: Page, session: CDPSession) -> None:
        self._page = page
        self._session = session
        self.worlds: dict[str, World] = {}
        self._by_frame: dict[str, CDPSession] | None = None
        self._has_asked_others = False
        self._shown = {session}

    async def world_of_owner(self, parent: World, index: int) -> World | None:
        """Open our world in the frame that an element of a parent document holds; None if nobody answers for it."""
        owner = await parent.handle(f"fanfold.owner({index})")
        described = await send(parent.session, "DOM.describeNode", {"objectId": owner})
        frame_id = described["node"].get("frameId")
        session = await self._session_of(frame_id) if frame_id else None
        if session is None:
            return None
        self.worlds[frame_id] = await open_world(session, frame_id)
        if session not in self._shown:
            self._shown.add(session)
            await show_closed_roots(session, self.worlds[frame_id])
        return self.worlds[frame_id]

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
