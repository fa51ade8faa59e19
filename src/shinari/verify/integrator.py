"""Free fall: the integrator without constraints, near the origin and far from it."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.topology import grid
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.verify.ledger import Measurement, check, equal, roundoff

_EULER = "symplectic Euler in closed form: y_n = y0 + v0 n h - g h^2 n (n + 1) / 2"


def _fallen(y0: float, v0: float, g: float, h: float, n: int) -> float:
    """Height after n substeps [m]."""
    return y0 + v0 * n * h - g * h * h * n * (n + 1) / 2.0


@check("free fall", _EULER)
def free_fall(precision: str) -> Iterator[Measurement]:
    """A particle thrown up, for several gravities, substeps and places."""
    u = roundoff(precision)
    # g [m/s^2], dt [s], substeps, steps, v0 [m/s], distance from the origin [m]
    cases = (
        (9.81, 1 / 60, 1, 60, 0.0, 0.0),
        (1.62, 1 / 30, 10, 60, 5.0, 0.0),
        (24.79, 1 / 120, 20, 60, -3.0, 0.0),
        (9.81, 1 / 60, 100, 60, 0.0, 1000.0),
        (9.81, 1 / 60, 100, 30, 2.0, -1000.0),
    )
    for g, dt, substeps, steps, v0, far in cases:
        scene = Scene(gravity=(0, -g, 0))
        ball = scene.add_particles([[far, far, far]], velocity=(0, v0, 0))
        sim = Simulation(scene, dt=dt, substeps=substeps, precision=precision, threads=1)
        sim.step(steps)
        n, h = steps * substeps, dt / substeps
        path = n * h * max(abs(v0), abs(v0 - g * n * h))
        yield equal(
            f"height after {n} substeps of {h:.2e} s, g {g:g}, v0 {v0:g}, {far:g} m away [m]",
            _fallen(far, v0, g, h, n),
            float(sim.positions(ball)[0, 1]),
            absolute=(n + 2) * u * path + u * abs(far),
            theory="n roundings of the velocity carried along the path, one of the world position",
        )


@check("a rope and a sheet fall 1 km away", _EULER)
def falling_far_away(precision: str) -> Iterator[Measurement]:
    """Things with hard rows fall like a particle, 1 km from the origin, and keep their size."""
    for substeps in (20, 100):
        dt, steps, far = 1 / 60, 30, 1000.0
        h, n = dt / substeps, steps * substeps
        scene = Scene()
        vertices, faces = grid(shape=(6, 6), size=(0.5, 0.5))
        material = ClothMaterial(stretch_compliance=0.0, bend_stiffness=0.0)
        sheet = scene.add_cloth((vertices, faces), material=material, position=(far, far, -far))
        points = np.stack([np.linspace(0, 0.5, 9), np.zeros(9), np.zeros(9)], axis=1)
        rope = scene.add_rope(points + np.array([-far, far, far]), material=RopeMaterial())
        sim = Simulation(scene, dt=dt, substeps=substeps, precision=precision, threads=1)
        sim.step(steps)
        noise = roundoff(precision) * 0.5 * math.sqrt(n) / h
        for label, handle in (("sheet", sheet), ("rope", rope)):
            yield equal(
                f"fall of a {label} after {n} substeps of {h:.2e} s [m]",
                _fallen(0.0, 0.0, 9.81, h, n),
                float(sim.positions(handle)[:, 1].astype(np.float64).mean() - handle.positions[:, 1].mean()),
                absolute=4.0 * noise * n * h
                + n * roundoff(precision) * 9.81 * (n * h) ** 2
                + roundoff(precision) * far,
                theory="four deviations of the random walk of u x / h per substep, and that of free fall",
            )
        length = np.linalg.norm(np.diff(sim.positions(rope), axis=0), axis=1).sum()
        yield equal(
            f"length of the rope after {n} substeps [m]",
            0.5,
            float(length),
            absolute=8 * 4.0 * roundoff(precision) * far,
            theory="world positions rounded at 1 km, at both ends of eight segments",
        )
