"""Objects of a scene: plain frozen records, checked when they were added."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from shinari.geometry.mesh_sequence import MeshSequence
from shinari.geometry.motion import Motion
from shinari.scene.contact_material import ContactMaterial
from shinari.scene.emitter import Emitter
from shinari.scene.failure import Failure
from shinari.scene.fluid_material import FluidMaterial, Sampling
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.lump_material import Clusters, LumpMaterial
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.rod import Rod
from shinari.scene.rod_material import RodMaterial
from shinari.scene.sewing import Tailoring
from shinari.scene.soft_material import SoftMaterial
from shinari.scene.visual import Visual
from shinari.shapes.base import Shape

SolidMaterial: TypeAlias = ClothMaterial | RopeMaterial | RodMaterial | SoftMaterial | LumpMaterial | GrainMaterial
Material: TypeAlias = SolidMaterial | FluidMaterial

KINDS = ("particles", "cloth", "rope", "rod", "soft", "lump", "fluid", "grains")
"""Kinds of objects made of particles."""


# Name of the rows that hold particles at bodies, in messages and in `forces`.
BODY_ATTACHMENT = "body_attachment"


@dataclass(frozen=True)
class ParticleObject:
    """An object made of particles.

    Attributes:
        name: Unique name.
        kind: One of `KINDS`.
        positions: Positions [m], (N, 3).
        masses: Masses [kg], (N,); 0 fixes.
        velocities: Velocities [m/s], (N, 3).
        radii: Distance kept in contact [m], (N,).
        surface: How it behaves in contact.
        self_collision: Elements of it that collide with each other: None, `"particles"`, `"segments"` or `"triangles"`.
        faces: Triangles of a cloth, or of the surface of a soft body, (F, 3), local indices.
        material: Material of its rows.
        tetrahedra: Tetrahedra of a soft body, (T, 4), local indices.
        rod: Frames of a rod.
        clusters: Clusters of a lump.
        visual: The visible surface; None: its faces, or its particles.
        sampling: How a fluid is sampled.
        angular_velocities: Angular velocities of grains that turn [rad/s], (N, 3); None: at rest.
        emitter: Its emitter, if its particles are inactive at the start; None: they are active.
        motion: Its places in time, if it moves as it was told; None: it is simulated.
        tailoring: Rest shape, maps, seams, folds and bands of a cloth; None: it has none.
    """

    name: str
    kind: str
    positions: np.ndarray
    masses: np.ndarray
    velocities: np.ndarray
    radii: np.ndarray
    surface: ContactMaterial
    self_collision: str | None = None
    faces: np.ndarray | None = None
    material: Material | None = None
    tetrahedra: np.ndarray | None = None
    rod: Rod | None = None
    clusters: Clusters | None = None
    visual: Visual | None = None
    sampling: Sampling | None = None
    emitter: Emitter | None = None
    angular_velocities: np.ndarray | None = None
    tailoring: Tailoring | None = None
    motion: MeshSequence | None = None

    @property
    def segments(self) -> np.ndarray | None:
        """Segments of a rope or a rod, that of a ring back to its first point last, (S, 2), local indices."""
        if self.kind not in ("rope", "rod"):
            return None
        index = np.arange(len(self.positions))
        pairs = np.stack([index, np.roll(index, -1)], axis=1)
        return pairs if self.rod is not None and self.rod.closed else pairs[:-1]


@dataclass(frozen=True)
class Rows:
    """Constraint rows of one type.

    Attributes:
        type: Name of the registered type.
        indices: Global particle indices, (M, points).
        compliance: Compliance where C > 0, (M,); infinity: no force.
        compression_compliance: Compliance where C < 0, (M,); None: the same.
        stiffness: Stiffness 0 to 1 for `method="pbd"`, (M,).
        compression_stiffness: The same where C < 0, (M,); None: the same.
        damping: Damping stiffness, (M,), in the unit of the inverse compliance times seconds.
        parameters: Parameters that were given, by name; the rest follow from the positions.
        motion: Target of an attachment as a function of time; drives the parameter `target`.
        break_force: Force [N] above which the rows break; None: never.
        failure: Strains above which they tear and flow; None: never.
    """

    type: str
    indices: np.ndarray
    compliance: np.ndarray
    stiffness: np.ndarray
    compression_compliance: np.ndarray | None = None
    compression_stiffness: np.ndarray | None = None
    damping: np.ndarray | None = None
    parameters: dict[str, np.ndarray] = field(default_factory=dict)
    motion: Motion | None = None
    break_force: float | None = None
    failure: Failure | None = None


@dataclass(frozen=True)
class BodyRows:
    """Attachments of particles to a rigid body.

    Attributes:
        body: Index of the body.
        particles: Global particle indices, (M,).
        places: Where each is attached, in the axes of the body [m], (M, 3).
        lengths: Distance from there that is kept [m], (M,); 0: held there.
        compliance: Inverse stiffness of each [m/N].
        break_force: Force [N] above which each breaks; None: never.
    """

    body: int
    particles: np.ndarray
    places: np.ndarray
    lengths: np.ndarray
    compliance: float = 0.0
    break_force: float | None = None


@dataclass(frozen=True)
class Volume:
    """A closed mesh that keeps its volume.

    Attributes:
        object_name: Name of the object whose surface it is.
        faces: Global particle indices of its triangles, outward, (F, 3).
        volume: Volume that it is to have [m^3].
        compliance: Change of the volume by the pressure [m^3/Pa].
    """

    object_name: str
    faces: np.ndarray
    volume: float
    compliance: float


@dataclass(frozen=True)
class Collider:
    """A solid that pushes and is not pushed.

    Attributes:
        name: Unique name.
        shape: Its shape.
        position: Position of its origin [m], (3,).
        rotation: Unit quaternion w x y z, (4,).
        surface: How it behaves in contact.
        motion: Pose as a function of time, or None when it stands still.
    """

    name: str
    shape: Shape
    position: np.ndarray
    rotation: np.ndarray
    surface: ContactMaterial
    motion: Motion | None = None


ForceField: TypeAlias = Callable[..., Any]
"""Compiled `f(x, v, m, t)`: position [m], velocity [m/s], mass [kg], time [s] to a force [N], tuples of three."""
