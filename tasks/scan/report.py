"""What the engine says of a page, as the visit hands it on.

Here: the records and how they are read from what the page gave. Not here: asking the page (`frames.py`), the rows that
are stored (`records.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class UntestedFrame:
    """A frame that was not tested: its address and why (`blank`, `error_page`, `deadline`, `too_large`, `gone` …)."""

    address: str
    why: str


class NothingTested(Exception):  # noqa: N818 - an event that a visit judges
    """The engine was not run, for what the settings leave out does not let it; `reason` is one of `REASONS`."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail
        super().__init__(reason, detail)


@dataclass(frozen=True, slots=True)
class Node:
    """A kept node as the page gave it; `path` starts with the frames that it lies in."""

    rule: str
    is_violation: bool
    impact: str | None
    target: Sequence[Any]
    summary: str
    html: str
    path: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Report:
    """What the engine says of a page.

    Attributes:
        rules: (rule, class, highest impact, nodes). found: tags, help and help address of rules with kept nodes.
        failed: rules that raised an error of their own, with it. is_cut: nodes were left out.
        excluded_count: elements that the settings leave out of all tested documents, the outermost ones counted.
        excluded_by: selectors that found any.
        hidden: names of fields that hide their form from the engine.
        modal: an open dialog of the page's own document that hides everything else from the engine.
    """

    version: str
    rules: Sequence[tuple[str, str, str | None, int]]
    nodes: Sequence[Node]
    found: Mapping[str, Mapping[str, Any]]
    failed: Sequence[tuple[str, str]] = ()
    is_cut: bool = False
    tested_count: int = 1
    untested: Sequence[UntestedFrame] = ()
    excluded_count: int = 0
    excluded_by: Sequence[str] = ()
    hidden: Sequence[str] = ()
    modal: str | None = None


def read_node(raw: Mapping[str, Any], owner_path: Sequence[Any]) -> Node:
    """Read a kept node; `owner_path` is the path of the frame that it lies in."""
    return Node(raw["rule"], raw["is_violation"], raw["impact"], raw["target"], raw["summary"], raw["html"],
                [*owner_path, *raw["path"]])


def read_report(
    raw: Mapping[str, Any], nodes: Sequence[Node], tested_count: int = 1, untested: Sequence[UntestedFrame] = ()
) -> Report:
    """Read what a run of the engine gave."""
    return Report(
        version=raw["version"], rules=[tuple(rule) for rule in raw["rules"]], nodes=nodes, found=raw["found"],
        failed=[tuple(one) for one in raw["failed"]], is_cut=raw["is_cut"], tested_count=tested_count,
        untested=untested, excluded_count=raw["excluded_count"], excluded_by=sorted(raw["excluded_by"]),
        hidden=sorted(raw["hidden"]), modal=raw["modal"],
    )
