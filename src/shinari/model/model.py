"""The model: arrays that never change while a scene runs.

Particles stand in solver order, which keeps neighbours close in memory; `slots` leads there from the order in which
they were added. Positions in the solver are relative to their origin, so that single precision does not
depend on where in the world an object is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from shinari.constraints.registry import ConstraintType
from shinari.geometry.motion import Motion
from shinari.scene.failure import Failure
from shinari.scene.objects import Collider

if TYPE_CHECKING:
    from shinari.model.state import State
    from shinari.model.system_model import SystemModel


T = TypeVar("T")


@dataclass(frozen=True)
class ConstraintBlock:
    """All rows of one constraint type, colour after colour.

    Attributes:
        type: Their type.
        indices: Particles of each row in solver order, (M, points) uint32.
        parameters: Parameters of each row, (M, width); places are relative to the start origin.
        coefficient: Compliance (`"xpbd"`) or stiffness per iteration (`"pbd"`), (M, 1), or (M, 2) where the second
            column holds for C < 0.
        compliance: Compliance, for the energy, (M, 1) or (M, 2); with `"xpbd"` the same array as `coefficient`.
        damping: Damping stiffness, (M,), or empty when no row has any.
        offsets: Where each colour starts, (colours + 1,).
        added_index: Index of each row in the order in which rows were added, (M,) uint32.
    """

    type: ConstraintType
    indices: np.ndarray
    parameters: np.ndarray
    coefficient: np.ndarray
    compliance: np.ndarray
    damping: np.ndarray
    offsets: np.ndarray
    added_index: np.ndarray

    @property
    def row_count(self) -> int:
        """Rows of the block."""
        return len(self.indices)


@dataclass(frozen=True)
class MovingTarget:
    """A motion that writes the target of rows while the scene runs.

    Attributes:
        block: Name of the block.
        rows: Rows of the block, in solver order, (K,).
        motion: Target as a function of time.
    """

    block: str
    rows: np.ndarray
    motion: Motion


@dataclass(frozen=True)
class Breakable:
    """Rows that let go above a force.

    Attributes:
        block: Name of the block.
        rows: Rows of the block, in solver order, (K,).
        force: Force [N] above which they let go.
    """

    block: str
    rows: np.ndarray
    force: float


@dataclass(frozen=True)
class TearableRows:
    """Rows that let go above a strain.

    Attributes:
        block: Name of the block.
        rows: Rows of the block, in solver order, (K,).
        strain: Strain above which they let go.
    """

    block: str
    rows: np.ndarray
    strain: float


@dataclass(frozen=True)
class DependentRows:
    """Rows that let go when elements next to them have.

    Attributes:
        block: Name of the block.
        rows: Rows of the block, in solver order, (K,).
        elements: Elements that each follows, (K, 2); -1: none.
        needed: How many of them have to be gone, (K,).
    """

    block: str
    rows: np.ndarray
    elements: np.ndarray
    needed: np.ndarray


@dataclass(frozen=True)
class TearableMesh:
    """Elements of an object that can tear: triangles of a cloth, segments of a rope, tetrahedra of a soft body.

    Attributes:
        object_number: Which of the objects.
        block: Block of the rows that hold the elements.
        rows: Rows of the block that hold each element, (E, k): one that lets go takes the element with it.
        dependent_rows: Rows that go with the elements.
    """

    object_number: int
    block: str
    rows: np.ndarray
    dependent_rows: tuple[DependentRows, ...]

    def present(self, broken: np.ndarray) -> np.ndarray:
        """Which elements are still there, (E,), when some rows of the block are broken (M,)."""
        return np.logical_not(broken[self.rows].any(axis=1))


@dataclass(frozen=True)
class PlasticRows:
    """Rows whose rest shape follows beyond a yield strain.

    Attributes:
        block: Name of the block.
        rows: Rows of the block, in solver order, (K,).
        name: Name of the array of the state that holds their rest lengths (K, 1) or inverse rest shapes (K, 9).
        width: Width of the rest shape, which is the first of the block's parameters.
        failure: Yield strain, rate and limit.
    """

    block: str
    rows: np.ndarray
    name: str
    width: int
    failure: Failure

    @property
    def columns(self) -> slice:
        """Columns of the block's parameters that change."""
        return slice(0, self.width)


