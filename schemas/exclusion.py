"""Exclusions of elements: which hold for a route, how they are written, what a selector shows without a browser.

Here: reading and choosing them. Not here: the record (`schemas/settings.py`, beside the settings that hold it), finding
the elements on a page (`tasks/scan/engine.js`).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from schemas.errors import ContractError, Offence
from schemas.pattern import Pattern
from schemas.settings import Exclusion, ScanSettings

CLOSING = {"(": ")", "[": "]"}
_PIECE = re.compile(r"""\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|.""", re.DOTALL)
_DANGLING = re.compile(r"^\s*[+~>,]|[+~>,]\s*$|,\s*,")
EXPECTED = "a CSS selector"


def exclusion_of(written: str | Mapping[str, Any]) -> Exclusion:
    """Read an exclusion as `fanfold.yaml` says it: a selector, or an object that was found valid."""
    if isinstance(written, str):
        return Exclusion(written)
    return Exclusion(written["selector"], tuple(written.get("routes", ())), written.get("reason"))


def written_exclusion(exclusion: Exclusion) -> str | dict[str, Any]:
    """Return an exclusion as `fanfold.yaml` would say it."""
    further = {"routes": list(exclusion.routes), "reason": exclusion.reason}
    kept = {name: value for name, value in further.items() if value}
    return {"selector": exclusion.selector, **kept} if kept else exclusion.selector


def selectors_for(scan: ScanSettings, route: str, *, is_case_folded: bool = False) -> tuple[str, ...]:
    """Return the selectors whose elements are not tested on a route, each once.

    Args:
        route: identity of the route. is_case_folded: identities have their paths in lower case.
    """
    held = {one.selector: None for one in scan.exclude_elements if holds_for(one, route, is_case_folded=is_case_folded)}
    return tuple(held)


def holds_for(exclusion: Exclusion, route: str, *, is_case_folded: bool = False) -> bool:
    """Whether an exclusion holds for a route, by its identity."""
    return not exclusion.routes or any(
        Pattern(text).holds_for(route, is_case_folded=is_case_folded) for text in exclusion.routes)


def exclusion_offences(exclusion: Exclusion, subject: str) -> Iterator[Offence]:
    """Find what is wrong with an exclusion, as far as it shows without a browser."""
    if fault := selector_fault(exclusion.selector):
        yield Offence(subject, f"{exclusion.selector[:100]!r} {fault}", EXPECTED)
    for text in exclusion.routes:
        try:
            Pattern.parse(text, subject)
        except ContractError as error:
            yield from error.offences


def selector_fault(selector: str) -> str:
    """Say why a text can be no selector, or nothing: only a browser knows all of the language."""
    waiting = []
    for piece in _PIECE.findall(selector):
        if piece in CLOSING:
            waiting.append(CLOSING[piece])
        elif piece in CLOSING.values() and (not waiting or waiting.pop() != piece):
            return f"has a `{piece}` that nothing opened"
        elif piece in ("{", "}", ";", '"', "'"):
            return f"has a `{piece}` that no selector has" if piece in "{};" else f"has a {piece} that is not closed"
    if waiting:
        return f"lacks a `{waiting[-1]}`"
    bare = "".join(piece if len(piece) == 1 else "x" for piece in _PIECE.findall(selector))
    if not bare.strip() or _DANGLING.search(bare):
        return "has a part that is empty"
    return ""


def split_selectors(text: str) -> list[str]:
    """Split a list of selectors at its commas, not at those within brackets or quotes."""
    found, depth = [""], 0
    for piece in _PIECE.findall(text):
        depth += (piece in CLOSING) - (piece in CLOSING.values())
        if piece == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += piece
    return [part.strip() for part in found if part.strip()]
