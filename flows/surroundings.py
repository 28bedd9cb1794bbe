"""What lies around an audit: the store, the Prefect server, the clock.

Here: checks of these, as records. Not here: checks of the installation itself (`doctor.py`).
"""

import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from importlib.metadata import version
from pathlib import Path

from flows.server import ask_api, known_server
from schemas.address import address_for_messages
from schemas.check import Check, fault, ok, warning
from schemas.errors import ContractError
from schemas.settings import Settings
from tasks.store import Store

LEAST_FREE_BYTES = 1_000_000_000
ANSWER_SECONDS = 10.0
CLOCK_SKEW = timedelta(seconds=60)
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """What a Prefect server says of itself: its version, or the fault, and its clock."""

    version: str | None = None
    fault: str = ""
    time: datetime | None = None


@contextmanager
def _no_root_left(store: Store, root: Path) -> Iterator[None]:
    """Take the store's folder back if it is a new one and nobody else has written to it."""
    was_there = not store.is_local or root.exists()
    yield
    if not was_there:
        with suppress(OSError):
            root.rmdir()


def examine_store(settings: Settings) -> Iterator[Check]:
    """Write to the store and take it back; look at the space that is left."""
    root = address_for_messages(settings.store, settings.identity)
    try:
        store = Store(settings.store)
        with _no_root_left(store, Path(settings.store)):
            store.check_writable()
    except (ContractError, OSError, ImportError, ValueError) as error:
        offences = getattr(error, "offences", ())
        yield fault("store", "; ".join(offence.fault for offence in offences) + f": {root}" if offences
                    else f"{root} cannot be opened ({type(error).__name__})",
                    "Set `store` or FANFOLD_STORE to a folder or bucket that this user may write.")
        return
    if not store.is_local:
        yield ok("store", f"{root} can be written")
        return
    there = next(place for place in (Path(settings.store).resolve(), *Path(settings.store).resolve().parents)
                 if place.exists())
    free = shutil.disk_usage(there).free
    if free < LEAST_FREE_BYTES:
        yield warning("store", f"{root}: {free / 1e9:.1f} GB are free", "`fanfold prune` removes old runs.")
    else:
        yield ok("store", f"{root} can be written, {free / 1e9:.0f} GB are free")


def examine_server() -> Iterator[Check]:
    """Ask the Prefect server that audits would use, if one is set, for its version."""
    ours, address = version("prefect"), known_server()
    if address is None:
        yield ok("prefect", f"{ours}; no server is set, each audit starts one of its own")
        return
    shown = address_for_messages(address, Settings().identity)
    answer = ask_server(address)
    if answer.version is None:
        yield fault("prefect", f"the server at {shown} {answer.fault}",
                    "Start it, or unset PREFECT_API_URL (or the profile): an audit then starts one of its own.")
    elif minor(answer.version) < minor(ours):
        yield warning("prefect", f"the server at {shown} is {answer.version}, this is {ours}",
                      "Bring the server to the version of its clients, or newer.")
    else:
        yield ok("prefect", f"{ours}; server {answer.version} at {shown}")


def ask_server(address: str) -> ServerAnswer:
    """Ask a Prefect server for its version."""
    asked = urllib.request.Request(f"{address}/admin/version", headers=_authority(os.environ))  # noqa: S310
    try:
        with ask_api(asked, ANSWER_SECONDS) as answer:
            told, said = answer.headers.get("Date"), json.loads(answer.read(1_000))
            return ServerAnswer(str(said), time=parsedate_to_datetime(told) if told else None)
    except urllib.error.HTTPError as error:
        return ServerAnswer(fault=f"answers with status {error.code}")
    except (OSError, ValueError, HTTPException) as error:
        return ServerAnswer(fault=f"does not answer ({type(getattr(error, 'reason', error)).__name__})")


def examine_clock(now: datetime | None = None, answer: ServerAnswer | None = None) -> Iterator[Check]:
    """Hold the clock against our own files and the server's clock: history, expiry and leases live by it.

    Args:
        now: the time; the clock's without it. answer: of the server; asked without it, where one is set.
    """
    now = now or datetime.now(UTC)
    address = known_server() if answer is None else None
    server_time = (answer or (ask_server(address) if address else ServerAnswer())).time
    installed = datetime.fromtimestamp(Path(__file__).stat().st_mtime, UTC)
    remedy = "Set the clock (NTP): history, suppressions that expire and leases live by it."
    if now < installed - timedelta(days=1) or now > FUTURE:
        yield fault("clock", f"says {now:%Y-%m-%d %H:%M} UTC, fanfold was installed on {installed:%Y-%m-%d}", remedy)
    elif server_time is not None and abs(now - server_time) > CLOCK_SKEW:
        off_s = (now - server_time).total_seconds()
        side = "ahead of" if off_s > 0 else "behind"
        yield warning("clock", f"is {abs(off_s):.0f} s {side} the Prefect server's", remedy)
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M} UTC")


def minor(text: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


def _authority(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the header that a Prefect client would send, for a server that asks who is there."""
    if key := environment.get("PREFECT_API_KEY"):
        return {"Authorization": f"Bearer {key}"}
    if words := environment.get("PREFECT_API_AUTH_STRING"):
        import base64

        return {"Authorization": f"Basic {base64.b64encode(words.encode()).decode()}"}
    return {}
