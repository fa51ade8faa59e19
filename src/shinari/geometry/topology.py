"""Triangle meshes: what is refused, and what is read off the faces.

A mesh is a pair: vertices [m], float64, shape (V, 3), and faces, int32, shape (F, 3), three vertex indices each.
`check_mesh` makes such a pair out of what a user gave, or says what is wrong with it; the other functions expect a pair
that passed.

NumPy only: this file is imported with the package.
"""

import os
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shinari import check
from shinari.errors import SceneError

#: Height over longest edge under which a triangle counts as degenerate: a float32 gradient across it is rounding.
DEGENERATE_TOLERANCE = 1e-7


def check_mesh(vertices: ArrayLike, faces: ArrayLike, name: str) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Check a triangle mesh and bring it into the types of the package.

    Nothing is repaired: two triangles on the same three vertices, a vertex without a face (it would fall on its own) or
    a triangle without area is an error.

    Args:
        vertices: Positions [m], shape (V, 3).
        faces: Vertex indices, integers, shape (F, 3).
        name: What the mesh belongs to, for messages: `"cloth 'flag'"`.

    Returns:
        Vertices, float64, C-contiguous, shape (V, 3), and faces, int32, C-contiguous, shape (F, 3).

    Raises:
        SceneError: The mesh cannot be simulated; the message names the object, the field and the first index at fault.
    """
    points = _table(vertices, f"{name}: vertices", "iuf", "numbers")
    triangles = _table(faces, f"{name}: faces", "iu", "integers")
    points = np.ascontiguousarray(points, dtype=np.float64)

    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if bad.size:
        raise SceneError(f"{name}: vertices[{bad[0]}] is {points[bad[0]].tolist()}, not finite{_others(bad)}")
    bad = np.flatnonzero(((triangles < 0) | (triangles >= len(points))).any(axis=1))
    if bad.size:
        raise SceneError(
            f"{name}: faces[{bad[0]}] is {triangles[bad[0]].tolist()}, "
            f"out of range for {len(points)} vertices{_others(bad)}"
        )
    triangles = np.ascontiguousarray(triangles, dtype=np.int32)
    i, j, k = triangles.T
    bad = np.flatnonzero((i == j) | (j == k) | (k == i))
    if bad.size:
        raise SceneError(f"{name}: faces[{bad[0]}] is {triangles[bad[0]].tolist()}, a vertex repeats{_others(bad)}")
    _check_areas(points, triangles, name)
    _check_duplicates(triangles, name)
    bad = np.flatnonzero(np.bincount(triangles.ravel(), minlength=len(points)) == 0)
    if bad.size:
        raise SceneError(f"{name}: vertices[{bad[0]}] is in no face and would fall on its own{_others(bad)}")
    return points, triangles


def _table(values: ArrayLike, field: str, kinds: str, content: str) -> NDArray[Any]:
    """An array of shape (n, 3), n > 0, whose dtype kind is one of `kinds`; `field` and `content` word the errors."""
    try:
        table = np.asarray(values)
    except Exception:  # the boundary to arrays of other libraries
        raise SceneError(f"{field}: expected a table of shape (n, 3), got {check.short(values)}") from None
    if table.size == 0:
        raise SceneError(f"{field}: is empty")
    if table.ndim != 2 or table.shape[1] != 3:
        raise SceneError(f"{field}: expected shape (n, 3), got {table.shape}")
    if table.dtype.kind not in kinds:
        raise SceneError(f"{field}: expected {content}, got {table.dtype}")
    return table


def _others(bad: NDArray[np.intp]) -> str:
    """The end of a message about the first of several: how many more there are, and where."""
    if bad.size < 2:
        return ""
    tail = ", ..." if bad.size > 6 else ""
    return f" (and {bad.size - 1} more: {', '.join(str(index) for index in bad[1:6])}{tail})"


def _check_areas(points: NDArray[np.float64], triangles: NDArray[np.int32], name: str) -> None:
    """Refuse triangles whose height over the longest edge is under `DEGENERATE_TOLERANCE` of that edge."""
    x, y, z = (points[triangles[:, corner]] for corner in range(3))
    longest = np.maximum(np.maximum(_length(y - x), _length(z - y)), _length(x - z))
    doubled = _length(np.cross(y - x, z - x))
    bad = np.flatnonzero(~(doubled > DEGENERATE_TOLERANCE * longest**2))
    if bad.size:
        raise SceneError(
            f"{name}: faces[{bad[0]}] is {triangles[bad[0]].tolist()}, a triangle without area{_others(bad)}"
        )


def _check_duplicates(triangles: NDArray[np.int32], name: str) -> None:
    """Refuse two triangles on the same three vertices, whatever their orientation."""
    key = np.sort(triangles, axis=1)
    order = np.lexsort(key.T[::-1])
    key = key[order]
    same = np.flatnonzero((key[1:] == key[:-1]).all(axis=1))
    if same.size:  # lexsort is stable: the earlier face comes first
        later = np.sort(order[same + 1])
        first = order[same[np.argmin(order[same + 1])]]
        raise SceneError(
            f"{name}: faces[{later[0]}] has the vertices of faces[{first}], "
            f"{triangles[later[0]].tolist()}{_others(later)}"
        )


def _length(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths of vectors, shape (n,)."""
    return np.sqrt(np.einsum("ij,ij->i", vectors, vectors))


