"""Meshes of a glTF file as they stand, or at the times of an animation: morph targets, then skins, then nodes.

Khronos Group 2021, glTF 2.0 Specification, section 3.7. A vertex p with changes d of weight m becomes p + sum m d; one
of a skin, with joints j of weight w, goes to sum w G_j B_j p, where G_j is the joint's matrix in the world and B_j the
inverse of that in the pose of binding. The node of a skinned mesh has no influence.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shinari import check
from shinari.geometry.files.gltf_document import Mesh, Primitive
from shinari.geometry.files.gltf_file import COMPRESSIONS, GltfFile
from shinari.geometry.files.gltf_motion import Poses, curves
from shinari.geometry.mesh_sequence import MOST_NUMBERS

TRIANGLES, STRIP, FAN = 4, 5, 6
ROUNDING = 0.5 / 255.0
"""Largest error of a weight that is stored in 8 bits."""


@dataclass(frozen=True)
class Part:
    """A primitive where a node places it.

    Attributes:
        node: Number of the node.
        label: Name in messages.
        vertices: (V, 3).
        faces: (F, 3).
        changes: Those of the morph targets, (targets, V, 3).
        weights: Of the morph targets where they are not animated, (targets,).
        joints: Numbers of the joints in the skin, (V, K); empty without one.
        shares: How much each joint counts, (V, K), their sum 1.
    """

    node: int
    label: str
    vertices: np.ndarray
    faces: np.ndarray
    changes: np.ndarray
    weights: list[float]
    joints: np.ndarray
    shares: np.ndarray


def read_gltf(path: Path, data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) and triangles (F, 3) of all meshes of a glTF file, merged, as they stand in it.

    Raises:
        FileError: It is damaged, or holds no triangles.
    """
    file = GltfFile(path, data)
    parts = [part for node in _placed(file) for part in _parts(file, node)]
    poses = Poses(file, {}, np.zeros(1))
    vertices = [np.zeros((0, 3)), *(_move(file, part, poses, 1)[0] for part in parts)]
    return np.concatenate(vertices), _faces(parts, poses)


