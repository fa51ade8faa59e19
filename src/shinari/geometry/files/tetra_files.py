"""Tetrahedra from files: TetGen, Gmsh, VTK.

TetGen is read here, the others by meshio (extra [mesh]). The vertices are those of the file in their order, less those
that no tetrahedron has: Gmsh writes the middles of arcs, and nodes of other cells. Negative tetrahedra are turned,
since programs differ in that; whether they overlap or are flat is for `shinari.geometry.tetrahedra.check` to see.
"""

import contextlib
import io
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shinari import check
from shinari.errors import FileError, MissingExtraError, require
from shinari.geometry.tetrahedra.check import orient
from shinari.input_files import require_regular
from shinari.partial_files import reason

EXTENSIONS = (".node", ".ele", ".msh", ".vtk", ".vtu")


def read_tetrahedra(path: str | os.PathLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read tetrahedra.

    Args:
        path: File; the extension tells the format: .node or .ele (TetGen, the other one lies beside it), .msh (Gmsh),
            .vtk, .vtu.

    Returns:
        Vertices in the units of the file, (V, 3), and positively oriented tetrahedra, (T, 4).

    Raises:
        FileError: The file is missing, of no known format, damaged, or holds no tetrahedra; the message has the path
            and the reason.
        MissingExtraError: meshio is not installed.
    """
    path = check.path("tetrahedra", "path", path)
    suffix = path.suffix.lower()
    if suffix not in EXTENSIONS:
        raise FileError(
            f"{path}: unknown extension {check.short(suffix)} for tetrahedra, expected one of {', '.join(EXTENSIONS)}"
        )
    try:
        require_regular(path)
        with path.open("rb"):
            pass
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read: {reason(error)}") from error
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            points, table, others = _read_tetgen(path) if suffix in (".node", ".ele") else _read_meshio(path, suffix)
    except MissingExtraError:
        raise
    except (Exception, SystemExit) as error:  # the boundary to meshio, which fails in as many ways as files do
        why = reason(error) if str(error) else "it is damaged, or of a variant that meshio does not know"
        raise FileError(f"{path}: cannot be read as tetrahedra: {why}") from error
    return _checked(str(path), points, table, others)


def _checked(
    name: str, points: Any, table: NDArray[np.integer], others: dict[str, int]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Tetrahedra in range, turned, with the vertices they have."""
    points = np.asarray(points)
    if not len(table):
        held = ", ".join(f"{count} {kind}" for kind, count in others.items()) or "no cells at all"
        raise FileError(f"{name}: holds no tetrahedra with four vertices; it has {len(points)} points, {held}")
    if points.ndim != 2 or points.shape[1] != 3 or points.dtype.kind not in "fiu":
        raise FileError(f"{name}: the vertices have shape {points.shape}, expected (V, 3)")
    out = np.flatnonzero(((table < 0) | (table >= len(points))).any(axis=1))
    if len(out):
        raise FileError(f"{name}: tetrahedron {out[0]} uses {table[out[0]].tolist()}, there are {len(points)} vertices")
    used, numbered = np.unique(table, return_inverse=True)
    vertices = points[used].astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(vertices).all(axis=1))
    if len(bad):
        raise FileError(f"{name}: vertex {used[bad[0]]} is not finite: {vertices[bad[0]].tolist()}")
    with np.errstate(all="ignore"):
        return vertices, orient(vertices, numbered.reshape(-1, 4))


def _read_meshio(path: Path, suffix: str) -> tuple[Any, NDArray[np.integer], dict[str, int]]:
    """Points, tetrahedra and how many cells of other kinds there are."""
    require("meshio", "mesh")
    from meshio import gmsh, vtk, vtu

    reader: Any = {".msh": gmsh, ".vtk": vtk, ".vtu": vtu}[suffix]
    # it prints what it has to say
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        mesh = reader.read(path)
    tables, others = [np.zeros((0, 4), np.int64)], {}
    for block in mesh.cells:
        if block.type == "tetra":
            cells = np.asarray(block.data)
            if cells.ndim != 2 or cells.shape[1] != 4 or cells.dtype.kind not in "iu":
                raise ValueError(f"its tetrahedra have shape {cells.shape}")
            if cells.dtype.kind == "u" and len(cells) and cells.max() > np.iinfo(np.int64).max:
                raise ValueError(f"a tetrahedron uses vertex {cells.max()}")
            tables.append(cells.astype(np.int64))
        else:
            others[block.type] = others.get(block.type, 0) + len(block.data)
    return mesh.points, np.concatenate(tables), others


def _read_tetgen(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64], dict[str, int]]:
    """Points and tetrahedra of two files, of which one is given."""
    node, ele = tetgen_pair(path)
    for file in (node, ele):
        if not file.is_file():
            raise ValueError(f"{file.name} is not beside it")
    count, head, rows = _tetgen_table(node, 4)
    if head[0] != 3:
        raise ValueError(f"{node.name}: has {head[0]} dimensions")
    points = rows[:, :4]
    base = points[0, 0] if count else 0.0
    if base not in (0.0, 1.0) or not np.array_equal(points[:, 0], base + np.arange(count)):
        raise ValueError(f"{node.name}: the points are not numbered from 0 or 1, one after another")
    count, head, rows = _tetgen_table(ele, 3)
    if head[0] not in (4, 10):
        raise ValueError(f"{ele.name}: cells of {head[0]} vertices")
    if head[0] == 10:
        return points[:, 1:], np.zeros((0, 4), np.int64), {"tetrahedra of ten vertices": count}
    table = rows[:, 1:5] - base
    if not np.array_equal(table, np.rint(table)) or np.abs(table).max(initial=0.0) > 2.0**53:
        raise ValueError(f"{ele.name}: an index is no whole number")
    return points[:, 1:], table.astype(np.int64), {}


def _tetgen_table(file: Path, fewest: int) -> tuple[int, list[int], NDArray[np.float64]]:
    """Number of rows, the rest of the head, and the rows; `#` starts a comment.

    Args:
        file: A .node or .ele file.
        fewest: Numbers in its head, of which the last one or two count attributes and may be missing.
    """
    lines = [line.split(b"#", 1)[0].split() for line in file.read_bytes().splitlines()]
    lines = [line for line in lines if line]
    if not lines or not 2 <= len(lines[0]) <= fewest:
        raise ValueError(f"{file.name}: has no head of {fewest} numbers")
    count, *head = (int(word) for word in lines[0])
    if count != len(lines) - 1:
        raise ValueError(f"{file.name}: says {count} rows and has {len(lines) - 1}")
    width = (4 if fewest == 4 else 1 + head[0]) + sum(head[1:])
    if any(len(line) != width for line in lines[1:]):
        raise ValueError(f"{file.name}: has rows that are not {width} numbers long")
    return count, head, np.array(lines[1:], dtype="S64").astype(np.float64).reshape(count, width)


def tetgen_pair(path: Path) -> tuple[Path, Path]:
    """The .node and the .ele file of which one is given, their extensions in capitals when the given one is."""
    node, ele = (suffix.upper() if path.suffix.isupper() else suffix for suffix in (".node", ".ele"))
    return path.with_suffix(node), path.with_suffix(ele)
