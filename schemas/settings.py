"""Settings that are in force, after flags, environment and `fanfold.yaml` were merged.

Here: defaults and the three groups that other parts need apart: identity switches and scan settings are pinned in the
plan, the rest may change between attempts. Not here: reading them (`tasks/load/`, `flows/`).
"""

from dataclasses import dataclass, field
from typing import Literal

NOISE_PARAMETERS = ("utm_*", "gclid", "fbclid", "msclkid", "dclid", "gbraid", "wbraid", "mc_cid", "mc_eid", "_ga",
                    "_gl")
SECRET_PARAMETERS = ("token", "access_token", "api_key", "apikey", "key", "password", "passwd", "pwd", "secret",
                     "session", "sessionid", "sid", "auth", "jwt", "signature", "sig", "code")
DEFAULT_EXCLUDE = ("glob:/admin/**", "glob:/staging/**", "glob:/__preview/**", "glob:/logout")


@dataclass(frozen=True, slots=True)
class IdentitySwitches:
    """How addresses become identities. A baseline made with other switches is bad input."""

    path_case: Literal["keep", "fold"] = "keep"
    query: Literal["noise", "drop", "keep"] = "noise"
    fragment: Literal["routes", "drop"] = "routes"
    noise_parameters: tuple[str, ...] = NOISE_PARAMETERS
    secret_parameters: tuple[str, ...] = SECRET_PARAMETERS

    @property
    def is_case_folded(self) -> bool:
        """Whether identities have their paths in lower case."""
        return self.path_case == "fold"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Elements that nobody tests: what matches the selector in any document of a page, and all that is in it.

    Attributes:
        routes: patterns (`glob:`, `re:`) of the routes that it holds for; without any it holds for all.
        reason: why, for people.
    """

    selector: str
    routes: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def what(self) -> str:
        """What is left out, and where: two that say the same do the same."""
        return f"{self.selector} on {' or '.join(self.routes)}" if self.routes else self.selector

    def __str__(self) -> str:
        return f"{self.what} ({self.reason})" if self.reason else self.what


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """What decides findings: pinned in the plan with a digest; a shard that has others refuses before it scans.

    `rules` switches rules on and off by id, on top of the engine's defaults. Times are milliseconds.
    """

    viewport_width: int = 1280
    viewport_height: int = 720
    device_scale: float = 1.0
    locale: str = "en-US"
    time_zone: str = "UTC"
    rules: tuple[tuple[str, bool], ...] = (("target-size", True),)
    exclude_elements: tuple[Exclusion, ...] = ()
    engine_path: str | None = None
    settle_quiet_ms: int = 500
    settle_budget_ms: int = 10_000
    route_retries: int = 2
    retire_after: int = 200
    hosts: tuple[str, ...] = ()
    verify_tls: bool = True
    redirects: Literal["allow", "strict"] = "allow"
    evidence: Literal["full", "masked", "none"] | None = None
    secret_parameters: tuple[str, ...] = SECRET_PARAMETERS

    def evidence_for(self, auth: str | None) -> Literal["full", "masked", "none"]:
        """Return how much text is kept: as set, else all of it of public pages, masked behind a sign-in."""
        return self.evidence or ("full" if auth is None else "masked")


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """How a source and its child sitemaps are fetched. Times are milliseconds.

    Attributes:
        timeout_ms: one answer, from the name to its last byte. budget_ms: the source with all its children.
        ca_file: certificates to trust instead of the system's. verify_tls: off takes any certificate.
        headers: sent to the source's own host only; values may hold `{{secret:NAME}}`.
    """

    timeout_ms: int = 30_000
    budget_ms: int = 600_000
    verify_tls: bool = True
    ca_file: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that is in force for one run.

    Keys of `fanfold.yaml` are the names of these fields; where a name ends in `_ms`, the key goes without it and its
    value says its unit (`run_budget: 30m`).
    """

    store: str = "fanfold-store"
    estate: str | None = None
    policy: str | None = None
    suppressions: str | None = None
    history: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    shards: int | None = None
    shards_at_once: int | None = None
    in_flight: int | None = None
    shard_retries: int = 2
    run_budget_ms: int | None = None
    per_host: int = 16
    route_deadline_min_ms: int = 30_000
    route_deadline_max_ms: int = 120_000
    browser: str | None = None
    secret_blocks: tuple[str, ...] = ()
    identity: IdentitySwitches = field(default_factory=IdentitySwitches)
    scan: ScanSettings = field(default_factory=ScanSettings)
    source: SourceSettings = field(default_factory=SourceSettings)
