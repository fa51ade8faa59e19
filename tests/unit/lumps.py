"""Meshes and simulations that the tests of shape matching share."""

import numpy as np

import shinari as sn
from shinari.systems.shape_matching.system import ShapeMatchingSystem


def lattice(*counts, spacing=0.1):
    axes = [spacing * (np.arange(n) - 0.5 * (n - 1)) for n in counts]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def box(*size):
    signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]]
    faces += [[2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
    return 0.5 * signs * np.array(size), np.array(faces)


def simulation(add, precision="float64", gravity=(0, 0, 0), **settings):
    scene = sn.Scene(gravity=gravity)
    lump = add(scene)
    return sn.Simulation(scene, precision=precision, **{"threads": 1, **settings}), lump


def matching(sim):
    return sim._bound.get(ShapeMatchingSystem)


def ball(levels=3, radius=0.5, stretch=(1.0, 1.0, 1.0)):
    import trimesh

    mesh = trimesh.creation.icosphere(subdivisions=levels, radius=radius)
    return np.asarray(mesh.vertices) * stretch, np.asarray(mesh.faces)
