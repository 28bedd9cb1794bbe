"""Break a good document once for each rule of its schema.

Here: from a schema and a complete document, every document that keeps all rules but one. Not here: assertions.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

WRONG_KINDS = ("text", 5.5, ["text"], {"key": "text"}, True, None)
STRANGE = "\u0000 no such thing \n"


@dataclass(frozen=True, slots=True)
class Broken:
    """A document with one fault: the path and keyword of the rule that it breaks."""

    rule: str
    path: tuple[Any, ...]
    keyword: str
    document: Any


def breakages(root: Mapping[str, Any], document: Any) -> Iterator[Broken]:
    """Yield the document broken once for each rule that applies to any of its values."""
    for path, keyword, bad in _walk(root, root, document, ()):
        broken = json.loads(json.dumps(document))  # no part is shared with another
        if path:
            holder = broken
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = bad
        else:
            broken = bad
        yield Broken(f"{'.'.join(map(str, path)) or '$'} {keyword}", path, keyword, broken)


def unbroken_keys(root: Mapping[str, Any], document: Any) -> set[str]:
    """Return the properties of the schema that the document has nowhere: their rules are never broken."""
    seen = {path for path, _, _ in _walk(root, root, document, ())}
    missing = set()
    for path, schema, value in _places(root, root, document, ()):
        if isinstance(value, Mapping):
            missing |= {".".join(map(str, (*path, key))) for key in schema.get("properties", {}) if key not in value}
    assert seen
    return missing


Place = tuple[tuple[Any, ...], Mapping[str, Any], Any]


def _places(root: Mapping[str, Any], schema: Mapping[str, Any], value: Any, path: tuple[Any, ...]) -> Iterator[Place]:
    """Yield every schema that applies somewhere in the document, with its value."""
    if "$ref" in schema:
        target = root["$defs"][schema["$ref"].rpartition("/")[2]]
        yield from _places(root, target, value, path)
        schema = {key: item for key, item in schema.items() if key != "$ref"}
    yield path, schema, value
    for branch in schema.get("anyOf", ()):
        if _fits(root, branch, value):
            for place, rules, found in _places(root, branch, value, path):
                # What is of the wrong kind for one branch may be right for another: `anyOf` itself is broken below.
                yield place, {key: rule for key, rule in rules.items() if key != "type" or place != path}, found
    if "if" in schema:
        branch = schema.get("then" if _fits(root, schema["if"], value) else "else", {})
        yield from _places(root, branch, value, path)
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if isinstance(inner, Mapping):
                yield from _places(root, inner, item, (*path, key))
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _places(root, schema["items"], item, (*path, index))


def _walk(root: Mapping[str, Any], schema: Mapping[str, Any], value: Any, path: tuple[Any, ...]
          ) -> Iterator[tuple[tuple[Any, ...], str, Any]]:
    for place, rules, found in _places(root, schema, value, path):
        if "anyOf" in rules:
            yield place, "anyOf", next(bad for bad in WRONG_KINDS if not _fits(root, {"anyOf": rules["anyOf"]}, bad))
        for keyword, rule in rules.items():
            for bad in _bad_values(keyword, rule, found):
                yield place, keyword, bad


def _fits(root: Mapping[str, Any], schema: Mapping[str, Any], value: Any) -> bool:
    return bool(Draft202012Validator({**schema, "$defs": root.get("$defs", {})}).is_valid(value))


def _bad_values(keyword: str, rule: Any, value: Any) -> Iterator[Any]:
    if keyword == "type":
        kinds = [rule] if isinstance(rule, str) else rule
        yield next(bad for bad in WRONG_KINDS if not Draft202012Validator({"type": rule}).is_valid(bad))
        if "null" not in kinds:
            yield None
    elif keyword == "required":
        yield from ({key: item for key, item in value.items() if key != name} for name in rule)
    elif keyword == "additionalProperties" and rule is False:
        yield {**value, "surprise": 1}
    else:
        yield from _bad_scalars(keyword, rule, value)


def _bad_scalars(keyword: str, rule: Any, value: Any) -> Iterator[Any]:
    if value is None and keyword not in ("enum", "const"):
        return
    makers = {
        "enum": lambda: STRANGE, "const": lambda: STRANGE, "minimum": lambda: rule - 1, "maximum": lambda: rule + 1,
        "minLength": lambda: value[: rule - 1], "maxLength": lambda: "x" * (rule + 1),
        "pattern": lambda: next(bad for bad in (STRANGE, " ") if not re.search(rule, bad)),
        "format": lambda: "yesterday", "minItems": lambda: value[: rule - 1],
        "maxItems": lambda: (value or ["x"]) * (rule + 1), "uniqueItems": lambda: [*value, *value[:1]],
        "minProperties": dict, "propertyNames": lambda: {**value, "": next(iter(value.values()))},
    }
    if keyword in makers:
        yield makers[keyword]()
