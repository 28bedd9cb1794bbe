"""The file of another auditor, `.pa11yci`, as a source: its addresses, its keys that mean something, the others.

Here: which keys mean nothing here, and what to write for them. Not here: the keys that are taken over
(`pa11y_settings.py`), our own manifest (`json_manifest.py`). Nothing is taken over unseen: the plan says what
the source brought, and a word of the user's own goes first.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from schemas.errors import ContractError, Offence
from schemas.settings import IdentitySwitches
from tasks.load.json_manifest import Listed, listed_in
from tasks.load.pa11y_settings import TAKEN_OVER, Page, take_over

RULE_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
NO_MEANING = "it has no meaning here"

COUNTERPARTS: Mapping[str, str] = {
    "concurrency": "set `in_flight` and `shards_at_once` in fanfold.yaml",
    "threshold": "give the cells of the policy an `allowed` count",
    "level": "set the cells of the policy to `block` or `warn`",
    "includeWarnings": "what needs review is always recorded; the policy's `needs_review` decides what follows",
    "includeNotices": "what needs review is always recorded; the policy's `needs_review` decides what follows",
    "rootElement": "the whole page is tested here; suppressions with a selector leave parts of it out",
    "wait": "set `ready` on the routes: a selector, not a time; or `wait_ms` among their `actions`",
    "actions": "write `actions` on the routes of a JSON manifest; to sign in, use an auth profile",
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


def listed_in_pa11y(
    document: Mapping[str, Any], subject: str, switches: IdentitySwitches, rules: Collection[str] | None = None
) -> Listed:
    """Return the addresses of the file and the settings that it brings; a warning for all that has no meaning here.

    Args:
        switches: what makes two addresses one page. rules: ids of the engine's rules; None where they are not known.

    Raises:
        ContractError: its `urls` are no list of addresses, or it hides elements by what is no selector.
    """
    urls = document["urls"]
    if not isinstance(urls, list) or not urls:
        raise ContractError([Offence(f"{subject}: $.urls", "lists no addresses", "a list of addresses")])
    plain = [entry.get("url") if isinstance(entry, dict) else entry for entry in urls]
    listed = listed_in(plain, f"{subject}: urls")
    defaults: Any = document.get("defaults")
    defaults = defaults if isinstance(defaults, dict) else {}
    pages = [Page(entry.url, {**defaults, **(raw if isinstance(raw, dict) else {})})
             for entry, raw in zip(listed.entries, urls, strict=True)]
    taken = take_over(pages, subject, switches, rules)
    warnings = [f"`{key}` of {subject} is not taken over: {_counterpart(key, values)}."
                for key, values in sorted(_other_keys(document, defaults, urls).items())]
    return Listed(listed.entries, warnings=(*taken.warnings, *warnings), settings=taken.settings)


def _other_keys(document: Mapping[str, Any], defaults: Mapping[str, Any], urls: list[Any]) -> dict[str, list[Any]]:
    """Return the keys that are not taken over, each with its values in order."""
    values: dict[str, list[Any]] = {}
    for place in (document, defaults, *urls):
        for key, value in place.items() if isinstance(place, dict) else ():
            is_taken = key in TAKEN_OVER and place is not document
            if not is_taken and key not in ("urls", "defaults", "url") and value not in values.setdefault(key, []):
                values[key].append(value)
    return values


def _counterpart(key: str, values: list[Any]) -> str:
    """Say what to write here for a key, with its value where that can be done."""
    say = SAYINGS.get(key)
    said = "; ".join(dict.fromkeys(text for value in values for text in say(value))) if say else ""
    return said or COUNTERPARTS.get(key, NO_MEANING)


def _say_misplaced(_: Any) -> Iterator[str]:
    yield "it belongs into `defaults`, or into an entry of `urls`"


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
    "standard": _say_standard, "rules": _say_rules, "viewport": _say_viewport,
    **dict.fromkeys(TAKEN_OVER, _say_misplaced),
}
