"""Tables of a scene file: objects made of particles, and their materials."""

from dataclasses import fields
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shinari.scene.lump_material import MODES, LumpMaterial
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.rod_material import SOLVERS, RodMaterial
from shinari.scene.sewing import EASE
from shinari.scene.soft_material import MODELS, SoftMaterial
from shinari.schema_types import (
    Count,
    Index,
    Name,
    NonNegative,
    PerRow,
    Positive,
    Quaternion,
    Ratio,
    Table,
    Vector,
)

MOST_ROPE_POINTS = 1_000_000
MOST_GRID_VERTICES = 2**24
MOST_LATTICE_CELLS = 2**22


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
    pin: list[Index] = msgspec.field(default_factory=list)
    pin_nearest: list[Vector] = msgspec.field(default_factory=list)


class ParticlesTable(Pinned, kw_only=True):
    """Loose particles.

    Attributes:
        positions: Positions [m].
        mass: Mass [kg], one for all or one each; 0 fixes.
        radius: Distance kept from colliders and other objects [m], one for all or one each; particles without one pass
            through other objects.
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


_BOUNDS: dict[str, Any] = {
    "density": Positive,
    "youngs_modulus": Positive,
    "shear_modulus": Positive,
    "restitution": Ratio,
    "tear_strain": Positive,
    "yield_strain": Positive,
    "creep": Positive,
    "plastic_limit": Positive,
}
"""Bounds of the fields of materials that have others than to be at least zero."""
_STIFFNESSES = ("stretch_stiffness", "compression_stiffness", "shear_stiffness", "bending_stiffness_ratio")
_Preset = Annotated[Name | None, Meta(description="Name of a preset to begin from.")]


def material_table(material: type, **bounds: Any) -> Any:
    """A table with the fields of a material, all optional; what they mean stands there once."""
    columns: list[Any] = []
    for field in fields(material):
        bound = bool if field.type is bool else (_BOUNDS | bounds).get(field.name, NonNegative)
        columns.append((field.name, bound | UnsetType, UNSET))
    if hasattr(material, "preset"):
        columns.append(("preset", _Preset, None))
    table = msgspec.defstruct(f"{material.__name__}Table", columns, bases=(Table,), kw_only=True)
    table.__doc__ = material.__doc__
    return table


ClothMaterialTable = material_table(
    ClothMaterial,
    **dict.fromkeys(_STIFFNESSES, Ratio),
    bend_model=Literal["isometric", "dihedral", "cross"],
    stretch_model=Literal["springs", "strain"],
    poissons_ratio=Annotated[float, Meta(gt=-1, lt=1)],
)
RopeMaterialTable = material_table(RopeMaterial, **dict.fromkeys(_STIFFNESSES, Ratio))
SoftMaterialTable = material_table(
    SoftMaterial,
    poissons_ratio=Annotated[float, Meta(gt=-1, lt=0.5)],
    model=Literal[MODELS],  # type: ignore[valid-type]
)
RodMaterialTable = material_table(
    RodMaterial,
    radius=Positive,
    poissons_ratio=Annotated[float, Meta(gt=-1, le=0.5)],
    solver=Literal[SOLVERS],  # type: ignore[valid-type]
)
LumpMaterialTable = material_table(
    LumpMaterial,
    stiffness=Ratio,
    beta=Ratio,
    cluster_size=Positive,
    yield_strain=NonNegative,
    creep=NonNegative,
    mode=Literal[MODES],  # type: ignore[valid-type]
)


class SeamTable(Table):
    """Two rows of vertices that are sewn together.

    Attributes:
        first: Vertices of one side.
        second: Vertices of the other side, in the same order.
        closing_time: Time in which it closes [s].
        ease: Largest difference of the lengths of both sides, as a part.
    """

    first: list[Index]
    second: list[Index]
    closing_time: NonNegative = 0.5
    ease: Ratio = EASE


class FoldTable(Table):
    """A line along edges at which a cloth is bent at rest.

    Attributes:
        vertices: Vertices along the line.
        angle: Angle at rest [rad]; positive for a ridge.
        stiffness: Bending stiffness over that of the sheet.
    """

    vertices: list[Index]
    angle: float
    stiffness: Positive = 1.0


class BandTable(Table):
    """An elastic band along edges of a cloth.

    Attributes:
        vertices: Vertices along the band.
        ratio: Length at rest over that of the cloth beneath it.
        stiffness: Force over strain [N].
    """

    vertices: list[Index]
    ratio: Positive = 0.8
    stiffness: Positive = 20.0


class ClothTable(Pinned):
    """A sheet, from a mesh file or a grid: one of `mesh` and `grid` must be given.

    Attributes:
        mesh: Mesh file, relative to the folder of the scene file and inside it.
        grid: A regular sheet instead of a mesh file.
        material: Name of a preset, or a table of fields, with `preset` to begin from one.
        self_collision: `triangles`: layers never pass through each other; `particles`: its vertices keep off each
            other, which is cheaper; false: it passes through itself.
        rest: `uv`: texture coordinates of the mesh file, in metres; else another mesh file.
        maps: Names of attributes of the mesh file for `pin`, `thickness`, `stiffness` and `mass`.
        seams: Rows of vertices that are sewn together.
        folds: Fold lines.
        bands: Elastic bands.
        position: Where the origin of the mesh goes [m].
        rotation: Rotation of the mesh about its origin, w x y z.
    """

    mesh: Name | None = None
    grid: GridTable | None = None
    rest: Name | None = None
    maps: dict[Literal["pin", "thickness", "stiffness", "mass"], Name] | None = None
    seams: list[SeamTable] = msgspec.field(default_factory=list)
    folds: list[FoldTable] = msgspec.field(default_factory=list)
    bands: list[BandTable] = msgspec.field(default_factory=list)
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


class LatticeTable(Table):
    """A box of cubes, each cut into tetrahedra, with one corner in its origin.

    Attributes:
        cells: Cubes along X, Y and Z.
        size: Edge of a cube [m].
        split: Tetrahedra of a cube.
    """

    cells: tuple[Count, Count, Count]
    size: Positive
    split: Literal[5, 6] = 5


class SoftBodyTable(Pinned):
    """A soft body of tetrahedra, from a mesh file or a box: one of `mesh` and `lattice` must be given.

    Attributes:
        mesh: File of a closed surface, which is filled with tetrahedra, or of tetrahedra; relative to the folder of the
            scene file and inside it.
        lattice: A box instead of a mesh file.
        cell: Size of the tetrahedra that fill a surface [m]; left out: for about 10,000 of them.
        visual: File of a surface that is shown in place of the tetrahedra, in the coordinates of the mesh; left out:
            the surface that was filled, or that of the tetrahedra.
        material: Name of a preset, or a table of fields, with `preset` to begin from one.
        self_collision: `triangles`: its surface keeps off itself; false: it passes through itself.
        position: Where the origin of the mesh goes [m].
        rotation: Rotation of the mesh about its origin, w x y z.
    """

    mesh: Name | None = None
    lattice: LatticeTable | None = None
    cell: Positive | None = None
    visual: Name | None = None
    material: Name | SoftMaterialTable | None = None  # type: ignore[valid-type]
    self_collision: bool | Literal["triangles"] = False
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)


class RodTable(Pinned):
    """A rod that resists bending and twist: either `points`, or `from`, `to` and `count`.

    Attributes:
        points: Points along the rod [m].
        start: First point [m], key `from`.
        to: Last point [m].
        count: Number of points from the first to the last.
        material: Name of a preset, or a table of fields, with `preset` to begin from one.
        closed: Whether a last segment leads from the last point back to the first.
        rest_curvature: Curvature at rest in the axes of its frames [1/m], bending about the first two and twist about
            the third, one for all joints or one each; left out: as it is given.
        point_masses: Mass of the points beside that of the rod [kg], one for all or one each.
        self_collision: Whether its segments keep off each other.
        clamp: Indices of the segments whose direction and twist are fixed.
    """

    points: Annotated[list[Vector], Meta(min_length=2)] | None = None
    start: Vector | None = msgspec.field(default=None, name="from")
    to: Vector | None = None
    count: Annotated[int, Meta(ge=2, le=MOST_ROPE_POINTS)] | None = None
    material: Name | RodMaterialTable | None = None  # type: ignore[valid-type]
    closed: bool = False
    rest_curvature: Annotated[list[float | Vector], Meta(min_length=1)] | None = None
    point_masses: PerRow = 0.0
    self_collision: bool = False
    clamp: list[Index] = msgspec.field(default_factory=list)


class ShapeMatchedTable(Pinned):
    """A lump of particles that keeps its shape: one of `mesh` and `points` must be given.

    Attributes:
        mesh: File of a closed surface, which is filled with particles and shown; relative to the folder of the scene
            file and inside it.
        points: The particles themselves [m].
        density: Mass per volume [kg/m^3]; left out: that of the material.
        stiffness: Stiffness; left out: that of the material.
        material: Name of a preset, or a table of fields, with `preset` to begin from one.
        spacing: Distance of the particles [m]; left out: a twelfth of the longest extent of a mesh, or that of points.
        radius: Distance kept from what is touched [m]; left out: half of the spacing.
        mass: Masses of points [kg], one for all or one each, in place of the density; 0 fixes.
        clusters: Particles of each cluster; left out: as the material says.
        position: Where the origin of the mesh or of the points goes [m].
        rotation: Rotation about that origin, w x y z.
    """

    mesh: Name | None = None
    points: Annotated[list[Vector], Meta(min_length=1)] | None = None
    density: Positive | None = None
    stiffness: Ratio | None = None
    material: Name | LumpMaterialTable | None = None  # type: ignore[valid-type]
    spacing: Positive | None = None
    radius: NonNegative | None = None
    mass: PerRow | None = None
    clusters: Annotated[list[list[Index]], Meta(min_length=1)] | None = None
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)
