"""Runs in a store: finding one, naming the last full one, and refusing to resume one as another.

Here: what is asked of the store between the legs of the journey. Not here: the legs (`journey.py`).
"""

from dataclasses import dataclass, fields

from flows.request import AuditRequest
from flows.settings import settings_in_force
from schemas.address import address_for_messages
from schemas.errors import ContractError, Offence, bad_input
from schemas.layout import EstateLayout, RunLayout
from schemas.plan import PlanHeader
from schemas.settings import Settings
from tasks.freeze import BASELINE_FILE, POLICY_FILE, SUPPRESSIONS_FILE, read_header
from tasks.publish import read_latest
from tasks.store import Store, read_source

LATEST = "latest"


@dataclass(frozen=True, slots=True)
class RunRef:
    """Names a run in a store."""

    store: str
    estate: str
    run_id: str

    @property
    def layout(self) -> RunLayout:
        return EstateLayout(self.estate).run(self.run_id)


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest full run of an estate that was whole."""

    run_id: str
    route_count: int


def find_run(store: Store, run_id: str, estate: str | None = None) -> RunLayout | None:
    """Find a run by its id, in an estate, or among all of a store.

    Raises:
        ContractError: several estates have one of this id, and none is named.
    """
    layouts = [EstateLayout(name).run(run_id) for name in store.names("") if estate in (None, name)]
    found = [layout for layout in layouts if store.exists(layout.file("plan.json"))]
    if len(found) > 1:
        raise bad_input(f"run {run_id}", f"estates {', '.join(layout.estate for layout in found)} have one", "one",
                        "Say `ESTATE/RUN_ID`, or name the estate of a new run with `--estate`.")
    return found[0] if found else None


def last_full_run(store: Store, estate: str) -> LastRun | None:
    """Return the newest folded full run of an estate: what `max_shrink` compares with.

    Raises:
        ContractError: the estate's `latest.json` is broken.
    """
    latest = read_latest(store, EstateLayout(estate))
    if latest is None or latest.last_full_run_id is None or latest.last_full_route_count is None:
        return None
    return LastRun(latest.last_full_run_id, latest.last_full_route_count)


def check_same_run(request: AuditRequest, settings: Settings, header: PlanHeader) -> None:
    """Refuse to resume a run under another source or other pinned settings.

    Raises:
        ContractError: names what differs.
    """
    subject = f"run {header.run_id}"
    remedy = ("Start a new run (of another estate: name it with `--estate`), or resume with what the run was planned "
              "with.")
    offences = []
    if not _is_source_of(header, request, settings):
        offences.append(Offence(subject, f"exists with source {header.source}", "the same source", remedy))
    if request.estate not in (None, header.estate):
        offences.append(Offence(subject, f"is of estate {header.estate}", "the same estate", remedy))
    for name, asked, planned in (("identity", settings.identity, header.identity),
                                 ("scan", settings.scan, header.scan)):
        differing = [item.name for item in fields(planned) if getattr(asked, item.name) != getattr(planned, item.name)]
        if differing:
            offences.append(Offence(subject, f"was planned with other {name} settings: {', '.join(differing)}",
                                    "the same settings", remedy))
    if offences:
        raise ContractError(offences)


def _is_source_of(header: PlanHeader, request: AuditRequest, settings: Settings) -> bool:
    """Whether a request names the source of a plan; plans of before name the path below the configured root."""
    return header.source == shown_source(request.source, settings) or (
        header.source == shown_source(request.path("source") or "", settings))


def check_same_files(request: AuditRequest, store: Store, run: RunLayout) -> None:
    """Refuse files that a run is to be judged by, where it was planned with others.

    Raises:
        ContractError: names each.
    """
    offences = []
    for field, name in (("policy", POLICY_FILE), ("suppressions", SUPPRESSIONS_FILE), ("baseline", BASELINE_FILE)):
        path = request.path(field)
        if path is None:
            continue
        frozen = store.read(run.file(name)) if store.exists(run.file(name)) else None
        if read_source(path) != frozen:
            offences.append(Offence(path, f"is not the {field} that run {run.run_id} was planned with", "the same file",
                                    f"`fanfold gate {run.run_id} --{field} {path}` judges it by another."))
    if offences:
        raise ContractError(offences)


def shown_source(source: str, settings: Settings) -> str:
    """Return a source as plans and messages name it: without secrets."""
    is_address = source.lower().startswith(("http://", "https://"))
    return address_for_messages(source, settings.identity) if is_address else source


def require_run(store: Store, run_id: str) -> RunLayout:
    """Find a run that must be there, by `RUN_ID` or `ESTATE/RUN_ID`; `latest` is the newest run.

    Raises:
        ContractError: there is no such run, several estates have one and none is named, or the estate's `latest.json`
            is broken.
    """
    estate, is_named, name = run_id.rpartition("/")
    if name == LATEST:
        estates = [estate] if estate else [e for e in store.names("") if store.exists(EstateLayout(e).latest)]
        if len(estates) == 1 and (latest := read_latest(store, EstateLayout(estates[0]))):
            return EstateLayout(estates[0]).run(latest.run_id)
        named = ", ".join(estates) or "none"
        raise bad_input(f"run {run_id}", f"estates with runs in the store: {named}", "one", "Say `ESTATE/latest`.")
    found = find_run(store, name, estate if is_named else None)
    if found is None:
        raise bad_input(f"run {run_id}", f"is not in the store {store.shown_root}", "the id of a planned run",
                        "`fanfold runs` lists them.")
    return found


def ref_of(run_id: str) -> RunRef:
    """Name a run of the store in force; `latest` works.

    Raises:
        ContractError: there is no such run.
    """
    settings, _ = settings_in_force()
    layout = require_run(Store(settings.store), run_id)
    return RunRef(settings.store, layout.estate, layout.run_id)


def header_of_run(run_id: str) -> PlanHeader:
    """Read the header of a run of the store in force.

    Raises:
        ContractError: there is no such run.
    """
    ref = ref_of(run_id)
    return read_header(Store(ref.store), ref.layout)
