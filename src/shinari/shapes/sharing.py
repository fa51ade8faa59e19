"""Equal shapes, so that what is built for one is held once."""

from collections.abc import Hashable, Sequence
from dataclasses import fields
from typing import TypeVar

import numpy as np

from shinari.shapes.base import Shape

S = TypeVar("S", bound=Shape)


def different(shapes: Sequence[S]) -> tuple[list[S], list[int]]:
    """Each different shape once, in the order of the first of each, and for every shape its place there.

    They are compared by what they hold: in a scene from a file every body has a shape of its own.
    """
    found: list[S] = []
    places: dict[Hashable, int] = {}
    objects: dict[int, int] = {}
    for shape in shapes:
        if id(shape) not in objects:
            content = _content(shape)
            if content not in places:
                places[content] = len(found)
                found.append(shape)
            objects[id(shape)] = places[content]
    return found, [objects[id(shape)] for shape in shapes]


def _content(shape: Shape) -> Hashable:
    """What a shape was made from, to be compared."""
    values = (getattr(shape, field.name) for field in fields(shape) if field.init)  # type: ignore[arg-type]
    return type(shape), *(
        (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value for value in values
    )
