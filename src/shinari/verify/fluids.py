"""Density and pressure of fluids: kernel sums, momentum, fluids at rest, levels, what floats, what sloshes."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.compute.program import run_recorded
from shinari.geometry.motion import Oscillation
from shinari.scene.fluid_material import SMOOTHING_KERNELS, FluidMaterial
from shinari.scene.handle import Handle
from shinari.shapes.box import Box
from shinari.systems.fluid.smoothing import Smoothing, slope, weight
from shinari.systems.fluid.system import Fluid
from shinari.verify.fluid_scenes import SPLISH, SUBSTEPS, G, block, level, sheet, speed, still, tank
from shinari.verify.ledger import Measurement, at_most, check, equal, roundoff

_MACKLIN = "Macklin and Mueller 2013, Position Based Fluids: "
_ISSUE = "the requirement: "


def _each(function: Any, kernel: int, q: np.ndarray, precision: str) -> np.ndarray:
    """A kernel at several q, computed in a precision."""
    return np.array([function(kernel, np.dtype(precision).type(c * c)) for c in q], float)


@check("kernel sums on a lattice", "sums over the points of a cubic lattice, in closed form; Monaghan 1992")
def lattice_sums(precision: str) -> Iterator[Measurement]:
    """Density of a lattice of unit density, and first moment of the gradient, which is -1 for an integral."""
    printed = {2.0: {"poly6": 1.0098, "cubic-spline": 0.99997}, 3.0: {"poly6": 1.0022, "cubic-spline": 1.0018}}
    moments = {2.0: -0.956, 3.0: -0.990}
    for support, sums in printed.items():
        for name, density in sums.items():
            kernel = SMOOTHING_KERNELS.index(name)
            smoothing = Smoothing(kernel, 3, 1.0, support)
            r = np.linalg.norm(smoothing.lattice(), axis=1)
            total = float(_each(weight, kernel, r / support, precision).sum()) * smoothing.normalised(0)
            yield equal(f"{name}, sum of W, support {support:g}", density, total, absolute=6e-5,
                        theory="the last printed digit, and rounding")  # fmt: skip
        smoothing = Smoothing(SMOOTHING_KERNELS.index("poly6"), 3, 1.0, support)
        r = np.linalg.norm(smoothing.lattice(), axis=1)
        r = r[r > 0.0]
        slopes = _each(slope, smoothing.kernel_id, r / support, precision) * smoothing.normalised(1) / support**2
        yield equal(f"first moment of the spiky gradient, support {support:g}", moments[support],
                    float(slopes @ r**2) / 3.0, absolute=6e-4, theory="the last printed digit")  # fmt: skip


@check("kernels integrate to one", _MACKLIN + "equations 2 and 8; the integrals of polynomials are exact by Gauss")
def normalisation(precision: str) -> Iterator[Measurement]:
    """Integral of each kernel in the plane and in space, and that of -r dW/dr over the dimensions."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    # the cubic spline changes at a half
    q = np.concatenate([0.25 * (nodes + 1.0), 0.75 + 0.25 * nodes])
    weights = 0.25 * np.concatenate([weights, weights])
    allowed = 100.0 * roundoff(precision)
    for kernel, name in enumerate(SMOOTHING_KERNELS):
        for dimensions, shell in ((2, 2.0 * math.pi * q), (3, 4.0 * math.pi * q**2)):
            smoothing = Smoothing(kernel, dimensions, 1.0, 2.0)
            size = 2.0**dimensions
            total = float((_each(weight, kernel, q, precision) * shell) @ weights) * smoothing.normalised(0) * size
            slopes = _each(slope, kernel, q, precision) * q**2
            steep = -float((slopes * shell) @ weights) * smoothing.normalised(1) * size / dimensions
            for what, value in (("W", total), ("-r dW/dr / d", steep)):
                yield equal(f"{name}, {what}, {dimensions}-D", 1.0, value, absolute=allowed,
                            theory="a hundred roundings of numbers near 1")  # fmt: skip


