"""How a shard's visits enter the estate: the profile's state and headers, and the secrets of addresses.

Here: what the shard process was handed, and the options of a context that follow. Not here: where it comes from
(`credentials.py`), proving that a profile is signed in (`sign_in.py`), sending the headers (`headers.py`).
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from schemas.address import origin_of
from schemas.errors import ContractError
from schemas.placeholder import fill_secrets
from schemas.settings import ScanSettings

SHORTEST_STATE_SECRET = 12  # characters; a shorter cookie (`dark`, `en-US`) is a choice, and hiding it harms texts


@dataclass(frozen=True, slots=True)
class SignInCheck:
    """Where to look, and for what, to know that a profile is signed in."""

    url: str
    selector: str


@dataclass(frozen=True, slots=True)
class Access:
    """What a shard process knows of profile and secrets; nothing of it is stored or printed.

    Attributes:
        profile: name of the profile, None without one.
        storage_state: cookies and local storage, as Playwright has them.
        headers: sent to the route's own host only: a third party has no business with them.
        secrets: values by name, for `{{secret:NAME}}` in addresses.
        check: how the profile proves that it is signed in.
    """

    profile: str | None = None
    storage_state: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    check: SignInCheck | None = None

    @property
    def secret_values(self) -> tuple[str, ...]:
        """Return every value that must appear nowhere."""
        held = [part for value in self.headers.values() for part in (value, value.rpartition(" ")[2])]
        state = [value for value in _state_values(self.storage_state or {}) if len(value) >= SHORTEST_STATE_SECRET]
        return (*self.secrets.values(), *held, *state)

    def resolve(self, url: str) -> str:
        """Return an address with its secrets in place.

        Raises:
            KeyError: a secret that nobody handed over.
        """
        return fill_secrets(url, lambda name: quote(self.secrets[name], safe=""))

    def with_secrets(self, text: str) -> str:
        """Return a text with its secrets in place, as they are.

        Raises:
            KeyError: a secret that nobody handed over.
        """
        return fill_secrets(text, self.secrets.__getitem__)

    def context_options(self, scan: ScanSettings) -> dict[str, Any]:
        """Return the options of a fresh context: pinned surroundings, no service workers, no downloads."""
        return {
            "viewport": {"width": scan.viewport_width, "height": scan.viewport_height},
            "device_scale_factor": scan.device_scale, "locale": scan.locale, "timezone_id": scan.time_zone,
            "reduced_motion": "reduce", "service_workers": "block", "accept_downloads": False,
            "ignore_https_errors": not scan.verify_tls,
            **({"storage_state": self.storage_state} if self.storage_state else {}),
        }


def is_own_host(route_url: str, request_url: str) -> bool:
    """Whether a request may carry what a profile sends to a route's host.

    The same name, with or without `www.`, at the same port or from http up to https; never from https down.
    """
    with contextlib.suppress(ContractError):
        own, asked = origin_of(route_url), origin_of(request_url)
        is_same_port = own.port == asked.port or (own.port, asked.port) == (80, 443)
        steps_down = (own.scheme, asked.scheme) == ("https", "http")
        return own.site == asked.site and is_same_port and not steps_down
    return False


def _state_values(state: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of cookies and of local storage."""
    for cookie in state.get("cookies", ()):
        yield str(cookie.get("value", ""))
    for origin in state.get("origins", ()):
        yield from (str(item.get("value", "")) for item in origin.get("localStorage", ()))
