"""All kernels that a scene can need, compiled before its first step: a small scene of the same kinds is stepped.

What a scene does later, such as touching, tearing or yielding, calls kernels that its first steps do not. So when a
simulation is built a scene of a few particles and bodies is built and stepped first, with the same kinds of objects,
materials, constraints and settings, all in one place and fast, so that they touch, tear and yield at once. It is done
once in a process for each combination of kinds. Where the kernels are in the cache it takes some milliseconds.
"""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any

import numpy as np

from shinari import errors
from shinari.maths.compile_log import WATCH, logger
from shinari.scene import shapes
from shinari.scene.compound_shape import Compound
from shinari.scene.hull_shape import ConvexHull
from shinari.scene.mesh_shape import Mesh
from shinari.scene.scene import Scene
from shinari.scene.things import Particles, Rows
from shinari.settings import Settings

SIZE = 0.2
"""Extent of the small scene [m]."""
ROOM = 400 * SIZE
"""Extent of a container [m]: what is high above everything is not in its walls."""
SPEED = 5.0
"""Speed of the last particle of each object [m/s], so that what can tear tears."""

_done: set[tuple] = set()
_inside = threading.local()
_EXPECTED_WARNINGS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, UserWarning) and kind is not errors.CacheWarning
]
_OCTAHEDRON = (
    0.5 * SIZE * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float),
    np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]),
)


@contextmanager
def rehearsal(scene: Scene, settings: Settings, step: Callable[[Scene, dict[str, Any]], None]) -> Iterator[None]:
    """Compile all kernels that a scene can need, then do what the block does.

    Args:
        scene: The scene that is about to be simulated.
        settings: The settings of the simulation.
        step: Builds a simulation from a scene and the arguments of its settings, and takes a step.
    """
    if getattr(_inside, "active", False):
        yield
        return
    key = (_kinds_of(scene), _kind_of(replace(settings, dt=1.0, substeps=1, threads=1)))
    if any(map(_viscosity_of, scene.groups)):
        key = (*key, settings.substep)
    with WATCH.expect(0 if key in _done else expected_kernels(scene, settings)):
        if key not in _done:
            _inside.active = True
            try:
                _rehearse(scene, settings, step)
            finally:
                _inside.active = False
            _done.add(key)
        yield


def _rehearse(scene: Scene, settings: Settings, step: Callable[[Scene, dict[str, Any]], None]) -> None:
    # with the substeps of the scene: how long they are decides how viscosity is solved
    arguments = asdict(settings) | {"threads": 1, "substeps": 4, "dt": 4.0 * settings.substep}
    with warnings.catch_warnings():
        for kind in _EXPECTED_WARNINGS:
            warnings.simplefilter("ignore", kind)
        for changes, joined in _rehearsals(scene, settings):
            try:
                small = small_scene(scene)
                if not joined:
                    small.joints.clear()
                    small.body_rows.clear()
                step(small, arguments | changes)
            except Exception as error:
                # it may fly apart, or a function of the user fail: the scene itself is to say so, or to work
                logger.debug("rehearsal: %r", error)


def _rehearsals(scene: Scene, settings: Settings) -> list[tuple[dict[str, str], bool]]:
    """Changes of the settings, and whether bodies are joined, for each time that the small scene is stepped."""
    found: list[tuple[dict[str, str], bool]] = [({}, True)]
    if scene.bodies and settings.rigid_solver == "auto":
        # a heap may become so dense that its matrix is not factored any more
        found.append(({"rigid_solver": "sweeps"}, True))
    if scene.joints or scene.body_rows:
        # bodies that are joined never come to be apart
        found.append(({}, False))
    return found


