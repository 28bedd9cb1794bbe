"""The baseline: the occurrences that an estate is known to have, by fingerprint and route, with counts.

Here: the record, its document, reading it. Not here: comparing and updating (`tasks/gate/`), opening the file.
The document is grouped by fingerprint, sorted, and the same bytes for the same content: it is meant to be committed.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from schemas.errors import ContractError, Offence, bad_input
from schemas.format_version import check_not_newer
from schemas.occurrence import FINGERPRINT_VERSION
from schemas.plan import PlanHeader
from schemas.shape import offences_in

BASELINE_FORMAT = 1


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """A finding as it was: its occurrences by `task_id`. `impact` is the highest that was seen, or None."""

    fingerprint: str
    is_violation: bool
    rule: str
    impact: str | None
    routes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a run is compared with.

    Attributes:
        run_id: run that it was made from, or last merged from. date: the day, ISO 8601.
        identity: switches that made routes of addresses, as plain data.
        rules: ids of the rules that were on; findings of others are `new rule`.
        scanned: fully scanned routes, `task_id` to address: only there can a fault be new on a clean route.
        findings: sorted by fingerprint, violations first.
        exclude_elements: elements that were not tested (`Exclusion.what`).
    """

    estate: str
    run_id: str
    date: str
    identity: Mapping[str, Any]
    fingerprint_version: int
    engine_version: str
    engine_digest: str
    rules: frozenset[str]
    scanned: Mapping[str, str]
    findings: tuple[KnownFinding, ...]
    exclude_elements: frozenset[str] = frozenset()


def identity_of_plan(header: PlanHeader) -> dict[str, Any]:
    """Return the switches that decide which route an address is, as plain data."""
    switches = asdict(header.identity)
    return {name: list(value) if isinstance(value, tuple) else value
            for name, value in switches.items() if name != "secret_parameters"}


def to_baseline_text(baseline: Baseline) -> str:
    """Return `baseline.json`: the same text for the same content, one route a line, for readable differences."""
    document = {
        "format_version": BASELINE_FORMAT, "estate": baseline.estate, "run_id": baseline.run_id, "date": baseline.date,
        "identity": dict(baseline.identity), "fingerprint_version": baseline.fingerprint_version,
        "engine": {"version": baseline.engine_version, "digest": baseline.engine_digest,
                   "rules": sorted(baseline.rules)},
        "scanned": dict(baseline.scanned),
        "findings": [asdict(known) for known in sorted(baseline.findings, key=_order)],
    }
    if baseline.exclude_elements:
        document["exclude_elements"] = sorted(baseline.exclude_elements)
    return json.dumps(document, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False) + "\n"


def parse_baseline(text: str, subject: str) -> Baseline:
    """Read `baseline.json`.

    Raises:
        ContractError: not JSON (a truncated file), a newer version, or an offence against its schema.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise bad_input(subject, f"is not JSON ({error}); it may have been cut off", "a baseline",
                        "Take it from version control, or write it with `fanfold baseline update --anew`.") from None
    check_not_newer(document, BASELINE_FORMAT, subject)
    if offences := offences_in("baseline", document, subject):
        raise ContractError(offences)
    findings = tuple(sorted((KnownFinding(**known) for known in document["findings"]), key=_order))
    keys = [(known.fingerprint, known.is_violation) for known in findings]
    if len(set(keys)) != len(keys):
        raise bad_input(subject, "a fingerprint is listed twice", "one entry for each fingerprint",
                        "Two versions may have been merged by hand: write it anew with `fanfold baseline update "
                        "--anew`.")
    return Baseline(
        estate=document["estate"], run_id=document["run_id"], date=document["date"], identity=document["identity"],
        fingerprint_version=document["fingerprint_version"], engine_version=document["engine"]["version"],
        engine_digest=document["engine"]["digest"], rules=frozenset(document["engine"]["rules"]),
        scanned=document["scanned"], findings=findings,
        exclude_elements=frozenset(document.get("exclude_elements", ())))


def check_comparable(baseline: Baseline, header: PlanHeader, subject: str = "baseline.json") -> None:
    """Hold a baseline against the run that it is compared with.

    Raises:
        ContractError: other identity switches, another recipe of fingerprints, or another estate: every fault would
            look new and every old one fixed.
    """
    remedy = "Write it anew with `fanfold baseline update`, from a run that you have looked at."
    offences = []
    if baseline.estate != header.estate:
        offences.append(Offence(subject, f"is of estate `{baseline.estate}`", f"estate `{header.estate}`"))
    if baseline.fingerprint_version != FINGERPRINT_VERSION:
        offences.append(Offence(subject, f"has fingerprints of version {baseline.fingerprint_version}",
                                f"version {FINGERPRINT_VERSION}", remedy))
    now = identity_of_plan(header)
    offences += [Offence(f"{subject}: identity.{name}", f"was {baseline.identity.get(name)!r}",
                         f"{now.get(name)!r}, as in this run", remedy)
                 for name in sorted({*now, *baseline.identity}) if now.get(name) != baseline.identity.get(name)]
    if offences:
        raise ContractError(offences)


def usable_baseline(
    baseline: Baseline | None, wanted: str, header: PlanHeader, subject: str = "baseline.json"
) -> Baseline | None:
    """Return the baseline that a policy lets a run be compared with, if there is one.

    Args:
        wanted: the policy's word: `if_present`, `required` or `none`. header: of the run's plan.

    Raises:
        ContractError: it cannot be compared with the run, or the policy requires one and there is none.
    """
    if wanted == "none":
        return None
    if baseline is None and wanted == "required":
        raise missing_baseline(subject)
    if baseline is not None:
        check_comparable(baseline, header, subject)
    return baseline


def missing_baseline(subject: str) -> ContractError:
    """Make the error for a baseline that was asked for and is not there: it is never made on the fly."""
    return bad_input(subject, "there is no baseline", "the baseline that policy or command line names",
                     "Write one with `fanfold baseline update`, from a run that you have looked at.")


def _order(known: KnownFinding) -> tuple[str, bool]:
    return (known.fingerprint, not known.is_violation)
