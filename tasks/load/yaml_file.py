"""Read a YAML document that people write: settings, policy, suppressions.

Here: bytes to plain values, and holding them against a schema. Not here: what the values mean.
What YAML does behind a writer's back is switched off or refused: keys that are given twice, dates that become objects,
numbers that are not decimal (010 is eight, 1:30 is ninety), aliases that grow without bound.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from schemas.errors import ContractError, Offence, bad_input
from schemas.shape import offences_in

DOCUMENT_BYTES = 4 * 1024 * 1024
EXPANDED_VALUES = 200_000


DECIMAL = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(0|[1-9][0-9]*)$"),
    "tag:yaml.org,2002:float": re.compile(
        r"([-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"),
}


class _Loader(yaml.SafeLoader):
    """Safe values only; a date stays the text that it was, as in JSON, and so does a number that is not decimal."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, DECIMAL.get(tag, pattern)) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_yaml(data: bytes, subject: str) -> Any:
    """Parse one YAML document (JSON is YAML too).

    Args:
        data: the file. subject: what to call it in messages.

    Returns:
        Plain values: None for an empty document.

    Raises:
        ContractError: no UTF-8, no YAML, keys that are doubled or no text, or aliases that grow too large.
    """
    if len(data) > DOCUMENT_BYTES:
        raise bad_input(subject, f"has {len(data)} bytes", f"at most {DOCUMENT_BYTES}")
    try:
        loader = _Loader(data.decode("utf-8-sig"))
        node = loader.get_single_node()
        if node is None:
            return None
        offences = list(_offences(node, subject))
        if offences:
            raise ContractError(offences)
        return loader.construct_document(node)
    except UnicodeDecodeError as error:
        raise bad_input(subject, f"is no UTF-8 (byte {error.start})", "a YAML file in UTF-8") from None
    except RecursionError:
        raise bad_input(subject, "is nested too deeply", "a YAML document that people can read") from None
    except yaml.YAMLError as error:
        raise bad_input(subject, f"is no YAML: {_said(error)}", "one YAML document") from None


def load_document(data: bytes, subject: str, schema: str) -> dict[str, Any]:
    """Parse a YAML document and hold it against `schemas/<schema>.schema.json`.

    Raises:
        ContractError: whatever is wrong, all of it at once.
    """
    document = load_yaml(data, subject)
    offences = offences_in(schema, {} if document is None else document, subject)
    if offences:
        raise ContractError(offences)
    return dict(document or {})


def _offences(root: yaml.Node, subject: str) -> Iterator[Offence]:
    if _expanded(root, {}) > EXPANDED_VALUES:
        yield Offence(subject, "its aliases grow too large", f"at most {EXPANDED_VALUES} values", "Write them out.")
        return
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield from _key_offences(node, subject)
            waiting += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _expanded(node: yaml.Node, known: dict[int, int]) -> int:
    """Count the values of a node with every alias written out; an alias to what it stands in counts as endless."""
    if id(node) not in known:
        known[id(node)] = EXPANDED_VALUES + 1  # what a cycle finds
        children: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            children = [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            children = node.value
        known[id(node)] = 1 + sum(_expanded(child, known) for child in children)
    return known[id(node)]


def _key_offences(node: yaml.MappingNode, subject: str) -> Iterator[Offence]:
    seen: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if key.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
            written = f"the key `{key.value}`" if isinstance(key, yaml.ScalarNode) else "a key"
            yield Offence(f"{subject}: line {line}", f"{written} is no text", "a word",
                          "Put it in quotation marks.")
        elif key.value in seen:
            yield Offence(f"{subject}: line {line}", f"the key `{key.value}` is there twice",
                          f"one (the first is in line {seen[key.value]})")
        else:
            seen[key.value] = line


def _said(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{error.problem} in line {error.problem_mark.line + 1}, column {error.problem_mark.column + 1}"
    return str(error).splitlines()[0]