def expected_kernels(scene: Scene, settings: Settings) -> int:
    """About how many kernels a scene uses."""
    kinds = {group.kind for group in scene.groups}
    collides = [group.self_collision for group in scene.groups]
    count = 4 if scene.groups else 0
    count += 14 * bool(scene.rows or kinds & {"cloth", "rope", "soft"}) + 2 * len({rows.type for rows in scene.rows})
    count += 8 * bool(scene.colliders and scene.groups) + 2 * (scene.wind is not None) + len(scene.force_fields)
    count += 8 * ("particles" in collides or "grains" in kinds) + 20 * bool({"triangles", "segments"} & set(collides))
    count += 8 * ("rod" in kinds) + 12 * ("lump" in kinds) + 25 * ("fluid" in kinds)
    count += 45 * bool(scene.bodies) + 10 * bool(scene.bodies and scene.groups)
    return count + 4 * settings.hierarchy


def small_scene(scene: Scene) -> Scene:
    """A scene with one or two small objects of each kind that a scene has, in one place."""
    wind = None if scene.wind is None else (SPEED, 0.0, 0.0)
    small = Scene(gravity=scene.gravity, wind=wind, air_density=scene.air_density, damping=scene.damping)
    for collider in _some_of_each(scene.colliders, lambda c: (_shape_kind(c.shape), c.motion is None)):
        with suppress(errors.ShinariError):
            inside = getattr(collider.shape, "inside", False)
            place = (0.0, 0.5 * ROOM if inside else 0.0, 0.0)
            small.add_collider(
                small_shape(collider.shape),
                position=place,
                motion=None if collider.motion is None else lambda time, place=place: place,
                restitution=collider.surface.restitution,
            )
    closed = {volume.thing for volume in scene.volumes}
    for group in _some_of_each(scene.groups, lambda g: (_kinds_of_group(g), g.name in closed), 2):
        with suppress(errors.ShinariError):
            _add_group(small, group, group.name in closed)
    for body in _some_of_each(scene.bodies, _kinds_of_body):
        for height in (0.0, 0.5 * SIZE):
            with suppress(errors.ShinariError):
                _add_body(small, body, height)
    with suppress(errors.ShinariError):
        _add_joints(small, scene)
    for rows in _some_of_each(scene.rows, _kinds_of_rows):
        _add_rows(small, scene, rows)
    if scene.body_rows and small.bodies and small.groups:
        rows = replace(
            scene.body_rows[0], body=0, particles=np.zeros(1, np.int64), lengths=scene.body_rows[0].lengths[:1]
        )
        small.body_rows.append(replace(rows, places=np.zeros((1, 3))))
    for field in scene.force_fields:
        small.add_force_field(field)
    if scene.sinks:
        small.add_sink(shapes.Sphere(0.4 * SIZE), position=(0.5 * SIZE, 0.5 * SIZE, 0.5 * SIZE))
    return small


def small_shape(shape: Any) -> Any:
    """A shape of the same kind, about as large as the small scene."""
    half = 0.5 * SIZE
    if isinstance(shape, shapes.Plane):
        return shapes.Plane()
    if isinstance(shape, shapes.Box):
        return shapes.Box((ROOM, ROOM, ROOM), inside=True) if shape.inside else shapes.Box((SIZE, SIZE, SIZE))
    if isinstance(shape, Mesh):
        return replace(Mesh(*_OCTAHEDRON), thickness=shape.thickness) if shape.thickness else Mesh(*_OCTAHEDRON)
    if isinstance(shape, ConvexHull):
        return ConvexHull(_OCTAHEDRON[0])
    if isinstance(shape, Compound):
        return shape
    return type(shape)(*(half for _ in fields(shape)))


