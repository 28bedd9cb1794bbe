"""The file of another auditor, `.pa11yci`, as a source: its addresses are taken, every other key is answered.

Here: which keys mean something here, and what to write for them. Not here: our own manifest (`json_manifest.py`).
No key but the addresses is taken over: a list of routes must not switch rules off, or hide elements, unseen.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from schemas.errors import ContractError, Offence
from tasks.load.json_manifest import Listed, listed_in
from tasks.load.layers import duration_text

RULE_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
TYPES = ("error", "warning", "notice")
LEAST_DEADLINE_MS = 30_000
NO_MEANING = "it has no meaning here"

COUNTERPARTS: Mapping[str, str] = {
    "concurrency": "set `in_flight` and `shards_at_once` in fanfold.yaml",
    "threshold": "give the cells of the policy an `allowed` count",
    "level": "set the cells of the policy to `block` or `warn`",
    "includeWarnings": "what needs review is always recorded; the policy's `needs_review` decides what follows",
    "includeNotices": "what needs review is always recorded; the policy's `needs_review` decides what follows",
    "rootElement": "the whole page is tested here; suppressions with a selector leave parts of it out",
    "wait": "set `ready` on the routes: a selector, not a time",
    "actions": "use an auth profile, or `ready` on the routes",
    "headers": "use an auth profile with `headers`",
    "runners": "the engine is axe-core; set `scan.engine_path` for another build of it",
    "reporters": "`fanfold report` writes HTML, JUnit, SARIF, CSV and Markdown",
    "useIncognitoBrowserContext": "every route has a fresh context here",
    "chromeLaunchConfig": "set `browser` in fanfold.yaml",
    "browser": "set `browser` in fanfold.yaml",
    "log": "the log of each shard is kept in its attempt's folder",
    "screenCapture": "no pictures are taken; the evidence is markup",
    "userAgent": "the browser says who it is; a site that tells scanners apart shows them another page",
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
    values: dict[str, list[Any]] = {}
    for place in (document, document.get("defaults"), *urls):
        for key, value in place.items() if isinstance(place, dict) else ():
            if key not in ("urls", "defaults", "url") and value not in values.setdefault(key, []):
                values[key].append(value)
    warnings = tuple(f"`{key}` of {subject} is not taken over: {_counterpart(key, values[key])}."
                     for key in sorted(values))
    plain = [entry.get("url") if isinstance(entry, dict) else entry for entry in urls]
    listed = listed_in(plain, f"{subject}: urls")
    return Listed(listed.entries, warnings=warnings)


def _counterpart(key: str, values: list[Any]) -> str:
    """Say what to write here for a key, with its value where that can be done."""
    say = SAYINGS.get(key)
    said = "; ".join(dict.fromkeys(text for value in values for text in say(value))) if say else ""
    return said or COUNTERPARTS.get(key, NO_MEANING)


def _say_timeout(value: Any) -> Iterator[str]:
    if isinstance(value, int) and value > 0:
        longest = duration_text(max(value, LEAST_DEADLINE_MS))
        yield f"a visit has three times its usual time here; write `route_deadline_max: {longest}` to limit it"


def _say_ignore(value: Any) -> Iterator[str]:
    """Codes may be rules of axe, codes of another engine, or a whole kind of message."""
    codes = [code for code in value if isinstance(code, str)] if isinstance(value, list) else []
    rules = [code for code in codes if RULE_ID.fullmatch(code) and code not in TYPES]
    if rules:
        switched = ", ".join(f"{rule}: false" for rule in rules)
        yield (f"write `scan: {{rules: {{{switched}}}}}` to switch the rules off, or suppressions, each with a reason "
               "and an owner")
    if kinds := [code for code in codes if code in TYPES]:
        yield f"{', '.join(kinds)}: set the cells of the policy"
    if other := [code for code in codes if code not in rules and code not in TYPES]:
        yield f"{', '.join(other[:5])}: not of this engine, so there is nothing to ignore"


def _say_hidden(value: Any) -> Iterator[str]:
    selectors = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    if selectors:
        yield f"elements stay under test; write suppressions with the selector {' or '.join(map(repr, selectors))}"


def _say_standard(value: Any) -> Iterator[str]:
    level = re.fullmatch(r"WCAG2(A{1,3})", str(value))
    if level:
        yield f"write `standard: wcag20` and `level: {level[1]}` in the policy"


def _say_rules(value: Any) -> Iterator[str]:
    rules = [rule for rule in value if isinstance(rule, str) and RULE_ID.fullmatch(rule)] if isinstance(
        value, list) else []
    if rules:
        yield f"write `scan: {{rules: {{{', '.join(f'{rule}: true' for rule in rules)}}}}}` in fanfold.yaml"


def _say_viewport(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        sizes = ", ".join(f"viewport_{side}: {value[side]}" for side in ("width", "height") if side in value)
        yield f"write `scan: {{{sizes}}}` in fanfold.yaml"


SAYINGS: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "timeout": _say_timeout, "ignore": _say_ignore, "hideElements": _say_hidden, "standard": _say_standard,
    "rules": _say_rules, "viewport": _say_viewport,
}
