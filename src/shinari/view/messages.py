"""Messages of the clients, checked before viser reads them.

viser trusts its clients: it sets any attribute of a control to whatever was sent, and a message of another form ends in
a traceback. Here only the messages that the page sends pass, with fields of their types, finite numbers, and values
that the control could have.
"""

from collections.abc import Callable
from typing import Any

import msgspec

ACCEPTED = (
    "ViewerCameraMessage",
    "GuiUpdateMessage",
    "SceneNodeClickMessage",
    "SceneNodeDragMessage",
    "LocalStorageGetItemResponseMessage",
)
"""Messages that clients may send. A panel that uses another one adds it here."""
LARGEST_MESSAGE = 2**18
"""Bytes of a message."""
LARGEST_NUMBER = 1e12
"""Largest number in a message; positions are in metres."""
SLACK = 1e-9
"""How far beyond the end of a slider rounding may bring it, as a part of its length."""

Find = Callable[[str], Any]
"""Gives the control of an identifier; None: there is none."""


class Messages:
    """Tells which messages are whole.

    Args:
        types: Module of viser with the types of the messages.
    """

    def __init__(self, types: Any) -> None:
        self._decoders = {name: msgspec.msgpack.Decoder(getattr(types, name)) for name in ACCEPTED}
        self._fields = {name: set(getattr(types, name).__dataclass_fields__) for name in ACCEPTED}

    def problem(self, raw: bytes | str, find: Find) -> str | None:
        """Why a message must not be read; None when it may.

        Args:
            raw: The message.
            find: Gives the control that the message may name.
        """
        if isinstance(raw, str):
            return "it is text"
        try:
            return self._problem(raw, find)
        except msgspec.MsgspecError as error:
            return str(error)
        except Exception as error:  # whatever a stranger sends ends here
            return f"{type(error).__name__}: {error}"

    def _problem(self, raw: bytes, find: Find) -> str | None:
        fields = msgspec.msgpack.decode(raw)
        kind = fields.pop("type", None) if isinstance(fields, dict) else None
        if not isinstance(kind, str) or kind not in self._decoders:
            return f"its type is {str(kind)[:40]!a}"
        if not fields.keys() <= self._fields[kind]:
            return f"a {kind} has unknown fields"
        message = self._decoders[kind].decode(raw)
        if not _finite(fields):
            return f"a {kind} has numbers that are not finite or too large"
        if kind == "ViewerCameraMessage" and min(message.image_height, message.image_width) <= 0:
            return "a picture has no size"
        if kind == "GuiUpdateMessage":
            control = find(message.uuid)
            # one that was removed meanwhile is nobody's fault: viser leaves the message out
            return None if control is None else value_problem(control, message.updates)
        return None


def value_problem(control: Any, updates: dict[str, Any]) -> str | None:
    """Why a control cannot have the values that a client sends; None when it can.

    Args:
        control: Handle of viser.
        updates: New values of its properties.
    """
    if updates.keys() != {"value"}:
        return f"it changes {', '.join(sorted(map(repr, updates)))[:80]} of a control"
    value, current = updates["value"], control.value
    low, high, options = (getattr(control, name, None) for name in ("min", "max", "options"))
    if options is not None:
        good = value in options
    elif isinstance(current, bool):
        good = isinstance(value, bool)
    elif isinstance(current, int | float):
        good = _within(value, low, high)
    elif isinstance(current, tuple):
        good = isinstance(value, list) and len(value) == len(current)
        ends = zip(low or [None] * len(current), high or [None] * len(current), strict=True)
        good = good and all(_within(v, *pair) for v, pair in zip(value, ends, strict=True))
    else:
        good = type(value) is type(current)
    return None if good else f"{str(value)[:40]!a} is no value of a control"


def _within(value: Any, low: float | None, high: float | None) -> bool:
    """Whether a value is a number between two ends."""
    if not _is_number(value):
        return False
    slack = SLACK * (high - low) if low is not None and high is not None else 0.0
    return (low is None or value >= low - slack) and (high is None or value <= high + slack)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(value: Any) -> bool:
    """Whether all numbers in a value are finite and not too large."""
    if isinstance(value, dict):
        return all(_finite(part) for part in value.values())
    if isinstance(value, list | tuple):
        return all(_finite(part) for part in value)
    return not _is_number(value) or abs(value) <= LARGEST_NUMBER
