"""Cubes and tetrahedra that several checks of solids share, and rows that only checks need."""

from collections.abc import Sequence

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.constraints.registry import register
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.maths.function import function
from shinari.maths.mat3 import cofactors, determinant, inner
from shinari.maths.simplex import tetrahedron_deformation, tetrahedron_gradients, tetrahedron_inverse
from shinari.maths.vec3 import dot, reciprocal, scale, sub
from shinari.scene.soft_material import SoftMaterial
from shinari.verify.scenes import small

DENSITY, EDGE = 1000.0, 0.1
CORNER = EDGE * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""Points of a tetrahedron cut off a cube of that edge [m], (4, 3)."""


@function
def on_plane(x, p):
    """Keeps a point on a plane, along which it slides freely."""
    return dot(p[0:3], sub(x[0], p[3:6])), (p[0:3],)


@function
def deviatoric(x, p):
    """C_D = |F| of Macklin and Mueller 2021."""
    f = tetrahedron_deformation(x, p)
    size = np.sqrt(inner(f, f))
    over = reciprocal(size)
    return size, tetrahedron_gradients((scale(f[0], over), scale(f[1], over), scale(f[2], over)), p)


@function
def hydrostatic(x, p):
    """C_H = J - gamma of Macklin and Mueller 2021."""
    f = tetrahedron_deformation(x, p)
    return determinant(f) - p[9], tetrahedron_gradients(cofactors(f), p)


@function
def both_as_printed(x, p):
    """C_D and C_H as one system, C_H times the root of la / mu so that they share a compliance."""
    value, gradients = deviatoric(x, p)
    volume, (g0, g1, g2, g3) = hydrostatic(x, p)
    s = p[10]
    return (value, s * volume), (gradients, (scale(g0, s), scale(g1, s), scale(g2, s), scale(g3, s)))


def _level(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.tile([1.0, 0.0, 0.0], (len(x), 1)), np.array(x[:, 0], np.float64)


register("roller", points=1, parameters=(("normal", 3), ("place", 3)), evaluate=on_plane, rest=_level,
         unit_gradients=True, translation_invariant=False, places=("place",))  # fmt: skip
register("deviatoric", points=4, parameters=(("inverse_rest", 9),), evaluate=deviatoric, compliance_unit="1/J")
register("hydrostatic", points=4, parameters=(("inverse_rest", 9), "gamma"), evaluate=hydrostatic,
         compliance_unit="1/J")  # fmt: skip
register("both_as_printed", points=4, parameters=(("inverse_rest", 9), "gamma", "hydrostatic_scale"),
         evaluate=both_as_printed, rows=2, compliance_unit="1/J")  # fmt: skip


def pulled(
    precision: str, cases: Sequence[tuple[SoftMaterial, float]], ratio: float, iterations: int
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Cubes at rest between rollers, stretched along x and free sideways.

    Args:
        precision: Of the simulation.
        cases: Material, of Young's modulus E, and stretch along x of each cube.
        ratio: Substep over the time that a wave of speed sqrt(E / density) takes through a cube.
        iterations: Of each substep.

    Returns:
        Force along x over rest area, over E (K,); stretch along y (K,); positions over rest size, (8, 3) each.
    """
    speed = np.sqrt(cases[0][0].youngs_modulus / DENSITY)
    h = ratio * EDGE / speed
    # heavily damped: four decay times in the time of a wave, so that the slowest motion is gone in sixty of them
    scene = Scene(gravity=(0.0, 0.0, 0.0), damping=2.0 * speed / EDGE)
    bodies, starts, ends = [], [], []
    vertices, tetrahedra = lattice((1, 1, 1), EDGE)
    for k, (material, stretch) in enumerate(cases):
        at = np.array([0.0, 0.0, 3.0 * EDGE * k])
        body = scene.add_soft_body((vertices, tetrahedra), material=material, position=at)
        bodies.append(body)
        starts.append(vertices * [stretch, 1.0, 1.0] + at)
        for axis in range(3):
            near = body.particles.start + np.flatnonzero(vertices[:, axis] == 0.0)
            scene.add_constraint("roller", near[:, None], normal=np.eye(3)[axis], place=at)
        far = body.particles.start + np.flatnonzero(vertices[:, 0] == EDGE)
        ends.append(
            scene.add_constraint(
                "roller", far[:, None], normal=np.eye(3)[0], place=at + np.array([stretch * EDGE, 0.0, 0.0])
            )
        )
    sim = small(scene, precision, dt=100 * h, substeps=100, iterations=iterations)
    sim.state.positions = np.concatenate(starts)
    sim.step(int(np.ceil(60.0 / ratio / 100)))
    forces = sim.forces("roller")
    pull = np.array([-forces[end.rows.start : end.rows.stop].sum() for end in ends])
    moduli = np.array([material.youngs_modulus for material, _ in cases])
    shapes = [(sim.positions(b).astype(np.float64) - [0, 0, 3.0 * EDGE * k]) / EDGE for k, b in enumerate(bodies)]
    sideways = np.array([shape[vertices[:, 1] == EDGE, 1].mean() for shape in shapes])
    return pull / EDGE**2 / moduli, sideways, shapes


def tetrahedron(precision: str, rows: str, h: float, iterations: int = 1) -> Simulation:
    """A free tetrahedron of 0.1 m, E = 1e5 Pa and la = 9 mu, in rows of stable Neo-Hookean.

    Args:
        precision: Of the simulation.
        rows: `"neo_hookean"`, `"both_as_printed"`, or `"one after the other"`: |F| and J - gamma as separate blocks.
        h: Step, which is one substep [s].
        iterations: Iterations.
    """
    volume = EDGE**3 / 6.0
    mu = 1e5 / (2.0 * 1.45)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles(CORNER, mass=0.25 * DENSITY * volume)
    inverse, gamma, soft = tetrahedron_inverse(CORNER[None]), 1.0 + 1.0 / 9.0, 1.0 / (mu * volume)
    index = [[0, 1, 2, 3]]
    if rows == "one after the other":
        scene.add_constraint("deviatoric", index, compliance=soft, inverse_rest=inverse)
        scene.add_constraint("hydrostatic", index, compliance=soft / 9.0, inverse_rest=inverse, gamma=gamma)
    elif rows == "both_as_printed":
        scene.add_constraint(rows, index, compliance=soft, inverse_rest=inverse, gamma=gamma, hydrostatic_scale=3.0)
    else:
        scene.add_constraint(rows, index, compliance=soft, hydrostatic_scale=3.0)
    return small(scene, precision, dt=h, substeps=1, iterations=iterations)


def volume_ratio(x: np.ndarray, rest: np.ndarray, tetrahedra: np.ndarray) -> np.ndarray:
    """J of each tetrahedron, (T,)."""
    now, before = x.astype(np.float64)[tetrahedra], rest[tetrahedra]
    return np.linalg.det(now[:, 1:] - now[:, :1]) / np.linalg.det(before[:, 1:] - before[:, :1])