def read_gltf_animation(
    path: Path, data: bytes, clip: str | None, mesh: str | None, rate: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (K,), vertices (K, V, 3) and triangles of the meshes of a glTF file in an animation.

    Args:
        path: The file.
        data: Its contents.
        clip: Name of the animation; None: the first.
        mesh: Name of a mesh or of a node that places one; None: all.
        rate: Poses that are computed in a second [1/s].

    Raises:
        FileError: It is damaged, has no such animation or mesh, or nothing moves.
    """
    file = GltfFile(path, data)
    document = file.document
    number = _chosen(file, clip)
    parts = [part for node in _placed(file, mesh) for part in _parts(file, node)]
    if not parts:
        raise file.error("animation: holds no mesh; export the meshes, too")
    targets = {node: _target_count(document.meshes[each.mesh]) for node, each in enumerate(document.nodes)
               if each.mesh is not None and each.mesh < len(document.meshes)}  # fmt: skip
    found = curves(file, number, targets)
    name = f"animation {number} {document.animations[number].name!r}"
    if not found:
        raise file.error(f"{name}: has no channels; take another one")
    begin, end = min(curve.times[0] for curve in found.values()), max(curve.times[-1] for curve in found.values())
    count = round(min((end - begin) * rate, 1e9) + 0.499999) + 1
    size = sum(len(part.vertices) for part in parts)
    if 3.0 * count * size + 16.0 * count * len(document.nodes) > MOST_NUMBERS:
        raise file.error(
            f"{name}: {end - begin:g} s at {rate:g} frames_per_second are {count} frames of {size} vertices, more than "
            f"{MOST_NUMBERS} numbers; take fewer frames_per_second, or a coarser mesh"
        )
    times = np.minimum(np.arange(count) / rate, end - begin)
    poses = Poses(file, found, begin + times)
    positions = np.concatenate([_move(file, part, poses, count) for part in parts], axis=1)
    if not (positions != positions[0]).any():
        meshes = check.names(part.label for part in parts)
        raise file.error(f"{name}: no mesh moves in it: {meshes}; take another animation with clip")
    return times, positions, _faces(parts, poses)


def _chosen(file: GltfFile, clip: str | None) -> int:
    """Number of an animation by its name."""
    names = [each.name or f"animation {index}" for index, each in enumerate(file.document.animations)]
    if not names:
        raise file.error("animation: holds no animation; export it with one, or read it as a mesh")
    if clip is None:
        return 0
    if clip not in names:
        raise file.error(f"animation: holds no clip {check.short(clip)}; known are {check.names(names, near=clip)}")
    return names.index(clip)


def _placed(file: GltfFile, wanted: str | None = None) -> list[int]:
    """Nodes of the scene that place a mesh, parents before their children."""
    document = file.document
    poses = Poses(file, {}, np.zeros(1))  # refuses circles before they are followed
    if document.scenes:
        scene = file.element("scene", document.scenes, document.scene or 0, "the document")
        waiting = list(dict.fromkeys(scene.nodes))[::-1]
    else:
        waiting = poses.roots()[::-1]
    found, names = [], []
    while waiting:
        index = waiting.pop()
        node = file.element("node", document.nodes, index, "the scene")
        waiting += node.children[::-1]
        if node.mesh is not None:
            mesh = file.element("mesh", document.meshes, node.mesh, f"node {index} {node.name!r}")
            called = [node.name or f"node {index}", mesh.name or f"mesh {node.mesh}"]
            names += called
            if wanted is None or wanted in called:
                found.append(index)
    if wanted is not None and not found:
        known = check.names(dict.fromkeys(names), near=wanted)
        raise file.error(f"animation: holds no mesh {check.short(wanted)}; known are {known}")
    return found


def _target_count(mesh: Mesh) -> int:
    return max((len(primitive.targets) for primitive in mesh.primitives), default=0)


def _parts(file: GltfFile, index: int) -> list[Part]:
    """Primitives of the mesh of a node."""
    node = file.document.nodes[index]
    assert node.mesh is not None
    mesh = file.document.meshes[node.mesh]
    label = f"mesh {node.mesh} {mesh.name!r}"
    count = _target_count(mesh)
    weights = node.weights if node.weights is not None else mesh.weights if mesh.weights is not None else [0.0] * count
    if len(weights) != count:
        raise file.error(f"{label}: has {len(weights)} weights for {count} morph targets; give one for each")
    return [
        _part(file, index, primitive, f"{label}: primitive {number}", weights)
        for number, primitive in enumerate(mesh.primitives)
    ]


def _part(file: GltfFile, node: int, primitive: Primitive, label: str, weights: list[float]) -> Part:
    if hidden := sorted({*primitive.extensions}.intersection(COMPRESSIONS)):
        raise file.error(f"{label}: compressed geometry ({', '.join(hidden)}) is not supported")
    if primitive.mode not in (TRIANGLES, STRIP, FAN):
        raise file.error(f"{label}: holds points or lines, only triangles are supported; remove it")
    if "POSITION" not in primitive.attributes:
        raise file.error(f"{label}: has no POSITION; export it again")
    vertices = file.reals(primitive.attributes["POSITION"], ("VEC3",), label)
    corners = np.arange(len(vertices))
    if primitive.indices is not None:
        corners = file.integers(primitive.indices, ("SCALAR",), label)[:, 0]
        beyond = np.flatnonzero(corners >= len(vertices))
        if beyond.size:
            raise file.error(
                f"{label}: index {beyond[0]} is vertex {corners[beyond[0]]}, there are {len(vertices)} vertices; "
                f"export it again"
            )
    if len(primitive.targets) != len(weights):
        raise file.error(f"{label}: has {len(primitive.targets)} morph targets, another primitive {len(weights)}")
    changes = np.zeros((len(weights), len(vertices), 3))
    for number, target in enumerate(primitive.targets):
        if "POSITION" in target:
            change = file.reals(target["POSITION"], ("VEC3",), f"{label}: target {number}")
            _check_rows(file, f"{label}: target {number}", len(change), len(vertices))
            changes[number] = change
    joints, shares = _skinning(file, node, primitive, len(vertices), label)
    return Part(node, label, vertices, _triangles(corners, primitive.mode), changes, weights, joints, shares)


def _check_rows(file: GltfFile, label: str, found: int, needed: int) -> None:
    if found != needed:
        raise file.error(
            f"{label}: has {found} rows for {needed} vertices; its topology must be that of the primitive, export it "
            f"again"
        )


def _triangles(corners: np.ndarray, mode: int) -> np.ndarray:
    """Triangles, (F, 3): listed, in a strip of which each second one is turned, or in a fan; section 3.7.2.1."""
    if mode == TRIANGLES:
        return corners[: len(corners) // 3 * 3].reshape(-1, 3)
    count = max(len(corners) - 2, 0)
    at = np.arange(count)
    if mode == FAN:
        return np.column_stack([corners[at + 1], corners[at + 2], np.repeat(corners[:1], count)])
    found = np.column_stack([corners[at], corners[at + 1 + at % 2], corners[at + 2 - at % 2]])
    # strips are joined by triangles of no area
    return found[(found[:, 0] != found[:, 1]) & (found[:, 1] != found[:, 2]) & (found[:, 2] != found[:, 0])]


def _skinning(file: GltfFile, node: int, primitive: Primitive, count: int, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Joints of the vertices and their shares, (V, 4 x sets); none where the node has no skin."""
    number = file.document.nodes[node].skin
    if number is None:
        return np.zeros((count, 0), np.int64), np.zeros((count, 0))
    skin = file.element("skin", file.document.skins, number, f"node {node} {file.document.nodes[node].name!r}")
    joints, shares = [], []
    while (key := f"JOINTS_{len(joints)}") in primitive.attributes:
        values = f"WEIGHTS_{len(joints)}"
        if values not in primitive.attributes:
            raise file.error(f"{label}: has {key} and no {values}; export it again")
        joints.append(file.integers(primitive.attributes[key], ("VEC4",), f"{label}: {key}"))
        shares.append(file.reals(primitive.attributes[values], ("VEC4",), f"{label}: {values}"))
        for name, rows in ((key, joints[-1]), (values, shares[-1])):
            _check_rows(file, f"{label}: {name}", len(rows), count)
    if not joints:
        raise file.error(
            f"{label}: node {node} has a skin, the primitive no JOINTS_0; weight its vertices, or unbind it"
        )
    all_joints, all_shares = np.concatenate(joints, axis=1), np.concatenate(shares, axis=1)
    all_joints = np.where(all_shares == 0.0, 0, all_joints)
    beyond = np.argwhere(all_joints >= len(skin.joints))
    if beyond.size:
        vertex, column = beyond[0]
        raise file.error(
            f"{label}: vertex {vertex} hangs on joint {all_joints[vertex, column]}, skin {number} {skin.name!r} has "
            f"{len(skin.joints)}; bind it again"
        )
    sums = all_shares.sum(axis=1)
    bad = np.flatnonzero((np.abs(sums - 1.0) > ROUNDING * all_shares.shape[1]) | (all_shares < 0.0).any(axis=1))
    if bad.size:
        raise file.error(
            f"{label}: the weights of vertex {bad[0]} are {all_shares[bad[0]].round(4).tolist()}; they must not be "
            f"negative and have the sum 1: normalise them"
        )
    return all_joints, all_shares / sums[:, None]


def _move(file: GltfFile, part: Part, poses: Poses, count: int) -> np.ndarray:
    """Vertices of a part at all times, (T, V, 3)."""
    weights = poses.weights(part.node, part.weights)
    carriers = _carriers(file, part, poses)
    found = np.empty((count, len(part.vertices), 3))
    for frame in range(count):
        points = part.vertices + np.tensordot(weights[frame], part.changes, axes=1)
        if part.joints.shape[1] == 0:
            matrix = carriers[0, frame]
            found[frame] = points @ matrix[:3, :3].T + matrix[:3, 3]
            continue
        moved = np.zeros((len(points), 3, 4))
        for column in range(part.joints.shape[1]):
            moved += part.shares[:, column, None, None] * carriers[part.joints[:, column], frame, :3]
        found[frame] = np.einsum("vij,vj->vi", moved[:, :, :3], points) + moved[:, :, 3]
    return found


def _carriers(file: GltfFile, part: Part, poses: Poses) -> np.ndarray:
    """Matrices G_j B_j of the joints, or that of the node, (J, T, 4, 4)."""
    number = file.document.nodes[part.node].skin
    if number is None:
        return poses.world(part.node)[None]
    skin = file.document.skins[number]
    for joint in skin.joints:
        file.element("node", file.document.nodes, joint, f"skin {number} {skin.name!r}")
    bound = np.broadcast_to(np.eye(4), (len(skin.joints), 4, 4))
    if skin.inverse_bind_matrices is not None:
        label = f"skin {number} {skin.name!r}: inverse bind matrices"
        bound = file.reals(skin.inverse_bind_matrices, ("MAT4",), label)
        if len(bound) < len(skin.joints):
            raise file.error(f"{label}: there are {len(bound)} for {len(skin.joints)} joints; export it again")
        bound = bound.reshape(-1, 4, 4).transpose(0, 2, 1)
    return np.array([poses.world(joint) @ matrix for joint, matrix in zip(skin.joints, bound, strict=False)])


def _faces(parts: list[Part], poses: Poses) -> np.ndarray:
    """Triangles of all parts; those of a node that mirrors are turned."""
    found, start = [np.zeros((0, 3), np.int64)], 0
    for part in parts:
        mirrored = part.joints.shape[1] == 0 and np.linalg.det(poses.world(part.node)[0, :3, :3]) < 0.0
        found.append((part.faces[:, ::-1] if mirrored else part.faces) + start)
        start += len(part.vertices)
    return np.concatenate(found)
