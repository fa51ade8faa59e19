"""Tetrahedra: lattices, a surface filled, their quality."""

import numpy as np
import pytest

from shinari.build.tetra_lattice import lattice
from shinari.errors import SceneError


def volumes(vertices, tetrahedra):
    x = vertices[tetrahedra]
    return np.linalg.det(x[:, 1:] - x[:, :1]) / 6.0


def open_faces(tetrahedra):
    """How often each face occurs, as counts."""
    faces = np.sort(tetrahedra[:, [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]].reshape(-1, 3), axis=1)
    return np.unique(faces, axis=0, return_counts=True)[1]


@pytest.mark.parametrize("split", [5, 6])
@pytest.mark.parametrize(("cells", "size"), [((1, 1, 1), 1.0), ((3, 2, 5), 0.1), ((2, 4, 3), (0.1, 0.2, 0.5))])
def test_lattice_fills_its_box(cells, size, split):
    vertices, tetrahedra = lattice(cells, size, split=split)
    edges = np.broadcast_to(size, 3)
    assert len(vertices) == np.prod(np.array(cells) + 1)
    assert tetrahedra.shape == (split * np.prod(cells), 4)
    assert tetrahedra.dtype == np.int64
    np.testing.assert_allclose(vertices.max(axis=0), np.array(cells) * edges)
    volume = volumes(vertices, tetrahedra)
    assert (volume > 0.0).all()
    np.testing.assert_allclose(volume.sum(), np.prod(cells) * np.prod(edges), rtol=1e-12)
    # two triangles on each square of the border, and everything inside fits
    counts = open_faces(tetrahedra)
    a, b, c = cells
    assert counts.max() <= 2
    assert (counts == 1).sum() == 4 * (a * b + b * c + c * a)
    assert len(np.unique(tetrahedra)) == len(vertices)


@pytest.mark.parametrize(
    "bad", [{"cells": (0, 1, 1)}, {"cells": (1, 1)}, {"size": 0.0}, {"size": np.nan}, {"split": 7}]
)
def test_lattice_refuses(bad):
    arguments = {"cells": (1, 1, 1), "size": 1.0, "split": 5} | bad
    with pytest.raises(SceneError, match=next(iter(bad))):
        lattice(arguments["cells"], arguments["size"], split=arguments["split"])
