"""What is done on a page before it is judged: click, fill, wait, dismiss.

Here: one step as a record, in its three forms: as the manifest says it, as the plan keeps it, as people read it.
Not here: doing it (`tasks/scan/act.py`).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from schemas.occurrence import canonical_json


class ActionKind(StrEnum):
    """What can be done; each is the key of a step in the manifest."""

    CLICK = "click"
    FILL = "fill"
    WAIT = "wait"
    WAIT_MS = "wait_ms"
    DISMISS = "dismiss"


@dataclass(frozen=True, slots=True)
class Action:
    """One step: `click`, `fill`, `wait` and `dismiss` have a selector, `fill` a value, `wait_ms` a time.

    Attributes:
        value: what is typed; may hold `{{secret:NAME}}`.
        duration_ms: how long is waited.
    """

    kind: ActionKind
    selector: str | None = None
    value: str | None = None
    duration_ms: int | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Action":
        """Return a step that is known to keep `manifest.schema.json`."""
        (kind,) = (kind for kind in ActionKind if kind in document)
        if kind is ActionKind.WAIT_MS:
            return cls(kind, duration_ms=document[kind])
        return cls(kind, selector=document[kind], value=document.get("value"))

    @property
    def document(self) -> dict[str, Any]:
        """The step as the manifest says it."""
        value = {} if self.value is None else {"value": self.value}
        return {self.kind.value: self.duration_ms if self.kind is ActionKind.WAIT_MS else self.selector, **value}

    def __str__(self) -> str:
        if self.kind is ActionKind.WAIT_MS:
            return f"wait {self.duration_ms} ms"
        return f"{self.kind} {self.selector}"


def actions_text(actions: Iterable[Action]) -> str | None:
    """Return steps as a plan keeps them: one text, or None where there are none."""
    documents = [action.document for action in actions]
    return canonical_json(documents) if documents else None


def actions_in(text: str | None) -> tuple[Action, ...]:
    """Return the steps that a plan keeps."""
    return tuple(map(Action.of, json.loads(text))) if text else ()
