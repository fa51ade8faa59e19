r"""Tetrahedral meshes: what is refused, and what is read off the tetrahedra.

              3
            / | \          A tetrahedron is positive when det(x1 - x0, x2 - x0, x3 - x0) > 0: seen from vertex 3, the
           /  |  \         vertices 0, 1, 2 run counter-clockwise. Its four faces, seen from outside counter-clockwise,
          0 --|-- 2        are (1 2 3), (0 3 2), (0 1 3), (0 2 1): face k lies opposite to vertex k.
            \ | /
              1

NumPy only.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shinari.errors import SceneError

FLAT = 1e-6
"""Six volumes over the cube of the longest edge (0.707 when regular) under which a tetrahedron is flat: the gradient
of its deformation is then rounding in single precision."""
FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])
EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])


def volumes(vertices: NDArray[np.floating], tetrahedra: NDArray[np.integer]) -> NDArray[np.float64]:
    """Signed volume of each tetrahedron [m^3], (T,)."""
    a, b, c, d = (np.asarray(vertices, np.float64)[tetrahedra[:, k]] for k in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


def longest_edges(vertices: NDArray[np.floating], tetrahedra: NDArray[np.integer]) -> NDArray[np.float64]:
    """Length of the longest edge of each tetrahedron [m], (T,)."""
    x = np.asarray(vertices, np.float64)
    spans = [x[tetrahedra[:, i]] - x[tetrahedra[:, j]] for i, j in EDGES]
    return np.sqrt(np.max([np.einsum("ij,ij->i", span, span) for span in spans], axis=0))


def boundary_faces(tetrahedra: NDArray[np.integer]) -> NDArray[np.int64]:
    """Faces that belong to one tetrahedron, (F, 3), counter-clockwise seen from outside, in the order of tetrahedra."""
    faces, order, start, count = _shared_faces(tetrahedra)
    return faces[np.sort(order[start[count == 1]])]


def exposed_faces(tetrahedra: NDArray[np.integer], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the 4 T faces, those of `tetrahedra[:, FACES]`, bound what is made of the present ones, (4 T,)."""
    faces = np.zeros((len(tetrahedra), 4), bool)
    _, order, start, count = _shared_faces(np.asarray(tetrahedra)[present])
    own = np.zeros(4 * int(present.sum()), bool)
    own[order[start[count == 1]]] = True
    faces[present] = own.reshape(-1, 4)
    return faces.ravel()


def orient(vertices: NDArray[np.floating], tetrahedra: NDArray[np.integer]) -> NDArray[np.int64]:
    """Turn each tetrahedron of negative volume, (T, 4): for meshes of other programs.

    The order of the vertices means nothing else, so nothing is lost. A tetrahedron that is truly inverted, so that it
    lies across its neighbours, still does when it is turned: `check_tetrahedra` finds it.
    """
    turned = np.array(tetrahedra, np.int64)
    negative = volumes(vertices, turned) < 0.0
    turned[negative] = turned[negative][:, [0, 1, 3, 2]]
    return turned


