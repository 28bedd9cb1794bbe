"""What ended a shard other than by a receipt: a refusal, a death.

Here: the record, an entry of `verdict.json`. Not here: the proof of a shard that ended (`schemas/receipt.py`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShardFault:
    """One fault; `text` names the shard and says what happened, for people."""

    shard_index: int
    text: str
