"""What acts on fluids beside the pressure: each effect against a closed form or the plain sum of its formula."""

import math
import warnings

import numpy as np
import pytest

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.compute.program import run_recorded
from shinari.errors import FluidWarning
from shinari.scene.fluid_material import FluidMaterial
from shinari.systems.fluid.effects import Forces, effects_of, forces_of, known_effects
from shinari.systems.fluid.effects.adhesion import Adhesion
from shinari.systems.fluid.effects.air import Buoyancy, Drag
from shinari.systems.fluid.effects.tensile import Tensile
from shinari.systems.fluid.effects.tension import (
    ATTRACTION,
    DRAWN,
    MISSING,
    ROUNDED,
    Tension,
    gradient_scale,
    lattice_area,
    lattice_attraction,
)
from shinari.systems.fluid.effects.viscosity import Viscosity, Xsph, lattice_viscosity
from shinari.systems.fluid.effects.vorticity import Vorticity
from shinari.systems.fluid.smoothing import Smoothing, slope, weight
from shinari.systems.fluid.system import Fluid
from shinari.systems.fluid.wall_table import POINTS, PUSH, wall_table

pytestmark = pytest.mark.filterwarnings("ignore::shinari.errors.ContactWarning")

S = 0.02
PLAIN = FluidMaterial()
ALL = {"viscosity": 2.0, "xsph": 0.1, "vorticity": 0.5, "surface_tension": 0.07, "air_drag": 1.0}
# Largest momentum that rounding may leave, over the sum of all momenta.
ROUNDING = {"float64": 1e-12, "float32": 1e-5}


def lattice(*counts: int) -> np.ndarray:
    axes = [S * (np.arange(n) - 0.5 * (n - 1)) for n in counts]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def shaken(count: int, seed: int = 0) -> np.ndarray:
    """Points about as dense as a fluid, out of any order."""
    points = lattice(count, count, count)
    return points + np.random.default_rng(seed).normal(0.0, 0.25 * S, points.shape)


def fluid_of(*groups: np.ndarray, materials=(PLAIN,), precision="float64", wind=None, **settings) -> Fluid:
    """The fluids of a scene, with their lists, before the first step."""
    scene = Scene(gravity=(0, -10, 0), wind=wind)
    sampling = {key: settings.pop(key) for key in ("kernel", "dimensions", "support") if key in settings}
    for points, material in zip(groups, materials, strict=True):
        scene.add_fluid(points, spacing=S, material=material, **sampling)
    settings = {"dt": 0.01, "substeps": 1} | settings
    simulation = Simulation(scene, precision=precision, threads=1, **settings)
    fluid = simulation._bound.get(Fluid)
    fluid.measured(1)
    fluid.rows.v[:] = 0.0
    fluid.rows.gradient[:] = 0.0
    return fluid


def effect_of(fluid: Fluid, kind, *more):
    return kind(fluid.model, fluid.h, fluid.scene_model.real, *more)


def apply(effect, fluid: Fluid, threads: int = 1) -> None:
    """Let an effect change the fluid once."""
    effect.begin(fluid, fluid.h * np.arange(1, fluid.settings.substeps + 1))
    run_recorded(effect.record, fluid, threads=threads)


def two_fluids(precision: str) -> Fluid:
    """Two fluids of unlike density and constants through each other, at random velocities."""
    materials = (
        FluidMaterial(rest_density=1000.0, **ALL),
        FluidMaterial(rest_density=300.0, viscosity=5.0, xsph=0.3, surface_tension=0.02),
    )
    points = shaken(6)
    fluid = fluid_of(points[::2], points[1::2], materials=materials, precision=precision)
    fluid.rows.v[:] = np.random.default_rng(1).normal(size=fluid.rows.v.shape)
    return fluid


