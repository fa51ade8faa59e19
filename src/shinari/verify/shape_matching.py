"""Shape matched lumps: momenta, recovery, rigid motion, stiffness, plastic flow, contact."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.compute.program import run_recorded
from shinari.geometry.motion import rotation_matrix
from shinari.scene.handle import Handle
from shinari.scene.lump_material import LumpMaterial
from shinari.shapes.plane import Plane
from shinari.systems.shape_matching.system import ShapeMatchingSystem
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal, roundoff
from shinari.verify.scenes import small

_MUELLER = "Mueller et al. 2005, Meshless Deformations Based on Shape Matching, "
_G = 9.81


def _lattice(*counts: int, spacing: float = 0.1) -> np.ndarray:
    axes = [spacing * (np.arange(n) - 0.5 * (n - 1)) for n in counts]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _box(*size: float) -> tuple[np.ndarray, np.ndarray]:
    """A closed box: vertices (8, 3), faces (12, 3)."""
    corners = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)])
    faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]]
    faces += [[2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
    return corners * size, np.array(faces)


def _floating(points: np.ndarray, precision: str, material: LumpMaterial, mass: Any, **settings: Any) -> Simulation:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_shape_matched(points, material=material, mass=mass)
    return small(scene, precision, **settings)


_KINDS = {
    "rigid": LumpMaterial(),
    "rigid, overlapping clusters": LumpMaterial(cluster_size=0.21),
    "linear": LumpMaterial(mode="linear", beta=0.8, stiffness=0.5),
    "quadratic": LumpMaterial(mode="quadratic", beta=0.6),
    "plastic, overlapping clusters": LumpMaterial(yield_strain=0.01, creep=50.0, cluster_size=0.31),
}


@check("matching keeps both momenta", _MUELLER + "section 3.3: sum m (g - x) = 0, sum m x cross (g - x) = 0")
def momenta(precision: str) -> Iterator[Measurement]:
    """One projection of random states of lumps of unequal masses."""
    for kind, material in _KINDS.items():
        for spread in (0.02, 3.0):
            rng = np.random.default_rng(1)
            points = _lattice(5, 4, 4)
            m = 10.0 ** rng.uniform(-1, 1, len(points))
            sim = _floating(points, precision, material, m, substeps=1)
            x, m = sim.state.x, 1.0 / sim.state.x[:, 3].astype(float)
            x[:, :3] += spread * rng.normal(size=points.shape)
            before = x[:, :3].astype(float)
            run_recorded(sim._bound.get(ShapeMatchingSystem).record_project, True)
            displacement, about = x[:, :3] - before, before - m @ before / m.sum()
            reach, size = float(np.abs(before).max()), float(m @ np.linalg.norm(displacement, axis=1))
            written = 4.0 * math.sqrt(len(m)) * roundoff(precision) * m.max() * reach / size
            least = 1e-12 if precision == "float64" else 0.0
            theory = "four deviations of a random walk, m u x for each position written; 1e-12 for the sums"
            yield equal(
                f"linear, {kind}, spread {spread:g} m, over sum |m dx|", 0.0,
                float(np.linalg.norm(m @ displacement)) / size, absolute=written + least, theory=theory,
            )  # fmt: skip
            turned = float(np.linalg.norm(m @ np.cross(about, displacement))) / (size * reach)
            yield equal(
                f"angular, {kind}, spread {spread:g} m, over sum |m dx| x", 0.0, turned, absolute=2 * written + least,
                theory=theory,
            )  # fmt: skip


@check("a lump recovers its shape", _MUELLER + "section 3: goals exist for any positions")
def recovery(precision: str) -> Iterator[Measurement]:
    """Largest error of a distance after two seconds of damped motion, over the extent of the lump."""
    for kind in ("rigid", "linear", "quadratic"):
        points = _lattice(4, 4, 4)
        rest = np.linalg.norm(points[:, None] - points[None], axis=2)
        for start, change in {"flat": (1, 0, 1), "inverted": (1, -1, 1), "random": None}.items():
            sim = _floating(points, precision, _KINDS[kind], 1.0, substeps=5)
            rng = np.random.default_rng(2)
            sim.state.positions = rng.normal(0, 0.2, points.shape) if change is None else points * change
            for _ in range(120):
                sim.step()
                sim.state.velocities *= 0.5
            x = sim.state.positions.astype(float)
            distances = np.linalg.norm(x[:, None] - x[None], axis=2)
            upright = np.linalg.det((x - x.mean(axis=0)).T @ points) > 0.0
            yield at_most(
                f"{kind}, from {start}", 0.01, float(np.abs(distances - rest).max() / rest.max()) if upright else 1.0,
                theory="the shape at rest, not mirrored (1 where it is); what a soft shape closes in 2 s",
            )  # fmt: skip


@check(
    "torque-free rigid top",
    "Euler's equations, I = (1, 2, 3), w = (0.1, 10, 0.1): Jacobi's elliptic functions",
    precisions=("float64",),
)
def top(precision: str) -> Iterator[Measurement]:
    """Four masses as a rigid lump turn about their middle axis: when they tumble over, and what is kept.

    Single precision is left out: that motion is unstable, and rounding tips it over at another moment.
    """
    points, spin = np.array([[1, 0, 0], [-1, 0, 0], [0, 0.5**0.5, 0], [0, -(0.5**0.5), 0]]), [0.1, 10.0, 0.1]
    for substeps in (20, 80):
        sim = _floating(points, precision, LumpMaterial(), 1.0, substeps=substeps)
        sim.state.velocities = np.cross(spin, points)
        energy, momentum = sim.energy().total, sim.angular_momentum()
        crossings, last, worst = [], 10.0, 0.0
        while sim.time < 3.2:
            sim.step()
            axes = rotation_matrix(sim.state.system_arrays["lumps/rotations"][0])
            middle = float((axes.T @ sim.angular_momentum())[1]) / 2.0
            if middle * last < 0.0:
                crossings.append(sim.time - sim.settings.dt * middle / (middle - last))
            last, worst = middle, max(worst, abs(sim.energy().total / energy - 1.0))
        step = 10.0 * sim.settings.substep
        case = f"{substeps} substeps"
        for name, exact, found in zip(("first", "second"), (1.091691, 3.046978), crossings, strict=True):
            yield equal(
                f"{name} zero of w2, {case} [s]", exact, found, relative=step**2 * 10.0 * exact + 1e-4,
                theory="(w h)^2 for each radian; 1e-4 for what is interpolated between frames",
            )  # fmt: skip
        yield at_most(f"largest change of energy, {case}", step**2, worst, theory="of second order in w h")
        yield equal(
            f"change of L, {case} [kg m^2/s]", 0.0, float(np.linalg.norm(sim.angular_momentum() - momentum)),
            absolute=4.0 * substeps * 60.0 * 3.2 * roundoff(precision) / sim.settings.substep,
            theory="m x u x / h for each position written, all the same way",
        )  # fmt: skip


@check("stiffness of a lump", "implicit Euler of u'' = -w^2 u, w = 60 sqrt(k / (1 - k)) rad/s")
def stiffness(precision: str) -> Iterator[Measurement]:
    """A lump stretched by a tenth: its stretch after 0.1 s, for any substeps and iterations."""
    points = _lattice(5, 4, 4)
    for k in (0.02, 0.5, 0.9):
        for substeps, iterations in ((1, 1), (10, 1), (10, 7), (50, 1)):
            sim = _floating(points, precision, LumpMaterial(stiffness=k), 1.0, substeps=substeps, iterations=iterations)
            sim.state.positions[:, 0] *= 1.1
            sim.step(6)
            square = 3600.0 * k / (1.0 - k) * sim.settings.substep**2
            u = [1.0, 1.0]
            for _ in range(6 * substeps):
                u.append((2.0 * u[-1] - u[-2]) / (1.0 + square))
            x = sim.state.positions[:, 0].astype(float)
            yield equal(
                f"stretch over that at the start, k {k:g}, {substeps} substeps, {iterations} iterations", u[-1],
                (float(x @ points[:, 0] / (points[:, 0] @ points[:, 0])) - 1.0) / 0.1,
                absolute=40.0 * (6 * substeps) ** 1.5 * iterations * roundoff(precision),
                theory="u x at each position written, carried on by the velocity, over a tenth",
            )  # fmt: skip


@check("a plastic bar keeps its bend", _MUELLER + "section 4.5: beyond the yield the strain creeps into the rest shape")
def plastic(precision: str) -> Iterator[Measurement]:
    """A bar is held bent for a second; its bend three seconds later, over that bend."""
    points, angle = _lattice(20, 6, 3), 1.2
    radius = np.ptp(points[:, 0]) / angle
    turn, r = points[:, 0] / radius, radius + points[:, 1]
    bent = np.stack([r * np.sin(turn), r * np.cos(turn) - radius, points[:, 2]], axis=1)
    for name, yields, lowest, highest in (("elastic", np.inf, 0.0, 0.01), ("yield 0.01", 0.01, 0.4, 1.0)):
        material = LumpMaterial(stiffness=0.9, cluster_size=0.21, yield_strain=yields, creep=20.0)
        sim = _floating(points, precision, material, 1.0, substeps=5)
        for _ in range(60):
            sim.state.positions, sim.state.velocities = bent, np.zeros_like(bent)
            sim.step()
        for _ in range(180):
            sim.step()
            sim.state.velocities *= 0.8
        x = sim.state.positions.astype(float).reshape(20, 6, 3, 3).mean(axis=(1, 2))
        ends = x[1] - x[0], x[-1] - x[-2]
        found = math.acos(min(float(ends[0] @ ends[1] / math.prod(map(np.linalg.norm, ends))), 1.0)) / angle
        theory = "layers of clusters are strained by 0.06 and 0.13; bending inside of each is elastic and springs back"
        yield at_most(f"{name}, bend kept", highest, found, theory=theory)
        yield at_least(f"{name}, bend kept", lowest, found, theory=theory)


def _on_plane(precision: str, mesh: Any, tilt: float, friction: float, **lump: Any) -> tuple[Simulation, Handle]:
    """A lump on a plane that falls along x by an angle [rad]."""
    scene = Scene()
    scene.add_collider(Plane((math.sin(tilt), math.cos(tilt), 0.0)), friction=friction)
    material = LumpMaterial(friction=friction, restitution=lump.pop("restitution", 0.0))
    turn = (math.cos(0.5 * tilt), 0.0, 0.0, -math.sin(0.5 * tilt))
    handle = scene.add_shape_matched(mesh, material=material, rotation=turn, **lump)
    return small(scene, precision), handle


def _centre(sim: Simulation) -> np.ndarray:
    return sim.model.masses @ sim.state.positions.astype(float) / sim.model.masses.sum()


@check("a rigid lump on a slope", "Coulomb: a = g (sin t - mu cos t); at rest below")
def slope(precision: str) -> Iterator[Measurement]:
    """A box of particles slides down, or stays."""
    for degrees, friction in ((20, 0.2), (30, 0.4), (20, 0.5)):
        tilt = math.radians(degrees)
        normal, down = np.array([math.sin(tilt), math.cos(tilt), 0]), np.array([math.cos(tilt), -math.sin(tilt), 0])
        sim, _ = _on_plane(precision, _box(0.4, 0.4, 0.4), tilt, friction, spacing=0.08, position=0.2 * normal)
        start = _centre(sim)
        sim.step(60)
        displacement = float((_centre(sim) - start) @ down)
        exact = 0.5 * _G * max(math.sin(tilt) - friction * math.cos(tilt), 0.0)
        case = f"{degrees} degrees, mu {friction:g}, way in 1 s [m]"
        if exact > 0.0:
            yield equal(case, exact, displacement, relative=0.01, theory="1 % asked; one substep of delay is 0.2 %")
        else:
            yield at_most(case, 0.01, abs(displacement), theory="less than 2 cm of creep in 2 s")


@check("a rigid lump bounces and lies", "e: speeds after and before; rest: contact force = weight")
def bounces(precision: str) -> Iterator[Measurement]:
    """A box of particles falls flat on a plane."""
    for restitution in (0.0, 0.5, 0.9):
        height = 0.5
        sim, lump = _on_plane(precision, _box(0.4, 0.3, 0.4), 0.0, 0.5, spacing=0.08, restitution=restitution,
                              position=(0.0, 0.15 + height, 0.0))  # fmt: skip
        highest, fell = 0.0, False
        for _ in range(150):
            sim.step()
            y = float(_centre(sim)[1]) - 0.15
            fell = fell or y < 0.02
            speed = float(sim.model.masses @ sim.state.velocities[:, 1]) / sim.model.masses.sum()
            highest = max(highest, y) if fell else 0.0
            if fell and highest > 0.02 and speed < 0.0:
                break
        yield equal(
            f"height after the first bounce over that before, e {restitution:g}", restitution**2, highest / height,
            absolute=0.03, theory="e^2; 0.01 from the gap of a substep, 0.02 from heights at the ends of frames",
        )  # fmt: skip
    sim, lump = _on_plane(precision, _box(0.4, 0.3, 0.4), 0.0, 0.5, spacing=0.08, position=(0.0, 0.17, 0.0))
    sim.step(90)
    weight = 0.048 * 1000.0 * _G
    yield equal("contact force at rest [N]", weight, float(sim.forces(lump)[1]), relative=2e-3,
                theory="the momentum is at rest; what still moves")  # fmt: skip