def _add_group(small: Scene, group: Particles, closed: bool) -> None:
    """Add a few particles of the same kind, moving apart and through each other."""
    material: Any = group.material
    line = np.stack([np.linspace(-0.5, 0.5, 5) * SIZE, np.full(5, 0.01), np.zeros(5)], axis=1)
    cube = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 3) * SIZE] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    surface = group.surface
    if group.kind == "particles":
        radius = 0.25 * SIZE if group.radii.any() else 0.0
        contact = {"friction": surface.friction, "restitution": surface.restitution}
        small.add_particles(cube[::4], radius=radius, self_collision=bool(group.self_collision), **contact)
    elif group.kind == "cloth":
        mesh = _OCTAHEDRON if closed else _sheet()
        handle = small.add_cloth(mesh, material=material, self_collision=group.self_collision or False)
        if closed:
            small.add_volume(handle)
    elif group.kind == "rope":
        small.add_rope(line, material=material, self_collision=bool(group.self_collision))
    elif group.kind == "rod":
        closed = group.rod is not None and group.rod.closed
        ring = np.stack([np.cos(np.arange(6) * np.pi / 3), np.zeros(6), np.sin(np.arange(6) * np.pi / 3)], axis=1)
        points = 0.5 * SIZE * ring if closed else line
        small.add_rod(points, material=material, closed=closed, self_collision=bool(group.self_collision))
    elif group.kind == "soft":
        handle = small.add_soft_body(_block(), material=material, self_collision=group.self_collision or False)
        if closed:
            small.add_volume(handle)
    elif group.kind == "lump":
        small.add_shape_matched(cube, material=replace(material, cluster_size=None))
    elif group.kind == "grains":
        small.add_grains(cube, radius=0.3 * SIZE, material=material)
    else:
        _add_fluid(small, group)
    group = small.groups[-1]
    # contacts of a few fast particles are found anew while those of the others are kept
    velocities = np.zeros(group.positions.shape)
    velocities[-1] = SPEED if group.masses[-1] > 0.0 and group.emitter is None else 0.0
    small.groups[-1] = replace(group, velocities=velocities)
    if group.kind not in ("lump", "fluid"):
        # a pin would keep a lump from being one rigid body
        small.pin([small.particle_count - len(group.positions)])


def _add_fluid(small: Scene, group: Particles) -> None:
    assert group.sampling is not None
    spacing = group.sampling.spacing
    options: dict[str, Any] = {name: value for name, value in asdict(group.sampling).items() if name != "spacing"}
    options["material"] = group.material
    if group.emitter is not None:
        # out of the way of solids, which must not be where it is
        high = (0.0, 10.0 * SIZE, 0.0)
        small.add_emitter(
            limit=4,
            radius=0.6 * spacing,
            position=high,
            speed=SPEED,
            spacing=spacing,
            **options,
        )
        return
    flat = options["dimensions"] == 2
    axes = [np.arange(-1.5, 2.0) * spacing] * 2 + [np.zeros(1) if flat else np.arange(-1.5, 2.0) * spacing]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    small.add_fluid(points, spacing=spacing, **options)


def _add_body(small: Scene, body: Any, height: float) -> None:
    pieces = _some_of_each(body.pieces, lambda piece: _shape_kind(piece.shape))
    found = [small_shape(piece.shape) for piece in pieces]
    if not found:
        small.add_rigid_body(None, mass=1.0, inertia=(1.0, 1.0, 1.0))
        return
    small.add_rigid_body(
        Compound([found[0], *found]) if len(body.pieces) > 1 else found[0],
        position=(0.1 * height, height, 0.0),
        restitution=body.surface.restitution,
        velocity=(0.0, 0.0 if body.kinematic else -SPEED, 0.0),
        kinematic=body.kinematic and height == 0.0,
    )


def _add_joints(small: Scene, scene: Scene) -> None:
    """Join the first two bodies by each kind of joint."""
    if not small.bodies:
        return
    second = 1 if len(small.bodies) > 1 else -1
    for joint in _some_of_each(scene.joints, _kinds_of_joint):
        pair = second if joint.second >= 0 else joint.second
        small.joints.append(replace(joint, first=0, second=pair, places=np.zeros((2, 3))))


