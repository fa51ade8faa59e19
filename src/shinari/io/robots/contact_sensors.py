"""Sensors of a compiled robot that list the contacts of some of its geoms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shinari.collision.report import Contacts
from shinari.geometry.motion import rotation_matrix
from shinari.io.robots.distance_sensors import Solid
from shinari.io.robots.mechanism import Mechanism
from shinari.io.robots.sensors import Frame, Sensor
from shinari.scene.handle import BodyHandle, ColliderHandle
from shinari.shapes.base import Shape
from shinari.shapes.kernels.encode import signed_distance

FOUND, FORCE, TORQUE, DISTANCE, POSITION, NORMAL, TANGENT = (1 << k for k in range(7))
"""What is told of a contact, as bits of what the file asks for, in this order."""
READ = FOUND | FORCE | TORQUE | DISTANCE | POSITION | NORMAL | TANGENT
FIRST_OF_ALL, DEEPEST, STRONGEST, TOGETHER = range(4)
"""Which contacts are told where there are more than asked for."""


@dataclass(frozen=True)
class Side:
    """Geoms of which contacts count.

    Attributes:
        names: Bodies and colliders that have some, by name; the geoms of a body that touch, and which of them count.
            None: all of them.
    """

    names: Mapping[str, tuple[Sequence[Solid], np.ndarray] | None]

    def has(self, names: np.ndarray, points: np.ndarray, simulation: Any) -> np.ndarray:
        """Whether contacts at some points [m], (K, 3), of objects with some names, (K,), are of its geoms, (K,).

        A contact of a body with several geoms is that of the nearest.
        """
        result = np.zeros(len(names), bool)
        for name, parts in self.names.items():
            own = np.flatnonzero(names == name)
            if len(own) == 0:
                continue
            if parts is None:
                result[own] = True
                continue
            solids, counts = parts
            away = []
            for solid in solids:
                place, turn = solid.frame.pose(simulation)
                away.append(signed_distance(solid.shape, (points[own] - place) @ rotation_matrix(turn)))
            result[own] = counts[np.argmin(away, axis=0)]
        return result


@dataclass(frozen=True)
class ContactSensor(Sensor):
    """Contacts between two sides. `of` is any body of the robot.

    Attributes:
        first: Geoms of one side; None: anything.
        second: Geoms of the other; None: anything.
        within: Frame of a volume, `area`, in which they have to be; None: anywhere.
        told: What it tells of each.
        reduced: Which of them it tells.
        count: How many.
        axes: Axes of the file in the scene, (3, 3).
    """

    first: Side | None = None
    second: Side | None = None
    within: Frame | None = None
    told: int = FOUND
    reduced: int = FIRST_OF_ALL
    count: int = 1
    axes: np.ndarray = field(default_factory=lambda: np.eye(3))

    def _measure(self, simulation: Any) -> np.ndarray:
        """What it tells of each contact, one contact after the other; zeros where there are fewer.

        Contacts are those with a force in the last step. `found` is how many match; `force` [N], the mean of the step
        on the second side, is along the normal, the tangent and their cross product; `pos` [m], `normal`, from the
        first side to the second, and `tangent` are in the world. `torque` and `dist` are 0: a contact acts at a point,
        and one that bears a force has no gap. All together, `netforce`: force and torque [N m] in the world at their
        centre, weighted by their sizes.
        """
        points, normals, forces = self._matching(simulation)
        found, sizes = len(points), np.linalg.norm(forces, axis=1)
        if found and self.reduced == TOGETHER:
            centre = sizes @ points / sizes.sum()
            moment = np.cross(points - centre, forces).sum(axis=0)
            whole = np.concatenate([[found], forces.sum(axis=0), moment, [0.0], centre, [1, 0, 0], [0, 1, 0]])
            rows = [self._row(whole)]
        else:
            order = np.argsort(-sizes, kind="stable") if self.reduced == STRONGEST else np.arange(found)
            rows = []
            for k in order[: self.count]:
                tangent = self._tangent(normals[k])
                frame = np.array([normals[k], tangent, np.cross(normals[k], tangent)])
                whole = np.concatenate([[found], frame @ forces[k], np.zeros(4), points[k], normals[k], tangent])
                rows.append(self._row(whole))
        empty = self._row(np.zeros(17))
        return np.concatenate([*rows, *[empty] * (self.count - len(rows))])

    def _row(self, whole: np.ndarray) -> np.ndarray:
        """What is told of a contact, of all that could be."""
        parts = np.split(whole, np.cumsum([1, 3, 3, 1, 3, 3]))
        return np.concatenate([part for k, part in enumerate(parts) if self.told & (1 << k)])

    def _tangent(self, normal: np.ndarray) -> np.ndarray:
        """A unit vector across a normal, in the manner of MuJoCo: the y axis of the file, or z along that."""
        own = self.axes.T @ normal
        start = self.axes[:, 1] if abs(own[1]) < 0.5 else self.axes[:, 2]
        across = start - (start @ normal) * normal
        return across / np.linalg.norm(across)

    def _matching(self, simulation: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, normals from the first side to the second, and forces on the second, (K, 3) each."""
        contacts: Contacts = simulation.contacts()
        points = contacts.positions
        sides = [
            [self._on(side, names, points, simulation) for names in (contacts.first, contacts.second)]
            for side in (self.first, self.second)
        ]
        regular, other = sides[0][0] & sides[1][1], sides[0][1] & sides[1][0]
        kept = regular | other
        if self.within is not None and self.area is not None:
            place, turn = self.within.pose(simulation)
            kept &= signed_distance(self.area, (points - place) @ rotation_matrix(turn)) <= 0.0
        way = np.where(regular, -1.0, 1.0)[:, None]
        # normals of contacts look from the second object to the first, on which their forces act
        return points[kept], (way * contacts.normals)[kept], (way * contacts.forces)[kept]

    def _on(self, side: Side | None, names: np.ndarray, points: np.ndarray, simulation: Any) -> np.ndarray:
        return np.ones(len(names), bool) if side is None else side.has(names, points, simulation)


