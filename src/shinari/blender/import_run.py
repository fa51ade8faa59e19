"""Brings a run of shinari into Blender: a part of the extension that also runs alone in Blender 4.2 or newer.

`File > Import > shinari run (.npz)` once the extension is installed, or
`blender --background --python import_run.py -- run.npz run.blend` without a window.

    mesh       a mesh with the modifier Mesh Cache
    curve      a curve as thick as the rope or the rod, with the modifier Mesh Cache
    points     the vertices of a mesh with the modifier Mesh Cache, and geometry nodes with a sphere at each
    body       a mesh with a key of its place and rotation in each frame

The caches are PC2 files in the folder `run.blender/` next to the run: keep it with the .blend file. shinari has Y up
and Blender Z: a point (x, y, z) becomes (x, -z, y). Metres stay metres, the frame rate of the scene becomes that of the
run, and its first frame is frame 1. Mesh Cache keeps the faces of a mesh: where one tears, the triangles that go have
vertices of their own and shrink into a point. Ropes that tear and fluids that flow in or out are left out and named; a
.usdc file of the same run has them.
"""

import math
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

bpy: Any = None
Operator: Any = type("Operator", (), {})
ImportHelper: Any = type("ImportHelper", (), {})
try:
    import bpy  # type: ignore[import-not-found, no-redef]
    from bpy.types import Operator  # type: ignore[import-not-found, no-redef]
    from bpy_extras.io_utils import ImportHelper  # type: ignore[import-not-found, no-redef]
except ImportError:  # the documentation and the tests read this file without Blender
    pass

FIRST_FRAME = 1
# those of `shinari.io.results`, which is not there in Blender
COLORS = (
    (0.24, 0.48, 0.80),
    (0.88, 0.46, 0.20),
    (0.30, 0.62, 0.36),
    (0.76, 0.30, 0.36),
    (0.52, 0.40, 0.70),
    (0.85, 0.68, 0.24),
)
GREY = (0.60, 0.60, 0.62)
SHARP = math.radians(40.0)
"""Angle between faces of a body at which their edge is seen."""


def z_up(points: np.ndarray) -> np.ndarray:
    """Points (..., 3) with Y up as Blender has them."""
    return np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)


def z_up_rotations(rotations: np.ndarray) -> np.ndarray:
    """Quaternions w x y z, (..., 4), with Y up as Blender has them."""
    return np.concatenate([rotations[..., :1], z_up(rotations[..., 1:])], axis=-1)


def frame_rate(frames_per_second: float) -> tuple[int, float]:
    """Blender's whole number of frames a second and the base that it is divided by."""
    whole = max(1, math.ceil(frames_per_second - 1e-6))
    return whole, whole / frames_per_second


def write_pc2(path: Path, positions: np.ndarray) -> None:
    """Write a point cache.

    Args:
        path: File to write.
        positions: Points with Y up, shape (T, n, 3).
    """
    with path.open("wb") as stream:
        stream.write(struct.pack("<12siiffi", b"POINTCACHE2", 1, positions.shape[1], 0.0, 1.0, len(positions)))
        for points in positions:
            stream.write(z_up(points).astype("<f4").tobytes())


