"""A scene as a node of `shinari.io.codec`, and the scene of such a node, checked so that the solver can trust it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from shinari import check
from shinari.api.scene import Scene
from shinari.geometry.mesh_sequence import MeshSequence
from shinari.io.codec import Codec
from shinari.io.decode_bodies import checked_body, checked_body_rows, checked_joint, checked_surface_of, expect
from shinari.io.decode_fluids import check_fluid, checked_sink
from shinari.io.decode_tendons import checked_tendon
from shinari.scene.emitter import SinkHandle
from shinari.scene.handle import BodyHandle, ColliderHandle, Handle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.lump_material import Clusters, LumpMaterial
from shinari.scene.materials import ClothMaterial
from shinari.scene.objects import KINDS, Collider, ParticleObject, Rows, Volume
from shinari.scene.rod import Rod, RodHandle
from shinari.scene.rod_material import RodMaterial
from shinari.scene.sewing import Tailoring
from shinari.scene.tendon import TendonHandle

_WORLD = ("gravity", "wind", "air_density", "damping")
_LISTS = ("groups", "rows", "volumes", "colliders", "force_fields", "bodies", "joints", "tendons", "body_rows",
          "sinks")  # fmt: skip
_ATTRIBUTES = {"groups": "particle_objects"}
"""Attributes of a scene that have another name in files."""
_INDEXED: dict[str, tuple[Any, str]] = {
    "collider": (ColliderHandle, "colliders"),
    "body": (BodyHandle, "bodies"),
    "joint": (JointHandle, "joints"),
    "tendon": (TendonHandle, "tendons"),
    "sink": (SinkHandle, "sinks"),
}
"""Class of the handles of each kind that has an index, and the list of the scene that it counts in."""


def scene_node(scene: Scene, codec: Codec) -> dict[str, Any]:
    """The node of a scene; its functions are kept by name only."""
    node = {name: codec.encode(getattr(scene, _ATTRIBUTES.get(name, name))) for name in (*_WORLD, *_LISTS)}
    node["ignored"] = codec.encode(sorted(sorted(pair) for pair in scene.ignored))
    node["pinned"] = codec.encode(np.array(sorted(scene.pinned), np.int64))
    node["clamped"] = codec.encode(np.array(sorted(scene.clamped), np.int64))
    node["handles"] = codec.encode({name: _place(handle) for name, handle in scene.handles.items()})
    return node


def scene_of(node: dict[str, Any], unpack: Callable[[Any], Any]) -> Scene:
    """The scene of a node.

    Args:
        node: What `scene_node` returned, read back from JSON.
        unpack: Gives the value of a node inside it.

    Raises:
        SceneError: Something in it has the wrong shape or points outside of its range.
        ValueError: It is no such node.
    """
    scene = Scene(**{name: unpack(node[name]) for name in _WORLD})
    scene.particle_objects = [_particle_object(obj) for obj in unpack(node["groups"])]
    count = scene.particle_count
    scene.rows = [_rows(rows, count) for rows in unpack(node["rows"])]
    scene.volumes = [_volume(volume, count) for volume in unpack(node["volumes"])]
    scene.colliders = [_collider(collider) for collider in unpack(node["colliders"])]
    scene.pinned = set(check.indices("checkpoint", "pinned", unpack(node["pinned"]), count).tolist())
    segments = sum(0 if obj.rod is None else len(obj.rod.frames) for obj in scene.particle_objects)
    scene.clamped = set(check.indices("checkpoint", "clamped", unpack(node["clamped"]), segments).tolist())
    scene.bodies = [checked_body(body) for body in unpack(node["bodies"])]
    scene.joints = [checked_joint(joint, len(scene.bodies)) for joint in unpack(node["joints"])]
    scene.tendons = [checked_tendon(tendon, scene) for tendon in unpack(node["tendons"])]
    scene.body_rows = [checked_body_rows(rows, len(scene.bodies), count) for rows in unpack(node["body_rows"])]
    scene.sinks = [checked_sink(sink) for sink in unpack(node["sinks"])]
    rods = _rod_segments(scene)
    for name, (kind, *place) in unpack(node["handles"]).items():
        if kind == "particles":
            start, stop = (check.count("checkpoint", f"handle {check.short(name)}", end, least=0) for end in place)
            if not start <= stop <= count:
                raise ValueError(f"handle {check.short(name)} leaves the particles")
            if name in rods:
                scene.handles[name] = RodHandle(scene, name, range(start, stop), rods[name])
            else:
                scene.handles[name] = Handle(scene, name, range(start, stop))
        else:
            handle, objects = _INDEXED[kind]
            size = len(getattr(scene, objects))
            (index,) = check.indices("checkpoint", f"handle {check.short(name)}", place, size).tolist()
            alone = handle in (ColliderHandle, SinkHandle)
            scene.handles[name] = handle(name, index) if alone else handle(scene, name, index)
    for first, second in unpack(node["ignored"]):
        scene.ignore_contact(first, second)
    return scene


def _place(handle: Any) -> list:
    """Kind of a handle, and where in its list it is."""
    if isinstance(handle, Handle):
        return ["particles", handle.particles.start, handle.particles.stop]
    kinds = {handle_type: kind for kind, (handle_type, _) in _INDEXED.items()}
    return [kinds[type(handle)], handle.index]


def _particle_object(obj: Any) -> ParticleObject:
    obj = expect(obj, ParticleObject)
    check.choice(obj.name, "kind", obj.kind, KINDS)
    n = len(check.array(obj.name, "positions", obj.positions, (None, 3), most=check.FINITE))
    check.array(obj.name, "masses", obj.masses, (n,), most=check.FINITE)
    check.array(obj.name, "velocities", obj.velocities, (n, 3), most=check.FINITE)
    check.array(obj.name, "radii", obj.radii, (n,), most=check.FINITE)
    checked_surface_of(obj.name, obj.surface)
    check.choice(obj.name, "self_collision", obj.self_collision, (None, "particles", "segments", "triangles"))
    if obj.rod is not None:
        closed = bool(expect(obj.rod, Rod).closed)
        segments = n if closed else n - 1
        check.array(obj.name, "frames", obj.rod.frames, (segments, 4), most=check.FINITE)
        check.array(obj.name, "rest", obj.rod.rest, (segments if closed else segments - 1, 4), most=check.FINITE)
        expect(obj.material, RodMaterial)
    if obj.kind == "lump" or obj.clusters is not None:
        expect(obj.material, LumpMaterial)
        expect(obj.clusters, Clusters).check(obj.name, n)
    check_fluid(obj)
    if obj.faces is not None:
        check.index_rows(obj.name, "faces", obj.faces, 3, n)
    if obj.tetrahedra is not None:
        check.index_rows(obj.name, "tetrahedra", obj.tetrahedra, 4, n)
    if obj.visual is not None:
        obj.visual.check(obj.name, n)
    if obj.tailoring is not None:
        expect(obj.material, ClothMaterial)
        faces = check.index_rows(obj.name, "faces", obj.faces, 3, n)
        expect(obj.tailoring, Tailoring).check(obj.name, n, len(faces))
    if obj.motion is not None and expect(obj.motion, MeshSequence).positions.shape[1] != n:
        raise ValueError(f"motion of {check.short(obj.name)} has another number of vertices")
    return obj


def _rod_segments(scene: Scene) -> dict[str, range]:
    """Segments of each rod among those of all, by name."""
    segments, start = {}, 0
    for obj in scene.particle_objects:
        if obj.rod is not None:
            segments[obj.name] = range(start, start + len(obj.rod.frames))
            start += len(obj.rod.frames)
    return segments


def _volume(volume: Any, count: int) -> Volume:
    volume = expect(volume, Volume)
    check.index_rows(f"volume of {check.short(volume.object_name)}", "faces", volume.faces, 3, count)
    check.number(f"volume of {check.short(volume.object_name)}", "volume", volume.volume, above=0.0)
    check.number(f"volume of {check.short(volume.object_name)}", "compliance", volume.compliance, least=0.0)
    return volume


def _collider(collider: Any) -> Collider:
    collider = expect(collider, Collider)
    checked_surface_of(collider.name, collider.surface)
    return collider


def _rows(rows: Any, count: int) -> Rows:
    import shinari.constraints  # noqa: F401  registers the types that come with the package
    from shinari.constraints.registry import constraint_type

    rows = expect(rows, Rows)
    kind = constraint_type(rows.type)
    m = len(check.index_rows(kind.name, "indices", rows.indices, kind.points, count))
    optional = ("compression_compliance", "compression_stiffness", "damping")
    for field in ("compliance", "stiffness", *optional):
        values = getattr(rows, field)
        if field in optional and values is None:
            continue
        if np.shape(values) != (m,):
            raise ValueError(f"{field} of {check.short(kind.name)} rows has shape {np.shape(values)}, expected ({m},)")
    for name, width in kind.parameters:
        if name in rows.parameters:
            check.array(kind.name, name, rows.parameters[name], (m, width), most=check.FINITE)
    return rows