@check("a lattice has its rest density", "relative density: 1 in the middle of a lattice of the rest spacing")
def calibration(precision: str) -> Iterator[Measurement]:
    """Weightless lattices: density in the middle, and how far a second moves them."""
    for kernel in SMOOTHING_KERNELS:
        for dimensions, support in ((3, 2.0), (3, 3.0), (2, 2.4)):
            spacing = 0.013
            points = block((7, 7, 7), spacing) if dimensions == 3 else sheet((9, 9), spacing)
            sim = _floating(points, spacing, precision, kernel=kernel, dimensions=dimensions, support=support)
            sim.step()
            case = f"{kernel}, {dimensions}-D, support {support:g}"
            middle = np.argmin(np.linalg.norm(points - points.mean(axis=0), axis=1))
            density = float(sim.densities("fluid")[middle]) / 1000.0
            rounded = 4.0 * points.max() / spacing * roundoff(precision)
            yield equal(f"density over that at rest, {case}", 1.0, density, absolute=10.0 * rounded,
                        theory="positions are rounded: u x / spacing times the slope of the kernel")  # fmt: skip
            sim.step(59)
            moved = float(np.abs(np.array(sim.positions("fluid"), float) - points).max()) / spacing
            yield at_most(f"way in a second over the spacing, {case}", 60.0 * 60.0 * 10.0 * rounded, moved,
                          theory="no force: a push by rounding in each of 60 steps goes on")  # fmt: skip


def _floating(points: np.ndarray, spacing: float, precision: str, **fluid: Any) -> Simulation:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_fluid(points, spacing=spacing, name="fluid", **fluid)
    return Simulation(scene, precision=precision, threads=1, substeps=1, iterations=5)


@check("a density solve keeps the momentum", _MACKLIN + "equation 12: symmetric, sum m dp = 0; of one fluid and of two")
def momenta(precision: str) -> Iterator[Measurement]:
    """One iteration on a compressed random cloud: sum m dx over sum |m dx|, and the same of m x cross dx."""
    for kernel in SMOOTHING_KERNELS:
        for densities in ((1000.0,), (1000.0, 250.0)):
            rng = np.random.default_rng(4)
            spacing, scene = 0.02, Scene(gravity=(0, 0, 0))
            points = 0.85 * block((10, 6, 6), spacing) + rng.normal(0.0, 0.05 * spacing, (360, 3))
            points -= points.mean(axis=0)
            for which, density in enumerate(densities):
                scene.add_fluid(points[which :: len(densities)], spacing=spacing, kernel=kernel,
                                material=FluidMaterial(rest_density=density))  # fmt: skip
            sim = Simulation(scene, precision=precision, threads=1, substeps=1)
            x = sim.state.x
            before, m = x[:, :3].astype(float), 1.0 / x[:, 3].astype(float)
            fluid = sim._bound.get(Fluid)
            assert fluid is not None
            fluid.begin(0.0, np.array([sim.settings.dt]))
            run_recorded(fluid.record_project, True)
            displacement = x[:, :3] - before
            size, reach = float(m @ np.linalg.norm(displacement, axis=1)), float(np.abs(before).max())
            allowed = 1e-12 if precision == "float64" else 1e-5
            case = f"{kernel}, {len(densities)} fluids"
            yield equal(f"linear, {case}", 0.0, float(np.linalg.norm(m @ displacement)) / size, absolute=allowed,
                        theory=_ISSUE + "1e-12 in double and 1e-5 in single precision")  # fmt: skip
            turned = float(np.linalg.norm(m @ np.cross(before, displacement))) / (size * reach)
            yield equal(f"angular, {case}", 0.0, turned, absolute=allowed + size / (m.sum() * reach),
                        theory="pushes lie along lines; iterations turn their arms by the mean way")  # fmt: skip


def _filled(
    counts: tuple[int, int, int], spacing: float, material: FluidMaterial, **fluid: Any
) -> tuple[Scene, Handle]:
    """A tank three times as high as the fluid in it."""
    scene = Scene()
    nx, ny, nz = counts
    if fluid.get("dimensions") == 2:
        tank(scene, (nx * spacing, 3 * ny * spacing, 4 * spacing))
        points = sheet((nx, ny), spacing) + np.array([0, 0, 2 * spacing])
    else:
        tank(scene, (nx * spacing, 3 * ny * spacing, nz * spacing))
        points = block(counts, spacing)
    return scene, scene.add_fluid(points, spacing=spacing, material=material, name="fluid", **fluid)


