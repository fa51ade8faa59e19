"""The volumes of a scene that are kept: from closed meshes to the tables of the solver."""

import numpy as np

from shinari.compute.colouring import incidence
from shinari.errors import SceneError
from shinari.geometry.topology import boundary_edges
from shinari.scene.contents import Contents
from shinari.systems.volume.model import VolumesModel
from shinari.systems.volume.system import CHUNK

# A mesh with less than this part of its longest extent cubed encloses no volume: what it has is rounding.
FLAT = 1e-7


def closed_faces(object_name: str, vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, float]:
    """The faces of a closed mesh, turned outward, and its volume [m^3].

    Args:
        object_name: What it belongs to, for messages.
        vertices: Positions [m], (V, 3).
        faces: Triangles, (F, 3).

    Raises:
        SceneError: The mesh is open, more than two faces meet at an edge, neighbours are turned against each other, or
            it encloses no volume.
    """
    rims = boundary_edges(faces)
    if len(rims):
        shown = ", ".join(str(tuple(edge)) for edge in rims[:4].tolist()) + (", ..." if len(rims) > 4 else "")
        raise SceneError(f"{object_name}: mesh: is open and has no volume: {len(rims)} edges with one face, {shown}")
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).astype(np.int64)
    _, counts = np.unique(np.sort(sides, axis=1), axis=0, return_counts=True)
    if (counts > 2).any():
        raise SceneError(
            f"{object_name}: mesh: more than two faces meet at {int((counts > 2).sum())} edges; which is inside?"
        )
    _, first, repeats = np.unique(sides, axis=0, return_index=True, return_counts=True)
    if (repeats > 1).any():
        edge = tuple(sides[first[np.argmax(repeats > 1)]].tolist())
        raise SceneError(
            f"{object_name}: mesh: the faces at the edge {edge} are turned against each other; turn one of them"
        )
    volume = volume_of(vertices, faces)
    if abs(volume) <= FLAT * float(np.ptp(vertices, axis=0).max()) ** 3:
        raise SceneError(f"{object_name}: mesh: encloses no volume that could be kept")
    return (faces if volume > 0.0 else faces[:, ::-1]), abs(volume)


def volume_of(vertices: np.ndarray, faces: np.ndarray) -> float:
    """Signed volume of a closed mesh [m^3]."""
    a, b, c = (vertices[faces[:, k]] - vertices[faces[0, 0]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0


def build_volumes(scene: Contents, slots: np.ndarray) -> VolumesModel | None:
    """The volumes of a scene; None when it has none."""
    if not scene.volumes:
        return None
    names = [obj.name for obj in scene.particle_objects]
    face_chunks, vertex_chunks, triangles, vertices = [], [], [], []
    starts = np.zeros(2, np.int64)
    for k, volume in enumerate(scene.volumes):
        faces = slots[volume.faces]
        corners = np.unique(faces)
        for chunks, start, count in ((face_chunks, starts[0], len(faces)), (vertex_chunks, starts[1], len(corners))):
            for begin in range(0, count, CHUNK):
                chunks.append((start + begin, start + min(begin + CHUNK, count), k, int(corners[0])))
        triangles.append(faces)
        vertices.append(corners)
        starts += len(faces), len(corners)
    flat, points = np.concatenate(triangles), np.concatenate(vertices)
    # a particle belongs to one mesh: its place in the list of all vertices
    place = np.zeros(len(slots), np.int64)
    place[points] = np.arange(len(points))
    offsets, entries = incidence(place[flat], len(points))
    return VolumesModel(
        objects=np.array([names.index(volume.object_name) for volume in scene.volumes]),
        triangles=np.ascontiguousarray(flat, np.uint32),
        face_chunks=np.array(face_chunks, np.int64),
        vertices=np.ascontiguousarray(points, np.uint32),
        vertex_chunks=np.array(vertex_chunks, np.int64),
        offsets=offsets.astype(np.int64),
        faces=(entries // 3).astype(np.uint32),
        volumes=np.array([volume.volume for volume in scene.volumes]),
        compliance=np.array([volume.compliance for volume in scene.volumes]),
    )
