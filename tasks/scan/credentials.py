"""Find what a scan needs to enter the estate: secrets and auth profiles, each by its name.

Here: `FANFOLD_SECRET_NAME`, `FANFOLD_SECRET_NAME_FILE` (a file that holds it) and `FANFOLD_PROFILE_NAME` (the path of a
profile), and what a parent handed over. Not here: using any of it (`access.py`), Prefect's blocks
(`flows/secret_blocks.py`). No message repeats a value.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from schemas.errors import ContractError, Offence
from schemas.placeholder import SECRET_PLACEHOLDER, fill_secrets
from schemas.plan import PlannedRoute
from schemas.shape import offences_in
from tasks.scan.access import Access, SignInCheck
from tasks.store import read_source

SECRET_PREFIX = "FANFOLD_SECRET_"  # noqa: S105 - the name of a variable
PROFILE_PREFIX = "FANFOLD_PROFILE_"
FILE_SUFFIX = "_FILE"
HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")

Found = TypeVar("Found")
Read = Callable[[str], bytes]


def variable_for(prefix: str, name: str) -> str:
    """Return the variable of a secret or profile: `api-token` is `FANFOLD_SECRET_API_TOKEN`."""
    return prefix + re.sub(r"[^A-Za-z0-9]", "_", name).upper()


def secret_names(texts: Iterable[str | None]) -> list[str]:
    """Return the secrets that texts ask for, sorted."""
    return sorted({found[9:-2] for text in texts if text for found in SECRET_PLACEHOLDER.findall(text)})


@dataclass(frozen=True)
class Credentials:
    """Where secrets and profiles are looked for.

    Args:
        environment: of this process. handed: secrets that a parent handed over; they go first.
        read: returns the bytes of a file.
    """

    environment: Mapping[str, str]
    handed: Mapping[str, str] = field(default_factory=dict)
    read: Read = read_source

    def secret(self, name: str) -> str:
        """Return a secret.

        Raises:
            ContractError: it is nowhere, it is empty, or its file can't be read.
        """
        variable = variable_for(SECRET_PREFIX, name)
        value = self.handed.get(name) or self.environment.get(variable)
        path = self.environment.get(variable + FILE_SUFFIX)
        if not value and path:
            value = _text(self.read(path), path).rstrip("\r\n")
        if not value:
            raise ContractError([Offence(
                f"secret {name}", "is nowhere to be found",
                f"{variable}, or {variable}{FILE_SUFFIX} with the path of a file",
                "Set one where shards are scanned, or name it under `secret_blocks` as a Prefect Secret.")])
        return value

    def access(self, auth: str | None, needed: Iterable[str | None], further: Iterable[str | None] = ()) -> Access:
        """Gather what a shard needs.

        Args:
            auth: profile of the shard's routes. needed: texts whose secrets must be there.
            further: texts whose secrets are taken where they are known.

        Raises:
            ContractError: everything that is missing, all at once.
        """
        offences: list[Offence] = []
        profile = (_take(self.profile, auth, offences) if auth is not None else None) or {}
        headers: Mapping[str, str] = profile.get("headers", {})
        check = SignInCheck(**profile["check"]) if "check" in profile else None
        secrets: dict[str, str] = {}
        for name in secret_names([*needed, *headers.values(), check.url if check else None]):
            secrets[name] = _take(self.secret, name, offences) or ""
        if offences:
            raise ContractError(offences)
        for name in secret_names(further):
            if name not in secrets and (value := _take(self.secret, name, [])):
                secrets[name] = value
        headers = {name: fill_secrets(value, secrets.__getitem__) for name, value in headers.items()}
        _check_headers(auth, headers)
        state = {key: profile.get(key, []) for key in ("cookies", "origins")} if profile.keys() & {
            "cookies", "origins"} else None
        return Access(auth, state, headers, secrets, check)

    def profile(self, name: str) -> dict[str, Any]:
        """Read the file of a profile.

        Raises:
            ContractError: there is none, or it breaks its schema.
        """
        variable = variable_for(PROFILE_PREFIX, name)
        path = self.environment.get(variable)
        subject = f"auth profile {name}"
        if not path:
            raise ContractError([Offence(subject, f"{variable} is not set", "the path of its file",
                                         "Save one with `playwright open --save-storage`, or write its headers.")])
        try:
            document = json.loads(_text(self.read(path), path))
        except ValueError as error:
            line = getattr(error, "lineno", None)
            raise ContractError([Offence(
                subject, f"{path} is no JSON" + (f" (line {line})" if line else ""), "a JSON file in UTF-8")]) from None
        offences = offences_in("profile", document, f"{subject} ({path})")
        if offences:
            raise ContractError(offences)
        found: dict[str, Any] = document
        return found


def check_access(routes: Iterable[PlannedRoute], credentials: Credentials, at_shard: Iterable[str] = ()) -> None:
    """Refuse a plan whose profiles and secrets are not there, before anything is scanned.

    Args:
        at_shard: secrets that only the task of a shard fetches.

    Raises:
        ContractError: everything that is missing, all at once.
    """
    later = dict.fromkeys(at_shard, "fetched later")
    known = Credentials(credentials.environment, later | dict(credentials.handed), credentials.read)
    texts: dict[str | None, list[str | None]] = {}
    for route in routes:
        found = texts.setdefault(route.auth, [])
        found += [text for text in route.texts_with_secrets if text and "{{secret:" in text]
    offences: list[Offence] = []
    for auth, needed in texts.items():
        try:
            known.access(auth, needed)
        except ContractError as error:
            offences += error.offences
    if offences:
        raise ContractError(offences)


def _take(find: Callable[[str], Found], name: str, offences: list[Offence]) -> Found | None:
    try:
        return find(name)
    except ContractError as error:
        offences += error.offences
        return None


def _text(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ContractError([Offence(path, "is no UTF-8", "text in UTF-8")]) from None


def _check_headers(auth: str | None, headers: Mapping[str, str]) -> None:
    """Refuse what would break out of a header; the message names the header and never its value."""
    bad = [name for name, value in headers.items()
           if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not HEADER_VALUE.fullmatch(value)]
    if bad:
        raise ContractError([Offence(f"auth profile {auth}", f"{name!r} is no header that can be sent",
                                     "a name and a value in ASCII, on one line") for name in bad])
