"""What a scene file may hold: the tables, their fields and bounds.

The classes here say which keys there are and what their values look like; `shinari.files.scene_file` makes a scene of
them, `shinari.files.json_schema` a description for other programs. Units are SI, Y is up, a rotation is a unit
quaternion w x y z.
"""

from dataclasses import fields
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.settings import DETECTIONS, METHODS, PRECISIONS, STIFFNESS_MODES, SWEEPS

Positive = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Index = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Name = Annotated[str, Meta(min_length=1)]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
PositiveVector = tuple[Positive, Positive, Positive]
PerRow = NonNegative | list[NonNegative]

MOST_ROPE_POINTS = 1_000_000
MOST_GRID_VERTICES = 2**24


class Table(Struct, forbid_unknown_fields=True, kw_only=True):
    """Base of all tables: a key that is not known is an error."""


class GustsTable(Table):
    """Wind in gusts: mean + amplitude g(t), with g between -1 and 1.

    Attributes:
        mean: Mean velocity of the air [m/s].
        amplitude: Largest departure from the mean [m/s].
        frequency: Gusts per second [Hz].
    """

    mean: Vector
    amplitude: Vector = (0.0, 0.0, 0.0)
    frequency: NonNegative = 0.5


class SceneTable(Table):
    """The world.

    Attributes:
        title: One line about the scene, kept in results.
        gravity: Acceleration of everything that is free [m/s^2].
        wind: Velocity of the air [m/s], constant or in gusts; left out: there is no air.
        air_density: Density of the air [kg/m^3].
        damping: Rate at which all velocities decay [1/s].
    """

    title: str = ""
    gravity: Vector = (0.0, -9.81, 0.0)
    wind: Vector | GustsTable | None = None
    air_density: NonNegative = 1.225
    damping: NonNegative = 0.0


class SimulationTable(Table):
    """How the scene is simulated; all of it can be overridden on the command line.

    Attributes:
        duration: Simulated time of a run [s].
        frames_per_second: Frames written for each second of simulated time [1/s], rounded to whole steps.
        dt: Time of one step [s].
        substeps: Substeps of a step.
        iterations: Iterations of the solver in each substep.
        method: `xpbd` (compliances) or `pbd` (stiffnesses 0 to 1).
        sweep: How the rows are solved.
        precision: Floating point type of the solver.
        threads: Threads to use; left out: all. The result does not depend on it.
        stiffness_mode: With `pbd`: stiffness per step, whatever the iterations, or raw.
        relaxation: Relaxation of Jacobi sweeps; left out: a factor that is always stable.
        spectral_radius: Spectral radius that the Chebyshev acceleration assumes.
        depenetration_speed: Speed at which what overlaps at the start is pushed apart [m/s].
        hierarchy: Solve coarse levels of the distance rows first; large cloth stretches far less for it.
        contact_detection: When pairs that may touch are looked for: once a `frame` and again when something leaves the
            way it was to go, or in each `substep`.
    """

    duration: Positive = 5.0
    frames_per_second: Positive = 30.0
    dt: Positive = 1.0 / 60.0
    substeps: Count = 20
    iterations: Count = 1
    method: Literal[METHODS] = "xpbd"  # type: ignore[valid-type]
    sweep: Literal[SWEEPS] = "gauss-seidel"  # type: ignore[valid-type]
    precision: Literal[PRECISIONS] = "float32"  # type: ignore[valid-type]
    threads: Count | None = None
    stiffness_mode: Literal[STIFFNESS_MODES] = "per-step"  # type: ignore[valid-type]
    relaxation: Annotated[float, Meta(gt=0, le=2)] | None = None
    spectral_radius: Annotated[float, Meta(gt=0, le=0.9999)] = 0.9
    depenetration_speed: NonNegative = 1.0
    hierarchy: bool = False
    contact_detection: Literal[DETECTIONS] = "frame"  # type: ignore[valid-type]