def check_tetrahedra(
    vertices: ArrayLike, tetrahedra: ArrayLike, label: str
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Check a mesh of tetrahedra and bring it into the types of the package; nothing is repaired.

    Args:
        vertices: Positions [m], (V, 3).
        tetrahedra: Vertex indices, integers, (T, 4), positively oriented.
        label: What the mesh belongs to, for messages: `"soft body 'jelly'"`.

    Returns:
        Vertices, float64, (V, 3), and tetrahedra, int64, (T, 4), both C-contiguous copies.

    Raises:
        SceneError: The mesh cannot be simulated; the message names the object, the field, the first at fault, and how
            many there are.
    """
    points = _table(vertices, f"{label}: vertices", 3, "iuf", "numbers").astype(np.float64, order="C")
    table = _table(tetrahedra, f"{label}: tetrahedra", 4, "iu", "whole numbers")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if bad.size:
        raise SceneError(f"{label}: vertices[{bad[0]}] is {points[bad[0]].tolist()}, not finite{_others(bad)}")
    bad = np.flatnonzero(((table < 0) | (table >= len(points))).any(axis=1))
    if bad.size:
        raise SceneError(
            f"{label}: tetrahedra[{bad[0]}] is {table[bad[0]].tolist()}, out of range for {len(points)} "
            f"vertices{_others(bad)}"
        )
    table = table.astype(np.int64, order="C")
    ordered = np.sort(table, axis=1)
    bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if bad.size:
        raise SceneError(f"{label}: tetrahedra[{bad[0]}] is {table[bad[0]].tolist()}, a vertex repeats{_others(bad)}")
    _check_volumes(points, table, label)
    _check_shared_faces(table, label)
    bad = np.flatnonzero(np.bincount(table.ravel(), minlength=len(points)) == 0)
    if bad.size:
        raise SceneError(f"{label}: vertices[{bad[0]}] is in no tetrahedron and would fall on its own{_others(bad)}")
    return points, table


def pieces(tetrahedra: NDArray[np.integer]) -> NDArray[np.int64]:
    """Number of the piece of each tetrahedron, (T,): those that share a face are in one; pieces count from 0."""
    _, order, start, count = _shared_faces(tetrahedra)
    first, second = order[start[count == 2]] // 4, order[start[count == 2] + 1] // 4
    return components(len(tetrahedra), first, second)


def components(count: int, first: NDArray[np.integer], second: NDArray[np.integer]) -> NDArray[np.int64]:
    """Connected component of each of `count` objects, joined in pairs; numbered by their first member."""
    label = np.arange(count)
    while True:
        # each takes the smallest number of its neighbours, then that of whom it points to, until nothing changes
        low = np.minimum(label[first], label[second])
        before = label.copy()
        np.minimum.at(label, label[first], low)
        np.minimum.at(label, label[second], low)
        while not np.array_equal(label, label[label]):
            label = label[label]
        if np.array_equal(label, before):
            return np.unique(label, return_inverse=True)[1].reshape(-1)


def _shared_faces(
    tetrahedra: NDArray[np.integer],
) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """All 4 T faces, their order by the vertices they have, and where runs of equal ones start and how long they are.

    Face 4 t + k lies opposite to vertex k of tetrahedron t. In a run faces are in the order of their numbers.
    """
    faces = np.asarray(tetrahedra, np.int64)[:, FACES].reshape(-1, 3)
    a, b, c = np.sort(faces, axis=1).T
    base = int(faces.max(initial=0)) + 1
    if base < 2**21:
        key = (a * base + b) * base + c
        order = np.argsort(key, kind="stable")
        key = key[order]
        new = np.concatenate([np.ones(min(len(key), 1), bool), key[1:] != key[:-1]])
    else:
        key = a * base + b
        order = np.lexsort((c, key))
        key, c = key[order], c[order]
        new = np.concatenate([np.ones(min(len(key), 1), bool), (key[1:] != key[:-1]) | (c[1:] != c[:-1])])
    start = np.flatnonzero(new)
    return faces, order, start, np.diff(start, append=len(faces))


def _check_volumes(points: NDArray[np.float64], table: NDArray[np.int64], label: str) -> None:
    volume = 6.0 * volumes(points, table)
    least = FLAT * longest_edges(points, table) ** 3
    bad = np.flatnonzero(~(np.abs(volume) > least))
    if bad.size:
        raise SceneError(
            f"{label}: tetrahedra[{bad[0]}], {table[bad[0]].tolist()}, has no volume: {volume[bad[0]] / 6.0:.3g} m^3"
            f"{_others(bad)}"
        )
    bad = np.flatnonzero(volume < 0.0)
    if bad.size:
        all_of_them = "; all are: turn them, tetrahedra[:, [0, 1, 3, 2]]" if bad.size == len(table) else _others(bad)
        raise SceneError(
            f"{label}: tetrahedra[{bad[0]}], {table[bad[0]].tolist()}, is inverted: {volume[bad[0]] / 6.0:.3g} m^3"
            f"{all_of_them}"
        )


def _check_shared_faces(table: NDArray[np.int64], label: str) -> None:
    """Refuse a face of three tetrahedra, and two tetrahedra on the same side of a face: they overlap."""
    faces, order, start, count = _shared_faces(table)
    bad = np.flatnonzero(count > 2)
    if bad.size:
        owners = order[start[bad[0]] : start[bad[0]] + count[bad[0]]] // 4
        raise SceneError(
            f"{label}: tetrahedra {', '.join(map(str, owners))} all share the face "
            f"{faces[order[start[bad[0]]]].tolist()}{_others(bad)}"
        )
    one, two = order[start[count == 2]], order[start[count == 2] + 1]
    a, b, c = faces[one].T
    p, q, r = faces[two].T
    odd_one, odd_two = (a > b) ^ (b > c) ^ (a > c), (p > q) ^ (q > r) ^ (p > r)
    bad = np.flatnonzero(odd_one == odd_two)
    if bad.size:
        raise SceneError(
            f"{label}: tetrahedra {one[bad[0]] // 4} and {two[bad[0]] // 4} overlap: they lie on the same side of the "
            f"face {faces[one[bad[0]]].tolist()} that they share{_others(bad)}"
        )


def _table(values: ArrayLike, field: str, width: int, kinds: str, content: str) -> NDArray[Any]:
    try:
        table = np.asarray(values)
    except ValueError as error:
        raise SceneError(f"{field}: expected a table of shape (n, {width}): {error}") from error
    if table.size == 0:
        raise SceneError(f"{field}: is empty")
    if table.ndim != 2 or table.shape[1] != width:
        raise SceneError(f"{field}: expected shape (n, {width}), got {table.shape}")
    if table.dtype.kind not in kinds:
        raise SceneError(f"{field}: expected {content}, got {table.dtype}")
    return table


def _others(bad: NDArray[np.intp]) -> str:
    """The end of a message about the first of several."""
    return f" (and {bad.size - 1} more)" if bad.size > 1 else ""
