"""The rule engine's file: what it is, which rules it has, and which of them run under the settings.

Here: reading the file and asking it, in Playwright's own node, without a browser. Not here: running it on a page
(`frames.py`, `engine.js`). Next: `tasks/freeze.py` pins the build in the plan.
"""

import difflib
import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright._impl._driver import compute_driver_executable

from schemas.engine import EngineBuild, RuleInfo
from schemas.errors import ContractError, Offence, bad_input
from schemas.occurrence import canonical_json

NODE_SECONDS = 60.0
PRELOAD_MS = 3_000  # the engine's own fetch of style sheets of other hosts: short, a dead host must not hold a page
ALWAYS_ON = "frame-tested"  # without it a frame that nobody tested looks clean

# The engine is asked itself: which rules run is its own business (tags that are off by default, page-level rules).
ASK = """
const [, file, options] = process.argv;
const module_ = {exports: {}};
new Function("module", "exports", require("fs").readFileSync(file, "utf8"))(module_, module_.exports);
const axe = module_.exports;
const chosen = JSON.parse(options);
const known = new Set(axe.getRules().map((rule) => rule.ruleId));
chosen.rules = Object.fromEntries(Object.entries(chosen.rules).filter(([id]) => known.has(id)));
const isOn = (id) => axe.utils.ruleShouldRun(axe._audit.rules.find((rule) => rule.id === id), {page: true}, chosen);
const rules = axe.getRules().map((rule) => [rule.ruleId, rule.tags, isOn(rule.ruleId), rule.help]);
process.stdout.write(JSON.stringify({version: axe.version, rules}));
"""


def engine_path(path: str | None) -> Path:
    """Return the engine's file: the given one, or the one that `axe-playwright-python` carries."""
    return Path(path) if path else Path(str(files("axe_playwright_python") / "axe.min.js"))


def engine_source(path: str | None) -> str:
    """Read the engine's source.

    Raises:
        ContractError: the file can't be read.
    """
    return _read(path).decode("utf-8", "replace")


def file_digest(path: str | None) -> str:
    """Return the SHA-256 of the engine's file.

    Raises:
        ContractError: the file can't be read.
    """
    return hashlib.sha256(_read(path)).hexdigest()


def read_engine(path: str | None, rules: Sequence[tuple[str, bool]]) -> EngineBuild:
    """Describe an engine build under the rules of the settings, without a browser.

    Args:
        path: of another engine file than the installed one.
        rules: ids of rules that are switched on or off, on top of the engine's defaults.

    Raises:
        ContractError: the file can't be read or is no rule engine, a rule is unknown, or `frame-tested` is off.
    """
    options = run_options(rules)
    known = _ask(str(engine_path(path)), file_digest(path), options)
    offences = _rule_offences(rules, [row[0] for row in known["rules"]])
    if offences:
        raise ContractError(offences)
    return EngineBuild(
        version=known["version"],
        digest=file_digest(path),
        options=options,
        options_digest=hashlib.sha256(options.encode()).hexdigest(),
        rules=tuple(sorted((RuleInfo(rule, tuple(tags), is_on, text) for rule, tags, is_on, text in known["rules"]),
                           key=lambda info: info.rule)),
    )


def run_options(rules: Sequence[tuple[str, bool]]) -> str:
    """Return the effective options of a run of the engine as canonical JSON."""
    switched = {**dict(rules), ALWAYS_ON: True}
    return canonical_json({
        "rules": {rule: {"enabled": is_on} for rule, is_on in switched.items()},
        "preload": {"assets": ["cssom", "media"], "timeout": PRELOAD_MS},
    })


def _read(path: str | None) -> bytes:
    file = engine_path(path)
    try:
        return file.read_bytes()
    except OSError as error:
        raise bad_input(f"engine {file}", f"can't be read ({error.strerror})", "a file such as axe.min.js") from None


@cache
def _ask(file: str, digest: str, options: str) -> Mapping[str, Any]:
    del digest  # part of the cache's key: another content under the same name is asked anew
    node = compute_driver_executable()[0]
    try:
        answer = subprocess.run([node, "-e", ASK, file, options], capture_output=True, timeout=NODE_SECONDS, check=True)
        known: Mapping[str, Any] = json.loads(answer.stdout)
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        detail = getattr(error, "stderr", None) or str(error).encode()
        said = [line for line in detail.decode("utf-8", "replace").splitlines() if "Error" in line] or [str(error)]
        raise bad_input(f"engine {file}", f"is no rule engine ({said[0][:200]})",
                        "an axe-core build such as axe.min.js") from None
    return known


def _rule_offences(rules: Sequence[tuple[str, bool]], known: Sequence[str]) -> list[Offence]:
    offences = []
    for rule, is_on in rules:
        if rule not in known:
            near = difflib.get_close_matches(rule, known, n=3)
            remedy = f"Did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else ""
            offences.append(Offence(f"rule {rule}", "the engine has no such rule", "the id of one of its rules",
                                    remedy))
        elif rule == ALWAYS_ON and not is_on:
            offences.append(Offence(f"rule {rule}", "is always on", "no switch for it",
                                    "Without it, a frame that nobody tested would look clean."))
    return offences
