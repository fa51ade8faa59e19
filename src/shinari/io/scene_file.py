"""Scene files: TOML text in, a `Scene` and how to run it out.

    [scene]
    wind = { mean = [2, 0, 0], amplitude = [1, 0, 0.5], frequency = 0.7 }

    [[cloth]]
    name = "flag"
    mesh = "flag.obj"
    material = { density = 0.15, stretch_compliance = 1e-5 }
    pin_nearest = [[0, 1, 0], [0, 0, 0]]

    [[collider]]
    shape = { type = "sphere", radius = 0.3 }
    motion = { type = "oscillation", centre = [0, 0, 0], amplitude = [0.4, 0, 0], frequency = 0.5 }

The tables and their bounds are in `shinari.io.scene_schema`. A scene file may come from anyone: it names data and
nothing that runs, and the meshes it names must lie in its own folder or below, links followed.
"""

import math
import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from shinari import check
from shinari.api.scene import Scene
from shinari.errors import FileError, SceneError, ShinariError
from shinari.input_files import read_bytes
from shinari.io import scene_schema as schema
from shinari.io import schema_objects as objects
from shinari.io.scene_fields import material_of, pin
from shinari.io.scene_fluids import add_emitter, add_fluid, add_grains, add_sink
from shinari.io.scene_solids import add_collider, add_joint, add_rigid_body, inside, motion_of
from shinari.model.settings import Settings
from shinari.scene.handle import BodyHandle, ColliderHandle, Handle
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.rod_material import RodMaterial
from shinari.scene.sewing import ElasticBand, Fold, Seam, Sewing
from shinari.scene.soft_material import SoftMaterial
from shinari.scene.wind import Gusts

SCENES = Path(__file__).parent.parent / "scenes"
"""Folder of the scenes that come with the package."""
DEFAULT = "kerchief"
"""Scene of `shinari demo` without a name."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What a scene file says about running it.

    Attributes:
        settings: How to simulate.
        duration: Simulated time of a run [s].
        frames_per_second: Frames to write for each second of simulated time [1/s].
        title: One line about the scene.
    """

    settings: Settings
    duration: float
    frames_per_second: float
    title: str


def load_scene(path: str | os.PathLike) -> Scene:
    """Read a scene file.

    Args:
        path: TOML file; `shinari schema` prints what it may hold.

    Returns:
        The scene, as if it had been described with `Scene.add_cloth` and so on.

    Raises:
        FileError: The file, or a mesh that it names, is missing, damaged or outside its folder.
        SceneError: A key is unknown, a value has the wrong type or lies outside its bounds; the message names the field
            as in `$.cloth[0].density`.
    """
    return load_scene_file(path)[0]


def load_scene_file(path: str | os.PathLike) -> tuple[Scene, RunOptions]:
    """Read a scene file with its simulation settings; see `load_scene`."""
    path = check.path("scene file", "path", path)
    return build_document(read_document(path), path)


def build_document(document: dict[str, Any], path: Path) -> tuple[Scene, RunOptions]:
    """The scene and the settings of a document, as if it stood in the file `path`; see `load_scene`."""
    file = checked_document(document, path)
    try:
        options = _run_options(file)
        scene = _build(file, path.parent)
    except SceneError as error:
        raise SceneError(f"{path}: {error}") from error
    except ShinariError:
        raise
    return scene, options


