"""What a run is judged by: policy, suppressions and baseline, as the user named them or as a run has kept them.

Here: finding the three files and reading them together. Not here: judging (`judging.py`, `tasks/gate`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from flows.gathering import Gathering
from flows.request import AuditRequest
from schemas.baseline import Baseline, missing_baseline, parse_baseline
from schemas.engine import EngineBuild
from schemas.errors import ContractError, IntegrityError
from schemas.layout import EstateLayout, RunLayout
from schemas.policy import Policy, parse_policy
from schemas.settings import Settings
from schemas.suppression import Suppression, parse_suppressions
from tasks.freeze import BASELINE_FILE, POLICY_FILE, SUPPRESSIONS_FILE
from tasks.load import load_yaml
from tasks.store import Store, digest_of, read_source

EMPTY = b"{}\n"
SNAPSHOT = (POLICY_FILE, SUPPRESSIONS_FILE, BASELINE_FILE)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file as it was read; `subject` is what messages call it."""

    subject: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Judged:
    """What a run is judged by. `files` are kept beside the run, by their names there."""

    policy: Policy
    suppressions: tuple[Suppression, ...]
    baseline: Baseline | None
    files: Mapping[str, NamedFile]

    @property
    def snapshot(self) -> dict[str, bytes]:
        """The bytes of each file, by its name in the run folder."""
        return {name: file.data for name, file in self.files.items()}

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each file, by `policy`, `suppressions`, `baseline`."""
        return {name.partition(".")[0]: digest_of(file.data) for name, file in self.files.items()}

    @property
    def baseline_subject(self) -> str:
        """What messages call the baseline."""
        return self.files[BASELINE_FILE].subject if BASELINE_FILE in self.files else BASELINE_FILE


def read_judged(
    request: AuditRequest, settings: Settings, store: Store, estate: str, engine: EngineBuild | None
) -> Judged:
    """Read policy, suppressions and baseline, each by name or by default.

    Raises:
        ContractError: offences of all three.
    """
    gathering = Gathering()
    policy = request.path("policy") or settings.policy
    suppressions = request.path("suppressions") or settings.suppressions
    found = {
        POLICY_FILE: gathering.take(lambda: _named_or(policy, "default policy")),
        SUPPRESSIONS_FILE: gathering.take(lambda: _named_or(suppressions, "no suppressions")),
        BASELINE_FILE: gathering.take(lambda: find_baseline(request.path("baseline"), store, estate)),
    }
    files = {name: file for name, file in found.items() if file is not None}
    judged = gathering.take(lambda: parse_judged(files, {rule.rule for rule in engine.rules} if engine else None))
    gathering.check()
    assert judged is not None
    return judged


def stored_judged(
    store: Store, run: RunLayout, engine: EngineBuild, others: Mapping[str, NamedFile] | None = None
) -> Judged:
    """Read what was frozen with a run's plan.

    Args:
        others: files that take the place of those, by their names in the run folder.

    Raises:
        ContractError: offences of all of them. IntegrityError: policy or suppressions of the run are gone.
    """
    files = dict(others or {})
    for name in SNAPSHOT:
        key = run.file(name)
        if name not in files and (name != BASELINE_FILE or store.exists(key)):
            files[name] = NamedFile(name, _read_kept(store, key))
    return parse_judged(files, {rule.rule for rule in engine.rules})


def parse_judged(files: Mapping[str, NamedFile], rules: Collection[str] | None) -> Judged:
    """Read the three files together; the default stands for one that is not there.

    Args:
        files: by their names in a run folder. rules: ids of the engine's rules; None where they are not known.

    Raises:
        ContractError: offences of all of them.
    """
    gathering = Gathering()
    policy_file = files.get(POLICY_FILE, NamedFile(POLICY_FILE, EMPTY))
    suppressions_file = files.get(SUPPRESSIONS_FILE, NamedFile(SUPPRESSIONS_FILE, EMPTY))
    baseline_file = files.get(BASELINE_FILE)
    policy = gathering.take(lambda: parse_policy(
        load_yaml(policy_file.data, policy_file.subject), policy_file.subject, rules))
    suppressions = gathering.take(lambda: parse_suppressions(
        load_yaml(suppressions_file.data, suppressions_file.subject), suppressions_file.subject, rules))
    baseline = gathering.take(lambda: read_baseline(baseline_file) if baseline_file else None)
    gathering.check()
    assert policy is not None and suppressions is not None
    return Judged(policy, suppressions, baseline, files)


def named_file(path: str) -> NamedFile:
    """Read a file that the user named.

    Raises:
        ContractError: there is no such file.
    """
    return NamedFile(path, read_source(path))


def named_baseline(path: str) -> NamedFile:
    """Read a baseline that the user named: it is never made on the fly.

    Raises:
        ContractError: there is no such file.
    """
    try:
        return named_file(path)
    except ContractError:
        raise missing_baseline(path) from None


def read_baseline(file: NamedFile) -> Baseline:
    """Read a baseline from its bytes.

    Raises:
        ContractError: it breaks its schema.
    """
    return parse_baseline(file.data.decode("utf-8", "replace"), file.subject)


def find_baseline(path: str | None, store: Store, estate: str) -> NamedFile | None:
    """Find the baseline: the named file, else the estate's own, else none.

    Raises:
        ContractError: a named baseline is absent.
    """
    if path:
        return named_baseline(path)
    key = EstateLayout(estate).baseline
    return NamedFile(key, store.read(key)) if store.exists(key) else None


def _read_kept(store: Store, key: str) -> bytes:
    try:
        return store.read(key)
    except FileNotFoundError:
        raise IntegrityError(key, "is missing; it was frozen with the run's plan") from None


def _named_or(path: str | None, default: str) -> NamedFile:
    return named_file(path) if path else NamedFile(default, EMPTY)
