"""Tables of a scene file: colliders, their shapes and motions."""

from typing import TYPE_CHECKING, Annotated, Union

from msgspec import Meta

from shinari.schema_types import Name, NonNegative, Quaternion, Ratio, Table, Vector
from shinari.shapes.registry import shape_types

if TYPE_CHECKING:
    ShapeTable = Table
else:
    ShapeTable = Union[tuple(dict.fromkeys(each.table for each in shape_types() if each.table is not None))]  # noqa: UP007
"""A shape: the table of its file in `shinari.shapes`."""


class KeyframesTable(Table, tag_field="type", tag="keyframes"):
    """Poses at given times, linear in between, held outside.

    Attributes:
        times: Increasing times [s].
        positions: Position at each time [m].
        rotations: Rotation at each time, w x y z; left out: none.
    """

    times: Annotated[list[float], Meta(min_length=1)]
    positions: Annotated[list[Vector], Meta(min_length=1)]
    rotations: list[Quaternion] | None = None


class OscillationTable(Table, tag_field="type", tag="oscillation"):
    """Swings along a vector: centre + amplitude sin(2 pi frequency t + phase).

    Attributes:
        centre: Middle of the swing [m].
        amplitude: From the middle to the far end [m].
        frequency: Swings per second [Hz].
        phase: Phase at time zero [rad].
    """

    centre: Vector
    amplitude: Vector
    frequency: NonNegative
    phase: float = 0.0


MotionTable = KeyframesTable | OscillationTable


class ColliderTable(Table):
    """A solid that pushes and is not pushed.

    Attributes:
        name: Unique name.
        shape: Its shape.
        position: Where its origin is [m].
        rotation: Its rotation, w x y z.
        friction: Coulomb coefficient.
        static_friction: Coulomb coefficient of sticking; left out: as `friction`.
        restitution: Ratio of the speeds after and before an impact.
        contact_compliance: Inverse stiffness of a contact [m/N].
        motion: How it moves; replaces `position` and `rotation`.
    """

    shape: ShapeTable
    name: Name | None = None
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)
    friction: NonNegative = 0.3
    static_friction: NonNegative | None = None
    restitution: Ratio = 0.0
    contact_compliance: NonNegative = 0.0
    motion: MotionTable | None = None
