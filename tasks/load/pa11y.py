"""The file of another auditor, `.pa11yci`, as a source: its addresses are taken, every other key is answered.

Here: which keys mean something here, and where the rest belongs. Not here: our own manifest (`json_manifest.py`).
"""

from collections.abc import Mapping
from typing import Any

from schemas.errors import ContractError, Offence
from tasks.load.json_manifest import Listed, listed_in

COUNTERPARTS: Mapping[str, str] = {
    "timeout": "set `route_deadline_max` in fanfold.yaml",
    "concurrency": "set `in_flight` and `shards_at_once` in fanfold.yaml",
    "ignore": "write suppressions, each with a reason and an owner, or switch a rule off with `scan.rules`",
    "hideElements": "write suppressions with a selector",
    "rules": "switch rules on with `scan.rules`",
    "threshold": "set the cells of the policy to `warn`",
    "standard": "set `standard` and `level` in the policy",
    "viewport": "set `scan.viewport_width` and `scan.viewport_height`",
    "wait": "set `ready` on the routes",
    "actions": "use an auth profile, or `ready` on the routes",
    "headers": "use an auth profile",
    "useIncognitoBrowserContext": "every route has a fresh context here",
    "chromeLaunchConfig": "set `browser` in fanfold.yaml",
}


def is_pa11y(document: object) -> bool:
    """Whether a parsed JSON document is such a file."""
    return isinstance(document, dict) and "urls" in document and "routes" not in document


def listed_in_pa11y(document: Mapping[str, Any], subject: str) -> Listed:
    """Return the addresses of the file, with a warning for each key that is not taken over.

    Raises:
        ContractError: its `urls` are no list of addresses.
    """
    urls = document["urls"]
    if not isinstance(urls, list) or not urls:
        raise ContractError([Offence(f"{subject}: $.urls", "lists no addresses", "a list of addresses")])
    defaults = document.get("defaults")
    keys = {key for key in document if key not in ("urls", "defaults")}
    keys |= set(defaults) if isinstance(defaults, dict) else set()
    keys |= {key for entry in urls if isinstance(entry, dict) for key in entry if key != "url"}
    warnings = tuple(
        f"`{key}` of {subject} is not taken over: {COUNTERPARTS.get(key, 'it has no meaning here')}."
        for key in sorted(keys))
    plain = [entry.get("url") if isinstance(entry, dict) else entry for entry in urls]
    listed = listed_in(plain, f"{subject}: urls")
    return Listed(listed.entries, warnings=warnings)
