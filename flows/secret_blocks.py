"""Read the Prefect Secret blocks that the settings name, in the task of a shard.

Here: names to values. Not here: secrets of environment and files (`tasks/scan/credentials.py`). The values go to the
shard's process on standard input; they are no parameter, no result and no log line of any run.
"""

import re
from collections.abc import Iterable, Mapping

from schemas.errors import ContractError, Offence


def block_of(name: str) -> str:
    """Return the block that holds a secret: Prefect allows lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def read_secret_blocks(names: Iterable[str]) -> Mapping[str, str]:
    """Read secrets from their blocks.

    Args:
        names: as `{{secret:NAME}}` says them; without any, Prefect is not asked.

    Raises:
        ContractError: blocks that are not there or hold no text; no message repeats a value.
    """
    values: dict[str, str] = {}
    offences = []
    for name in names:
        value = _read(block_of(name))
        if isinstance(value, str) and value:
            values[name] = value
        else:
            offences.append(Offence(
                f"secret {name}", "its Prefect Secret block is not there or holds no text",
                f"a block `secret/{block_of(name)}`", "Make it in the Prefect UI, under Blocks."))
    if offences:
        raise ContractError(offences)
    return values


def _read(block: str) -> object:
    from prefect.blocks.system import Secret

    try:
        return Secret.load(block).get()  # type: ignore[union-attr] # in a plain function it is loaded when it returns
    except ValueError:  # what Prefect says of a block that is not there
        return None
