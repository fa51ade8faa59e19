"""Rods against the elastica, Michell's ring and what they must keep."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.rod import RodHandle
from shinari.scene.rod_material import RodMaterial
from shinari.systems.rods.build import product, quaternion_of
from shinari.verify.ledger import Measurement, at_most, check, equal, roundoff
from shinari.verify.scenes import small

_ELASTICA = "Bisshopp and Drucker 1945 for the tip load; elastica in closed form or by shooting in float64"
# P L^2 / (E I) and deflection / L; w L^3 / (E I) and droop / L
_TIP_LOADS = ((1.0, 0.30172), (2.0, 0.49346), (3.0, 0.60325), (5.0, 0.71379), (10.0, 0.81061))
_SELF_WEIGHTS = ((1.0, 0.12347), (2.0, 0.23851), (4.0, 0.42516), (8.0, 0.64063), (16.0, 0.79702), (32.0, 0.87846))
# iterations and substeps
_EFFORTS = ((1, 1), (1, 50), (10, 1))
# slender, so that stretch and shear do not show: E A L^2 / (E I) is a million
_SLENDER = RodMaterial(radius=0.002, youngs_modulus=1e9, density=1000.0)


def cantilever(
    precision: str, segments: int, load: float, weight: float, *, material: RodMaterial = _SLENDER, iterations: int = 4
) -> float:
    """Deflection over length of a cantilever at rest.

    Args:
        precision: `"float64"` or `"float32"`.
        segments: Free segments.
        load: P L^2 / (E I) of a force at the tip.
        weight: w L^3 / (E I) of a weight per length.
        material: Its material.
        iterations: Iterations.
    """
    # a clamp holds the middle of its segment, and the rod bends from there on over a length of 1 m
    points = np.zeros((segments + 2, 3))
    points[:, 0] = (np.arange(segments + 2) - 0.5) / (segments + 0.5)
    line, bend = material.density * material.area, material.stiffness[2]
    scene = Scene(gravity=(0.0, -weight * bend / line, 0.0), damping=3.0)
    rod = scene.add_rod(points, material=material)
    rod.pin([0, 1])
    rod.clamp(0)
    sim = small(scene, precision, dt=0.02, substeps=1, iterations=iterations)
    kick = load * bend / (0.5 * line / (segments + 0.5)) * sim.settings.dt
    for _ in range(600):
        sim.velocities(rod)[-1, 1] -= kick
        sim.step()
    return -float(sim.positions(rod)[-1, 1])


@check("elastica, tip load", _ELASTICA)
def tip_load(precision: str) -> Iterator[Measurement]:
    """A force at the tip of a cantilever that damping has brought to rest."""
    for load, deflection in _TIP_LOADS:
        yield equal(f"deflection / L at P L^2 / (E I) = {load:g}, 40 segments", deflection,
                    cantilever(precision, 40, load, 0.0), relative=0.002,
                    theory="2 % asked; of second order in a segment of 1 / 40")  # fmt: skip


@check("elastica, self weight", "heavy elastica; at 8 the cloth test of Peirce 1930, a chord of 41.5 degrees")
def self_weight(precision: str) -> Iterator[Measurement]:
    """A cantilever under its own weight."""
    for weight, droop in _SELF_WEIGHTS:
        yield equal(f"droop / L at w L^3 / (E I) = {weight:g}, 40 segments", droop,
                    cantilever(precision, 40, 0.0, weight), relative=0.002,
                    theory="2 % asked; of second order in a segment of 1 / 40")  # fmt: skip


@check("rod refined", "segments of half the length leave a quarter of the error", precisions=("float64",))
def refinement(precision: str) -> Iterator[Measurement]:
    """Order at which the deflection converges, from three counts of segments."""
    for load, weight in ((1.0, 0.0), (10.0, 0.0), (0.0, 8.0)):
        coarse, middle, fine = (cantilever(precision, n, load, weight) for n in (10, 20, 40))
        yield equal(f"order of convergence, load {load:g}, weight {weight:g}", 2.0,
                    math.log2((coarse - middle) / (middle - fine)), absolute=0.2,
                    theory="midpoint rule: second order; terms of fourth order at 10 segments")  # fmt: skip


@check("end moment", "M = E I kappa; M L / (E I) = 2 pi closes the circle")
def end_moment(precision: str) -> Iterator[Measurement]:
    """The clamp at the free end is turned by 2 pi: nothing but a moment acts, and the rod closes."""
    segments = 60
    points = np.zeros((segments + 1, 3))
    points[:, 0] = np.arange(segments + 1) / (segments - 1)  # 1 m between the middles of the clamped segments
    scene = Scene(gravity=(0.0, 0.0, 0.0), damping=3.0)
    rod = scene.add_rod(points, material=_SLENDER)
    rod.pin([0, 1])
    rod.clamp([0, segments - 1])
    sim = small(scene, precision, dt=0.02, substeps=1, iterations=4)
    for k in range(800):
        turn_about_y(sim, rod, -1, 2.0 * math.pi * min((k + 1) / 400, 1.0))
        sim.step()
    x = sim.positions(rod).astype(np.float64)
    apart = np.linalg.norm(x[-1] + x[-2] - x[0] - x[1]) / 2.0
    joint = 2.0 * math.pi / (segments - 1)
    yield at_most("distance of the ends over L, ends parallel", 0.0, float(apart), absolute=1e-3,
                  theory="a regular polygon closes; 1e-3 for what still moves, and stretch by the moment")  # fmt: skip
    moments = np.linalg.norm(sim.rod_loads(rod).moments, axis=1) / _SLENDER.stiffness[2]
    for which, value in (("smallest", moments.min()), ("largest", moments.max())):
        yield equal(f"{which} M L / (E I) along the rod", 2.0 * math.pi, float(value),
                    relative=joint**2 / 6.0 + 1e-3 + 40.0 * roundoff(precision) / joint,
                    theory="sin(t) / t at each joint, 1e-3 for what still moves, rounding of a turn")  # fmt: skip


def turn_about_y(sim: Simulation, rod: RodHandle, segment: int, angle: float) -> None:
    """Turn a clamped frame of a rod along X by an angle [rad] about Y."""
    start = rod.frames[segment]
    w, x, y, z = math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0
    a = np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
    sim.frames(rod)[segment] = a @ start


@check("Michell's ring", "Michell 1889; Zajac 1962: a twisted ring is unstable above the twist 2 pi sqrt(3) B / C")
def michell(precision: str) -> Iterator[Measurement]:
    """The twist at which the mode that buckles first, two waves out of plane, begins to grow, by bisection."""
    for ratio in (0.0, 0.3, 0.5):
        material = RodMaterial(radius=0.02, youngs_modulus=1e7, density=1000.0, poissons_ratio=ratio)
        _, _, bend, twist = material.stiffness
        low, high = 0.8, 1.2
        for _ in range(5):
            middle = 0.5 * (low + high)
            if _grows(precision, material, middle * 2.0 * math.pi * math.sqrt(3.0) * bend / twist):
                high = middle
            else:
                low = middle
        yield equal(f"critical twist over 2 pi sqrt(3) B / C, B / C = {bend / twist:g}, 48 segments", 1.0,
                    0.5 * (low + high), relative=0.05, theory="5 % asked; bisected to 0.6 %")  # fmt: skip


def _grows(precision: str, material: RodMaterial, twist: float) -> bool:
    """Whether a ring of radius 1 m that is straight at rest, joined with so much twist [rad], leaves its plane."""
    n = 48
    angle = 2.0 * np.pi * np.arange(n) / n
    points = np.stack([np.cos(angle), np.sin(angle), 1e-3 * np.cos(2.0 * angle)], axis=1)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    length = 2.0 * n * math.sin(math.pi / n)
    rod = scene.add_rod(points, material=material, closed=True, rest_curvature=(0.0, 0.0, twist / length))
    sim = small(scene, precision, dt=1 / 60, substeps=1)
    sizes = []
    for _ in range(32):
        sim.step(30)
        z = sim.positions(rod)[:, 2].astype(np.float64)
        sizes.append(2.0 / n * abs((z * np.exp(2j * angle)).sum()))
    # a mode that does not grow swings with ever less than it began with
    return max(sizes[16:]) > 1e-3


@check("Greenhill's rod", "Greenhill 1883: a clamped rod under twist leaves its line at M L / (E I) = 2 x, tan x = x")
def greenhill(precision: str) -> Iterator[Measurement]:
    """The twist between two clamped ends at which the first mode begins to grow, by bisection."""
    for ratio in (0.0, 0.5):
        material = RodMaterial(radius=0.01, youngs_modulus=1e7, density=1000.0, poissons_ratio=ratio)
        _, _, bend, twist = material.stiffness
        low, high = 0.8, 1.2
        for _ in range(5):
            middle = 0.5 * (low + high)
            if _leaves(precision, material, middle * 2.0 * 4.4934095 * bend / twist):
                high = middle
            else:
                low = middle
        yield equal(f"critical twist over 2 x 4.4934 B / C, B / C = {bend / twist:g}, 40 segments", 1.0,
                    0.5 * (low + high), relative=0.05, theory="as the ring; bisected to 0.6 %")  # fmt: skip


def _leaves(precision: str, material: RodMaterial, twist: float) -> bool:
    """Whether a rod of 1 m with so much twist [rad] between its clamped ends leaves its line when disturbed."""
    n = 40
    points = np.zeros((n + 2, 3))
    points[:, 0] = (np.arange(n + 2) - 0.5) / n
    points[2:-2, 1] = 1e-3 * np.sin(np.pi * points[2:-2, 0]) ** 2
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    rod = scene.add_rod(points, material=material, rest_curvature=(0.0, 0.0, -twist))
    rod.pin([0, 1, n, n + 1])
    rod.clamp([0, n])
    sim = small(scene, precision, dt=1 / 60, substeps=1)
    sizes = []
    for _ in range(32):
        sim.step(30)
        sizes.append(float(np.linalg.norm(sim.positions(rod)[:, 1:], axis=1).max()))
    return max(sizes[16:]) > 1e-3


def helix(turns: float, segments: int, radius: float = 0.05, pitch: float = 0.03) -> np.ndarray:
    """Points on a coil about Y [m], from the top down."""
    t = 2.0 * np.pi * turns * np.linspace(0.0, 1.0, segments + 1)
    return np.stack([radius * np.cos(t), -pitch * t / (2.0 * np.pi), radius * np.sin(t)], axis=1)


@check("rest state of a coil", "the strains are those at rest, so nothing moves")
def rest(precision: str) -> Iterator[Measurement]:
    """A coil without weight, and how far it has gone from where it was put in a second."""
    for solver in ("direct", "iterative"):
        for modulus in (1e5, 2e11):
            scene = Scene(gravity=(0.0, 0.0, 0.0))
            material = RodMaterial(radius=0.002, youngs_modulus=modulus, solver=solver)
            rod = scene.add_rod(helix(4.0, 96), material=material)
            sim = small(scene, precision, dt=1 / 60, substeps=10)
            x = sim.positions(rod).astype(np.float64)
            sim.step(60)
            drift = np.abs(sim.positions(rod) - x).max()
            # a turn that is rounded by u at each joint moves the far end by the length of the rod
            length = float(np.linalg.norm(np.diff(x, axis=0), axis=1).sum())
            yield at_most(f"drift in 1 s, E {modulus:g} Pa, {solver} [m]", 0.0, float(drift),
                          absolute=40.0 * roundoff(precision) * length * math.sqrt(96),
                          theory="joints rounded by u each, as a random walk over 96 of them")  # fmt: skip


@check("rod far from the origin", "coordinates are relative to the rod: where it hangs makes no difference")
def far_away(precision: str) -> Iterator[Measurement]:
    """A slack cord between two pins, here and 4 km away; both start and end at places that are rounded there."""
    shapes = []
    for at in (0.0, 4096.0):
        scene = Scene(damping=2.0)
        points = np.linspace(0.0, 1.0, 65)[:, None] * [1.0, 0.0, 0.0]
        points[:, 1] = -0.3 * np.sin(np.pi * points[:, 0])
        rod = scene.add_rod(points + np.array([at, 0.0, -at]), material=RodMaterial.preset("rubber cord"))
        rod.pin([0, 64])
        sim = small(scene, precision, dt=1 / 60, substeps=10)
        sim.step(240)
        shapes.append(sim.positions(rod).astype(np.float64) - [at, 0.0, -at])
    lowest = shapes[0][:, 1].min()
    yield at_most("lowest point of the cord [m]", -0.2, float(lowest), theory="it is longer than the span")
    # a coordinate of 4 km is rounded to u x 4 km when it is read, twice that between two pins
    yield at_most("difference of the shapes [m]", 0.0, float(np.abs(shapes[1] - shapes[0]).max()),
                  absolute=4.0 * roundoff(precision) * 4096.0, theory="rounding where positions are read")  # fmt: skip


@check("iterations do not stiffen a rod", "Macklin et al. 2016: implicit Euler whatever the iterations")
def iterations(precision: str) -> Iterator[Measurement]:
    """One step of a stretched segment under gravity and of a joint that twists, for any number of iterations."""
    h = 1 / 60
    for solver in ("direct", "iterative"):
        material = RodMaterial(radius=0.01, youngs_modulus=1e5, density=1000.0, poissons_ratio=0.25, solver=solver)
        _, stretch, _, twist = material.stiffness
        for count in (1, 5, 20, 100):
            scene = Scene()
            rod = scene.add_rod([[0, 0, 0], [0, -0.1, 0]], material=material)
            rod.pin(0)
            rod.clamp(0)
            sim = small(scene, precision, dt=h, substeps=1, iterations=count)
            sim.step()
            rate = stretch / 0.1 / (0.5 * material.density * material.area * 0.1)
            yield equal(f"extension after a step, {solver}, {count} iterations [mm]",
                        1e3 * 9.81 * h * h / (1.0 + rate * h * h), -1e3 * (float(sim.positions(rod)[1, 1]) + 0.1),
                        absolute=1e3 * 8.0 * 0.1 * roundoff(precision), theory="rounding of a position")  # fmt: skip
            scene = Scene()
            rod = scene.add_rod([[0, 0, 0], [0, -0.1, 0], [0, -0.2, 0]], material=material)
            rod.pin([0, 1, 2])
            rod.clamp(0)
            sim = small(scene, precision, dt=h, substeps=1, iterations=count)
            spin = 0.1
            sim.state.system_arrays["rods/spins"][1] = [0.0, -spin, 0.0]
            sim.step()
            inertia = 2.0 * material.density * material.second_moment * 0.1
            if solver == "iterative":  # which adds that of the points, m l^2 / 4
                inertia += 0.25 * material.density * material.area * 0.1**3
            rate = twist / 0.1 / inertia
            yield equal(f"twist after a step, {solver}, {count} iterations [mrad]",
                        1e3 * h * spin / (1.0 + rate * h * h), 1e3 * 0.1 / twist * _twist(sim, rod),
                        absolute=1e3 * (8.0 * roundoff(precision) + (h * spin) ** 3 / 6.0),
                        theory="rounding of a frame, and sin(t) for t")  # fmt: skip


def _twist(sim: Simulation, rod: RodHandle) -> float:
    """Moment about -Y in the first joint [N m]."""
    return -float(sim.rod_loads(rod).moments[0, 1])


@check("momentum of a rod", "every row pushes without force and torque in sum: sum m dv = 0, sum m x dv + I dw = 0")
def momentum(precision: str) -> Iterator[Measurement]:
    """A free rod is thrown, bent and twisted; impulses of its rows, and their torque about the predicted places.

    It is exact where all rows push at once along directions taken there, as the direct solver does.
    """
    for closed in (False, True):
        h = 1 / 200
        sim, rod = _thrown(precision, closed, h)
        masses = sim.model.masses[:, None]
        linear, turning, size = np.zeros(3), np.zeros(3), 0.0
        for _ in range(50):
            x, v = sim.positions(rod).astype(np.float64), sim.velocities(rod).astype(np.float64)
            axes, spins = _predicted(sim, rod, h)
            sim.step()
            dv = masses * (sim.velocities(rod).astype(np.float64) - v)
            linear += dv.sum(axis=0)
            turning += np.cross(x + h * v, dv).sum(axis=0) + _angular_impulse(sim, rod, axes, spins)
            size += float(np.abs(dv).sum())
        # m u x / h for each coordinate written, places within 2 m
        walk = 4.0 * math.sqrt(50 * masses.size * 3) * float(masses.max()) * roundoff(precision) * 2.0 / h
        shape = "ring" if closed else "rod"
        yield equal(f"impulse over the sum of the single ones, {shape}", 0.0, float(np.linalg.norm(linear)) / size,
                    absolute=walk / size, theory="four deviations of a random walk, m u x / h each")  # fmt: skip
        yield equal(f"angular impulse over that sum, {shape} [m]", 0.0, float(np.linalg.norm(turning)) / size,
                    absolute=2.0 * walk / size, theory="the same, times the reach")  # fmt: skip


def _thrown(precision: str, closed: bool, h: float) -> tuple[Simulation, RodHandle]:
    """A free rod, or ring, far from its rest state, its points moving at random."""
    rng = np.random.default_rng(5)
    n = 24
    angle = np.linspace(0.0, 2.0 * np.pi if closed else 5.0, n, endpoint=not closed)
    points = 0.5 * np.stack([np.cos(angle), np.sin(angle), 0.2 * angle * (not closed)], axis=1)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    material = RodMaterial(radius=0.02, youngs_modulus=1e6, density=1000.0)
    rod = scene.add_rod(points, material=material, closed=closed, rest_curvature=(0.0, 1.0, 3.0),
                        velocity=rng.normal(0.0, 1.0, (n, 3)))  # fmt: skip
    return small(scene, precision, dt=h, substeps=1), rod


def _predicted(sim: Simulation, rod: RodHandle, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Third axes and spins of the frames of a free rod after h without any row: symmetric tops, B = 2 A."""
    q, spins = sim.frames(rod).astype(np.float64), sim.state.system_arrays["rods/spins"].astype(np.float64)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    up = _axes(q)
    own = -(spins * up).sum(axis=1, keepdims=True)
    steady = spins - own * up
    up = _axes(product(quaternion_of(h * steady), q))
    return up, steady + own * up