def read_document(path: Path) -> dict[str, Any]:
    """The tables of a TOML file, not checked.

    Raises:
        FileError: The file cannot be read.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
        return tomllib.loads(text)
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: is no text in UTF-8: byte {error.start} cannot be decoded") from error
    except tomllib.TOMLDecodeError as error:
        message = str(error).replace("end of document", f"end of document, line {text.count(chr(10)) + 1}")
        raise FileError(f"{path}: is no valid TOML: {message}") from error
    except (ValueError, RecursionError) as error:  # a path with a null byte, a number of 5,000 digits, 1,000 brackets
        raise FileError(f"{path}: cannot be read as TOML: {error}") from error


def checked_document(document: dict[str, Any], path: Path) -> schema.SceneFile:
    """The tables of a scene file, checked.

    Raises:
        SceneError: A key is unknown, or a value has the wrong type or lies outside its bounds.
    """
    try:
        return msgspec.convert(document, schema.SceneFile)
    except msgspec.ValidationError as error:
        raise SceneError(f"{path}: {check.plain(str(error).replace('`', ''))}") from error


def _run_options(file: schema.SceneFile) -> RunOptions:
    given = msgspec.structs.asdict(file.simulation)
    duration, frames_per_second = given.pop("duration"), given.pop("frames_per_second")
    for field, value in (("duration", duration), ("frames_per_second", frames_per_second)):
        if not np.isfinite(value):
            raise SceneError(f"simulation: {field}: expected a finite number, got {value}")
    return RunOptions(
        settings=Settings(**given),
        duration=duration,
        frames_per_second=frames_per_second,
        title=file.scene.title,
    )


def _build(file: schema.SceneFile, folder: Path) -> Scene:
    world = file.scene
    wind: Any = world.wind
    if isinstance(wind, schema.GustsTable):
        wind = Gusts(**msgspec.structs.asdict(wind))
    scene = Scene(gravity=world.gravity, wind=wind, air_density=world.air_density, damping=world.damping)
    for name, add, reads in _adders():
        for index, table in enumerate(getattr(file, name)):
            _locate(name, index, partial(add, scene, table, folder) if reads else partial(add, scene, table))
    return scene


def _adders() -> list[tuple[str, Callable[..., None], bool]]:
    """Lists of a scene file in the order in which they are added, how, and whether that reads files of the folder."""
    return [
        ("particles", _add_particles, False),
        ("cloth", _add_cloth, True),
        ("rope", _add_rope, False),
        ("soft_body", _add_soft_body, True),
        ("rod", _add_rod, False),
        ("shape_matched", _add_lump, True),
        ("collider", add_collider, True),
        ("rigid_body", add_rigid_body, True),
        ("fluid", add_fluid, True),  # may fill what is there so far
        ("emitter", add_emitter, False),
        ("sink", add_sink, True),
        ("grains", add_grains, True),
        ("joint", add_joint, False),
        ("constraint", _add_constraint, False),
        ("attach", _attach, False),
        ("volume", _add_volume, False),
        ("ignore_contact", _ignore_contact, False),
    ]


def _ignore_contact(scene: Scene, table: schema.IgnoreContactTable) -> None:
    scene.ignore_contact(table.first, table.second)


def _locate(table: str, index: int, add: Callable[[], None]) -> None:
    """Add an object; an error says which table of the file it comes from."""
    try:
        add()
    except SceneError as error:
        raise SceneError(f"{error} - at $.{table}[{index}]") from error
    except ShinariError:
        raise
    except (ArithmeticError, MemoryError) as error:
        raise SceneError(f"{table}: its numbers are too large: {error} - at $.{table}[{index}]") from error


def _add_particles(scene: Scene, table: objects.ParticlesTable) -> None:
    handle = scene.add_particles(
        table.positions,
        mass=table.mass,
        velocity=table.velocity,
        radius=table.radius,
        friction=table.friction,
        static_friction=table.static_friction,
        restitution=table.restitution,
        contact_compliance=table.contact_compliance,
        self_collision=table.self_collision,
        name=table.name,
    )
    pin(handle, table)


def _add_cloth(scene: Scene, table: objects.ClothTable, folder: Path) -> None:
    label = f"cloth {check.short(table.name)}" if table.name else "cloth"
    if (table.mesh is None) == (table.grid is None):
        raise SceneError(f"{label}: mesh, grid: exactly one of the two must be given")
    handle = scene.add_cloth(
        _grid(label, table.grid) if table.grid is not None else inside(folder, table.mesh or ""),
        material=material_of(ClothMaterial, table.material),
        self_collision=table.self_collision,
        rest=table.rest if table.rest in (None, "uv") else inside(folder, table.rest),
        maps=table.maps,
        sewing=_sewing(table),
        position=table.position,
        rotation=table.rotation,
        velocity=table.velocity,
        name=table.name,
    )
    pin(handle, table)


def _sewing(table: objects.ClothTable) -> list[Sewing]:
    """Seams, fold lines and elastic bands of a cloth."""
    kinds = ((Seam, table.seams), (Fold, table.folds), (ElasticBand, table.bands))
    return [kind(**msgspec.structs.asdict(row)) for kind, rows in kinds for row in rows]


def _add_rope(scene: Scene, table: objects.RopeTable) -> None:
    handle = scene.add_rope(
        _line(f"rope {check.short(table.name)}" if table.name else "rope", table),
        material=material_of(RopeMaterial, table.material),
        self_collision=table.self_collision,
        velocity=table.velocity,
        name=table.name,
    )
    pin(handle, table)


def _add_soft_body(scene: Scene, table: objects.SoftBodyTable, folder: Path) -> None:
    label = f"soft body {check.short(table.name)}" if table.name else "soft body"
    if (table.mesh is None) == (table.lattice is None):
        raise SceneError(f"{label}: mesh, lattice: exactly one of the two must be given")
    handle = scene.add_soft_body(
        _lattice(label, table.lattice) if table.lattice is not None else _solid_file(folder, table.mesh or ""),
        material=material_of(SoftMaterial, table.material),
        cell=table.cell,
        visual=None if table.visual is None else inside(folder, table.visual),
        self_collision=table.self_collision,
        position=table.position,
        rotation=table.rotation,
        velocity=table.velocity,
        name=table.name,
    )
    pin(handle, table)


def _add_rod(scene: Scene, table: objects.RodTable) -> None:
    label = f"rod {check.short(table.name)}" if table.name else "rod"
    rod = scene.add_rod(
        _line(label, table),
        material=material_of(RodMaterial, table.material),
        closed=table.closed,
        rest_curvature=table.rest_curvature,
        point_masses=table.point_masses,
        self_collision=table.self_collision,
        velocity=table.velocity,
        name=table.name,
    )
    rod.clamp(table.clamp)
    pin(rod, table)


def _add_lump(scene: Scene, table: objects.ShapeMatchedTable, folder: Path) -> None:
    label = f"shape matched {check.short(table.name)}" if table.name else "shape matched"
    if (table.mesh is None) == (table.points is None):
        raise SceneError(f"{label}: mesh, points: exactly one of the two must be given")
    handle = scene.add_shape_matched(
        inside(folder, table.mesh) if table.mesh is not None else np.array(table.points, np.float64),
        density=table.density,
        stiffness=table.stiffness,
        material=material_of(LumpMaterial, table.material),
        spacing=table.spacing,
        radius=table.radius,
        mass=table.mass,
        clusters=table.clusters,
        position=table.position,
        rotation=table.rotation,
        velocity=table.velocity,
        name=table.name,
    )
    pin(handle, table)


def _line(label: str, table: objects.RopeTable | objects.RodTable) -> Any:
    """Points of a rope or a rod."""
    ends = (table.start, table.to, table.count)
    if (table.points is None) != all(end is not None for end in ends) or (
        table.points is not None and any(end is not None for end in ends)
    ):
        raise SceneError(f"{label}: points: give either points, or from, to and count")
    if table.points is not None:
        return table.points
    return np.linspace(np.array(table.start), np.array(table.to), int(table.count or 0))


def _add_constraint(scene: Scene, table: schema.ConstraintTable) -> None:
    import shinari.constraints  # noqa: F401  registers the types that come with the package
    from shinari.constraints.registry import constraint_type

    label = f"constraint {check.short(table.type)}"
    lengths = {len(row) for row in table.indices}
    if len(lengths) > 1:
        raise SceneError(f"{label}: indices: all rows must have the same length, got {sorted(lengths)}")
    indices = np.array(table.indices, np.int64)
    if table.thing is not None:
        members = _thing(scene, "constraint", "thing", table.thing).particles
        if indices.size and indices.max() >= len(members):
            raise SceneError(f"{label}: indices: {indices.max()} is out of range 0 .. {len(members) - 1}")
        indices += members.start
    known = [name for name, _ in constraint_type(table.type).parameters]
    unknown = sorted(set(table.parameters) - set(known))
    if unknown:
        raise SceneError(f"{label}: {unknown[0]}: unknown parameter; known are {', '.join(known) or 'none'}")
    scene.add_constraint(
        table.type,
        indices,
        compliance=table.compliance,
        compression_compliance=table.compression_compliance,
        stiffness=table.stiffness,
        compression_stiffness=table.compression_stiffness,
        damping=table.damping,
        **table.parameters,
    )


def _attach(scene: Scene, table: schema.AttachTable) -> None:
    to = table.to
    if sum(value is not None for value in (to.thing, to.point, to.motion)) != 1:
        raise SceneError("attach: to: exactly one of object, point and motion must be given")
    if to.thing is None and any(value is not None for value in (to.index, to.nearest, to.place)):
        raise SceneError("attach: to: index, nearest and place are of an object")
    if sum(value is not None for value in (to.index, to.nearest, to.place)) > 1:
        raise SceneError("attach: to: give only one of index, nearest and place")
    first = _thing(scene, "attach", "thing", table.thing)
    options = {"compliance": table.compliance, "break_force": table.break_force, "reach": table.reach}
    if to.thing is None:
        motion = None if to.motion is None else motion_of(to.motion)
        goal: Any = to.point if motion is None else motion(0.0)[0]  # type: ignore[index]
        index = _which(first, "thing", table.index, table.nearest, goal)
        scene.attach((first, index), motion or to.point, **options)
        return
    if isinstance(scene[to.thing], BodyHandle) and to.place is None:
        raise SceneError(f"attach: to: {to.thing!r} is a body and has no particles; give a place")
    second: Any = scene[to.thing] if to.place is not None else _thing(scene, "attach", "to", to.thing)
    if to.place is not None:
        point = None if isinstance(to.place, str) else np.array(to.place, np.float64)
        index = _which(first, "thing", table.index, table.nearest, point)
        scene.attach((first, index), second if point is None else (second, point), **options)
        return
    if table.index is None and table.nearest is None:
        other = _which(second, "to", to.index, to.nearest, None)
        index = _which(first, "thing", None, None, second.positions[np.atleast_1d(other)[0]])
    else:
        index = _which(first, "thing", table.index, table.nearest, None)
        other = _which(second, "to", to.index, to.nearest, first.positions[np.atleast_1d(index)[0]])
    scene.attach((first, index), (second, other), **options)


def _add_volume(scene: Scene, table: schema.VolumeTable) -> None:
    handle = _thing(scene, "volume", "thing", table.thing)
    scene.add_volume(handle, ratio=table.ratio, compliance=table.compliance)


def _which(handle: Handle, field: str, index: Any, nearest: Any, otherwise: Any) -> int | list[int]:
    """Particles of an object by their indices, or the one nearest to a point."""
    if index is not None and nearest is not None:
        raise SceneError(f"attach: {field}: give either index or nearest, not both")
    if index is not None:
        most = int(np.max(index))
        if most >= len(handle):
            raise SceneError(f"attach: {field}: index {most} is out of range 0 .. {len(handle) - 1}")
        return index
    point = otherwise if nearest is None else nearest
    if point is None:
        raise SceneError(f"attach: {field}: which particle of {handle.name!r} is not said; give index or nearest")
    return handle.nearest(point)


def _thing(scene: Scene, kind: str, field: str, name: str) -> Handle:
    handle = scene[name]
    if not isinstance(handle, Handle):
        what = "collider" if isinstance(handle, ColliderHandle) else "body or a joint"
        raise SceneError(f"{kind}: {field}: {check.short(name)} is a {what} and has no particles")
    return handle


def _grid(label: str, table: objects.GridTable) -> tuple[np.ndarray, np.ndarray]:
    from shinari.geometry.topology import grid

    if table.shape[0] * table.shape[1] > objects.MOST_GRID_VERTICES:
        raise SceneError(f"{label}: grid.shape: {table.shape} is more than {objects.MOST_GRID_VERTICES} vertices")
    return grid(shape=table.shape, size=table.size, diagonal=table.diagonal)


def _lattice(label: str, table: objects.LatticeTable) -> tuple[np.ndarray, np.ndarray]:
    from shinari.geometry.tetrahedra.lattice import lattice

    if math.prod(table.cells) > objects.MOST_LATTICE_CELLS:
        raise SceneError(f"{label}: lattice.cells: {table.cells} are more than {objects.MOST_LATTICE_CELLS} cells")
    return lattice(table.cells, table.size, split=table.split)


def _solid_file(folder: Path, name: str) -> Path:
    """Path of a file of a solid; TetGen keeps one in two files, and both must lie in the folder."""
    from shinari.geometry.files.tetra_files import tetgen_pair

    path = inside(folder, name)
    if path.suffix.lower() in (".node", ".ele"):
        for other in tetgen_pair(Path(name)):
            inside(folder, str(other))
    return path


def demo_scenes() -> dict[str, Path]:
    """Scene files of the package by name."""
    return {path.stem: path for path in sorted(SCENES.glob("*.toml"))}
