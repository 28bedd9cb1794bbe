"""`fanfold automations install`: what wakes somebody, as Prefect automations.

Here: reading the file and putting it on the server, by name: a second time replaces and never doubles. Not here:
what they are (`deployments/automations.yaml`), the events (`artifacts.py`).
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from schemas.errors import bad_input
from schemas.exit_code import ExitCode

if TYPE_CHECKING:  # Prefect takes seconds to import, and `--help` needs none of it
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.events.schemas.automations import AutomationCore

BLOCK_NAME = "fanfold-alerts"
FILE_NAME = "automations.yaml"

automations = typer.Typer(no_args_is_help=True, help="Alerts for a Prefect server.")

Webhook = Annotated[str | None, typer.Option(
    help="Address that is called; kept as a secret block. Default: the block that is there.")]
Private = Annotated[bool, typer.Option("--allow-private", help="Allow an address of this machine or network.")]
File = Annotated[str | None, typer.Option("--file", help="Automations file; default: ours.")]


@automations.command()
def install(webhook: Webhook = None, allow_private: Private = False, file: File = None) -> int:
    """Install the automations on the Prefect server in force; the same names are replaced."""
    from flows.server import client_environment, known_server

    address = known_server()
    if address is None:
        raise bad_input("Prefect server", "there is none to install on", "one that stays",
                        "Set PREFECT_API_URL, or keep one with `fanfold up`.")
    os.environ.update(client_environment(address))
    from prefect.client.orchestration import get_client

    block_id = _webhook_block(webhook, allow_private)
    with get_client(sync_client=True) as client:
        for automation in read_automations(file or str(locate_file()), block_id):
            print(f"{_put(client, automation)}: {automation.name}")
    return ExitCode.PASSED


@automations.callback()
def _group() -> None:
    """Keep `install` a word of its own, also while it is the only one."""


def locate_file() -> Path:
    """Return our automations file: in an installed package, else in the checkout."""
    here = Path(__file__).parent
    return next((path for path in (here / FILE_NAME, here.parents[1] / "deployments" / FILE_NAME) if path.is_file()),
                here / FILE_NAME)


def read_automations(path: str, block_id: UUID) -> "list[AutomationCore]":
    """Read an automations file and give every webhook its block.

    Raises:
        ContractError: the file is not there or is none of Prefect's automations.
    """
    from prefect.events.schemas.automations import AutomationCore
    from pydantic import ValidationError

    from tasks.load import load_yaml
    from tasks.store import read_source

    document: Any = load_yaml(read_source(path), path)
    found = []
    for entry in (document or {}).get("automations", []):
        for action in entry.get("actions", []):
            if action.get("type") == "call-webhook":
                action["block_document_id"] = str(block_id)
        try:
            found.append(AutomationCore(**entry))
        except ValidationError as error:
            raise bad_input(f"{path}: {entry.get('name')}", str(error).splitlines()[0], "an automation") from None
    return found


def _webhook_block(address: str | None, is_private_allowed: bool) -> UUID:
    """Keep the address as a block of the server, or find the one that is there.

    Raises:
        ContractError: none is given and none is there, or the server would not call it.
    """
    from prefect.blocks.webhook import Webhook as WebhookBlock
    from pydantic import SecretStr

    if address is not None:
        if not is_private_allowed:
            require_public(address)
        block = WebhookBlock(url=SecretStr(address), allow_private_urls=is_private_allowed)
        return UUID(str(block.save(BLOCK_NAME, overwrite=True)))
    known: Any
    try:
        known = WebhookBlock.load(BLOCK_NAME)
    except ValueError:
        raise bad_input(f"webhook block {BLOCK_NAME}", "is not on the server", "an address to call",
                        "Say --webhook ADDRESS once.") from None
    if not known.allow_private_urls:
        require_public(known.url.get_secret_value())
    return UUID(str(known._block_document_id))


def require_public(address: str) -> None:
    """Ask Prefect's own check now: the server would make it at every call, and tell nobody but its log.

    Raises:
        ContractError: says why without the address, which is a secret.
    """
    from prefect.utilities.urls import validate_restricted_url

    try:
        validate_restricted_url(address)
    except ValueError as error:
        why = str(error).rpartition("is not a valid URL.")[2].strip() or "is no http(s) address"
        raise bad_input("webhook", why, "a public address",
                        "Where it is meant to be private, say --webhook ADDRESS --allow-private.") from None


def _put(client: "SyncPrefectClient", automation: "AutomationCore") -> str:
    """Create an automation, or replace the one of the same name."""
    known = client.read_automations_by_name(automation.name)
    if not known:
        client.create_automation(automation)
        return "installed"
    client.update_automation(known[0].id, automation)
    for double in known[1:]:
        client.delete_automation(double.id)
    return "replaced"
