"""Adds flexible parts of a robot to a scene, as cloth, ropes, nets of particles and soft bodies.

Constraints of edges and springs in edges are distance rows, in sheets and solids as in ropes; elasticity is that of the
material. So a sheet whose edges keep their lengths has none but these, and folds along all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.errors import SceneError
from shinari.io.robots.flexes import BEND, STRETCH, Flex
from shinari.scene.handle import BodyHandle, Handle
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.soft_material import SoftMaterial

LIMP = 1.0
"""Young's modulus of a solid whose file gives none [Pa]."""

CREEP = 1e6
"""Time in which an edge with a damper alone goes back to its length [s]."""


class FlexAdder:
    """Adds flexible parts.

    Args:
        scene: The scene.
        point: Where places of the file are in the scene.
        bodies: Handles of bodies by their numbers in the compiled model; those without one stand still.
        skipped: Takes what cannot be had.
    """

    def __init__(
        self,
        scene: Scene,
        point: Callable[[np.ndarray], np.ndarray],
        bodies: Mapping[int, BodyHandle],
        skipped: list[str],
    ) -> None:
        self._scene, self._point, self._bodies, self._skipped = scene, point, bodies, skipped

    def add(self, part: Flex, name: str) -> Handle | None:
        """Add a part; None where it cannot be had, which is listed."""
        points = np.array([self._point(place) for place in part.points])
        before = len(self._scene.particle_objects), dict(self._scene.handles)
        try:
            handle = self._add(part, name, points)
        except SceneError as error:
            del self._scene.particle_objects[before[0] :]
            self._scene.handles = before[1]
            self._skipped.append(f"flex {part.name!r}: {error}")
            return None
        added = self._scene.particle_objects[-1]
        self._scene.particle_objects[-1] = replace(added, masses=part.masses.copy())
        self._add_edges(part, handle)
        self._fix(part, handle)
        return handle

    def _add(self, part: Flex, name: str, points: np.ndarray) -> Handle:
        """The particles of a part, with its elasticity."""
        own = self._self_contact(part, points)
        if part.dim == 3:
            elements = _upright(points, part.elements)
            return self._scene.add_soft_body(
                (points, elements), material=_solid(part), self_collision="triangles" if own else False, name=name
            )
        if part.dim == 2:
            mesh = points, part.elements
            return self._scene.add_cloth(
                mesh, material=_sheet(part), self_collision="triangles" if own else False, name=name
            )
        if _in_line(part.elements, len(points)):
            return self._scene.add_rope(points, material=_line(part), self_collision=own, name=name)
        if own:
            self._skipped.append(f"flex {part.name!r}: contact of its segments; only its points touch others")
        return self._scene.add_particles(
            points, mass=part.masses, radius=part.radius, friction=part.friction, name=name
        )

    def _self_contact(self, part: Flex, points: np.ndarray) -> bool:
        """Whether a part touches itself; not where it is thicker than its edges are long."""
        if not part.self_contact or part.radius == 0.0:
            return False
        lengths = np.linalg.norm(points[part.edges[:, 0]] - points[part.edges[:, 1]], axis=1)
        if part.dim > 1 and 2.0 * part.radius > lengths.min():
            self._skipped.append(
                f"flex {part.name!r}: contact with itself; it is thicker than its shortest edge is long"
            )
            return False
        return True

    def _add_edges(self, part: Flex, handle: Handle) -> None:
        """Edges that keep their lengths, or have springs and dampers."""
        damping = 0.0 if part.held else part.edge_damping
        stiffness = part.edge_stiffness or damping / CREEP
        if not part.held and stiffness == 0.0:
            return
        soft = 0.0 if part.held else 1.0 / stiffness
        pairs = part.edges + handle.particles.start
        self._scene.add_constraint("distance", pairs, compliance=soft, damping=damping, rest_length=part.rest)

    def _fix(self, part: Flex, handle: Handle) -> None:
        """Fix points to bodies, and in space to what stands still."""
        for body in np.unique(part.fixed[part.fixed >= 0]).tolist():
            own = np.flatnonzero(part.fixed == body)
            carrier = self._bodies.get(body)
            if carrier is None:
                handle.pin(own)
            else:
                self._scene.attach((handle, own), carrier)


def attach(scene: Scene, label: str, ends: list[Any], skipped: list[str]) -> None:
    """Attach a point of a flexible part to a body or to another point, or fix it in space.

    Args:
        scene: The scene.
        label: What does so in the file.
        ends: The point as its part (None: it is not there) and its index; and another point, a body, or None.
        skipped: Takes what cannot be had.
    """
    first, second = ends if isinstance(ends[0], tuple) else ends[::-1]
    if first[0] is None or (isinstance(second, tuple) and second[0] is None):
        skipped.append(f"{label!r}: its flexible part is not there")
    elif second is None:
        first[0].pin(first[1])
    else:
        scene.attach(first, second)


def _sheet(part: Flex) -> ClothMaterial:
    """A membrane and a plate with the elasticity of the file: E t and E t^3 / (12 (1 - nu^2))."""
    elastic = part.young > 0.0 and part.acts & STRETCH
    bends = part.young > 0.0 and part.acts & BEND
    plate = part.young * part.thickness**3 / (12.0 * (1.0 - part.poisson**2))
    return ClothMaterial(
        density=1.0,
        thickness=2.0 * part.radius,
        friction=part.friction,
        stretch_model="strain" if elastic else "springs",
        stretch_compliance=1.0 / (part.young * part.thickness) if elastic else np.inf,
        poissons_ratio=part.poisson if elastic else None,
        bend_stiffness=plate if bends else 0.0,
        damping=part.damping if elastic or bends else 0.0,
    )


def _solid(part: Flex) -> SoftMaterial:
    return SoftMaterial(
        youngs_modulus=part.young or LIMP,
        poissons_ratio=part.poisson,
        damping=part.damping if part.young > 0.0 else 0.0,
        thickness=2.0 * part.radius,
        friction=part.friction,
    )


def _line(part: Flex) -> RopeMaterial:
    return RopeMaterial(density=1.0, radius=part.radius, friction=part.friction, stretch_compliance=np.inf)


def _in_line(elements: np.ndarray, count: int) -> bool:
    """Whether segments connect all points one after the other; the last one may go back to the first."""
    pairs = {(min(a, b), max(a, b)) for a, b in elements.tolist()}
    return {(k, k + 1) for k in range(count - 1)} <= pairs <= {(k, k + 1) for k in range(count - 1)} | {(0, count - 1)}


def _upright(points: np.ndarray, tetrahedra: np.ndarray) -> np.ndarray:
    """Tetrahedra with the corners in the order in which their volumes are positive."""
    a, b, c, d = (points[tetrahedra[:, k]] for k in range(4))
    outside_in = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) < 0.0
    return np.where(outside_in[:, None], tetrahedra[:, [0, 2, 1, 3]], tetrahedra)
