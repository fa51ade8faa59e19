"""Tetrahedra that cover a surface: thin parts and sharp edges are in them, and the mass is that of the surface."""

import warnings
from typing import Any

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.errors import TetrahedraWarning
from shinari.geometry.embedding import locate
from shinari.geometry.tetrahedra.check import pieces
from shinari.geometry.tetrahedra.fill import tetrahedralize

CELL = 0.1


def ball_with(part: Any) -> Any:
    """A ball of radius 0.5 m and a part that sticks out of it."""
    return trimesh.util.concatenate([trimesh.creation.icosphere(subdivisions=4, radius=0.5), part])


def fin(thickness: float) -> Any:
    plate: Any = trimesh.creation.box((0.8, 0.5, thickness)).subdivide().subdivide().subdivide()
    return plate.apply_translation((0.6, 0.013, 0.021))


def spike(thickness: float) -> Any:
    cylinder: Any = trimesh.creation.cylinder(radius=0.5 * thickness, height=0.9, sections=12)
    rod: Any = cylinder.subdivide_to_size(0.05)
    turn = trimesh.transformations.rotation_matrix(0.7, (0.3, 1.0, 0.2))
    return rod.apply_translation((0, 0, 0.75)).apply_transform(turn)


def turned_cube() -> Any:
    turn = trimesh.transformations.rotation_matrix(0.5, (1.0, 2.0, 0.5))
    cube: Any = trimesh.creation.box((0.97, 0.97, 0.97)).subdivide_to_size(0.1)
    return cube.apply_transform(turn)


SURFACES = {
    "turned cube": turned_cube(),
    "fin of a fifth of a cell": ball_with(fin(0.2 * CELL)),
    "fin of half a cell": ball_with(fin(0.5 * CELL)),
    "spike of a fifth of a cell": ball_with(spike(0.2 * CELL)),
    "spike of half a cell": ball_with(spike(0.5 * CELL)),
}


def fill(name: str, covers: bool):
    """Its tetrahedra; that a lattice leaves something out is what it warns of."""
    mesh = SURFACES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if not covers else "error", TetrahedraWarning)
        return tetrahedralize(mesh.vertices, mesh.faces, cell=CELL, covers=covers)


def outside(name: str, mesh) -> np.ndarray:
    """How far each vertex of the surface is outside, in cells."""
    return locate(SURFACES[name].vertices, mesh.vertices, mesh.tetrahedra)[2] / CELL


@pytest.mark.parametrize("name", SURFACES)
def test_no_vertex_is_far_outside(name):
    """Filled, vertices are up to several cells outside; covered, nearly all are inside, the others by 0.25 cells."""
    plain, covered = fill(name, False), fill(name, True)
    assert outside(name, plain).max() > 0.3
    assert outside(name, covered).max() < 0.25
    assert np.mean(outside(name, covered) > 1e-3) < 0.05
    assert len(covered.tetrahedra) < 1.6 * len(plain.tetrahedra)
    # no worse than a lattice without moved vertices may be
    assert covered.quality.shape.min() > 0.117


def test_a_thin_part_stays_one_with_the_body():
    """A fin that a lattice cuts off belongs to the body: there is one piece."""
    assert pieces(fill("fin of a fifth of a cell", True).tetrahedra).max() == 0


@pytest.mark.parametrize("density", [200.0, 1000.0])
@pytest.mark.parametrize("cell", [0.15, 0.08])
def test_the_mass_is_that_of_the_surface(density, cell):
    """However thick the tetrahedra are: density times the volume of the surface, to rounding for a closed one."""
    mesh = trimesh.creation.box((1.0, 0.7, 0.11)).subdivide().subdivide()
    scene = sn.Scene()
    scene.add_soft_body((mesh.vertices, mesh.faces), cell=cell, material=sn.SoftMaterial(density=density))
    sim = sn.Simulation(scene, precision="float64")
    sim.step()
    fallen = sim.momentum()[1] / (-9.81 / 60.0)
    assert fallen == pytest.approx(density * mesh.volume, rel=1e-9)