def _axes(q: np.ndarray) -> np.ndarray:
    """Third axes of frames, (S, 3)."""
    w, x, y, z = q.T
    return np.stack([2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)], axis=1)


def _angular_impulse(sim: Simulation, rod: RodHandle, axes: np.ndarray, spins: np.ndarray) -> np.ndarray:
    """Sum of I (w - spins) over the frames, I with the third axes given [kg m^2/s], (3,)."""
    change = sim.state.system_arrays["rods/spins"].astype(np.float64) - spins
    x = rod.positions
    after = np.roll(x, -1, axis=0)[: len(axes)]
    lengths = np.linalg.norm(after - x[: len(axes)], axis=1)[:, None]
    across = 1000.0 * 0.25 * math.pi * 0.02**4 * lengths
    own = (change * axes).sum(axis=1, keepdims=True) * axes
    return (across * (change + own)).sum(axis=0)


@check("direct against iterative", "both solve the same equations, XPBD, eq. 18")
def solvers(precision: str) -> Iterator[Measurement]:
    """Deflection of a cantilever of eight segments."""
    soft = RodMaterial(radius=0.02, youngs_modulus=1e6, density=1000.0)
    for load, weight in ((1.0, 0.0), (0.0, 4.0)):
        values = [
            cantilever(precision, 8, load, weight, material=replace(soft, solver=solver), iterations=count)
            for solver, count in (("direct", 4), ("iterative", 100))
        ]
        yield equal(f"deflection / L with 100 sweeps, load {load:g}, weight {weight:g}", values[0], values[1],
                    relative=0.02, theory="sweeps have converged to 2 %")  # fmt: skip


