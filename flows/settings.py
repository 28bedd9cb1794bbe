"""Settings in force: flags over environment over `fanfold.yaml`, and the capacity that follows from them.

Here: where settings come from, and the places that a deployment must name. Not here: their schema and merging
(`tasks/load`), parameters of one run (`request.py`).
"""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from flows.capacity import Capacity, fit_capacity, usable_cores, usable_memory_bytes
from schemas.errors import ContractError, Offence
from schemas.settings import Settings
from tasks.load import environment_warnings, load_settings, load_yaml

SETTINGS_FILE = "fanfold.yaml"


def settings_in_force(
    flags: Mapping[str, object] | None = None, source: Mapping[str, object] | None = None
) -> tuple[Settings, Mapping[str, str]]:
    """Merge settings.

    Args:
        flags: of the command line, by setting; None values are not given.
        source: settings that the source of a run brings, by dotted key.

    Returns:
        The settings, and for each where its value comes from.

    Raises:
        ContractError: an unknown key or a wrong value, named with its file.
    """
    path = settings_file()
    document = load_yaml(path.read_bytes(), str(path)) if path.is_file() else None
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    return load_settings(given, os.environ, document, source=source)


def settings_file() -> Path:
    """Return where the settings file is looked for; it need not be there."""
    return Path(os.environ.get("FANFOLD_SETTINGS", SETTINGS_FILE))


def require_lasting_places(settings: Settings) -> None:
    """Refuse a run of a deployment whose places end with it: it runs in a folder of its worker's that is thrown away.

    Raises:
        ContractError: the store, or the root of files where one is set, is named relative to that folder or not at all.
    """
    places = {"FANFOLD_STORE": settings.store, "FANFOLD_ROOT": os.environ.get("FANFOLD_ROOT")}
    offences = [
        Offence(name, f"is {os.environ.get(name, '')!r}, and a deployment's run has only a temporary folder of its "
                "worker's", "an absolute path" + (" or an address" if name == "FANFOLD_STORE" else ""),
                "Export it, then `prefect deploy --all` again.")
        for name, place in places.items()
        if place is not None and "://" not in place and not PurePosixPath(place).is_absolute()]
    if offences:
        raise ContractError(offences)


def variable_warnings() -> tuple[str, ...]:
    """Name each variable of this process that looks like a setting and is none."""
    return environment_warnings(os.environ)


def capacity_of(settings: Settings) -> Capacity:
    """Fit what the settings ask for to this machine."""
    return fit_capacity(settings.shards_at_once, settings.in_flight, usable_cores(), usable_memory_bytes())


def set_flags(**flags: object) -> None:
    """Hand flags that settings know to every part of this process and its children, over the environment."""
    for name, value in flags.items():
        if value is not None:
            os.environ[f"FANFOLD_{name.upper()}"] = str(value)
