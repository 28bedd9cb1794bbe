"""Find the settings in force: flags, then `FANFOLD_…` variables, `fanfold.yaml`, the source's own, the defaults.

Here: merged values become settings, and what contradicts what. Not here: one layer and the merge (`layers.py`), reading
the file (`load_yaml`), the environment (`flows/`), the defaults (`schemas/settings.py`).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import available_timezones

from schemas.complaint import nearest
from schemas.errors import ContractError, Offence
from schemas.exclusion import exclusion_of, exclusion_offences
from schemas.layout import id_offence
from schemas.pattern import Pattern
from schemas.settings import IdentitySwitches, ScanSettings, Settings, SourceSettings
from schemas.shape import offences_in
from tasks.load.layers import (
    GROUPS,
    PREFIX,
    UNITS_MS,
    environment_layer,
    file_layer,
    flag_layer,
    layer_offences,
    merge_layers,
    setting_keys,
    source_layer,
    variable_of,
)

NOT_SETTINGS = ("FANFOLD_SECRET_", "FANFOLD_PROFILE_", "FANFOLD_SETTINGS", "FANFOLD_ROOT")  # read where they are used
SECRET_HEADERS = ("authorization", "cookie", "proxy-authorization", "x-api-key")
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")


def load_settings(
    flags: Mapping[str, object], environment: Mapping[str, str], file: Mapping[str, object] | None,
    file_name: str = "fanfold.yaml", source: Mapping[str, object] | None = None,
) -> tuple[Settings, Mapping[str, str]]:
    """Merge the layers.

    Args:
        flags: by dotted key (`shards`, `scan.evidence`); None or an empty list means that the flag was not given.
        environment: of the process; only `FANFOLD_…` counts: `FANFOLD_SCAN_EVIDENCE=masked`. Lists are separated by
            commas or written as JSON; `FANFOLD_SCAN_RULES` is JSON.
        file: the parsed file, or None without one. file_name: what to call it.
        source: settings that the source brings, by dotted key: any other word goes before them.

    Returns:
        The settings, and for each dotted key `flag`, `environment`, `file`, `source` or `default`; several, joined by
        ` + `, where layers were added up.

    Raises:
        ContractError: unknown keys, values of a wrong form, settings that contradict each other; all at once.
    """
    layers = {
        "flag": flag_layer(flags), "environment": environment_layer(environment),
        "file": file_layer(file if isinstance(file, Mapping) else {}),
    }
    layers["source"] = source_layer(source or {}, list(layers.values()))
    offences = [
        *layer_offences(layers["flag"]), *layer_offences(layers["environment"]),
        *(offences_in("settings", file, file_name) if file is not None else []),
    ]
    if offences:
        raise ContractError(offences)
    values, provenance = merge_layers(layers)
    settings = _settings_of(values)
    offences = list(_contradictions(settings))
    if offences:
        raise ContractError(offences)
    return settings, provenance


def in_force_of_source(
    source: Mapping[str, object], settings: Settings, provenance: Mapping[str, str]
) -> dict[str, object]:
    """Return what is in force of the settings that a source brings: nobody else said otherwise.

    Args:
        settings, provenance: as `load_settings` gave them with this source.
    """
    found = {key: value for key, value in source.items() if "source" in provenance[key].split(" + ")}
    if isinstance(rules := found.pop("scan.rules", None), Mapping):
        kept = {rule: is_on for rule, is_on in rules.items() if (rule, is_on) in settings.scan.rules}
        found |= {"scan.rules": kept} if kept else {}
    return found


def environment_warnings(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Name each `FANFOLD_…` variable that is no setting, with the nearest that is one."""
    known = {variable_of(key) for key in setting_keys()}
    unknown = [name for name in sorted(environment)
               if name.startswith(PREFIX) and name not in known and not name.startswith(NOT_SETTINGS)]
    return tuple(f"{name} is no setting. {nearest(name, known)}".rstrip() for name in unknown)


def duration_ms(text: str) -> int:
    """Return a time with its unit (`500ms`, `90s`, `30m`, `2h`) in whole milliseconds."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no time with its unit")
    return round(float(match[1]) * UNITS_MS[match[2]])


def _settings_of(values: Mapping[str, Any]) -> Settings:
    parts: dict[str, dict[str, Any]] = {group: {} for group in ("", *GROUPS)}
    for key, name in setting_keys().items():
        if key in values:
            parts[key.rpartition(".")[0]][name] = _field_value(name, values[key])
    identity = IdentitySwitches(**parts["identity"])
    scan = ScanSettings(**{**parts["scan"], "secret_parameters": identity.secret_parameters})
    return Settings(**parts[""], identity=identity, scan=scan, source=SourceSettings(**parts["source"]))


def _field_value(name: str, value: object) -> object:
    if name.endswith("_ms") and isinstance(value, str):
        return duration_ms(value)
    if isinstance(value, Mapping):
        return tuple(sorted(value.items()))
    if name == "exclude_elements" and isinstance(value, list):
        return tuple(exclusion_of(one) for one in value)
    return tuple(value) if isinstance(value, list) else value


def _contradictions(settings: Settings) -> Iterator[Offence]:
    for pattern in settings.exclude:
        try:
            Pattern.parse(pattern, "exclude")
        except ContractError as error:
            yield from error.offences
    if settings.estate is not None and (offence := id_offence(settings.estate, "estate")):
        yield offence
    if not 0 < settings.route_deadline_min_ms <= settings.route_deadline_max_ms:
        yield Offence("route_deadline_min", f"is {settings.route_deadline_min_ms} ms",
                      f"more than 0 and at most route_deadline_max ({settings.route_deadline_max_ms} ms)")
    for key, value in (("run_budget", settings.run_budget_ms), ("source.timeout", settings.source.timeout_ms),
                       ("source.budget", settings.source.budget_ms)):
        if value == 0:
            yield Offence(key, "is no time at all", "more than 0")
    yield from _scan_contradictions(settings.scan)
    yield from _header_offences(settings.source)


def _scan_contradictions(scan: ScanSettings) -> Iterator[Offence]:
    for exclusion in scan.exclude_elements:
        yield from exclusion_offences(exclusion, "scan.exclude_elements")
    zones = available_timezones()
    if zones and scan.time_zone not in zones:
        yield Offence("scan.time_zone", f"{scan.time_zone!r} is not known", "a name such as UTC or Europe/Paris",
                      nearest(scan.time_zone, zones))


def _header_offences(source: SourceSettings) -> Iterator[Offence]:
    for name, value in source.headers:
        if name.lower() in SECRET_HEADERS and "{{secret:" not in value:
            yield Offence(f"source.headers.{name}", "holds a secret itself", "`{{secret:NAME}}`",
                          "Put the secret in the environment and name it here.")
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or re.search(r"[^\t\x20-\x7e]", value):
            yield Offence("source.headers", f"{name!r} is no header that can be sent", "a name and a value in ASCII")