def _sides(faces: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The 3 F sides of the faces, sorted by undirected edge and, within an edge, by face.

    Side s belongs to face s // 3 and runs from its corner s % 3 to the next one.

    Returns:
        Side numbers in that order and their edge keys (one integer per undirected edge, ordered as (i, j), i < j).
    """
    start = np.asarray(faces, dtype=np.int64)
    end = np.roll(start, -1, axis=1)
    count = int(start.max(initial=-1)) + 1
    key = (np.minimum(start, end) * count + np.maximum(start, end)).ravel()
    order = np.argsort(key, kind="stable")
    return order, key[order]


def _runs(key: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each run of equal keys starts in a sorted array, and its length."""
    first = np.flatnonzero(np.concatenate([np.ones(min(key.size, 1), np.bool_), key[1:] != key[:-1]]))
    return first, np.diff(first, append=key.size)


def edges(faces: NDArray[np.integer]) -> NDArray[np.int32]:
    """Undirected edges, each once, int32, shape (E, 2): i < j in a row, rows in ascending order."""
    count = int(np.max(faces, initial=-1)) + 1
    key = _sides(faces)[1]
    key = key[_runs(key)[0]]
    return np.stack(np.divmod(key, max(count, 1)), axis=1).astype(np.int32)


def edge_keys(pairs: NDArray[np.integer]) -> NDArray[np.int64]:
    """One number for each undirected pair of vertices, the first two of each row, (M,)."""
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    return low.astype(np.int64) << 32 | high.astype(np.int64)


def edge_rows(pairs: NDArray[np.integer], among: NDArray[np.integer]) -> NDArray[np.int64]:
    """For each pair of vertices (M, 2) the first edge (E, 2) with the same ends, in any order, (M,); each has one."""
    keys = edge_keys(among)
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys[order], edge_keys(pairs))]