class Pinned(Table):
    """What particles, cloth and rope have in common.

    Attributes:
        name: Unique name; messages, attachments and results use it.
        velocity: Velocity at the start [m/s].
        pin: Indices of the particles that are fixed.
        pin_nearest: Points [m]; the particle nearest to each is fixed.
    """

    name: Name | None = None
    velocity: Vector | None = None
    pin: list[Index] = []
    pin_nearest: list[Vector] = []


class ParticlesTable(Pinned, kw_only=True):
    """Loose particles.

    Attributes:
        positions: Positions [m].
        mass: Mass [kg], one for all or one each; 0 fixes.
        radius: Distance kept from colliders and other things [m], one for all or one each; particles without one pass
            through other things.
        friction: Coulomb coefficient; left out: as that of what is touched.
        static_friction: Coulomb coefficient of sticking; left out: as `friction`.
        restitution: Ratio of the speeds after and before an impact.
        contact_compliance: Inverse stiffness of a contact [m/N].
        self_collision: Whether they collide with each other.
    """

    positions: Annotated[list[Vector], Meta(min_length=1)]
    mass: PerRow = 1.0
    radius: PerRow = 0.0
    friction: NonNegative | None = None
    static_friction: NonNegative | None = None
    restitution: Ratio = 0.0
    contact_compliance: NonNegative = 0.0
    self_collision: bool = False


class GridTable(Table):
    """A rectangular sheet in the XZ plane, centred on its origin; vertex k = row nx + column.

    Attributes:
        shape: Numbers of vertices along X and Z.
        size: Lengths along X and Z [m].
        diagonal: One diagonal splits each cell: `same` everywhere, or `alternating`.
    """

    shape: tuple[Annotated[int, Meta(ge=2, le=2**20)], Annotated[int, Meta(ge=2, le=2**20)]]
    size: tuple[Positive, Positive] = (1.0, 1.0)
    diagonal: Literal["same", "alternating"] = "same"


_RATIOS = {"stretch_stiffness", "compression_stiffness", "shear_stiffness", "bending_stiffness_ratio", "restitution"}


def _material_table(material: type, **extra: Any) -> Any:
    """A table with the fields of a material, all optional; what they mean stands there once."""
    columns = []
    for field in fields(material):
        bound: Any = Positive if field.name == "density" else Ratio if field.name in _RATIOS else NonNegative
        if field.type is bool:
            bound = bool
        elif field.name == "bend_model":
            bound = Literal["isometric", "dihedral", "cross"]
        columns.append((field.name, bound | UnsetType, UNSET))
    columns += [(name, kind, None) for name, kind in extra.items()]
    table = msgspec.defstruct(f"{material.__name__}Table", columns, bases=(Table,), kw_only=True)
    table.__doc__ = material.__doc__
    return table


ClothMaterialTable = _material_table(
    ClothMaterial, preset=Annotated[Name | None, Meta(description="Name of a preset to begin from.")]
)
RopeMaterialTable = _material_table(RopeMaterial)


class ClothTable(Pinned):
    """A sheet, from a mesh file or a grid: one of `mesh` and `grid` must be given.

    Attributes:
        mesh: Mesh file, relative to the folder of the scene file and inside it.
        grid: A regular sheet instead of a mesh file.
        material: Name of a preset, or a table of fields, with `preset` to begin from one.
        self_collision: `triangles`: layers never pass through each other; `particles`: its vertices keep off each
            other, which is cheaper; false: it passes through itself.
        position: Where the origin of the mesh goes [m].
        rotation: Rotation of the mesh about its origin, w x y z.
    """

    mesh: Name | None = None
    grid: GridTable | None = None
    material: Name | ClothMaterialTable | None = None  # type: ignore[valid-type]
    self_collision: bool | Literal["particles", "triangles"] = False
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)


