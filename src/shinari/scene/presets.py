"""Materials by name."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from shinari import check
from shinari.errors import SceneError

M = TypeVar("M")


def preset_of(kind: type[M], presets: Mapping[str, M], name: Any, changes: Mapping[str, Any]) -> M:
    """A preset by name, with fields changed.

    Args:
        kind: Class of the material.
        presets: Its presets.
        name: Name of one of them; capitals do not matter.
        changes: Fields and their values.

    Raises:
        SceneError: No such preset or no such field; the message lists those that exist.
    """
    chosen = presets.get(name.lower()) if isinstance(name, str) else None
    if chosen is None:
        raise SceneError(
            f"{kind.__name__}: preset {check.short(name)} is unknown; known are {check.names(sorted(presets))}"
        )
    check_fields(kind.__name__, kind, changes)
    return replace(chosen, **changes)  # type: ignore[type-var]


def check_fields(label: str, kind: Any, changes: Mapping[str, Any]) -> None:
    """Refuse names that are no fields of a material.

    Raises:
        SceneError: One of them is none.
    """
    known = [field.name for field in fields(kind)]
    for field in changes:
        if field not in known:
            raise SceneError(f"{label}: {check.told(field)}: unknown field; known are {check.names(known, near=field)}")