def boundary_edges(faces: NDArray[np.integer]) -> NDArray[np.int32]:
    """Edges of exactly one face, int32, shape (B, 2), directed as in that face; ascending by undirected edge."""
    order, key = _sides(faces)
    first, count = _runs(key)
    side = order[first[count == 1]]
    flat = np.asarray(faces)
    return np.stack([flat[side // 3, side % 3], flat[side // 3, (side + 1) % 3]], axis=1).astype(np.int32)


def hinges(faces: NDArray[np.integer], name: str = "mesh") -> NDArray[np.int32]:
    r"""Pairs of triangles that share an edge, for bending.

              c               The first face (the one with the lower index) runs a -> b -> c. Its normal is along
            /   \             n1 = (b - a) x (c - a), that of the flap beyond the edge along n2 = (d - a) x (b - a),
          a ----- b           and the signed dihedral angle is atan2(n1 x n2 . e, n1 . n2), e = (b - a)/|b - a|:
            \   /             zero when flat, negative when c and d rise on the side that n1 points to (a valley
              d               seen from there), positive when they fall away from it (a ridge).

    The four vertices alone define the angle. A neighbour that is oriented the other way round (it too runs a -> b; on a
    Moebius strip some must) is read as if it ran b -> a, so its hinge is as good as any other; only the sign follows
    the first face.

    Args:
        faces: Vertex indices, shape (F, 3).
        name: What the mesh belongs to, for messages.

    Returns:
        Rows a, b, c, d: int32, shape (H, 4), ascending by the undirected edge {a, b}. A boundary edge gives no row.

    Raises:
        SceneError: More than two faces meet at an edge, where bending has no meaning; the message names edge and faces.
    """
    return hinge_rows(faces, *hinge_sides(faces, name))


def hinge_rows(faces: NDArray[np.integer], one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int32]:
    """Rows as of `hinges` from both sides of each edge as of `hinge_sides`, int32, (H, 4)."""
    flat = np.asarray(faces)
    a, b, c = (flat[one // 3, (one + turn) % 3] for turn in range(3))
    d = flat[two // 3, (two + 2) % 3]
    return np.stack([a, b, c, d], axis=1).astype(np.int32)


def hinge_sides(faces: NDArray[np.integer], name: str = "mesh") -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two sides of faces that meet at each inner edge, (H,) each, ascending by undirected edge.

    Side s belongs to face s // 3 and runs from its corner s % 3 to the next one.

    Args:
        faces: Vertex indices, shape (F, 3).
        name: What the mesh belongs to, for messages.

    Raises:
        SceneError: More than two faces meet at an edge; the message names edge and faces.
    """
    order, key = _sides(faces)
    first, count = _runs(key)
    flat = np.asarray(faces)
    crowded = np.flatnonzero(count > 2)
    if crowded.size:
        one = crowded[0]
        side = order[first[one] : first[one] + count[one]]
        i, j = sorted((int(flat[side[0] // 3, side[0] % 3]), int(flat[side[0] // 3, (side[0] + 1) % 3])))
        more = f" (and {crowded.size - 1} more such edges)" if crowded.size > 1 else ""
        raise SceneError(
            f"{name}: faces {', '.join(str(face) for face in side // 3)} all meet at the edge ({i}, {j}); "
            f"bending needs two at most{more}"
        )
    at = first[count == 2]
    return order[at], order[at + 1]


def sewn_sides(faces: NDArray[np.integer], joined: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two sides of faces that meet at each edge which only a seam makes an inner one, (H,) each; see `hinge_sides`.

    Edges at which a seam brings more than two faces together are left out.

    Args:
        faces: Vertex indices, shape (F, 3).
        joined: Vertex that stands for each vertex and those sewn to it, (V,).
    """
    order, key = _sides(joined[faces])
    first, count = _runs(key)
    at = first[count == 2]
    one, two = order[at], order[at + 1]
    flat = np.asarray(faces, np.int64)

    def ends(side: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.sort(np.stack([flat[side // 3, (side + turn) % 3] for turn in range(2)], axis=1), axis=1)

    sewn = (ends(one) != ends(two)).any(axis=1)
    return one[sewn], two[sewn]


def cross_edges(hinges: NDArray[np.integer]) -> NDArray[np.int32]:
    """The pairs (c, d) across the hinges, int32, shape (H, 2), row for row: springs against shear and bending."""
    return np.ascontiguousarray(np.asarray(hinges)[:, 2:4], dtype=np.int32)


def face_normals_areas(
    vertices: NDArray[np.floating], faces: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unit normals, shape (F, 3), by the right-hand rule, and areas [m^2], shape (F,); no area gives a zero normal."""
    points = np.asarray(vertices, dtype=np.float64)
    x, y, z = (points[faces[:, corner]] for corner in range(3))
    normal = np.cross(y - x, z - x)
    doubled = _length(normal)
    return normal / np.where(doubled > 0.0, doubled, 1.0)[:, None], 0.5 * doubled


def corner_areas(corners: NDArray[np.floating]) -> NDArray[np.float64]:
    """Areas [m^2], shape (F,), of triangles with corners in the plane or in space, (F, 3, 2) or (F, 3, 3)."""
    points = np.zeros((corners.shape[0] * 3, 3))
    points[:, : corners.shape[2]] = corners.reshape(-1, corners.shape[2])
    return face_normals_areas(points, np.arange(len(points)).reshape(-1, 3))[1]


def vertex_masses(
    areas: NDArray[np.floating], faces: NDArray[np.integer], density: float, factors: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Lumped masses [kg], shape (V,), of a mass per area that is linear on each triangle.

    A vertex takes the integral of the density times its shape function: the mass of the sheet and its centre of
    mass are those of the density.

    Args:
        areas: Areas of the triangles [m^2], shape (F,).
        faces: Vertex indices, shape (F, 3).
        density: Mass per area [kg/m^2].
        factors: Its factor at each vertex, shape (V,).
    """
    at = factors[faces]
    shares = (at.sum(axis=1, keepdims=True) + at) * (areas * density / 12.0)[:, None]
    masses = np.zeros(len(factors))
    np.add.at(masses, faces, shares)
    return masses


def grid(
    *,
    shape: tuple[int, int],
    size: tuple[float, float] = (1.0, 1.0),
    diagonal: Literal["same", "alternating"] = "same",
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """A rectangular sheet in the XZ plane, centred on the origin, its normals along +Y.

    Vertex k = row * nx + column is at x = -w/2 + w * column/(nx - 1), z = -h/2 + h * row/(ny - 1).

    Args:
        shape: Numbers of vertices (nx, ny) along X and along Z, two at least.
        size: Full lengths (w, h) [m] along X and along Z.
        diagonal: One diagonal splits each cell: `"same"` runs it from (column + 1, row) to (column, row + 1)
            everywhere, `"alternating"` turns it in every second cell, like a chess board.

    Returns:
        Vertices, shape (nx * ny, 3), and faces, int32, shape (2 (nx - 1)(ny - 1), 3), cell by cell in rows.

    Raises:
        SceneError: Fewer than two vertices in a direction, a size that is not positive, or an unknown diagonal.
    """
    if check.shaped("grid", "shape", shape).shape != (2,):
        raise SceneError(f"grid: shape: expected two whole numbers (nx, ny), got {check.short(shape)}")
    nx, ny = (check.count("grid", "shape", n, least=2) for n in shape)
    check.row_count("grid", "shape", nx, ny)
    width, height = check.array("grid", "size", size, (2,)).tolist()
    if not (width > 0.0 and height > 0.0):
        raise SceneError(f"grid: size: must be positive, got {width:g} x {height:g}")
    check.choice("grid", "diagonal", diagonal, ("same", "alternating"))
    z, x = np.meshgrid(np.linspace(-0.5, 0.5, ny) * height, np.linspace(-0.5, 0.5, nx) * width, indexing="ij")
    vertices = np.stack([x, np.zeros_like(x), z], axis=-1).reshape(-1, 3)

    row, column = np.meshgrid(np.arange(ny - 1), np.arange(nx - 1), indexing="ij")
    p = (row * nx + column).ravel()  # the corners of a cell: p q in this row of vertices, r s in the next one
    q, r, s = p + 1, p + nx, p + nx + 1
    faces = np.stack([p, r, q, q, r, s], axis=1)
    if diagonal == "alternating":
        turned = ((row + column) % 2 == 1).ravel()
        faces[turned] = np.stack([p, r, s, p, s, q], axis=1)[turned]
    return vertices, faces.reshape(-1, 3).astype(np.int32)


def unite(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Faces in which vertices with exactly equal coordinates are one and the same, (F, 3) int64."""
    _, first, which = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    return first[which.reshape(-1)][faces].astype(np.int64)


def is_shape(given: Any) -> bool:
    """Whether it is a shape that tells its surface, see `shinari.Shape`."""
    return not isinstance(given, type) and hasattr(given, "surface") and hasattr(given, "bounds")


def mesh_arrays(label: str, mesh: Any) -> tuple[Any, Any]:
    """Vertices and faces of a mesh given as arrays, as an object with both, as a path or as a shape that has an end."""
    if isinstance(mesh, (str, os.PathLike)):
        from shinari.geometry.files.meshes import read_mesh

        return read_mesh(check.path(label, "mesh", mesh))
    if hasattr(mesh, "vertices") and hasattr(mesh, "faces"):
        return mesh.vertices, mesh.faces
    if is_shape(mesh):
        if not np.isfinite(mesh.bounds()).all():
            raise SceneError(f"{label}: mesh: expected a shape that has an end, got {check.short(mesh)}")
        return mesh.surface()
    try:
        vertices, faces = mesh
    except Exception:  # the boundary to meshes of other libraries
        raise SceneError(
            f"{label}: mesh: expected (vertices, faces), a mesh, a shape or a path, got {check.short(mesh)}"
        ) from None
    return vertices, faces