class RopeTable(Pinned):
    """A rope: either `points`, or `from`, `to` and `count`.

    Attributes:
        points: Points along the rope [m].
        start: First point [m], key `from`.
        to: Last point [m].
        count: Number of points from the first to the last.
        material: Fields of the material.
        self_collision: Whether its segments keep off each other, so that a knot holds.
    """

    points: Annotated[list[Vector], Meta(min_length=2)] | None = None
    start: Vector | None = msgspec.field(default=None, name="from")
    to: Vector | None = None
    count: Annotated[int, Meta(ge=2, le=MOST_ROPE_POINTS)] | None = None
    material: RopeMaterialTable | None = None  # type: ignore[valid-type]
    self_collision: bool = False


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
    SphereTable | PlaneTable | BoxTable | CapsuleTable | CylinderTable | ConeTable | MeshTable | HeightfieldTable
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


class ConstraintTable(Table):
    """Constraint rows.

    Attributes:
        type: Name of a registered constraint type.
        indices: Particles of each row.
        thing: Name of the thing that the indices count in; left out: they count all particles of the scene.
        compliance: Inverse stiffness, one for all or one for each row; inf: no force.
        compression_compliance: The same where the constraint is negative; left out: the same.
        stiffness: Stiffness 0 to 1 for the method `pbd`.
        compression_stiffness: The same where the constraint is negative.
        damping: Damping stiffness.
        parameters: Parameters of the type by name; those left out follow from the positions.
    """

    type: Name
    indices: Annotated[list[list[Index]], Meta(min_length=1)]
    thing: Name | None = None
    compliance: PerRow = 0.0
    compression_compliance: PerRow | None = None
    stiffness: Ratio | list[Ratio] = 1.0
    compression_stiffness: Ratio | list[Ratio] | None = None
    damping: PerRow = 0.0
    parameters: dict[Name, float | list[float | list[float]]] = {}


class AttachTarget(Table):
    """What a particle is attached to: a particle of a thing, a point, or something that moves.

    Attributes:
        thing: Name of the other thing.
        index: Particle of the other thing; left out: the one nearest to the first particle.
        nearest: Point [m]; the particle of the other thing that is nearest to it.
        point: Point of the world [m].
        motion: Target that moves.
    """

    thing: Name | None = None
    index: Index | None = None
    nearest: Vector | None = None
    point: Vector | None = None
    motion: MotionTable | None = None


class AttachTable(Table):
    """An attachment of a particle.

    Attributes:
        thing: Name of the thing that the particle belongs to.
        to: What it is attached to.
        index: Which particle; left out: the one nearest to `nearest`, or to the point, or where the motion begins.
        nearest: Point [m]; the particle of the thing that is nearest to it.
        compliance: Inverse stiffness [m/N].
        break_force: Force [N] above which it lets go for good.
    """

    thing: Name
    to: AttachTarget
    index: Index | None = None
    nearest: Vector | None = None
    compliance: NonNegative = 0.0
    break_force: Positive | None = None


class IgnoreContactTable(Table):
    """Two things, or a thing and a collider, that pass through each other.

    Attributes:
        first: Name of the one.
        second: Name of the other.
    """

    first: Name
    second: Name


class SceneFile(Table):
    """A scene of shinari.

    Attributes:
        scene: The world.
        simulation: How it is simulated.
        particles: Loose particles.
        cloth: Sheets.
        rope: Ropes.
        collider: Solids.
        constraint: Constraint rows.
        attach: Attachments.
        ignore_contact: Pairs that pass through each other.
    """

    scene: SceneTable = msgspec.field(default_factory=SceneTable)
    simulation: SimulationTable = msgspec.field(default_factory=SimulationTable)
    particles: list[ParticlesTable] = []
    cloth: list[ClothTable] = []
    rope: list[RopeTable] = []
    collider: list[ColliderTable] = []
    constraint: list[ConstraintTable] = []
    attach: list[AttachTable] = []
    ignore_contact: list[IgnoreContactTable] = []
