"""Tetrahedra by fTetWild (Hu et al. 2020, Fast tetrahedral meshing in the wild), through pytetwild.

It keeps edges and thin parts that a lattice misses, and takes seconds to minutes. It makes a slightly different mesh in
every run, on one thread too; here the first one stays in the cache. Where results must be the same on two machines,
keep the tetrahedra in a file.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shinari.compute.array_cache import load_arrays, store_arrays
from shinari.errors import SceneError, require
from shinari.geometry.tetrahedra.check import check_tetrahedra, orient

_SCRIPT = """
import sys
import numpy, pytetwild
points, tetrahedra = pytetwild.tetrahedralize(
    numpy.load("vertices.npy"), numpy.load("faces.npy"), edge_length_abs=float(sys.argv[1]), quiet=True
)
numpy.save("points.npy", points)
numpy.save("tetrahedra.npy", tetrahedra)
"""


def run_tetwild(corners: NDArray[np.float64], edge: float, label: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Fill a surface, or take what filled it before from the cache.

    Args:
        corners: Triangles, (T, 3, 3) [m].
        edge: Length of the edges that is aimed at [m].
        label: What the surface belongs to, for messages.

    Returns:
        Vertices, (V, 3) [m], and positively oriented tetrahedra, (T, 4).

    Raises:
        MissingExtraError: pytetwild is not installed.
        SceneError: fTetWild fails on the surface.
    """
    require("pytetwild", "tet")
    parts, code = (corners, np.array([edge])), f"tetwild {version('pytetwild')}"
    loaded = load_arrays("tetrahedra", parts, code)
    if loaded is not None and _fits(loaded):
        return loaded[0], loaded[1]
    vertices, which = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    points, table = _run(vertices, which.reshape(-1, 3).astype(np.int32), edge, label)
    table = orient(points, table)
    used, numbered = np.unique(table, return_inverse=True)
    result = points[used], numbered.reshape(-1, 4).astype(np.int64)
    if len(table):
        check_tetrahedra(*result, label)
        store_arrays("tetrahedra", parts, code, result)
    return result


def _run(
    vertices: NDArray[np.float64], faces: NDArray[np.int32], edge: float, label: str
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Run fTetWild in a process and a folder of its own: it leaves a file where it runs, and may end its process."""
    with tempfile.TemporaryDirectory(prefix="shinari-tetwild-") as folder:
        np.save(Path(folder) / "vertices.npy", vertices)
        np.save(Path(folder) / "faces.npy", faces)
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT, repr(edge)], cwd=folder, capture_output=True, text=True, check=False
        )
        results = [Path(folder) / f"{name}.npy" for name in ("points", "tetrahedra")]
        if done.returncode or not all(path.exists() for path in results):
            lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
            raise SceneError(f"{label}: fTetWild cannot fill the surface: {lines[-1]}")
        points, table = (np.load(path, allow_pickle=False) for path in results)
    return points.astype(np.float64), table.astype(np.int64).reshape(-1, 4)


def _fits(loaded: list[np.ndarray]) -> bool:
    """Whether arrays from a file are tetrahedra."""
    if len(loaded) != 2 or loaded[0].dtype != np.float64 or loaded[1].dtype != np.int64:
        return False
    try:
        check_tetrahedra(loaded[0], loaded[1], "cache")
    except SceneError:
        return False
    return True