def read_run(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a run by name.

    Raises:
        ValueError: The file is no run of shinari, or has no frames.
    """
    with np.load(path, allow_pickle=False) as archive:
        run = {name: archive[name] for name in archive.files}
    missing = {"times", "positions", "frames_per_second", "part_names", "part_kinds", "body_names"} - run.keys()
    if missing:
        raise ValueError(f"{path}: is no run of shinari: {', '.join(sorted(missing))} missing")
    if len(run["times"]) == 0:
        raise ValueError(f"{path}: has no frames")
    return run


def add_cache(obj: Any, name: str, cache: Path, positions: np.ndarray, first: int) -> None:
    """Show points (T, n, 3) with Y up on a mesh or a curve from a frame on: a point cache and its modifier."""
    write_pc2(cache, positions)
    modifier = obj.modifiers.new(name, "MESH_CACHE")
    modifier.cache_format, modifier.filepath, modifier.frame_start = "PC2", str(cache), first
    if obj.type == "CURVE":
        modifier.use_apply_on_spline = True


def import_run(path: str | Path) -> tuple[list[Any], list[str]]:
    """Bring a run into the scene that is open.

    Args:
        path: A `.npz` file that shinari wrote.

    Returns:
        The objects, and the names of the ropes and fluids that were left out because they tear or flow.

    Raises:
        ValueError: The file is no run of shinari, or has no frames.
    """
    path = Path(path).resolve()
    run = read_run(path)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = frame_rate(float(run["frames_per_second"]))
    scene.frame_start, scene.frame_end = FIRST_FRAME, FIRST_FRAME + len(run["times"]) - 1
    collection = bpy.data.collections.new(path.stem)
    scene.collection.children.link(collection)
    folder = path.with_suffix(".blender")
    folder.mkdir(exist_ok=True)
    objects, left_out = [], []
    for index, name in enumerate(map(str, run["part_names"])):
        if f"drawn_{name}" in run and f"faces_{name}" not in run:
            left_out.append(name)
        else:
            objects.append(add_part(run, index, folder / f"{index}.pc2", collection))
    for index in range(len(run["body_names"])):
        objects.append(add_body(run, index, len(run["part_names"]), collection))
    scene.frame_set(FIRST_FRAME)
    return objects, left_out


def torn_mesh(positions: np.ndarray, faces: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Make a mesh that tears one with the same faces in all frames.

    Args:
        positions: Points, shape (T, n, 3).
        faces: Triangles that there may be, shape (F, 3).
        drawn: Which of them are there, shape (T, F) bool.

    Returns:
        The points, with three more for each triangle that is there in some frames only, all in its first corner
        otherwise; and the triangles that are ever there.
    """
    always, ever = drawn.all(axis=0), drawn.any(axis=0)
    loose = np.flatnonzero(ever & ~always)
    corners = positions[:, faces[loose]]
    corners = np.where(drawn[:, loose, None, None], corners, corners[:, :, :1])
    own = positions.shape[1] + np.arange(3 * len(loose)).reshape(-1, 3)
    points = np.concatenate([positions, corners.reshape(len(positions), -1, 3)], axis=1)
    return points, np.concatenate([faces[always], own])


def add_part(run: dict[str, np.ndarray], index: int, cache: Path, collection: Any) -> Any:
    """Make the object of a part."""
    name, kind = str(run["part_names"][index]), str(run["part_kinds"][index])
    start, stop = run[f"range_{name}"]
    positions, radius, faces = (
        run["positions"][:, start:stop],
        float(run["part_radii"][index]),
        run.get(f"faces_{name}"),
    )
    if faces is not None and f"drawn_{name}" in run:
        positions, faces = torn_mesh(positions, faces, run[f"drawn_{name}"].astype(bool))
    if "part_closed" in run and run["part_closed"][index]:
        positions = np.concatenate([positions, positions[:, :1]], axis=1)
    first = z_up(positions[0])
    data = new_curve(name, first, radius) if kind == "curve" else new_mesh(name, first, faces)
    color = COLORS[index % len(COLORS)]
    obj = new_object(name, data, color, collection)
    add_cache(obj, "run", cache, positions, FIRST_FRAME)
    if kind == "points":
        spheres = obj.modifiers.new("spheres", "NODES")
        spheres.node_group = sphere_nodes(name, radius or 0.005, data.materials[0])
    return obj


def add_body(run: dict[str, np.ndarray], index: int, part_count: int, collection: Any) -> Any:
    """Make the object of a rigid body or a collider."""
    name = str(run["body_names"][index])
    mesh = new_mesh(name, z_up(run[f"body_vertices_{name}"]), run[f"body_faces_{name}"])
    mesh.set_sharp_from_angle(angle=SHARP)
    rigid = str(run["body_kinds"][index]) == "rigid"
    color = COLORS[(part_count + index) % len(COLORS)] if rigid else GREY
    obj = new_object(name, mesh, color, collection)
    obj.rotation_mode = "QUATERNION"
    places, turns = z_up(run["body_positions"][:, index]), z_up_rotations(run["body_rotations"][:, index])
    obj.location, obj.rotation_quaternion = places[0].tolist(), turns[0].tolist()
    for frame in range(len(places)):
        if (places != places[0]).any():
            obj.location = places[frame].tolist()
            obj.keyframe_insert("location", frame=FIRST_FRAME + frame)
        if (turns != turns[0]).any():
            # of the two quaternions of a rotation the one that is nearer to that of the frame before
            if frame and turns[frame] @ turns[frame - 1] < 0.0:
                turns[frame] *= -1.0
            obj.rotation_quaternion = turns[frame].tolist()
            obj.keyframe_insert("rotation_quaternion", frame=FIRST_FRAME + frame)
    return obj


def new_object(name: str, data: Any, color: tuple[float, float, float], collection: Any) -> Any:
    """Make an object with a material of its own."""
    material: Any = bpy.data.materials.new(name)
    material.diffuse_color = (*color, 1.0)
    if not material.node_tree:  # before Blender 5
        material.use_nodes = True
    nodes: Any = material.node_tree.nodes
    shader = nodes.get("Principled BSDF")
    if shader is not None:
        shader.inputs["Base Color"].default_value = (*[c**2.2 for c in color], 1.0)
        shader.inputs["Roughness"].default_value = 0.8
    data.materials.append(material)
    obj = bpy.data.objects.new(name, data)
    obj.color = (*color, 1.0)
    collection.objects.link(obj)
    return obj


def new_mesh(name: str, vertices: np.ndarray, faces: np.ndarray | None) -> Any:
    """Make a mesh of vertices (n, 3) and triangles (F, 3) that looks smooth."""
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(len(vertices))
    mesh.vertices.foreach_set("co", np.ascontiguousarray(vertices, np.float32).ravel())
    if faces is not None and len(faces):
        mesh.loops.add(3 * len(faces))
        mesh.loops.foreach_set("vertex_index", np.ascontiguousarray(faces, np.int32).ravel())
        mesh.polygons.add(len(faces))
        mesh.polygons.foreach_set("loop_start", np.arange(0, 3 * len(faces), 3, dtype=np.int32))
        mesh.polygons.foreach_set("use_smooth", np.ones(len(faces), bool))
    mesh.update(calc_edges=True)
    return mesh


def new_curve(name: str, points: np.ndarray, radius: float) -> Any:
    """Make a curve through points (n, 3), as thick as the radius [m] says."""
    curve = bpy.data.curves.new(name, "CURVE")
    curve.dimensions, curve.bevel_depth, curve.bevel_resolution = "3D", radius or 0.005, 2
    curve.use_fill_caps = True
    spline = curve.splines.new("POLY")
    spline.points.add(len(points) - 1)
    spline.points.foreach_set("co", np.pad(points, ((0, 0), (0, 1)), constant_values=1.0).astype(np.float32).ravel())
    return curve


def sphere_nodes(name: str, radius: float, material: Any) -> Any:
    """Make a group of geometry nodes that puts a sphere at each vertex."""
    group = bpy.data.node_groups.new(name, "GeometryNodeTree")
    for direction in ("INPUT", "OUTPUT"):
        group.interface.new_socket("Geometry", in_out=direction, socket_type="NodeSocketGeometry")
    kinds = ("MeshIcoSphere", "SetShadeSmooth", "SetMaterial", "InstanceOnPoints")
    sphere, smooth, paint, place = (group.nodes.new(f"GeometryNode{kind}") for kind in kinds)
    sphere.inputs["Radius"].default_value, sphere.inputs["Subdivisions"].default_value = radius, 3
    paint.inputs["Material"].default_value = material
    given, result = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    group.links.new(sphere.outputs["Mesh"], smooth.inputs[0])
    group.links.new(smooth.outputs[0], paint.inputs["Geometry"])
    group.links.new(paint.outputs["Geometry"], place.inputs["Instance"])
    group.links.new(given.outputs["Geometry"], place.inputs["Points"])
    group.links.new(place.outputs["Instances"], result.inputs["Geometry"])
    return group


class ImportShinari(Operator, ImportHelper):
    """Bring in a run of shinari."""

    bl_idname = "import_scene.shinari"
    bl_label = "Import shinari run"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012
    filename_ext = ".npz"

    def execute(self, context: Any) -> set[str]:
        """Import the file that was chosen."""
        try:
            _, left_out = import_run(self.filepath)  # type: ignore[attr-defined]
        except (OSError, ValueError) as error:
            self.report({"ERROR"}, str(error))  # type: ignore[attr-defined]
            return {"CANCELLED"}
        if left_out:
            text = f"{', '.join(left_out)}: tears or flows and was left out; import the .usdc file of the run"
            self.report({"WARNING"}, text)  # type: ignore[attr-defined]
        return {"FINISHED"}


def menu(self: Any, context: Any) -> None:
    """Line in File > Import."""
    self.layout.operator(ImportShinari.bl_idname, text="shinari run (.npz)")


def register() -> None:
    """Called by Blender when the add-on is switched on."""
    bpy.utils.register_class(ImportShinari)
    bpy.types.TOPBAR_MT_file_import.append(menu)


def unregister() -> None:
    """Called by Blender when the add-on is switched off."""
    bpy.types.TOPBAR_MT_file_import.remove(menu)
    bpy.utils.unregister_class(ImportShinari)


def main(words: list[str]) -> None:
    """Import a run into an empty scene and save it: run.npz run.blend."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    _, left_out = import_run(words[0])
    for name in left_out:
        print(f"{name}: tears or flows and was left out; import the .usdc file of the run", file=sys.stderr)
    if len(words) > 1:
        bpy.ops.wm.save_as_mainfile(filepath=str(Path(words[1]).resolve()))


if __name__ == "__main__":
    if "--" in sys.argv:
        main(sys.argv[sys.argv.index("--") + 1 :])
    else:
        register()
