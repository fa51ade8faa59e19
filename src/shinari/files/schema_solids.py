"""Tables of a scene file: colliders, their shapes and motions."""

from typing import Annotated

from msgspec import Meta

from shinari.files.schema_base import Name, NonNegative, Positive, PositiveVector, Quaternion, Ratio, Table, Vector


class SphereTable(Table, tag_field="type", tag="sphere"):
    """Ball.

    Attributes:
        radius: Radius [m].
    """

    radius: Positive


class PlaneTable(Table, tag_field="type", tag="plane"):
    """Half space below a plane.

    Attributes:
        normal: Direction out of the solid.
        offset: Distance from the origin along the normal [m].
    """

    normal: Vector = (0.0, 1.0, 0.0)
    offset: float = 0.0


class BoxTable(Table, tag_field="type", tag="box"):
    """Box with its edges along the axes.

    Attributes:
        size: Full edge lengths [m].
        inside: True for a container: everything outside is solid.
    """

    size: PositiveVector
    inside: bool = False


class CapsuleTable(Table, tag_field="type", tag="capsule"):
    """Capsule along Y.

    Attributes:
        radius: Radius [m].
        length: Length between the centres of the caps [m].
    """

    radius: Positive
    length: NonNegative


class CylinderTable(Table, tag_field="type", tag="cylinder"):
    """Cylinder along Y, with flat ends.

    Attributes:
        radius: Radius [m].
        length: Length from end to end [m].
    """

    radius: Positive
    length: Positive


class ConeTable(Table, tag_field="type", tag="cone"):
    """Cone along Y, its tip up; its origin is half-way up.

    Attributes:
        radius: Radius of the base [m].
        height: Height from the base to the tip [m].
    """

    radius: Positive
    height: Positive


class MeshTable(Table, tag_field="type", tag="mesh"):
    """Triangle mesh from a file.

    Attributes:
        path: Mesh file, relative to the folder of the scene file and inside it.
        solid: True: closed, or an error; false: a sheet; left out: a solid if it is closed.
        thickness: Of a sheet [m].
    """

    path: Name
    solid: bool | None = None
    thickness: NonNegative = 0.0


class HullTable(Table, tag_field="type", tag="hull"):
    """Convex hull of points, which are given or are the vertices of a mesh file.

    Attributes:
        points: Points [m].
        path: Mesh file, relative to the folder of the scene file and inside it.
    """

    points: Annotated[list[Vector], Meta(min_length=4)] | None = None
    path: Name | None = None


class HeightfieldTable(Table, tag_field="type", tag="heightfield"):
    """Ground, centred in X and Z.

    Attributes:
        heights: Heights [m], one row after another along Z.
        size: Lengths along X and Z [m].
        depth: From the lowest height to the bottom [m]; left out: the larger of the lengths.
    """

    heights: Annotated[list[Annotated[list[float], Meta(min_length=2)]], Meta(min_length=2)]
    size: tuple[Positive, Positive]
    depth: Positive | None = None


ShapeTable = (
    SphereTable
    | PlaneTable
    | BoxTable
    | CapsuleTable
    | CylinderTable
    | ConeTable
    | MeshTable
    | HullTable
    | HeightfieldTable
)


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
