"""The decision on one run, with every fact that led to it, and what it means to a shell and to Prefect.

Here: the record and its document. Not here: deciding (`tasks/gate/`), printing (`flows/`), storing (`tasks/store.py`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from schemas.counts import CellCount as CellCount
from schemas.counts import Coverage, GroupCoverage, Regression, SuppressionUse
from schemas.errors import ContractError
from schemas.exit_code import ExitCode as ExitCode
from schemas.finding import Finding
from schemas.format_version import FIRST_FORMAT, VERSION_KEY, read_older
from schemas.shape import offences_in
from schemas.shard_fault import ShardFault

VERDICT_FORMAT = 2  # 2: `shard_faults`
FAULT_OF_BEFORE = re.compile(r"shard-(\d+) ")  # how version 1 named the shard in the examples of a reason
SHOWN_EXAMPLES = 20


class VerdictKind(StrEnum):
    """The closed set of verdicts. Bad input never comes so far: it is a `ContractError`."""

    PASSED = "passed"
    BLOCKED = "blocked"
    INCOMPLETE = "incomplete"


class Weight(StrEnum):
    """What a reason does to the verdict. `would_block` is a block under `report_only`."""

    INCOMPLETE = "incomplete"
    BLOCK = "block"
    WOULD_BLOCK = "would_block"
    WARN = "warn"


EXIT_CODES: Mapping[VerdictKind, ExitCode] = {
    VerdictKind.PASSED: ExitCode.PASSED, VerdictKind.BLOCKED: ExitCode.BLOCKED,
    VerdictKind.INCOMPLETE: ExitCode.INCOMPLETE,
}
FLOW_STATES: Mapping[VerdictKind, str] = {
    VerdictKind.PASSED: "Completed", VerdictKind.BLOCKED: "Blocked", VerdictKind.INCOMPLETE: "Incomplete",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """One fact that weighs.

    Attributes:
        code: a short stable word (`unsettled_routes`, `cell_over_limit`).
        decision: what it does to the verdict.
        text: a sentence for people, with the way out.
        count: of what the text speaks of. examples: the first of them, sorted, at most `SHOWN_EXAMPLES`.
    """

    code: str
    decision: Weight
    text: str
    count: int
    examples: tuple[str, ...] = ()

    @classmethod
    def of(cls, decision: Weight, code: str, text: str, examples: Iterable[str] = (),
           count: int | None = None) -> "Reason":
        """Make a reason with its examples sorted and cut; the count is that of all examples unless given."""
        listed = sorted(examples)
        return cls(code, decision, text, len(listed) if count is None else count, tuple(listed[:SHOWN_EXAMPLES]))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One verdict, used by every output.

    Attributes:
        reasons: what made it incomplete or blocked, coverage first; also kept where another reason wins.
        warnings: what does not change the verdict.
        summary: sentences for people; they never say "nothing found" of what was not scanned.
        provenance: digests, builds and dates, by name.
        shard_faults: what ended shards other than by a receipt; it weighs until a newer receipt of the shard answers.
        findings: all findings with decision, standing and suppression; rows of `findings.parquet`, not of the document.
    """

    kind: VerdictKind
    exit_code: ExitCode
    flow_state: str
    is_report_only: bool
    summary: str
    reasons: tuple[Reason, ...]
    warnings: tuple[Reason, ...]
    coverage: Coverage
    cells: tuple[CellCount, ...]
    decisions: Mapping[str, int]
    finding_count: int
    occurrence_count: int
    suppressed_count: int
    regression: Regression | None
    suppressions: tuple[SuppressionUse, ...]
    provenance: Mapping[str, Any]
    shard_faults: tuple[ShardFault, ...] = ()
    findings: tuple[Finding, ...] = field(default=(), repr=False)


def to_document(verdict: Verdict, **stored: Any) -> dict[str, Any]:
    """Return `verdict.json` as plain data.

    Args:
        verdict: the decision.
        stored: what only the writer knows: `tables` (name to digest and row count), `receipts` (shard to attempt).

    Raises:
        ContractError: the document breaks `verdict.schema.json`: a fault of this program, found before it is written.
    """
    document: dict[str, Any] = {"format_version": VERDICT_FORMAT}
    for name in Verdict.__slots__:
        if name != "findings":
            document[name] = _plain(getattr(verdict, name))
    document |= {name: _plain(value) for name, value in stored.items()}
    if offences := offences_in("verdict", document, "verdict.json"):
        raise ContractError(offences)
    return document


def from_document(document: Mapping[str, Any], subject: str = "verdict.json") -> Verdict:
    """Read a stored verdict (without its findings, which are rows of a table).

    Raises:
        ContractError: the document breaks its schema. IntegrityError: it is of a newer version.
    """
    document = read_older("verdict", document, VERDICT_FORMAT, subject)
    if offences := offences_in("verdict", document, subject):
        raise ContractError(offences)
    coverage = dict(document["coverage"])
    coverage["worst_groups"] = tuple(GroupCoverage(**group) for group in coverage["worst_groups"])
    regression = document["regression"]
    return Verdict(
        kind=VerdictKind(document["kind"]), exit_code=ExitCode(document["exit_code"]),
        flow_state=document["flow_state"], is_report_only=document["is_report_only"], summary=document["summary"],
        reasons=_reasons(document["reasons"]), warnings=_reasons(document["warnings"]), coverage=Coverage(**coverage),
        cells=tuple(CellCount(**cell) for cell in document["cells"]), decisions=dict(document["decisions"]),
        finding_count=document["finding_count"], occurrence_count=document["occurrence_count"],
        suppressed_count=document["suppressed_count"],
        regression=regression and Regression(**regression | {"gone_routes": tuple(regression["gone_routes"])}),
        suppressions=tuple(SuppressionUse(**use) for use in document["suppressions"]),
        provenance=dict(document["provenance"]), shard_faults=_shard_faults(document))


def _reasons(documents: list[dict[str, Any]]) -> tuple[Reason, ...]:
    return tuple(Reason(d["code"], Weight(d["decision"]), d["text"], d["count"], tuple(d["examples"]))
                 for d in documents)


def _shard_faults(document: Mapping[str, Any]) -> tuple[ShardFault, ...]:
    if document.get(VERSION_KEY, FIRST_FORMAT) > FIRST_FORMAT:
        return tuple(ShardFault(**fault) for fault in document["shard_faults"])
    return tuple(ShardFault(int(found[1]), text) for reason in document["reasons"] if reason["code"] == "shard_faults"
                 for text in reason["examples"] if (found := FAULT_OF_BEFORE.match(text)))


def _plain(value: Any) -> Any:
    if isinstance(value, IntEnum):
        return int(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return _plain(asdict(value)) if hasattr(value, "__dataclass_fields__") else value
