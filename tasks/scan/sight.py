"""What a try has seen of its page, kept in its trace as it goes.

Here: reading the answer and the page. Not here: judging it (`judge.py`).
"""

import json
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Response

from schemas.plan import PlannedRoute
from tasks.scan.judge import Seen
from tasks.scan.records import Trace
from tasks.scan.world import World


@dataclass(slots=True)
class Sight:
    """Reads a page into the trace of a try."""

    route: PlannedRoute
    trace: Trace

    def note_response(self, url: str, response: Response) -> None:
        """Take down what the server answered; the address is the page's own, a script may have led on since."""
        self.trace.url, self.trace.status = url, response.status
        self.trace.loaded_url = url if url == response.url else None
        self.trace.content_type = response.headers.get("content-type")
        wait = response.headers.get("retry-after", "")
        self.trace.retry_after = float(wait) if wait.isdecimal() else None

    async def read(self, world: World, first: str) -> dict[str, Any]:
        """Evaluate an expression and then read the page's facts, in one call.

        Raises:
            DocumentMoved: the page went elsewhere. ScriptFailed: the expression raised.
        """
        facts: dict[str, Any] = await world.record(
            f"{first}\n;fanfoldWatch.facts({json.dumps(self.route.expect_selector)})")
        self.trace.url, self.trace.title = facts["url"], facts["title"]
        self.trace.loaded_url = facts["loaded_url"]
        self.trace.content_type = facts["content_type"] or self.trace.content_type
        self.trace.status = facts["status"] or self.trace.status
        return facts

    def seen(self, facts: dict[str, Any] | None = None, *, is_download: bool = False) -> Seen:
        """Return what is known so far, as the judge wants it."""
        trace, facts = self.trace, facts or {}
        return Seen(
            url=trace.url or self.route.url, status=trace.status, content_type=trace.content_type,
            is_download=is_download, title=trace.title, has_password_field=facts.get("has_password_field", False),
            text_length=facts.get("text_length"), has_selector=facts.get("has_selector"),
            has_content=facts.get("has_content"), is_malformed=facts.get("is_malformed", False),
            acted_at=trace.acted_at, loaded_url=trace.loaded_url,
        )
