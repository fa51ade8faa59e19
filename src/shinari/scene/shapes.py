"""Shapes of colliders, centred on their origin."""

from dataclasses import dataclass

import numpy as np

from shinari.errors import SceneError
from shinari.scene import check
from shinari.scene.hull_shape import ConvexHull
from shinari.scene.mesh_shape import Heightfield, Mesh


@dataclass(frozen=True)
class Plane:
    """Half space: everything below the plane normal . x = offset is solid.

    Attributes:
        normal: Direction that points out of the solid; brought to length one.
        offset: Distance of the plane from the origin along the normal [m].
    """

    normal: tuple[float, float, float] = (0.0, 1.0, 0.0)
    offset: float = 0.0

    def __post_init__(self) -> None:
        normal = check.vector("Plane", "normal", self.normal)
        largest = float(np.abs(normal).max())
        if largest == 0.0:
            raise SceneError("Plane: normal: must not be zero")
        normal = normal / largest  # so that squares neither overflow nor vanish
        length = float(np.linalg.norm(normal))
        object.__setattr__(self, "normal", tuple((normal / length).tolist()))
        object.__setattr__(self, "offset", check.number("Plane", "offset", self.offset))


@dataclass(frozen=True)
class Sphere:
    """Ball.

    Attributes:
        radius: Radius [m].
    """

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check.number("Sphere", "radius", self.radius, above=0.0))


@dataclass(frozen=True)
class Box:
    """Box with its edges along the axes.

    Attributes:
        size: Full edge lengths [m].
        inside: True for a container: everything outside the box is solid.
    """

    size: tuple[float, float, float]
    inside: bool = False

    def __post_init__(self) -> None:
        size = check.vector("Box", "size", self.size)
        for length in size:
            check.number("Box", "size", length, above=0.0)
        object.__setattr__(self, "size", tuple(size.tolist()))
        check.choice("Box", "inside", self.inside, (True, False))


@dataclass(frozen=True)
class Capsule:
    """Capsule along Y: a segment of the given length, thickened by the radius.

    Attributes:
        radius: Radius [m].
        length: Length of the segment between the centres of the two caps [m].
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check.number("Capsule", "radius", self.radius, above=0.0))
        object.__setattr__(self, "length", check.number("Capsule", "length", self.length, least=0.0))


@dataclass(frozen=True)
class Cylinder:
    """Cylinder along Y, with flat ends.

    Attributes:
        radius: Radius [m].
        length: Length from end to end [m].
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check.number("Cylinder", "radius", self.radius, above=0.0))
        object.__setattr__(self, "length", check.number("Cylinder", "length", self.length, above=0.0))


@dataclass(frozen=True)
class Cone:
    """Cone along Y: its base at y = -height / 2, its tip at y = height / 2.

    Attributes:
        radius: Radius of the base [m].
        height: Height from the base to the tip [m].
    """

    radius: float
    height: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check.number("Cone", "radius", self.radius, above=0.0))
        object.__setattr__(self, "height", check.number("Cone", "height", self.height, above=0.0))


Shape = Plane | Sphere | Box | Capsule | Cylinder | Cone | Mesh | Heightfield | ConvexHull
