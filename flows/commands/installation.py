"""Commands on this installation: `settings` (what is in force, and from where) and `doctor` (would an audit work here).

Here: flags, and what is printed. Not here: the checks (`doctor.py`), reading settings (`settings.py`); `cli.py`
registers them.
"""

import json as json_module
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.exit_code import ExitCode
from schemas.plural import plural

if TYPE_CHECKING:
    from schemas.check import Check

HIDDEN = "***"
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Source = Annotated[str | None, typer.Argument(help="Source of an audit that brings settings: `.pa11yci`, a manifest.")]
StoreAt = Annotated[str | None, typer.Option("--store", help="Root of the store.")]


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting in force, as `fanfold.yaml` would say it, and where it comes from."""

    key: str
    value: object
    origin: str


def settings(source: Source = None, json: Json = False) -> int:
    """Show every setting in force and where it comes from; with a source, also what that brings."""
    import os

    from flows.settings import capacity_of, settings_in_force
    from tasks.load import environment_warnings

    in_force, _ = settings_in_force()
    rows, capacity = list(setting_rows(source)), capacity_of(in_force)
    warnings = environment_warnings(os.environ)
    if json:
        print(json_module.dumps({"settings": [asdict(row) for row in rows], "capacity": asdict(capacity),
                                 "warnings": warnings}, ensure_ascii=False, indent=1))
        return ExitCode.PASSED
    _print_table([(row.key, json_module.dumps(row.value, ensure_ascii=False), row.origin) for row in rows])
    print(f"\non this machine: {plural(capacity.shards_at_once, 'shard')} at once × "
          f"{plural(capacity.in_flight, 'route')} in flight")
    for note in (*([capacity.message] if capacity.message else []), *warnings):
        print(f"warning: {note}")
    return ExitCode.PASSED


def doctor(store: StoreAt = None, json: Json = False) -> int:
    """Check that an audit would work here, and say how to mend what would not. Exits 3 if an audit would fail."""
    from flows.settings import set_flags

    set_flags(store=store)
    from flows.doctor import examine

    checks = examine()
    is_fit = all(check.is_passable for check in checks)
    if json:
        print(json_module.dumps({"is_fit": is_fit, "checks": [asdict(check) for check in checks]}, ensure_ascii=False,
                                indent=1))
    else:
        _print_checks(checks, is_fit)
    return ExitCode.PASSED if is_fit else ExitCode.BAD_INPUT


def setting_rows(source: str | None = None) -> Iterator[SettingRow]:
    """Yield every setting in force by its dotted key, in the order of the file's schema.

    Args:
        source: of an audit; what it brings is in force where nothing else is said.

    Raises:
        ContractError: an unknown key, a wrong value, or a source that can't be read.
    """
    from flows.inputs import source_settings
    from flows.settings import settings_file, settings_in_force
    from tasks.load import setting_keys, setting_value, variable_of

    in_force, origins = settings_in_force(source=source_settings(source) if source else None)
    for key in setting_keys():
        places = {"environment": f"environment {variable_of(key)}", "file": f"file {settings_file()}",
                  "source": f"source {source}"}
        origin = " + ".join(places.get(one, one) for one in origins[key].split(" + "))
        yield SettingRow(key, _shown(key, setting_value(in_force, key)), origin)


def _shown(key: str, value: object) -> object:
    """Return a value without what may be secret: a header that names its secret says it, any other is hidden."""
    if key == "source.headers" and isinstance(value, dict):
        return {name: text if "{{secret:" in text else HIDDEN for name, text in value.items()}
    if key == "store" and isinstance(value, str):
        from schemas.address import address_for_messages
        from schemas.settings import IdentitySwitches

        return address_for_messages(value, IdentitySwitches())
    return value


def _print_table(rows: list[tuple[str, str, str]]) -> None:
    """Print columns that a terminal and a pipe can both take: no line is cut."""
    widths = [max(len(row[column]) for row in rows) for column in (0, 2)]
    for key, value, origin in rows:
        print(f"{key:<{widths[0]}}  {origin:<{min(widths[1], 40)}}  {value}")


def _print_checks(checks: "list[Check]", is_fit: bool) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f"{check.state.value:<7}  {check.name:<{width}}  {check.found}")
        if check.remedy:
            print(f"{'':<7}  {'':<{width}}  → {check.remedy}")
    print("\nAn audit would work here." if is_fit else "\nAn audit would fail here: mend what is marked `fault`.")
