"""What README shows is what the program reads: its files are parsed as they stand there."""

import json
import re
from pathlib import Path

import yaml

from schemas.cells import CellAction
from schemas.policy import parse_policy
from schemas.shape import offences_in
from schemas.suppression import parse_suppressions
from tasks.load.yaml_file import load_yaml

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def snippet(first_line: str) -> str:
    """Return the indented block that begins with a line, without its indent."""
    lines = README.split(f"    {first_line}", 1)[1].split("\n\n", 1)[0]
    return re.sub(r"^    ", "", f"    {first_line}{lines}", flags=re.MULTILINE)


def test_the_policy_is_one() -> None:
    policy = parse_policy(load_yaml(snippet("standard: wcag22").encode(), "README.md"), "README.md", None)
    assert policy.cells["serious", "primary"].action is CellAction.BLOCK_NEW
    assert policy.cells["critical", "secondary"].action is CellAction.BLOCK
    assert (policy.coverage.min_routes, len(policy.accepted), len(policy.overrides)) == (500, 1, 1)


def test_the_suppressions_are_some() -> None:
    text = snippet("suppressions:")
    (entry,) = parse_suppressions(load_yaml(text.encode(), "README.md"), "README.md", None)
    assert (entry.rule, entry.owner) == ("image-alt", "brand")


def test_the_manifest_is_one() -> None:
    document = json.loads(snippet('{"estate": "shop"'))
    assert offences_in("manifest", document, "README.md") == []


def test_the_settings_are_some() -> None:
    settings = yaml.safe_load(snippet("scan:"))
    assert offences_in("settings", settings, "README.md") == []
