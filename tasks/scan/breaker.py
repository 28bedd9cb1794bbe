"""End the waste on a host that is down: pure, but for the time that it is given.

Here: counting failures in a row by host. Not here: what a failure is (`reasons.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from schemas.address import origin_of
from schemas.host import Origin
from schemas.outcome import OutcomeKind
from tasks.scan.reasons import REASONS

FAILURES_WITHOUT_RETRY = 6
FAILURES_WITHOUT_VISIT = 24
PROBE_SECONDS = 15.0
BLAMES_HOST = (OutcomeKind.UNREACHABLE, OutcomeKind.HTTP_ERROR, OutcomeKind.TIMED_OUT)


@dataclass(slots=True)
class _Host:
    failures: int = 0
    probed_at: float = 0.0


class Breaker:
    """Knows how each host did lately.

    After some failures in a row nothing is tried twice; after many, a host is only probed now and then.
    """

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._hosts: dict[Origin, _Host] = {}

    def note(self, url: str, reason: str) -> None:
        """Take note of how a visit ended; anything but a passing trouble of the host is a sign of life."""
        if reason == "host_gave_up":
            return
        host = self._host(url)
        is_trouble = REASONS[reason].is_transient and REASONS[reason].outcome in BLAMES_HOST
        host.failures = host.failures + 1 if is_trouble else 0

    def is_open(self, url: str) -> bool:
        """Whether nothing of the host is tried twice."""
        return self._host(url).failures >= FAILURES_WITHOUT_RETRY

    def may_visit(self, url: str) -> bool:
        """Whether a visit to the host is worth making; now and then one is."""
        host = self._host(url)
        if host.failures < FAILURES_WITHOUT_VISIT:
            return True
        if self._now() - host.probed_at < PROBE_SECONDS:
            return False
        host.probed_at = self._now()
        return True

    def _host(self, url: str) -> _Host:
        return self._hosts.setdefault(origin_of(url), _Host())
