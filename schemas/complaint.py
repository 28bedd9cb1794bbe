"""What a broken schema says to a person: one offence for each error of the validator.

Here: the words for each keyword of JSON Schema that our schemas use. Not here: finding the errors (`schemas/shape.py`).
A message repeats a short value but never an address: it may carry a secret.
"""

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from jsonschema.exceptions import ValidationError

from schemas.errors import Offence

SHOWN_CHARACTERS = 60


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a question for the known word that is nearest to an unknown one, or nothing where none is near."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"Did you mean `{close[0]}` for `{word}`?" if close else ""


def offence_of(error: ValidationError, subject: str) -> Offence:
    """Say one error of the validator in our words, with the path of the value.

    Args:
        error: of jsonschema. subject: what to call the document.
    """
    where = f"{subject}: {error.json_path}" if error.absolute_path else subject
    say = SAYINGS.get(str(error.validator), _say_other)
    fault, expected, remedy = say(error, _described(error))
    return Offence(where, fault, expected, remedy)


def shown(value: object) -> str:
    """Return a value for a message: short, and neither an address nor the inside of a list or object."""
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "a list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    if "//" in text:
        return "an address"
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


Said = tuple[str, str, str]


def _rule(error: ValidationError) -> Any:
    return cast(Any, error.validator_value)


def _value(error: ValidationError) -> Any:
    return cast(Any, error.instance)


def _described(error: ValidationError) -> str:
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    return str(schema.get("description", "")).rstrip(".")


def _say_unknown_key(error: ValidationError, _: str) -> Said:
    assert isinstance(error.schema, Mapping)
    known = sorted(key for key in error.schema.get("properties", {}) if not key.startswith("$"))
    unknown = sorted(str(key) for key in _value(error) if key not in error.schema.get("properties", {}))
    keys = ", ".join(f"`{key}`" for key in unknown)
    remedy = " ".join(filter(None, (nearest(key, known) for key in unknown)))
    return f"unknown key{'s' if len(unknown) > 1 else ''} {keys}", f"one of {', '.join(known)}", remedy


def _say_required(error: ValidationError, _: str) -> Said:
    missing = sorted(key for key in _rule(error) if key not in _value(error))
    return f"{', '.join(f'`{key}`' for key in missing)} is missing", "", ""


def _say_type(error: ValidationError, described: str) -> Said:
    kinds = [_rule(error)] if isinstance(_rule(error), str) else _rule(error)
    named = " or ".join(_named(kind) for kind in kinds)
    return f"{shown(_value(error))} is of the wrong type", named + (f" ({described})" if described else ""), ""


def _named(kind: str) -> str:
    return {"string": "text", "array": "a list", "object": "an object with keys", "integer": "a whole number",
            "number": "a number", "boolean": "true or false", "null": "null"}[kind]


def _say_enum(error: ValidationError, _: str) -> Said:
    allowed = [str(value) for value in _rule(error) if value is not None]
    return f"{shown(_value(error))} is not known", f"one of {', '.join(allowed)}", nearest(
        str(_value(error)), allowed)


def _say_const(error: ValidationError, _: str) -> Said:
    return f"{shown(_value(error))} is not allowed", shown(_rule(error)), ""


def _say_choice(error: ValidationError, described: str) -> Said:
    return f"{shown(_value(error))} fits none of the allowed forms", described, ""


def _say_limit(words: str) -> Callable[[ValidationError, str], Said]:
    def say(error: ValidationError, described: str) -> Said:
        limit = words.format(_rule(error))
        return f"{shown(_value(error))} is out of range", limit + (f" ({described})" if described else ""), ""

    return say


def _say_size(words: str) -> Callable[[ValidationError, str], Said]:
    def say(error: ValidationError, described: str) -> Said:
        size = len(_value(error))
        limit = words.format(_rule(error))
        return f"has {size}" if size else "is empty", limit + (f" ({described})" if described else ""), ""

    return say


def _say_pattern(error: ValidationError, described: str) -> Said:
    return f"{shown(_value(error))} has the wrong form", described or f"text that matches {_rule(error)}", ""


def _say_format(error: ValidationError, described: str) -> Said:
    return f"{shown(_value(error))} is no {_rule(error)}", described, ""


def _say_unique(_: ValidationError, described: str) -> Said:
    return "has an entry twice", described, ""


def _say_other(error: ValidationError, described: str) -> Said:
    return f"breaks the rule `{error.validator}`", described, ""


SAYINGS: Mapping[str, Callable[[ValidationError, str], Any]] = {
    "additionalProperties": _say_unknown_key,
    "required": _say_required,
    "type": _say_type,
    "enum": _say_enum,
    "const": _say_const,
    "anyOf": _say_choice,
    "oneOf": _say_choice,
    "minimum": _say_limit("at least {}"),
    "maximum": _say_limit("at most {}"),
    "exclusiveMinimum": _say_limit("more than {}"),
    "minLength": _say_size("at least {} characters"),
    "maxLength": _say_size("at most {} characters"),
    "minItems": _say_size("at least {} entries"),
    "maxItems": _say_size("at most {} entries"),
    "minProperties": _say_size("at least {} keys"),
    "pattern": _say_pattern,
    "format": _say_format,
    "uniqueItems": _say_unique,
}