_AT_REST: dict[str, tuple[tuple[int, int, int], dict[str, Any], dict[str, Any]]] = {
    "5 iterations at 1/240 s": ((9, 14, 9), SPLISH, {}),
    "20 substeps": ((9, 14, 9), SUBSTEPS, {}),
    "4 substeps of 5": ((9, 14, 9), {"dt": 1 / 60, "substeps": 4, "iterations": 5}, {}),
    "cubic spline": ((9, 14, 9), SPLISH, {"kernel": "cubic-spline"}),
    "support 2.5": ((9, 14, 9), SPLISH, {"support": 2.5}),
    "in a plane": ((20, 20, 1), SPLISH, {"dimensions": 2}),
    "boundary particles": ((9, 14, 9), SPLISH, {"boundary": "particles"}),
}


@check("a fluid at rest", "hydrostatics: p = rho g d; incompressible; the walls carry the weight")
def at_rest(precision: str) -> Iterator[Measurement]:
    """A tank comes to rest: pressure at three depths, densities, level, speed and what the walls carry."""
    for name, (counts, steps, options) in _AT_REST.items():
        if precision == "float64" and name not in ("20 substeps", "5 iterations at 1/240 s"):
            continue
        spacing, density = 0.02, 800.0
        scene, fluid = _filled(counts, spacing, FluidMaterial(rest_density=density), **options)
        sim = still(scene, precision, steps, damped=0.4, rest=0.25)
        depth, heavy = counts[1] * spacing, float(sim.model.masses.sum()) * G
        carried, layers = [], []
        for _ in range(round(0.5 / steps["dt"])):
            sim.step()
            carried.append(float(sim.forces(fluid)[1]))
            layers.append(_pressures_over_depth(sim, counts, spacing, density))
        for part, found in zip(_PARTS, np.mean(layers, axis=0), strict=True):
            yield equal(f"pressure at {part:g} of the depth over rho g d, mean of 0.5 s, {name}", 1.0, found,
                        absolute=0.1, theory=_ISSUE + "10 %")  # fmt: skip
        yield equal(f"force of the walls over the weight, mean of 0.5 s, {name}", 1.0,
                    float(np.mean(carried)) / heavy, absolute=0.01, theory=_ISSUE + "1 %")  # fmt: skip
        y = np.array(sim.positions(fluid), float)[:, 1]
        errors = np.array(sim.densities(fluid), float) / density - 1.0
        # the kernels of the highest particles reach into the air
        inside = errors[y < depth - 2.5 * spacing]
        yield at_most(f"mean |rho/rho0 - 1|, {name}", 0.01, float(np.abs(inside).mean()), theory=_ISSUE + "1 %")
        yield at_most(f"worst |rho/rho0 - 1|, {name}", 0.03, float(np.abs(inside).max()), theory=_ISSUE + "3 %")
        yield equal(f"level over that of the volume, {name}", 1.0, level(sim, fluid) / depth, absolute=0.02,
                    theory=_ISSUE + "volume within 2 %")  # fmt: skip
        yield at_most(f"speed over that of waves as deep, {name}", 0.02, speed(sim) / math.sqrt(G * depth),
                      theory="at rest")  # fmt: skip


_PARTS = 0.25, 0.5, 0.75


def _pressures_over_depth(sim: Simulation, counts: tuple[int, int, int], spacing: float, density: float) -> list[float]:
    """Mean pressure of a layer over that of hydrostatics, at parts of the depth, a support away from the walls."""
    x, pressures = np.array(sim.positions("fluid"), float) / spacing, np.array(sim.pressures("fluid"), float)
    sampling = sim.scene.particle_objects[0].sampling
    assert sampling is not None
    reach = sampling.support
    inner = (x[:, 0] > reach) & (x[:, 0] < counts[0] - reach)
    if counts[2] > 1:
        inner &= (x[:, 2] > reach) & (x[:, 2] < counts[2] - reach)
    found = []
    for part in _PARTS:
        layer = inner & (np.abs(x[:, 1] - (1.0 - part) * counts[1]) < 2.0)
        exact = density * G * spacing * float((counts[1] - x[layer, 1]).mean())
        found.append(float(pressures[layer].mean()) / exact)
    return found


