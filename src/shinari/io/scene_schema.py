"""What a scene file may hold: the tables, their fields and bounds.

The classes here and in `schema_objects`, `schema_solids`, `schema_bodies` and `schema_fluids` say which keys there are
and what their values look like; `shinari.io.scene_file` makes a scene of them, `shinari.io.json_schema` a
description for other programs. Units are SI, Y is up, a rotation is a unit quaternion w x y z.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from shinari.io.schema_bodies import JointTable, RigidBodyTable
from shinari.io.schema_fluids import EmitterTable, FluidTable, GrainsTable, SinkTable
from shinari.io.schema_objects import (
    ClothTable,
    ParticlesTable,
    RodTable,
    RopeTable,
    ShapeMatchedTable,
    SoftBodyTable,
)
from shinari.io.schema_solids import ColliderTable, MotionTable
from shinari.model.settings import DETECTIONS, DEVICES, METHODS, PRECISIONS, RIGID_SOLVERS, STIFFNESS_MODES, SWEEPS
from shinari.schema_types import Count, Index, Name, NonNegative, PerRow, Positive, Ratio, Table, Vector


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
        rigid_solver: How joints and contacts of rigid bodies are solved.
        sleep: Whether objects at rest are not simulated until something comes.
        device: `cpu`, or `cuda` for an NVIDIA GPU.
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
    rigid_solver: Literal[RIGID_SOLVERS] = "auto"  # type: ignore[valid-type]
    sleep: bool = True
    device: Literal[DEVICES] = "cpu"  # type: ignore[valid-type]


class ConstraintTable(Table):
    """Constraint rows.

    Attributes:
        type: Name of a registered constraint type.
        indices: Particles of each row.
        thing: Name of the object that the indices count in; left out: they count all particles of the scene.
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
    parameters: dict[Name, float | list[float | list[float]]] = msgspec.field(default_factory=dict)


class AttachTarget(Table):
    """What particles are attached to: particles of an object, places on it or on a body, points, or what moves.

    Attributes:
        thing: Name of the other object, or of a rigid body.
        index: Particle of the other object, or one each; left out: the one nearest to the first particle.
        nearest: Point [m]; the particle of the other object that is nearest to it.
        place: Point [m]: the place on the other object that is nearest to it, in a tetrahedron, on a triangle or on a
            segment; `nearest`: the place nearest to each particle, which welds two objects together. On a rigid body:
            the point itself; `nearest`: where each particle is.
        point: Point of the world [m].
        motion: Target that moves.
    """

    thing: Name | None = None
    index: Index | Annotated[list[Index], Meta(min_length=1)] | None = None
    nearest: Vector | None = None
    place: Vector | Literal["nearest"] | None = None
    point: Vector | None = None
    motion: MotionTable | None = None


class AttachTable(Table):
    """An attachment of particles.

    Attributes:
        thing: Name of the object that the particles belong to.
        to: What they are attached to.
        index: Which particle, or several; left out: the one nearest to `nearest`, or to the point, or where the motion
            begins.
        nearest: Point [m]; the particle of the object that is nearest to it.
        compliance: Inverse stiffness [m/N].
        break_force: Force [N] above which it lets go for good.
        reach: Largest distance from a point to its place on the other object [m]; left out: the longest edge there.
    """

    thing: Name
    to: AttachTarget
    index: Index | Annotated[list[Index], Meta(min_length=1)] | None = None
    nearest: Vector | None = None
    compliance: NonNegative = 0.0
    break_force: Positive | None = None
    reach: Positive | None = None


class VolumeTable(Table):
    """Keeps the volume inside the closed mesh of an object, as the air in a balloon does.

    Attributes:
        thing: Name of a cloth whose mesh is closed, or of a soft body.
        ratio: Volume to be kept over that of the mesh as it is given.
        compliance: Change of the volume by the pressure [m^3/Pa].
    """

    thing: Name
    ratio: Positive = 1.0
    compliance: NonNegative = 0.0


class IgnoreContactTable(Table):
    """Two objects, or an object and a collider, that pass through each other.

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
        soft_body: Soft bodies of tetrahedra.
        rod: Rods that resist bending and twist.
        shape_matched: Lumps of particles that keep their shape.
        collider: Solids.
        rigid_body: Rigid bodies.
        fluid: Fluids made of particles.
        emitter: Faucets.
        sink: Regions in which fluids vanish.
        grains: Grains, such as sand.
        joint: Joints between rigid bodies.
        constraint: Constraint rows.
        attach: Attachments.
        volume: Volumes that are kept.
        ignore_contact: Pairs that pass through each other.
    """

    scene: SceneTable = msgspec.field(default_factory=SceneTable)
    simulation: SimulationTable = msgspec.field(default_factory=SimulationTable)
    particles: list[ParticlesTable] = msgspec.field(default_factory=list)
    cloth: list[ClothTable] = msgspec.field(default_factory=list)
    rope: list[RopeTable] = msgspec.field(default_factory=list)
    soft_body: list[SoftBodyTable] = msgspec.field(default_factory=list)
    rod: list[RodTable] = msgspec.field(default_factory=list)
    shape_matched: list[ShapeMatchedTable] = msgspec.field(default_factory=list)
    collider: list[ColliderTable] = msgspec.field(default_factory=list)
    rigid_body: list[RigidBodyTable] = msgspec.field(default_factory=list)
    fluid: list[FluidTable] = msgspec.field(default_factory=list)
    emitter: list[EmitterTable] = msgspec.field(default_factory=list)
    sink: list[SinkTable] = msgspec.field(default_factory=list)
    grains: list[GrainsTable] = msgspec.field(default_factory=list)
    joint: list[JointTable] = msgspec.field(default_factory=list)
    constraint: list[ConstraintTable] = msgspec.field(default_factory=list)
    attach: list[AttachTable] = msgspec.field(default_factory=list)
    volume: list[VolumeTable] = msgspec.field(default_factory=list)
    ignore_contact: list[IgnoreContactTable] = msgspec.field(default_factory=list)