def pairs_of(fluid: Fluid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All pairs (i, j), and x_i - x_j, in double precision."""
    i = np.repeat(np.arange(len(fluid.rows.x)), np.diff(fluid.offsets.start))
    j = fluid.neighbours.place[: fluid.offsets.start[-1]].astype(int)
    x = fluid.rows.x[:, :3].astype(float)
    return i, j, x[i] - x[j]


def inner(fluid: Fluid) -> np.ndarray:
    """Which particles have all their neighbours, and those theirs."""
    x = fluid.rows.x[:, :3].astype(float)
    reach = 2.0 * fluid.model.smoothing.support
    wide = np.ptp(x, axis=0) > 0.0
    return (np.abs(x[:, wide]) <= np.abs(x[:, wide]).max(axis=0) - reach).all(axis=1)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("kind", [Xsph, Viscosity, Tension])
def test_pairs_keep_momentum(kind, precision):
    fluid = two_fluids(precision)
    before, masses = fluid.rows.v.astype(float), 1.0 / fluid.rows.inverse_mass.astype(float)
    apply(effect_of(fluid, kind), fluid)
    change, x = fluid.rows.v - before, fluid.rows.x[:, :3].astype(float)
    size = float(masses @ np.linalg.norm(change, axis=1))
    assert size > 0.0
    assert np.linalg.norm(masses @ change) < ROUNDING[precision] * size
    if kind is not Xsph:
        turned = np.linalg.norm(masses @ np.cross(x, change))
        assert turned < ROUNDING[precision] * size * np.abs(x).max()


@pytest.mark.parametrize("kind", [Xsph, Viscosity, Tension, Vorticity])
def test_same_bits_on_any_number_of_threads(kind):
    fluid = two_fluids("float32")
    effect, start = effect_of(fluid, kind), fluid.rows.v.copy()
    apply(effect, fluid)
    one = fluid.rows.v.copy()
    fluid.rows.v[:] = start
    apply(effect, fluid, 2)
    assert (one == fluid.rows.v).all()
    assert (one != start).any()


@pytest.mark.parametrize("kernel", ["spiky", "cubic-spline", "poly6"])
def test_xsph_is_the_mean_over_neighbours(kernel):
    fluid = fluid_of(shaken(5), materials=(FluidMaterial(xsph=0.2),), kernel=kernel, dt=1 / 60)
    fluid.rows.v[:] = np.random.default_rng(2).normal(size=fluid.rows.v.shape)
    i, j, d = pairs_of(fluid)
    smoothing, v = fluid.model.smoothing, fluid.rows.v.copy()
    w = np.array([weight.py_func(smoothing.kernel_id, q) for q in (d**2).sum(1) / smoothing.support**2])
    expected = v.copy()
    np.add.at(expected, i, 0.2 * smoothing.weight_scale * w[:, None] * (v[j] - v[i]))
    apply(effect_of(fluid, Xsph), fluid)
    np.testing.assert_allclose(fluid.rows.v, expected, atol=1e-13)


def test_xsph_does_not_depend_on_the_substeps():
    ends = []
    for substeps in (1, 20):
        fluid = fluid_of(shaken(5), materials=(FluidMaterial(xsph=0.02),), dt=1 / 60, substeps=substeps)
        i = np.argsort(fluid.rows.member)
        fluid.rows.v[i] = np.random.default_rng(3).normal(size=fluid.rows.v.shape)
        start, xsph = fluid.rows.v[i].copy(), effect_of(fluid, Xsph)
        for _ in range(substeps):
            apply(xsph, fluid)
        ends.append(fluid.rows.v[i] - start)
    # to the second order in c
    assert np.abs(ends[0] - ends[1]).max() < 0.02 * np.abs(ends[0]).max()


# Central forces on a lattice with few neighbours resist a shear more or less by its direction.
@pytest.mark.parametrize(
    ("dimensions", "support", "within"),
    [(3, 2.0, 0.03), (2, 2.0, 0.06), (3, 3.0, 0.03), (3, 2.5, 0.09), (2, 3.0, 0.03)],
)
@pytest.mark.parametrize("kernel", ["spiky", "cubic-spline"])
def test_a_shear_wave_decays_at_nu_k_squared(kernel, dimensions, support, within):
    n = 2 * math.ceil(2 * support) + 4
    points = lattice(n, n, 1 if dimensions == 2 else n)
    nu, wave = 1e-3, 2.0 * math.pi / (40.0 * S)
    material = FluidMaterial(rest_density=800.0, viscosity=800.0 * nu)
    fluid = fluid_of(points, materials=(material,), kernel=kernel, dimensions=dimensions, support=support, dt=1e-4)
    directions = [((1, 0, 0), (0, 1, 0)), ((1, 1, 0), (1, -1, 0))]
    for along, across in directions:
        along, across = (np.array(a) / np.linalg.norm(a) for a in (along, across))
        fluid.rows.v[:] = np.cos(wave * fluid.rows.x[:, :3] @ along)[:, None] * across
        before, viscosity, inside = fluid.rows.v.copy(), effect_of(fluid, Viscosity), inner(fluid)
        apply(viscosity, fluid)
        assert viscosity.explicit
        assert inside.any()
        rates = -((fluid.rows.v - before) @ across)[inside] / (before @ across)[inside] / fluid.h
        assert np.abs(rates / (nu * wave**2) - 1.0).max() < within


def test_viscosity_is_the_same_for_all_directions_on_average():
    """The factor 2 d (d + 2) against the tensor of the lattice: the mean over directions of the shear modulus."""
    for dimensions in (2, 3):
        smoothing = Smoothing(0, dimensions, 1.0, 2.0)
        moment, _ = lattice_viscosity(smoothing)
        points = smoothing.lattice()
        r2 = (points**2).sum(axis=1)
        points, r2 = points[r2 > 0], r2[r2 > 0]
        g = (1 - r2 / 4.0) ** 1.5
        rng, found = np.random.default_rng(0), []
        for _ in range(4000):
            frame, _ = np.linalg.qr(rng.normal(size=(dimensions, dimensions)))
            along, across = (np.pad(frame[k], (0, 3 - dimensions)) for k in (0, 1))
            found.append((g / r2 * (points @ along) ** 2 * (points @ across) ** 2).sum())
        assert dimensions * (dimensions + 2) / moment * np.mean(found) == pytest.approx(1.0, abs=0.005)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_implicit_viscosity_solves_its_equations(precision):
    fluid = two_fluids(precision)
    viscosity = effect_of(fluid, Viscosity)
    viscosity._h = 20.0 * fluid.h
    viscosity.explicit = False
    start = fluid.rows.v.astype(float)
    i, j, d = pairs_of(fluid)
    smoothing = fluid.model.smoothing
    r2 = (d**2).sum(axis=1)
    moment, _ = lattice_viscosity(smoothing)
    mu = np.array([m.viscosity for m in fluid.model.materials])[fluid.rows.phase]
    k = 2 * 3 * 5 * S**3 / moment * 2 * mu[i] * mu[j] / (mu[i] + mu[j])
    k *= np.maximum(1 - r2 / smoothing.support**2, 0) ** 1.5
    count, blocks = len(start), k[:, None, None] * d[:, :, None] * d[:, None, :] / r2[:, None, None]
    matrix = np.zeros((count, 3, count, 3))
    np.add.at(matrix, (i, slice(None), i), blocks)
    np.add.at(matrix, (i, slice(None), j), -blocks)
    masses = np.repeat(1.0 / fluid.rows.inverse_mass.astype(float), 3)
    system = np.diag(masses) + float(viscosity._h) * matrix.reshape(3 * count, 3 * count)
    expected = np.linalg.solve(system, masses * start.ravel()).reshape(-1, 3)
    apply(viscosity, fluid)
    assert 1 < viscosity.iterations < 100
    assert np.abs(fluid.rows.v - expected).max() < 2e-3 * np.abs(expected - start).max()


@pytest.mark.parametrize("viscosity", [0.1, 10.0, 1e4])
def test_viscosity_takes_energy_and_leaves_rigid_motion(viscosity):
    fluid = fluid_of(shaken(6), materials=(FluidMaterial(viscosity=viscosity),), dt=1 / 60)
    effect, x = effect_of(fluid, Viscosity), fluid.rows.x[:, :3]
    rigid = np.array([0.3, -0.2, 0.5]) + np.cross([1.0, 2.0, -3.0], x)
    fluid.rows.v[:] = rigid
    apply(effect, fluid)
    np.testing.assert_allclose(fluid.rows.v, rigid, atol=1e-10)
    fluid.rows.v[...] += np.random.default_rng(4).normal(size=fluid.rows.v.shape)
    before = (fluid.rows.v**2).sum()
    for _ in range(3):
        apply(effect, fluid)
        assert (fluid.rows.v**2).sum() < before
        before = (fluid.rows.v**2).sum()


def test_curl_of_a_rotation_and_what_confinement_adds():
    fluid = fluid_of(lattice(12, 12, 12), materials=(FluidMaterial(vorticity=0.3),))
    spin, x = np.array([0.5, -1.0, 2.0]), fluid.rows.x[:, :3]
    fluid.rows.v[:] = np.cross(spin, x)
    effect = effect_of(fluid, Vorticity)
    before = fluid.rows.v.copy()
    apply(effect, fluid)
    inside = inner(fluid)
    np.testing.assert_allclose(
        effect._curls.value[:, :3][inside], np.broadcast_to(2 * spin, x[inside].shape), rtol=1e-9
    )
    # a whirl about z that is slower farther out: the force is along n x w, n towards the axis
    radius = np.hypot(x[:, 0], x[:, 1])
    fluid.rows.v[:] = np.cross([0.0, 0.0, 1.0], x) * np.exp(-((radius / (4 * S)) ** 2))[:, None]
    before = fluid.rows.v.copy()
    apply(effect, fluid)
    kick = (fluid.rows.v - before)[inside]
    curl, out = effect._curls.value[inside], x[inside] * [1, 1, 0] / radius[inside, None]
    expected = 0.3 * S * fluid.h * np.cross(-out, curl[:, :3])
    assert np.abs(kick - expected).max() < 0.1 * np.abs(expected).max()
    assert np.linalg.norm(kick, axis=1) == pytest.approx(0.3 * S * fluid.h * curl[:, 3], rel=1e-9)


@pytest.mark.parametrize("dimensions", [3, 2])
def test_tension_is_the_gradient_of_its_energy(dimensions):
    rng = np.random.default_rng(5)
    points = np.pad(rng.uniform(-1.2 * S, 1.2 * S, (24, dimensions)), ((0, 0), (0, 3 - dimensions)))
    materials = FluidMaterial(surface_tension=0.05), FluidMaterial(surface_tension=0.01)
    fluid = fluid_of(points[:14], points[14:], materials=materials, dimensions=dimensions, support=2.0)
    effect, smoothing = effect_of(fluid, Tension), fluid.model.smoothing
    roots = np.sqrt(np.array([m.surface_tension for m in materials])[fluid.rows.phase] / DRAWN)
    area = (1 - ATTRACTION) * S**3 / lattice_area(smoothing)
    share = gradient_scale(smoothing) * smoothing.support**2 / 6
    strength, scale = ATTRACTION / lattice_attraction(smoothing), gradient_scale(smoothing)

    def energy(x: np.ndarray) -> float:
        d = x[None] - x[:, None]
        w = np.maximum(1 - (d**2).sum(axis=2) / smoothing.support**2, 0)
        g = scale * np.einsum("j,ij,ijk->ik", roots, w**2, d)
        missing = MISSING / S * np.maximum(roots - share * (w**3 @ roots), 0.0)
        surface = area * (roots * np.sqrt((g**2).sum(axis=1) + missing**2 + (ROUNDED / S * roots) ** 2)).sum()
        well = np.outer(roots, roots) * (w**3 - w**4 / 4) * smoothing.support**2 / 2
        return float(surface - 0.5 * strength * (well.sum() - np.trace(well)))

    apply(effect, fluid)
    forces = fluid.rows.v / fluid.h / fluid.rows.inverse_mass[:, None]
    x, step = fluid.rows.x[:, :3].copy(), 1e-5 * S
    for i in range(0, len(x), 4):
        for axis in range(dimensions):
            ends = []
            for sign in (-1, 1):
                moved = x.copy()
                moved[i, axis] += sign * step
                ends.append(energy(moved))
            assert forces[i, axis] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-6 * np.abs(forces).max())


@pytest.mark.parametrize("dimensions", [3, 2])
def test_tension_of_a_plane_of_the_lattice(dimensions):
    """What a slab of the lattice costs, on both sides, and the attraction by summation over all directions."""
    smoothing = Smoothing(0, dimensions, S, 2.0 * S)
    material = FluidMaterial(surface_tension=1.0)
    wide = 9 if dimensions == 3 else 1
    fluid = fluid_of(lattice(9, 4, wide), materials=(material,), dimensions=dimensions)
    effect = effect_of(fluid, Tension)
    apply(effect, fluid)
    middle = np.hypot(fluid.rows.x[:, 0], fluid.rows.x[:, 2]) < 0.5 * S
    normals = effect._normals.value[middle]
    outer = np.abs(fluid.rows.x[middle, 1]) > S
    # the normals of the outer layers stand on the plane, of the inner ones there are none
    assert np.abs(normals[~outer, :3]).max() < 0.02
    assert np.abs(normals[:, [0, 2]]).max() < 1e-9
    assert (np.sign(normals[outer, 1]) == -np.sign(fluid.rows.x[middle][outer, 1])).all()
    points = smoothing.lattice()
    r = np.linalg.norm(points, axis=1)
    w = 1 - (r / smoothing.support) ** 2
    forces = w**2 * (3 - w) * r
    turns = np.random.default_rng(6).normal(size=(20000, dimensions))
    cosine = np.abs(turns[:, 0] / np.linalg.norm(turns, axis=1)).mean()
    fowler = cosine * (forces * r**2).sum() / (4 * (dimensions + 1)) / S**3
    assert lattice_attraction(smoothing) == pytest.approx(fowler, rel=0.02)


@pytest.mark.parametrize("adhesion", [0.3, 0.8])
def test_adhesion_draws_to_walls_with_its_work(adhesion):
    """The work of bringing layers of a lattice from afar to a plane is that of Young and Dupre."""
    material = FluidMaterial(surface_tension=0.07, adhesion=adhesion)
    fluid = fluid_of(shaken(4), materials=(material,))
    effect, smoothing, work = effect_of(fluid, Adhesion), fluid.model.smoothing, 0.0
    for layer in range(3):
        way = np.linspace((layer + 0.5) * S, smoothing.support, len(fluid.rows.v))
        pushes = np.interp(way, np.linspace(-smoothing.support, smoothing.support, POINTS), wall_table(smoothing)[PUSH])
        fluid.rows.gradient[:], fluid.rows.v[:], fluid.rows.x[:, 3] = 0.0, 0.0, 3.0
        fluid.rows.gradient[:, 1] = -pushes
        apply(effect, fluid)
        assert (fluid.rows.x[:, 3] == 3.0).all()
        forces = -fluid.rows.v[:, 1] / fluid.h / fluid.rows.inverse_mass
        assert (forces >= 0.0).all()
        assert layer > 0 or forces[0] == pytest.approx(0.0, abs=1e-9 * forces.max())
        work += float(np.trapezoid(forces, way)) if way[0] < smoothing.support else 0.0
    # the part of the area that is no surface any more comes from the tension
    expected = (2.0 * adhesion - (1.0 - ATTRACTION) * min(2.0 * adhesion, 1.0)) * 0.07
    assert work / S**2 == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("speed", [2.0, 1e4])
def test_drag_on_a_block_is_that_of_its_area(speed):
    """F = rho/2 C A u^2 for the face that a block shows to the wind; never faster than the wind."""
    material = FluidMaterial(air_drag=1.2)
    fluid = fluid_of(lattice(6, 8, 7), materials=(material,), wind=(speed, 0, 0), dt=1e-3)
    drag = effect_of(fluid, Drag)
    apply(drag, fluid)
    area = 8 * 7 * S**2
    force = float((fluid.rows.v[:, 0] / fluid.rows.inverse_mass).sum() / fluid.h)
    if speed < 10.0:
        assert force == pytest.approx(0.5 * 1.225 * 1.2 * area * speed**2, rel=0.02)
    assert fluid.rows.v[:, 0].max() < speed
    assert (fluid.rows.v[:, 0] >= 0.0).all()
    alone = fluid_of(np.zeros((1, 3)), materials=(material,), wind=lambda t: (0, 0, 3.0), dt=1e-3)
    apply(effect_of(alone, Drag), alone)
    rate = 0.5 * 1.225 * 1.2 * S**2 * 3.0 * alone.h * alone.rows.inverse_mass[0]
    assert alone.rows.v[0, 2] == pytest.approx(3.0 * rate / (1 + rate), rel=1e-6)


def test_a_gas_rises_by_what_it_displaces():
    material = FluidMaterial(rest_density=0.4, ambient_density=1.2)
    scene = Scene(gravity=(0, -10, 0))
    scene.add_fluid(np.zeros((1, 3)), spacing=S, material=material)
    sim = Simulation(scene, precision="float64", substeps=2)
    sim.step(30)
    assert sim.state.velocities[0, 1] == pytest.approx(10 * (1.2 / 0.4 - 1) * sim.time, rel=1e-9)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_tensile_correction_is_the_sum_of_its_formula(precision):
    materials = (
        FluidMaterial(tensile_correction=0.1, cohesive=True),
        FluidMaterial(rest_density=500.0, tensile_correction=0.04, tensile_power=2, tensile_distance=0.5),
    )
    points = shaken(5)
    fluid = fluid_of(points[::2], points[1::2], materials=materials, precision=precision)
    pressures = np.random.default_rng(8).normal(0.0, 100.0, len(points))
    fluid.state.system_arrays["fluid/pressures"][:] = pressures
    before, smoothing = fluid.rows.x[:, :3].astype(float), fluid.model.smoothing
    i, j, d = pairs_of(fluid)
    q2 = (d**2).sum(axis=1) / smoothing.support**2
    w = np.array([weight.py_func(smoothing.kernel_id, q) for q in q2])
    of = [np.array([getattr(m, f"tensile_{f}") for m in materials])[fluid.rows.phase]
          for f in ("correction", "power", "distance")]  # fmt: skip
    near = np.array([weight.py_func(smoothing.kernel_id, q) for q in of[2] ** 2])
    sizes = of[0] * np.abs(pressures[fluid.rows.member]) / fluid.pressure_scale
    gradients = smoothing.slope_scale * np.array([slope.py_func(0, q) for q in q2])[:, None] * d
    terms = sizes[i] * (w / near[i]) ** of[1][i] + sizes[j] * (w / near[j]) ** of[1][j]
    expected = np.zeros_like(before)
    np.add.at(expected, i, -fluid.rows.inverse_mass[i, None] * terms[:, None] * gradients)
    apply(Tensile(fluid.model, fluid.h, fluid.scene_model.real), fluid)
    way = fluid.rows.x[:, :3] - before
    masses = 1.0 / fluid.rows.inverse_mass.astype(float)
    size = masses @ np.linalg.norm(way, axis=1)
    written = {"float64": 1e-16, "float32": 1e-7}[precision] * masses.sum() * np.abs(before).max()
    assert np.linalg.norm(masses @ way) < ROUNDING[precision] * size + written
    np.testing.assert_allclose(fluid.rows.displacement, expected, atol=2 * ROUNDING[precision] * np.abs(expected).max())


def test_only_what_materials_ask_for_is_done():
    fluid = fluid_of(lattice(2, 2, 2), materials=(FluidMaterial(xsph=0.0),))
    assert fluid.effects == []
    assert fluid.forces == []
    model, real = fluid.model, np.float64
    assert effects_of(model, 0.01, real, True) == [] == forces_of(model, 0.01, real)
    asking = fluid_of(lattice(2, 2, 2), materials=(FluidMaterial(**ALL, adhesion=0.1, ambient_density=1.0),))
    assert [type(e) for e in asking.effects] == [Buoyancy, Vorticity, Viscosity, Xsph]
    (forces,) = asking.forces
    assert isinstance(forces, Forces)
    assert [type(f) for f in forces._forces] == [Tension, Adhesion]


def test_substeps_too_long_for_surface_tension_are_warned_of():
    """The limit is sqrt(rho s^3 / (2 pi sigma)): 1.5 ms for water at a millimetre."""
    scene = Scene()
    scene.add_fluid(np.zeros((1, 3)), spacing=1e-3, material=FluidMaterial(surface_tension=0.0728))
    with pytest.warns(FluidWarning, match=r"surface_tension: 0.0728 N/m .* needs substeps of 0.0015 s or less"):
        Simulation(scene, dt=1 / 60, substeps=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FluidWarning)
        Simulation(scene, dt=1 / 60, substeps=12)


def test_every_effect_is_told_when_a_step_begins(monkeypatch):
    begun = []
    for effect in known_effects():
        monkeypatch.setattr(effect, "begin", lambda self, fluid, ends, e=effect: begun.append((e, tuple(ends))))
    material = FluidMaterial(**{effect.field: 0.05 for effect in known_effects()})
    scene = Scene(wind=(1.0, 0.0, 0.0))
    scene.add_fluid(lattice(2, 2, 2), spacing=S, material=material)
    scene.add_grains([[0.0, 10.0 * S, 0.0]], radius=0.2 * S)
    simulation = Simulation(scene, dt=0.002, substeps=2, threads=1)
    for number in range(2):
        begun.clear()
        simulation.step()
        ends = 0.002 * number + 0.001 * np.array([1.0, 2.0])
        assert sorted(e.__name__ for e, _ in begun) == sorted(e.__name__ for e in known_effects())
        assert all(np.allclose(told, ends) for _, told in begun)


def test_effects_are_found_at_any_depth():
    class Root:
        pass

    class Shared(Root):
        pass

    class First(Shared):
        field = "first"

    class Second(First):
        field = "second"

    class Better(First):
        pass

    class Best(Better):
        pass

    assert sorted(effect.__name__ for effect in known_effects(Root)) == ["Best", "Second"]
    assert {effect.__name__ for effect in known_effects()} == {
        "Adhesion", "Buoyancy", "Drag", "GrainDrag", "Tensile", "Tension", "Viscosity", "Vorticity", "Xsph"
    }  # fmt: skip