def _add_rows(small: Scene, scene: Scene, rows: Rows) -> None:
    """Add one row of the same type, between particles of its own as they lie in the scene."""
    if len(rows.indices) == 0:
        return
    positions = scene.positions[rows.indices[0]]
    handle = small.add_particles(positions - positions.mean(axis=0), velocity=np.full((len(positions), 3), 0.1))
    start = handle.particles.start
    first = {
        field.name: getattr(rows, field.name)[:1]
        for field in fields(rows)
        if isinstance(getattr(rows, field.name), np.ndarray)
    }
    first["indices"] = np.arange(start, start + len(positions), dtype=rows.indices.dtype)[None]
    motion = None if rows.motion is None else lambda time: (0.0, 0.0, 0.0)
    force = None if rows.break_force is None else 1e-6
    parameters = {name: values[:1] for name, values in rows.parameters.items()}
    small._add_rows(replace(rows, parameters=parameters, motion=motion, break_force=force, **first))


def _sheet() -> tuple[np.ndarray, np.ndarray]:
    from shinari.build.topology import grid

    return grid(shape=(6, 6), size=(SIZE, SIZE))


def _block() -> tuple[np.ndarray, np.ndarray]:
    from shinari.build.tetrahedra.lattice import lattice

    return lattice((1, 1, 1), SIZE)


def _some_of_each(items: Any, kind: Callable[[Any], Any], most: int = 1) -> list:
    """The first items of each kind."""
    found: dict[Any, list] = {}
    for item in items:
        found.setdefault(kind(item), []).append(item)
    return [item for same in found.values() for item in same[:most]]


def _kinds_of(scene: Scene) -> tuple:
    """What decides which kernels a scene uses."""
    return (
        frozenset(map(_kinds_of_group, scene.groups)),
        frozenset(map(_viscosity_of, scene.groups)),
        frozenset(map(_kinds_of_rows, scene.rows)),
        frozenset((_shape_kind(c.shape), c.motion is None, c.surface.restitution > 0) for c in scene.colliders),
        frozenset(map(_kinds_of_body, scene.bodies)),
        frozenset(map(_kinds_of_joint, scene.joints)),
        scene.wind is not None,
        bool(scene.volumes),
        bool(scene.body_rows),
        bool(scene.sinks),
        tuple(scene.force_fields),
    )


def _kinds_of_group(group: Particles) -> tuple:
    flags = (group.self_collision, bool(group.radii.any()), group.surface.restitution > 0, group.emitter is None)
    return (
        group.kind,
        *flags,
        _kind_of(group.material),
        _kind_of(group.sampling),
        bool(group.rod and group.rod.closed),
    )


def _viscosity_of(group: Particles) -> tuple | None:
    """What decides how the viscosity of a fluid is solved."""
    viscosity = getattr(group.material, "viscosity", 0.0)
    return (viscosity, group.sampling) if viscosity else None


def _kinds_of_rows(rows: Rows) -> tuple:
    given = tuple(_kind_of(getattr(rows, name)) for name in ("compression_compliance", "damping", "failure"))
    return (rows.type, rows.motion is None, rows.break_force is None, *given)


def _kinds_of_body(body: Any) -> tuple:
    pieces = frozenset(_shape_kind(piece.shape) for piece in body.pieces)
    return (pieces, len(body.pieces) > 1, body.kinematic, body.surface.restitution > 0)


def _kinds_of_joint(joint: Any) -> tuple:
    bounded = (joint.travel is None, joint.twist is None, joint.swing is None, joint.drive is None)
    return (joint.kind, joint.second < 0, *bounded, np.isfinite([joint.break_force, joint.break_torque]).any())


def _shape_kind(shape: Any) -> tuple:
    if isinstance(shape, Compound):
        return ("Compound", frozenset(_shape_kind(piece.shape) for piece in shape.pieces))
    return (type(shape).__name__, getattr(shape, "inside", None), bool(getattr(shape, "thickness", 0)))


def _kind_of(value: Any) -> Any:
    """A setting or a material without what does not decide which kernels are used: numbers as 0, finite, infinite."""
    if is_dataclass(value):
        return (type(value).__name__, *(_kind_of(getattr(value, field.name)) for field in fields(value)))
    if isinstance(value, np.ndarray):
        return "array" if value.dtype.kind != "f" else ("array", bool(value.any()))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return "zero" if value == 0 else "one" if value == 1 else "finite" if abs(value) < np.inf else "infinite"
    return type(value).__name__
