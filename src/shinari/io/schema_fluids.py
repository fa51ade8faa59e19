"""Tables of a scene file: fluids, what brings them and takes them away, and grains."""

from typing import Annotated, Literal

from msgspec import Meta

from shinari.io.schema_objects import Pinned, material_table
from shinari.io.schema_solids import MotionTable, ShapeTable
from shinari.scene.fluid_material import BOUNDARIES, LEAST_SUPPORT, MOST_SUPPORT, SMOOTHING_KERNELS, FluidMaterial
from shinari.scene.grain_material import GrainMaterial
from shinari.schema_types import Count, Name, NonNegative, Positive, Quaternion, Table, Vector

Support = Annotated[float, Meta(ge=LEAST_SUPPORT, le=MOST_SUPPORT)]

FluidMaterialTable = material_table(
    FluidMaterial,
    tensile_power=Count,
    tensile_distance=Annotated[float, Meta(gt=0, le=0.9)],
    xsph=Annotated[float, Meta(ge=0, le=1)],
    rest_density=Positive,
)
GrainMaterialTable = material_table(GrainMaterial)


class FluidTable(Pinned, kw_only=True):
    """A fluid: one of `shape`, `mesh`, `container` and `points` must be given.

    Attributes:
        spacing: Distance of the particles at rest [m]; each fills a cube of this edge.
        shape: Shape that is filled.
        mesh: File of a closed surface that is filled; relative to the folder of the scene file and inside it.
        container: Name of a collider or rigid body whose inside is filled, or names of those that are its walls.
        points: The particles themselves [m].
        fill_to: Height to which it is filled [m]; left out: all of it, an open container to its brim.
        material: Name of a preset, or a table of fields, with `preset` to begin from one.
        position: Where the origin of the shape, mesh or points goes [m].
        rotation: Rotation about that origin, w x y z.
        support: Distance at which the kernels end, in spacings.
        kernel: Smoothing kernel.
        dimensions: 2: one layer of particles in a plane of constant z.
        boundary: How solids enter the density: `walls`, by their distance; `particles`, by particles on them.
    """

    spacing: Positive
    shape: ShapeTable | None = None
    mesh: Name | None = None
    container: Name | Annotated[list[Name], Meta(min_length=1)] | None = None
    points: Annotated[list[Vector], Meta(min_length=1)] | None = None
    fill_to: float | None = None
    material: Name | FluidMaterialTable | None = None  # type: ignore[valid-type]
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)
    support: Support | None = None
    kernel: Literal[SMOOTHING_KERNELS] | None = None  # type: ignore[valid-type]
    dimensions: Literal[2, 3] | None = None
    boundary: Literal[BOUNDARIES] | None = None  # type: ignore[valid-type]


class EmitterTable(Table, kw_only=True):
    """A faucet: a nozzle out of which a fluid flows; give `radius` or `size`, and `speed` or `rate`.

    Attributes:
        name: Unique name.
        fluid: Name of a fluid; what leaves is of its material and sampled as it is. Left out: as the fields from
            `spacing` on say.
        limit: Most particles that are out at a time.
        radius: Radius of a round nozzle [m].
        size: Width and height of a rectangular nozzle [m].
        position: Middle of the nozzle [m].
        direction: Direction in which the fluid leaves.
        speed: Speed of the fluid [m/s].
        rate: Volume that leaves in a second [m^3/s].
        start: Time at which the first layer leaves [s].
        stop: Time after which none leaves [s]; left out: never.
        recycle: Whether the oldest particles come out again when the limit is reached.
        motion: How the nozzle moves; replaces `position`.
        spacing: Distance of the particles at rest [m].
        material: Name of a preset, or a table of fields, with `preset` to begin from one.
        support: Distance at which the kernels end, in spacings.
        kernel: Smoothing kernel.
        dimensions: 2: one layer of particles in a plane of constant z.
        boundary: How solids enter the density: `walls`, by their distance; `particles`, by particles on them.
    """

    limit: Count
    name: Name | None = None
    fluid: Name | None = None
    radius: Positive | None = None
    size: tuple[Positive, Positive] | None = None
    position: Vector = (0.0, 0.0, 0.0)
    direction: Vector = (0.0, -1.0, 0.0)
    speed: Positive | None = None
    rate: Positive | None = None
    start: NonNegative = 0.0
    stop: NonNegative | None = None
    recycle: bool = False
    motion: MotionTable | None = None
    spacing: Positive | None = None
    material: Name | FluidMaterialTable | None = None  # type: ignore[valid-type]
    support: Support | None = None
    kernel: Literal[SMOOTHING_KERNELS] | None = None  # type: ignore[valid-type]
    dimensions: Literal[2, 3] | None = None
    boundary: Literal[BOUNDARIES] | None = None  # type: ignore[valid-type]


class SinkTable(Table):
    """A region in which particles of fluids vanish.

    Attributes:
        name: Unique name.
        shape: Its shape.
        position: Where its origin is [m].
        rotation: Its rotation, w x y z.
    """

    shape: ShapeTable
    name: Name | None = None
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)


class GrainsTable(Pinned, kw_only=True):
    """Grains, balls that keep off each other and rub: one of `shape`, `mesh` and `points` must be given.

    Attributes:
        radius: Radius of the grains [m].
        shape: Shape that is filled.
        mesh: File of a closed surface that is filled; relative to the folder of the scene file and inside it.
        points: The centres of the grains [m].
        spread: Part of the radius by which radii differ from it at most.
        packing: How it is filled: `random`, looser than a heap, or `lattice`, in rows that touch.
        material: Name of a preset, or a table of fields, with `preset` to begin from one.
        position: Where the origin of the shape, mesh or points goes [m].
        rotation: Rotation about that origin, w x y z.
        angular_velocity: Angular velocity of grains that turn [rad/s]; by default they are at rest.
    """

    radius: Positive
    shape: ShapeTable | None = None
    mesh: Name | None = None
    points: Annotated[list[Vector], Meta(min_length=1)] | None = None
    spread: Annotated[float, Meta(ge=0, le=0.9)] = 0.0
    packing: Literal["random", "lattice"] = "random"
    material: Name | GrainMaterialTable | None = None  # type: ignore[valid-type]
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)
    angular_velocity: Vector | None = None