@check("energy of a fluid never grows", _ISSUE + "stable at 16 ms; no source of energy in a tank")
def energy(precision: str) -> Iterator[Measurement]:
    """A block falls into a corner of a tank: highest total energy, over what it has to lose."""
    steps = {
        "1/60 s, 1 x 5": {"dt": 1 / 60, "substeps": 1, "iterations": 5}, "1/240 s, 1 x 5": SPLISH,
        "1/60 s, 20 x 1": SUBSTEPS, "1/60 s, 4 x 3": {"dt": 1 / 60, "substeps": 4, "iterations": 3},
    }  # fmt: skip
    for name, settings in steps.items():
        for kernel in SMOOTHING_KERNELS if precision == "float32" else SMOOTHING_KERNELS[:1]:
            spacing, scene = 0.02, Scene()
            tank(scene, (0.48, 0.8, 0.12))
            scene.add_fluid(block((10, 16, 6), spacing), spacing=spacing, kernel=kernel, name="fluid")
            sim = Simulation(scene, precision=precision, threads=1, **settings)
            first, mass = sim.energy().total, float(sim.model.masses.sum())
            # at rest it is 10 x 16 / 24 layers deep
            least = mass * G * 0.5 * 10 * 16 / 24 * spacing
            highest = -math.inf
            while sim.time < 2.5:
                sim.step()
                highest = max(highest, sim.energy().total)
            case = f"{name}, {kernel}"
            lost = first - least
            yield at_most(f"most it had, of what there was to lose, {case}", 1.0, (highest - least) / lost,
                          absolute=0.02, theory="none is put in; 2 % for densities at the walls")  # fmt: skip
            # poly6 with the spiky gradient is no gradient of its density: it simmers at many substeps
            if kernel != "poly6":
                yield at_most(f"what moves after 2.5 s, of what there was to lose, {case}", 0.15,
                              sim.energy().kinetic / lost, theory="waves die out: no noise feeds itself")  # fmt: skip


@check("sloshing keeps the volume", _ISSUE + "2 % in 10 s")
def sloshing(precision: str) -> Iterator[Measurement]:
    """A tank is shaken near its first mode for ten seconds: densities inside, and the level afterwards."""
    for name, steps in {"5 iterations at 1/240 s": SPLISH, "20 substeps": SUBSTEPS}.items():
        if precision == "float64" and steps is SUBSTEPS:
            continue
        spacing, nx, ny = 0.02, 24, 12
        width, depth = nx * spacing, ny * spacing
        wave = math.pi / width
        mode = math.sqrt(G * wave * math.tanh(wave * depth)) / (2.0 * math.pi)
        scene = Scene()
        size = (width, 4 * depth, 4 * spacing)
        middle = (0.5 * width, 2 * depth, 2 * spacing)
        motion = Oscillation(middle, (0.02, 0.0, 0.0), 0.9 * mode)
        scene.add_collider(Box(size, inside=True), motion=motion)
        points = sheet((nx, ny), spacing) + np.array([0.0, 0.0, middle[2]])
        scene.add_fluid(points, spacing=spacing, dimensions=2, name="fluid")
        sim = Simulation(scene, precision=precision, threads=1, **steps)
        volumes, tilt = [], 0.0
        while sim.time < 10.0:
            sim.step(round(0.05 / steps["dt"]))
            density = np.array(sim.densities("fluid"), float) / 1000.0
            x = np.array(sim.positions("fluid"), float)
            low = x[:, 1] < 0.4 * depth
            volumes.append(float((1.0 / density[low]).mean()))
            left = x[:, 0] < x[:, 0].mean()
            tilt = max(tilt, abs(float(x[left, 1].mean() - x[~left, 1].mean())) / depth)
        yield equal(f"volume of what is below 0.4 of the depth, mean of 10 s, {name}", 1.0, float(np.mean(volumes)),
                    absolute=0.02, theory=_ISSUE + "2 %")  # fmt: skip
        worst = float(np.abs(np.array(volumes) - 1.0).max())
        yield at_most(f"largest change of that volume, {name}", 0.02, worst, theory=_ISSUE + "2 %")
        yield equal("whether it sloshed: mean heights of the halves differ by more than 0.1 of the depth", 1.0,
                    float(tilt > 0.1), absolute=0.0, theory="else the check shows nothing")  # fmt: skip
        out = np.array(sim.positions("fluid"), float) - middle
        off = np.abs(out[:, 0]).max() - 0.5 * width - 0.02
        yield at_most(f"farthest out of the tank [spacings], {name}", 0.0, float(off) / spacing, theory="nothing leaks")