@check("rods are stable over decades", "energy theorem: kinetic and gravitational energy come from start and fall")
def decades(precision: str) -> Iterator[Measurement]:
    """Largest kinetic and gravitational energy in a second over the total at the start, from the lowest place there is.

    A level cantilever of 20 segments and 1 m falls; each line is the worst of the efforts, at rest and with 1 cm of
    noise, and of the solvers.
    """
    for modulus in (1e3, 1e5, 1e7, 2e11):
        for radius in (0.0005, 0.01):
            worst, at = 0.0, ""
            for solver in ("direct", "iterative"):
                for iterations, substeps in _EFFORTS:
                    for noise in (0.0, 0.01):
                        material = RodMaterial(radius=radius, youngs_modulus=modulus, density=1000.0, solver=solver)
                        now = _energy_ratio(precision, material, iterations, substeps, noise)
                        if not now <= worst:
                            worst, at = now, f"{solver}, {iterations} x {substeps}, noise {noise:g} m"
            yield at_most(f"energy over that at the start, E {modulus:g} Pa, radius {radius:g} m, worst at {at}", 1.0,
                          worst, absolute=1e-3 + 1e3 * roundoff(precision), theory="rounding")  # fmt: skip


def _energy_ratio(precision: str, material: RodMaterial, iterations: int, substeps: int, noise: float) -> float:
    """Largest kinetic and gravitational energy of a falling cantilever in a second over its total at the start."""
    n = 20
    points = np.zeros((n + 1, 3))
    points[:, 0] = np.arange(n + 1) / n
    scene = Scene()
    rod = scene.add_rod(points, material=material)
    rod.pin(0)
    rod.clamp(0)
    sim = small(scene, precision, dt=1 / 60, substeps=substeps, iterations=iterations)
    offsets = np.random.default_rng(3).uniform(-noise, noise, points.shape)
    offsets[0] = 0.0
    sim.state.positions = points + offsets
    weight = float(sim.model.masses.sum()) * 9.81
    # straight down, with a stretch that swings to twice that of the whole weight at the end
    floor = -weight * (1.0 + 2.0 * weight / material.stiffness[1])
    first = sim.energy().total - floor
    most = 0.0
    for _ in range(60):
        sim.step()
        energy = sim.energy()
        now = (energy.kinetic + energy.gravitational - floor) / first
        if not now <= most:
            most = now
    return most