class SideReader:
    """Makes the sides of contacts.

    Args:
        m: The robot.
        bodies: Its bodies by number.
        colliders: Colliders by the names of their geoms.
        frame: A frame of the file on the body that carries another, or in the world.
    """

    def __init__(
        self,
        m: Mechanism,
        bodies: Mapping[int, BodyHandle],
        colliders: Mapping[str, ColliderHandle],
        frame: Callable[[int, np.ndarray, np.ndarray], Frame],
    ) -> None:
        self._m, self._bodies, self._colliders, self._frame = m, bodies, colliders, frame

    def side(self, chosen: np.ndarray) -> Side:
        """The side of some geoms of the file, (G,) bool."""
        m, names = self._m, {}
        for geom in m.geoms[0]:
            if geom.touches and chosen[geom.index]:
                names[self._colliders[geom.name].name] = None
        for body, handle in self._bodies.items():
            solid = [geom for geom in m.geoms[body] if geom.touches]
            counts = np.array([chosen[geom.index] for geom in solid], bool)
            if counts.any():
                names[handle.name] = None if counts.all() else ([self._solid(body, geom) for geom in solid], counts)
        return Side(names)

    def _solid(self, body: int, geom: Any) -> Solid:
        shape: Shape = geom.shape
        return Solid(shape, self._frame(body, geom.position, geom.rotation))

    def chosen(self, of: int, target: int, objects: Any) -> np.ndarray | None:
        """The geoms that an object of the file names, (G,) bool: one, those of a body, or of it and all beyond it."""
        model = self._m.model
        owners, geoms = np.array(model.geom_bodyid), np.arange(int(model.ngeom))
        if of == int(objects.mjOBJ_GEOM):
            return geoms == target
        if of == int(objects.mjOBJ_BODY):
            return owners == target
        if of != int(objects.mjOBJ_XBODY):
            return None
        beyond = np.arange(int(model.nbody)) == target
        for body in range(1, int(model.nbody)):
            beyond[body] |= beyond[int(model.body_parentid[body])]
        return beyond[owners]
