"""Objects that refuse attributes that they do not have."""

import inspect
from functools import cache
from typing import Any

from shinari import check
from shinari.errors import SceneError


class OwnAttributes:
    """A class whose objects can be given those attributes only that it annotates, properties with a setter among them.

    A value under a misspelt name would be kept, and nothing would change. Private names are free, and so is a class
    that a user derives: it has no label of its own.
    """

    _label = ""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute.

        Raises:
            SceneError: There is none of that name, or it cannot be assigned.
        """
        cls = type(self)
        if not name.startswith("_") and "_label" in vars(cls) and name not in assignable(cls):
            raise SceneError(_refusal(cls, name))
        super().__setattr__(name, value)


@cache
def assignable(cls: type) -> frozenset[str]:
    """Names that can be assigned: what a class and its bases annotate, and their properties with a setter."""
    annotated = {name for base in cls.__mro__ for name in inspect.get_annotations(base)}
    setters = {name for name in dir(cls) if getattr(getattr(cls, name), "fset", None) is not None}
    return frozenset(name for name in annotated | setters if not name.startswith("_"))


def _refusal(cls: type, name: str) -> str:
    label, free = cls.__dict__["_label"], sorted(assignable(cls))
    if hasattr(cls, name):
        return f"{label}: {name}: cannot be assigned; attributes that can be are {check.names(free, near=name)}"
    known = sorted({*free, *(each for each in dir(cls) if not each.startswith("_"))})
    return f"{label}: unknown name {check.short(name)}; known are {check.names(known, near=name)}"
