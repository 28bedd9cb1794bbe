"""What `.pa11yci` says of the test itself, as settings of ours: `hideElements`, `ignore`, `timeout`.

Here: those three keys over all pages of the file. Not here: the other keys (`pa11y.py`), who wins (`layers.py`).
An entry of `urls` replaces what `defaults` say, as it does there. Nothing is left out of a page that the file tests:
elements are hidden on the very pages that hide them, and a rule is off only if every page ignores it.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.address import identity_of
from schemas.errors import ContractError, Offence
from schemas.exclusion import EXPECTED, selector_fault, split_selectors, written_exclusion
from schemas.pattern import spellings
from schemas.settings import Exclusion, IdentitySwitches
from tasks.load.layers import duration_text

TAKEN_OVER = ("hideElements", "ignore", "timeout")
TYPES = ("error", "warning", "notice")
LEAST_DEADLINE_MS = 30_000
SHOWN_CODES = 5
NOT_OURS = "not of this engine, so there is nothing to ignore"


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the file with the keys that hold for it."""

    url: str
    keys: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken over, by dotted key as `fanfold.yaml` would say it, and what a person should know of it."""

    settings: dict[str, object]
    warnings: tuple[str, ...]


def take_over(
    pages: Sequence[Page], subject: str, switches: IdentitySwitches, rules: Collection[str] | None
) -> Taken:
    """Return the settings that a file brings.

    Args:
        switches: what makes two addresses one page. rules: ids of the engine's rules; None where they are not known.

    Raises:
        ContractError: it hides elements by what is no selector.
    """
    settings: dict[str, object] = {}
    if hidden := _hidden(pages, subject, switches):
        settings["scan.exclude_elements"] = [written_exclusion(one) for one in hidden]
    off, of_ignore = _ignored(pages, rules)
    if off:
        settings["scan.rules"] = dict.fromkeys(off, False)
    longest_ms, of_timeout = _timeout(pages)
    if longest_ms is not None:
        settings |= dict.fromkeys(("route_deadline_min", "route_deadline_max"), duration_text(longest_ms))
    said = [*(("hideElements", text) for text in _not_text(pages)), *(("ignore", text) for text in of_ignore),
            *(("timeout", text) for text in of_timeout)]
    return Taken(settings, tuple(f"`{key}` of {subject}: {text}." for key, text in said))


def _hidden(pages: Sequence[Page], subject: str, switches: IdentitySwitches) -> list[Exclusion]:
    """Return what the file hides, each with the pages that hide it."""
    by_selector: dict[str, set[str]] = {}
    identities = [_identity(page, switches) for page in pages]
    for page, identity in zip(pages, identities, strict=True):
        hidden = page.keys.get("hideElements")
        for selector in split_selectors(hidden) if isinstance(hidden, str) else ():
            by_selector.setdefault(selector, set()).add(identity)
    offences = [Offence(f"{subject}: hideElements", f"{selector[:100]!r} {fault}", EXPECTED)
                for selector in by_selector if (fault := selector_fault(selector))]
    if offences:
        raise ContractError(offences)
    everywhere = list(dict.fromkeys(identities))
    return [Exclusion(selector, _patterns(everywhere, held), f"hideElements of {subject}")
            for selector, held in by_selector.items()]


def _identity(page: Page, switches: IdentitySwitches) -> str:
    try:
        return identity_of(page.url, switches)
    except ContractError:
        return page.url  # no address: all such are reported together, later


def _patterns(everywhere: Sequence[str], held: Collection[str]) -> tuple[str, ...]:
    """Return patterns of the pages that are held: none for all, else themselves, or all but the others, if fewer."""
    others = [identity for identity in everywhere if identity not in held]
    if not others:
        return ()
    if len(held) <= len(others):
        return tuple(f"re:^{re.escape(identity)}$" for identity in everywhere if identity in held)
    listed = "|".join(re.escape(spelling) for identity in others for spelling in spellings(identity))
    return (f"re:^(?!(?:{listed})$)",)


def _not_text(pages: Sequence[Page]) -> Iterator[str]:
    if any("hideElements" in page.keys and not isinstance(page.keys["hideElements"], str) for page in pages):
        yield "is no text with selectors, so nothing is hidden"


def _ignored(pages: Sequence[Page], rules: Collection[str] | None) -> tuple[list[str], list[str]]:
    """Return the rules that every page ignores, and what to know of all other codes."""
    lists = [_codes(page.keys.get("ignore")) for page in pages]
    codes = list(dict.fromkeys(code for one in lists for code in one))
    known = [code for code in codes if code in rules] if rules is not None else []
    off = [rule for rule in known if all(rule in one for one in lists)]
    said = []
    for rule in known:
        if rule not in off:
            count = sum(rule in one for one in lists)
            said.append(f"{rule} is ignored on {count} of {len(pages)} pages, and a rule is on or off for a whole run "
                        "here, so it stays on; write suppressions for those routes")
    if kinds := [code for code in codes if code in TYPES]:
        said.append(f"{', '.join(kinds)}: set the cells of the policy")
    if others := [code for code in codes if code not in known and code not in TYPES]:
        more = f" and {len(others) - SHOWN_CODES} more" if len(others) > SHOWN_CODES else ""
        said.append(f"{', '.join(others[:SHOWN_CODES])}{more}: {NOT_OURS}")
    return off, said


def _codes(ignored: Any) -> list[str]:
    """Return the codes of a list; their case says nothing there, and the rules of this engine are in lower case."""
    codes = [code for code in ignored if isinstance(code, str)] if isinstance(ignored, list) else []
    return [code if "." in code else code.lower() for code in codes]


def _timeout(pages: Sequence[Page]) -> tuple[int | None, list[str]]:
    """Return the lease of a visit in milliseconds: the longest of the file, for a short one would lose pages."""
    given = [page.keys["timeout"] for page in pages if "timeout" in page.keys]
    times = {time for time in given if isinstance(time, int) and not isinstance(time, bool) and time > 0}
    is_odd = len(set(map(repr, given))) > len(times)
    said = ["is no number of milliseconds, so it has no meaning here"] if is_odd else []
    if not times:
        return None, said
    longest_ms = max(*times, LEAST_DEADLINE_MS)
    if len(times) > 1:
        said.append(f"a deadline holds for all routes here, so the longest, {duration_text(longest_ms)}, is taken")
    elif longest_ms > max(times):
        said.append(f"a visit has at least {duration_text(longest_ms)} here, so that is taken")
    return longest_ms, said
