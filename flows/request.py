"""What a user asks for: one record for the command line, for a deployment's form in the UI, and for both their checks.

Here: names and their checks. Not here: the runner (fixed before a flow's body runs: `settings.py`), secrets (by
reference only). Where `FANFOLD_ROOT` is set (a deployment sets it), every file is a name under that root, never a path
of the worker.
"""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flows.sample import is_sample_file
from schemas.errors import ContractError, Offence, bad_input

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class AuditRequest(BaseModel):
    """What to audit and by what to judge it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = Field(min_length=1, description="Manifest or sitemap: a file's name or an http(s) address.")
    estate: Name | None = Field(default=None, description="Name of the estate; default: the manifest's own.")
    policy: str | None = Field(default=None, description="Policy file; default: critical and serious faults block.")
    suppressions: str | None = Field(default=None, description="Suppressions file; default: none.")
    baseline: str | None = Field(default=None, description="Baseline file; default: the estate's own, if any.")
    history: str | None = Field(default=None, description="More timing history: a file, beside the estate's own.")
    run_id: Name | None = Field(default=None, description="Name of the run; default: the id of the flow run.")
    shards: int | None = Field(default=None, ge=1, le=9_999, description="Number of shards; default: by load.")
    run_budget_s: int | None = Field(default=None, ge=1, description="Seconds after which no further route is begun.")
    rescan: list[str] = Field(default_factory=list, description="Patterns of routes to scan again (`glob:`, `re:`).")

    def path(self, name: str) -> str | None:
        """Return one of the request's files as a path: under the configured root where there is one.

        The sample's files are the program's own and lie where it is installed.

        Args:
            name: of the field.

        Raises:
            ContractError: the file's name leaves the root.
        """
        value: str | None = getattr(self, name)
        root = os.environ.get("FANFOLD_ROOT")
        if value is None or root is None or value.startswith(("http://", "https://")) or is_sample_file(value):
            return value
        if PurePosixPath(value).is_absolute() or ".." in PurePosixPath(value).parts or "://" in value:
            raise bad_input(f"{name} {value!r}", "leaves the configured root", "a relative name without `..`")
        return str(Path(root) / value)


def as_request(values: Mapping[str, Any]) -> AuditRequest:
    """Check values as a request.

    Raises:
        ContractError: every value that is not what it should be.
    """
    try:
        return AuditRequest(**values)
    except ValidationError as error:
        offences = [Offence(".".join(map(str, fault["loc"])).replace("_", " "), f"{fault['input']!r} cannot be taken",
                            fault["msg"]) for fault in error.errors()]
        raise ContractError(offences) from None
