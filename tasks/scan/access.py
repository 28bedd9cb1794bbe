"""How a shard's visits enter the estate: the profile's state and headers, and the secrets of addresses.

Here: what the shard process was handed, and the options of a context that follow. Not here: where secrets come from
(`flows/`), proving that a profile is signed in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from schemas.address import SECRET_PLACEHOLDER
from schemas.settings import ScanSettings


@dataclass(frozen=True, slots=True)
class Access:
    """What a shard process knows of profile and secrets; nothing of it is stored or printed.

    Attributes:
        storage_state: cookies and local storage, as a record or the path of a file.
        headers: sent to the route's own host only: a third party has no business with them.
        secrets: values by name, for `{{secret:NAME}}` in addresses.
    """

    storage_state: Mapping[str, Any] | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)

    @property
    def secret_values(self) -> tuple[str, ...]:
        """Return every value that must appear nowhere."""
        held = [part for value in self.headers.values() for part in (value, value.rpartition(" ")[2])]
        return (*self.secrets.values(), *held)

    def resolve(self, url: str) -> str:
        """Return an address with its secrets in place.

        Raises:
            KeyError: a secret that nobody handed over.
        """
        return SECRET_PLACEHOLDER.sub(lambda found: quote(self.secrets[found[0][9:-2]], safe=""), url)

    def is_own_host(self, route_url: str, request_url: str) -> bool:
        """Whether a request goes to the host of a route."""
        return urlsplit(route_url).netloc == urlsplit(request_url).netloc

    def context_options(self, scan: ScanSettings) -> dict[str, Any]:
        """Return the options of a fresh context: pinned surroundings, no service workers, no downloads."""
        state = str(Path(self.storage_state)) if isinstance(self.storage_state, str) else self.storage_state
        return {
            "viewport": {"width": scan.viewport_width, "height": scan.viewport_height},
            "device_scale_factor": scan.device_scale, "locale": scan.locale, "timezone_id": scan.time_zone,
            "reduced_motion": "reduce", "service_workers": "block", "accept_downloads": False,
            **({"storage_state": state} if state is not None else {}),
        }