@dataclass(frozen=True)
class AirSurface:
    """Triangles that feel the air.

    Attributes:
        triangles: Particles of each triangle in solver order, (F, 3) uint32.
        drag: Half the air density times the drag coefficients along and across the normal [kg/m^3], (F, 2).
        corners: Corner forces (triangle * 3 + corner) of each particle, one after the other, (3 F,) uint32.
        corner_offsets: Where the corners of each particle start, (N + 1,).
    """

    triangles: np.ndarray
    drag: np.ndarray
    corners: np.ndarray
    corner_offsets: np.ndarray


@dataclass(frozen=True)
class Model:
    """A scene, built.

    Attributes:
        real: Floating point type of the solver.
        slots: Place in solver order of each particle as added, (N,) uint32.
        masses: Masses [kg] as added, (N,) float64; 0 where fixed or pinned.
        radii: Distance kept from what is touched [m] in solver order, (N,).
        owners: Object of each particle in solver order, (N,) uint16.
        surfaces: Friction, static friction (negative: as that of what is touched), restitution and compliance [m/N] of
            each object, (T, 4).
        origin_index: Origin of each particle in solver order, (N,) uint16: objects that share rows have the same.
        origins: Origins at the start [m], (G, 3) float64.
        anchored: Origins that are the world's and stay, (G,) bool: there are rows that depend on it.
        blocks: Rows by the name of their type.
        moving_targets: Motions of attachments.
        breakables: Rows that can break.
        tearable_rows: Rows that can tear.
        tearable_meshes: What tears with them.
        plastic_rows: Rows that can flow.
        colliders: Solids.
        air: Triangles in the air, or None.
        wind: Velocity of the air [m/s], constant (3,) or a function of time.
        force_fields: Compiled forces on particles.
        gravity: Acceleration [m/s^2], (3,) float64.
        damping: Decay rate of velocities [1/s].
        object_ranges: Name and particles, as added, of each handle, for messages.
        systems: Models of all systems, in the order in which they are bound to a simulation.
    """

    real: type
    slots: np.ndarray
    masses: np.ndarray
    radii: np.ndarray
    owners: np.ndarray
    surfaces: np.ndarray
    origin_index: np.ndarray
    origins: np.ndarray
    anchored: np.ndarray
    blocks: dict[str, ConstraintBlock]
    moving_targets: tuple[MovingTarget, ...]
    breakables: tuple[Breakable, ...]
    colliders: tuple[Collider, ...]
    air: AirSurface | None
    wind: np.ndarray | Callable | None
    force_fields: tuple[Callable, ...]
    gravity: np.ndarray
    damping: float
    object_ranges: tuple[tuple[str, range], ...]
    systems: "tuple[SystemModel, ...]" = ()
    tearable_rows: tuple[TearableRows, ...] = ()
    tearable_meshes: tuple[TearableMesh, ...] = ()
    plastic_rows: tuple[PlasticRows, ...] = ()

    @property
    def particle_count(self) -> int:
        """Particles of the model."""
        return len(self.slots)

    def find(self, kind: type[T]) -> T | None:
        """The model of a kind of system; None where the scene has none."""
        return next((system for system in self.systems if isinstance(system, kind)), None)

    def inactive(self, state: "State") -> np.ndarray:
        """Particles that take no part now, in solver order, (K,) int64: they wait in an emitter or have left."""
        found = (system.inactive(state) for system in self.systems)
        return np.concatenate([np.zeros(0, np.int64), *(each for each in found if len(each))])

    def present(self, state: "State", particles: range) -> np.ndarray:
        """Which of some particles, as added, take part now, (len(particles),) bool."""
        inactive = np.zeros(self.particle_count, bool)
        inactive[self.inactive(state)] = True
        return ~inactive[self.slots[particles.start : particles.stop]]

    @property
    def inverse_masses(self) -> np.ndarray:
        """Inverse masses [1/kg] in solver order, (N,) float64; 0 where fixed. A copy."""
        inverse = np.zeros(len(self.slots))
        inverse[self.slots] = np.divide(1.0, self.masses, out=np.zeros(len(self.masses)), where=self.masses > 0.0)
        return inverse

    @property
    def held(self) -> np.ndarray:
        """Particles in solver order that are pinned, or attached to a place of the world, (N,) bool."""
        held = self.inverse_masses == 0.0
        if "attachment" in self.blocks:
            held[self.blocks["attachment"].indices.ravel()] = True
        return held
