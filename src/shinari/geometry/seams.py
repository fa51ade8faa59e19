"""Sheets that come apart because vertices were written twice.

Mesh files that keep normals and texture coordinates with the vertices (PLY, glTF) have a vertex twice where a UV map is
cut or an edge is hard. It looks like one sheet, but no triangle joins its pieces.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.errors import SeamWarning, warn
from shinari.geometry.topology import boundary_edges


def warn_of_seams(label: str, vertices: NDArray[np.float64], faces: NDArray[np.integer]) -> None:
    """Tell of vertices on boundaries that lie exactly where others do.

    Args:
        label: What the mesh belongs to.
        vertices: Vertices [m], (V, 3).
        faces: Their triangles, (F, 3).
    """
    rim = np.unique(boundary_edges(faces))
    _, first, which = np.unique(vertices[rim], axis=0, return_index=True, return_inverse=True)
    twins = rim[first[which.ravel()]]
    again = np.flatnonzero(twins != rim)
    if not again.size:
        return
    one = again[0]
    warn(
        f"{label}: {again.size} vertices on its boundaries lie exactly where others do, vertex {rim[one]} where "
        f"{twins[one]} is, and no triangle joins them: it comes apart there. Export the mesh without seams, or join "
        "them: trimesh's mesh.merge_vertices(merge_tex=True, merge_norm=True)",
        SeamWarning,
    )
