"""Layers of settings: flags, environment and file in one form, by dotted key, and the merge of them.

Here: reading a layer, its offences, who wins. Not here: what a setting means (`settings.py`).
Lists that only ever add up (`exclude`, `scan.hosts`, `scan.exclude_elements`) are put together over all layers,
`scan.rules` rule by rule. A source may bring settings of its own: the weakest layer.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from schemas.complaint import nearest
from schemas.errors import Offence
from schemas.exclusion import split_selectors, written_exclusion
from schemas.settings import IdentitySwitches, ScanSettings, Settings, SourceSettings
from schemas.shape import load_schema, offences_in

PREFIX = "FANFOLD_"
GROUPS: Mapping[str, type] = {"identity": IdentitySwitches, "scan": ScanSettings, "source": SourceSettings}
MAPS = ("rules", "headers")
UNITS_MS: Mapping[str, int] = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
TOGETHER = ("exclude", "scan.hosts", "scan.exclude_elements", "scan.rules")
DEADLINES = ("route_deadline_min", "route_deadline_max")

Layer = Mapping[str, tuple[object, str]]  # by dotted key: the value, and what to call its place


def setting_keys() -> dict[str, str]:
    """Return every dotted key of the file, with the name of the field that it sets."""
    keys = {}
    for item in fields(Settings):
        if item.name not in GROUPS:
            keys[item.name.removesuffix("_ms")] = item.name
    for group, kind in GROUPS.items():
        keys |= {f"{group}.{item.name.removesuffix('_ms')}": item.name for item in fields(kind)}
    del keys["scan.secret_parameters"]  # follows `identity.secret_parameters`: one list for both
    return keys


def setting_value(settings: Settings, key: str) -> object:
    """Return the value of a dotted key as the file would say it: times with their unit, lists and maps."""
    group, _, _ = key.rpartition(".")
    name = setting_keys()[key]
    value = getattr(getattr(settings, group) if group else settings, name)
    if name.endswith("_ms") and value is not None:
        return duration_text(value)
    if name in MAPS:
        return dict(value)
    if name == "exclude_elements":
        return [written_exclusion(one) for one in value]
    return list(value) if isinstance(value, tuple) else value


def duration_text(milliseconds: int) -> str:
    """Return a time in the largest unit that it is whole in: 90 000 is `90s`, 120 000 is `2m`."""
    unit = next(unit for unit, size in reversed(list(UNITS_MS.items())) if milliseconds % size == 0)
    return f"{milliseconds // UNITS_MS[unit]}{unit}"


def flag_layer(flags: Mapping[str, object]) -> Layer:
    """Return the flags that were given."""
    return {key: (list(value) if isinstance(value, tuple) else value, f"flag {key}")
            for key, value in flags.items() if value is not None and value not in ([], ())}


def environment_layer(environment: Mapping[str, str]) -> Layer:
    """Return the variables that are settings, each read as its schema wants it; an empty one counts as absent."""
    return {key: (_parsed(environment[name], _property(key)), name)
            for key in setting_keys() if environment.get(name := variable_of(key))}


def file_layer(file: Mapping[str, object]) -> Layer:
    """Return a file by dotted keys; it was held against its schema as a whole."""
    flat: dict[str, tuple[object, str]] = {}
    for key, value in file.items():
        if key in GROUPS and isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": (item, "") for inner, item in value.items()}
        else:
            flat[key] = (value, "")
    return flat


def source_layer(brought: Mapping[str, object], stronger: Iterable[Layer]) -> Layer:
    """Return the settings that a source brings; the two ends of a deadline belong together, so one word ends both."""
    is_deadline_set = any(key in layer for layer in stronger for key in DEADLINES)
    return {key: (value, "source") for key, value in brought.items() if not (is_deadline_set and key in DEADLINES)}


def variable_of(key: str) -> str:
    """Return the variable that sets a key: `scan.evidence` is `FANFOLD_SCAN_EVIDENCE`."""
    return PREFIX + key.replace(".", "_").upper()


def _property(key: str) -> Mapping[str, Any]:
    group, _, inner = key.rpartition(".")
    schema = load_schema("settings")
    found: Mapping[str, Any] = (schema["properties"][group] if group else schema)["properties"][inner]
    return found


def _parsed(text: str, spec: Mapping[str, Any]) -> object:
    """Read a variable as its schema wants it; what does not fit stays text, for the schema to refuse."""
    kinds = spec.get("type", "string")
    if "array" in kinds and "anyOf" in spec["items"]:
        return _parsed_selectors(text)
    if "array" in kinds and not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    if "string" in kinds:
        return text
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value


def _parsed_selectors(text: str) -> object:
    """Read JSON, or selectors with commas between them; `[lang]` is a selector."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return split_selectors(text)
    return value


def layer_offences(layer: Layer) -> Iterator[Offence]:
    """Find what is wrong in the layer of the flags or of the environment; each offence names its flag or variable."""
    known = setting_keys()
    for key, (value, subject) in layer.items():
        if key not in known:
            yield Offence(subject, f"unknown key `{key}`", "a setting", nearest(key, known))
            continue
        group, _, inner = key.rpartition(".")
        yield from offences_in("settings", {group: {inner: value}} if group else {inner: value}, subject)


def merge_layers(layers: Mapping[str, Layer]) -> tuple[dict[str, Any], dict[str, str]]:
    """Merge layers by dotted key.

    Args:
        layers: by name of the origin, the strongest first.

    Returns:
        The values that any layer gives, and the origin of every setting.
    """
    values, provenance = {}, {}
    for key in setting_keys():
        given = {origin: layer[key][0] for origin, layer in layers.items() if key in layer}
        provenance[key] = (" + ".join(given) if key in TOGETHER else next(iter(given), "")) or "default"
        if given:
            values[key] = _whole(key, _together(key, list(given.values())))
    return values, provenance


def _whole(key: str, value: object) -> object:
    """Return a whole number as an integer where the setting is one: 2.0 is a whole number in JSON and in YAML."""
    is_whole = isinstance(value, float) and "integer" in _property(key).get("type", ())
    return int(value) if is_whole else value  # type: ignore[call-overload]


def _together(key: str, given: list[Any]) -> object:
    """Put the values of several layers together, the strongest first."""
    if key == "scan.rules":
        merged = dict(ScanSettings().rules)
        for value in reversed(given):
            merged |= value
        return merged
    if key not in TOGETHER:
        return given[0]
    return list({json.dumps(item, sort_keys=True): item for value in given for item in value}.values())
