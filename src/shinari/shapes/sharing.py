"""Equal shapes share the tables that are built for them."""

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from shinari.shapes.base import Shape

S = TypeVar("S", bound=Shape)


def different(shapes: Sequence[S], *names: str) -> tuple[list[S], list[int]]:
    """Each different shape once, in the order of the first of each, and for every shape its place there.

    They are compared by what they hold: in a scene from a file every body has a shape of its own.

    Args:
        shapes: Shapes of one type.
        names: Their attributes that count: arrays, tuples of arrays, or values.
    """
    found: list[S] = []
    places: dict[Hashable, int] = {}
    objects: dict[int, int] = {}
    for shape in shapes:
        if id(shape) not in objects:
            content = tuple(_content(getattr(shape, name)) for name in names)
            if content not in places:
                places[content] = len(found)
                found.append(shape)
            objects[id(shape)] = places[content]
    return found, [objects[id(shape)] for shape in shapes]


def _content(value: Any) -> Hashable:
    """A value to be compared."""
    if isinstance(value, tuple):
        return tuple(_content(item) for item in value)
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value
