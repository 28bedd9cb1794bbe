"""A visit's hold on the places of its shard.

Here: taking, giving away, taking again. Not here: how many places there are (`visit.py`).
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator


class Place:
    """A place at work, held from entry to exit, but not while it is given away."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._is_held = False
        self.waited_ms = 0

    async def __aenter__(self) -> "Place":
        await self._take()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._give()

    @contextlib.asynccontextmanager
    async def given_away(self, deadline: asyncio.Timeout) -> AsyncIterator[None]:
        """Give the place away while the page comes to rest; the wait for another one counts for no deadline.

        Where the rest ends in an error the place stays given away.
        """
        self._give()
        yield
        loop = asyncio.get_running_loop()
        began, left = time.monotonic(), (deadline.when() or loop.time()) - loop.time()
        deadline.reschedule(None)
        await self._take()
        deadline.reschedule(loop.time() + left)
        self.waited_ms += round((time.monotonic() - began) * 1000)

    async def _take(self) -> None:
        await self._places.acquire()
        self._is_held = True

    def _give(self) -> None:
        if self._is_held:
            self._is_held = False
            self._places.release()
