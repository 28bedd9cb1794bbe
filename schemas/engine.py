"""The rule engine as a build: its version, its digest, the rules that it has.

Here: what is known of the engine without a browser. Not here: running it (`tasks/scan/`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """A rule that the engine build has; `is_on` is its state under the effective options."""

    rule: str
    tags: tuple[str, ...]
    is_on: bool
    help: str = ""


@dataclass(frozen=True, slots=True)
class EngineBuild:
    """An engine file.

    Attributes:
        version: as the engine says it (`4.12.1`).
        digest: SHA-256 of the file.
        options: canonical JSON of the effective run options. options_digest: its SHA-256.
        rules: every rule of the build, by id.
    """

    version: str
    digest: str
    options: str
    options_digest: str
    rules: tuple[RuleInfo, ...]
