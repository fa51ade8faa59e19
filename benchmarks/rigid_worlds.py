"""A world of rigid bodies as every engine gets it: bodies, joints between them, and the ground."""

from dataclasses import dataclass, field

import numpy as np

import shinari as sn
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.shapes.mass import MassProperties

DT, GRAVITY = 1.0 / 60.0, 9.81
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
REST = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Body:
    """A body; its origin is its centre of mass.

    Attributes:
        shape: Its shape; bodies that share it are alike.
        position: Centre [m], (3,).
        rotation: Unit quaternion w x y z, (4,).
        velocity: Velocity [m/s], (3,).
        spin: Angular velocity [rad/s], (3,).
        density: Density [kg/m^3].
        kinematic: It moves evenly, whatever touches it.
    """

    shape: sn.Shape | sn.Compound
    position: np.ndarray
    rotation: np.ndarray | tuple[float, ...] = UPRIGHT
    velocity: np.ndarray | tuple[float, ...] = REST
    spin: np.ndarray | tuple[float, ...] = REST
    density: float = 1000.0
    kinematic: bool = False

    @property
    def pieces(self) -> list[tuple[sn.Shape, np.ndarray, np.ndarray]]:
        """Shapes with their positions and rotations in the body."""
        if isinstance(self.shape, sn.Compound):
            return [(piece.shape, piece.position, piece.rotation) for piece in self.shape.pieces]
        return [(self.shape, np.zeros(3), np.array(UPRIGHT))]


@dataclass(frozen=True)
class Link:
    """A joint of a body with another one or with the world.

    Attributes:
        kind: `"ball"` or `"hinge"`.
        child: The body.
        parent: The other body, -1 for the world.
        anchor: Where it is at the start [m], (3,).
        axis: Axis of a hinge, or middle of the cone of a ball, in the world.
        limits: Least and largest angle of a hinge, child against parent [rad].
        swing: Half angle of the cone of a ball [rad].
    """

    kind: str
    child: int
    parent: int
    anchor: np.ndarray
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    limits: tuple[float, float] | None = None
    swing: float | None = None


@dataclass
class World:
    """Bodies and joints.

    Attributes:
        friction: Coulomb coefficient of everything.
        substeps: Substeps in DT.
        ground: Whether there is a plane at y = 0.
        collide: Whether bodies touch each other.
        bodies: The bodies.
        links: The joints.
    """

    friction: float = 0.6
    substeps: int = 4
    ground: bool = True
    collide: bool = True
    bodies: list[Body] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)

    def add(self, body: Body) -> int:
        """Add a body; its index."""
        self.bodies.append(body)
        return len(self.bodies) - 1

    @property
    def positions(self) -> np.ndarray:
        """Centres at the start [m], (B, 3)."""
        return np.array([body.position for body in self.bodies], float)

    @property
    def rotations(self) -> np.ndarray:
        """Rotations at the start w x y z, (B, 4)."""
        return np.array([body.rotation for body in self.bodies], float)

    @property
    def free(self) -> np.ndarray:
        """Which bodies move freely, (B,)."""
        return np.array([not body.kinematic for body in self.bodies])

    def masses(self) -> tuple[np.ndarray, np.ndarray]:
        """Masses [kg], (B,), and inertia tensors in the axes of the bodies [kg m^2], (B, 3, 3); of kinematic ones 0."""
        known: dict[int, MassProperties] = {}
        masses, tensors = np.zeros(len(self.bodies)), np.zeros((len(self.bodies), 3, 3))
        for i, body in enumerate(self.bodies):
            if body.kinematic:
                continue
            assert isinstance(body.shape, sn.Shape), "what moves freely is one shape"
            if id(body.shape) not in known:
                known[id(body.shape)] = body.shape.mass_properties()
            found = known[id(body.shape)]
            masses[i], tensors[i] = body.density * found.mass, body.density * found.tensor
        return masses, tensors

    def place(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Position and rotation of a body at the start, or of the world."""
        if index < 0:
            return np.zeros(3), np.array(UPRIGHT)
        body = self.bodies[index]
        return np.asarray(body.position, float), np.asarray(body.rotation, float)


def conjugate(q: np.ndarray) -> np.ndarray:
    """The inverse of a unit quaternion."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def within(place: tuple[np.ndarray, np.ndarray], x: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A position and a rotation of the world in the axes of a body that is at a place."""
    position, rotation = place
    return rotation_matrix(rotation).T @ (x - position), quaternion_product(conjugate(rotation), q)


def about(axis: tuple[float, float, float], angle: float) -> np.ndarray:
    """The rotation about a unit vector by an angle, w x y z."""
    return np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * np.asarray(axis))])
