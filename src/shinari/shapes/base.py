"""The base of all shapes: what the rest of the package asks of one outside of kernels."""

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from shinari.compute.once import cached_property
from shinari.errors import SceneError
from shinari.shapes.mass import MassProperties, mesh_properties

if TYPE_CHECKING:
    from shinari.shapes.mesh import Mesh

SEGMENTS = 32
"""Segments of a full circle in a drawing."""
FINE = 64
"""The same where mass properties are integrated over the drawing."""

Triangles = tuple[np.ndarray, np.ndarray]
"""Vertices [m], (V, 3) float64, and faces, (F, 3) int32, counter-clockwise seen from outside the solid."""


class Core(NamedTuple):
    """How the contacts of bodies see a convex shape: a core, thickened by a radius.

    Attributes:
        radius: What the core is thickened by [m]: a ball is a point, a capsule a segment.
        extent: Half its largest length, about [m]: a measure for tolerances.
        corners: Corners that are looked up in the field of a mesh; of a round shape its centre and six places from
            which its lowest ones are found.
        axes: Normals of its own that are tried as the direction of a contact.
    """

    radius: float
    extent: float
    corners: int = 7
    axes: int = 0


class Shape:
    """A solid, centred on its origin. A shape of your own is a frozen dataclass derived from it, see `register_shape`.

    Only `numbers` has to be written, and `surface` where no support function is registered; the other methods then
    have defaults that a closed form can replace.
    """

    endless: ClassVar[bool] = False
    """Whether it has no end or no bottom, so that it cannot be a body and no points can cover it."""

    @property
    def variant(self) -> str:
        """Which of the types registered for the class it is, where there are several."""
        return ""

    def numbers(self) -> Any:
        """What its kernel functions read: at most four numbers."""
        raise NotImplementedError(f"{type(self).__name__}: numbers: is not defined")

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """Closed mesh, to draw it, and to integrate over. By default the hull of farthest points.

        Args:
            segments: Segments of a full circle, at least 4 and even.
        """
        from shinari.shapes.support_mesh import support_mesh

        return support_mesh(self, segments)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner (3,) [m] of the box around it in its own axes; infinite where it has no end."""
        from shinari.shapes.support_mesh import farthest_points

        points = farthest_points(self, np.concatenate([np.eye(3), -np.eye(3)]))
        if points is None:
            points = self.surface(FINE)[0]
        return points.min(axis=0), points.max(axis=0)

    def mass_properties(self) -> MassProperties:
        """Mass properties at a density of 1 kg/m^3 in its own axes.

        Raises:
            SceneError: It has no finite volume.
        """
        return mesh_properties(*self.surface(FINE))

    def core(self) -> Core:
        """How the contacts of bodies see it, if it is convex."""
        low, high = self.bounds()
        return Core(0.0, 0.5 * float((high - low).max()))

    def lacks_inside(self) -> str | None:
        """Why it cannot be a body, as the end of a message; None: it can."""
        return None

    @cached_property
    def as_mesh(self) -> "Mesh":
        """The mesh that stands for it where its type has no function of its own."""
        from shinari.shapes.mesh import Mesh

        return Mesh(*self.surface())

    def no_volume(self) -> SceneError:
        """The error of a shape that has no mass."""
        return SceneError(f"{type(self).__name__}: has no finite volume and cannot be a body")


def shape_mesh(shape: Shape, *, segments: int = SEGMENTS) -> Triangles:
    """Mesh of a shape in its own axes, to draw it; the solver knows the shapes exactly and needs none of these.

    Args:
        shape: The shape; a plane becomes a square patch around the point that is nearest to the origin.
        segments: Segments of a full circle, at least 4 and even.

    Returns:
        Vertices [m], (V, 3) float64, and faces, (F, 3) int32, counter-clockwise seen from outside the solid.
    """
    vertices, faces = shape.surface(segments)
    return np.array(vertices, np.float64), np.array(faces, np.int32)
