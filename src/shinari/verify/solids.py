"""Solids of tetrahedra: stress in closed form, Poisson's ratio, rest, volume under gravity, momentum."""

import math
from collections.abc import Callable, Iterator

import numpy as np

import shinari.constraints  # noqa: F401  registers the types that come with the package
from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.constraints.registry import ConstraintType, constraint_types
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.scene.soft_material import MODELS, SoftMaterial
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal, roundoff
from shinari.verify.scenes import small
from shinari.verify.solid_scenes import CORNER, DENSITY, EDGE, pulled, tetrahedron, volume_ratio

_YOUNG = 1e5
_MOVES = "within a substep the lightest corner, a 24th of the cube, moves by F h^2 / m; rounding u x / h^2"


def _material(model: str, ratio: float, **fields: float) -> SoftMaterial:
    """Of E = 1e5 Pa, without a thickness: nothing touches."""
    given = {"density": DENSITY, "youngs_modulus": _YOUNG, "thickness": 0.0} | fields
    return SoftMaterial(model=model, poissons_ratio=ratio, **given)


def _uniaxial(
    precision: str, model: str, ratio: float, stretches: list[float], expected: list[float], unit: str, scale: float
) -> Iterator[Measurement]:
    """Nominal stress of cubes pulled or pushed between rollers, in a unit of `scale` times E."""
    wave = 3e-3 if precision == "float64" else 2e-2
    pull, _, _ = pulled(precision, [(_material(model, ratio), s) for s in stretches], wave, 1)
    for stretch, wanted, got in zip(stretches, expected, pull * scale, strict=True):
        yield equal(
            f"nominal stress over {unit}, nu {ratio:.4g}, stretch {stretch:g}",
            wanted,
            got,
            absolute=24.0 * wave**2 * abs(wanted) + 4.0 * scale * roundoff(precision) / wave**2,
            theory=_MOVES,
        )


@check("uniaxial stress of stable Neo-Hookean", "closed form, free sides: P = mu [s - s^-2 (1 + (mu/la) (1 - 1/s))]")
def uniaxial_neo_hookean(precision: str) -> Iterator[Measurement]:
    """Five stretches of a cube with free sides, for la = 9 mu as printed and for a Poisson's ratio of 0.3."""
    stretches = [0.5, 0.8, 1.2, 1.5, 2.0]
    printed = [-3.0556, -0.71910, 0.49270, 1.03909, 1.73611]
    yield from _uniaxial(precision, "neo_hookean", 4 / 9, stretches, printed, "mu", 2.0 * (1.0 + 4 / 9))
    closed = [s - s**-2 * (1.0 + 0.4 * (1.0 - 1.0 / s)) for s in stretches]
    yield from _uniaxial(precision, "neo_hookean", 0.3, stretches, closed, "mu", 2.6)


@check(
    "uniaxial stress of the other laws", "closed forms: St. Venant-Kirchhoff P = E s (s^2 - 1) / 2, both others linear"
)
def uniaxial_others(precision: str) -> Iterator[Measurement]:
    """Their lateral strain is nu times the axial one, of Green or of stretch, so that the sides are free of stress."""
    laws: dict[str, Callable[[float], float]] = {
        "stvk": lambda s: 0.5 * s * (s * s - 1.0),
        "corotated": lambda s: s - 1.0,
        "strain": lambda s: s - 1.0,
    }
    stretches = [0.7, 0.9, 1.1, 1.4, 1.7]
    for model, law in laws.items():
        for ratio in (0.2, 0.4):
            expected = [law(s) for s in stretches]
            yield from _uniaxial(precision, model, ratio, stretches, expected, f"E, {model}", 1.0)


@check("Poisson's ratio", "the one that was asked for; raw Lame parameters would give .167 for .3, .4898 for .49")
def poissons_ratio(precision: str) -> Iterator[Measurement]:
    """A cube between rollers, a little longer and a little shorter: half the difference of its widths."""
    asked = (0.2, 0.3, 0.4, 0.45, 0.49)
    wave, strain = (0.01, 1e-3) if precision == "float64" else (0.05, 0.02)
    for model in MODELS:
        cases = [(_material(model, nu), 1.0 + sign * strain) for nu in asked for sign in (1, -1)]
        _, wide, _ = pulled(precision, cases, wave, 10)
        for nu, longer, shorter in zip(asked, wide[::2], wide[1::2], strict=True):
            yield equal(
                f"Poisson's ratio, {model}, asked for {nu:g}, strain {strain:g}",
                nu,
                (shorter - longer) / (2.0 * strain),
                absolute=wave**2 + strain**2 + 4.0 * roundoff(precision) / wave**2 / (2.0 * strain),
                theory="rows turn by a part of (E/rho) (h/l)^2 in a substep; the square of the strain; rounding",
            )


@check("rest stays at rest", "Macklin and Mueller 2021, section 4; its rows one after the other give J .045 and 1.0044")
def rest_drift(precision: str) -> Iterator[Measurement]:
    """A free tetrahedron with la = 9 mu at rest: J after steps of 1/60 s and 1/600 s.

    The rows as printed rest too, but a hundred steps of 1/60 s turn their rounding into an explosion: see
    `constraints/neo_hookean.py`.
    """
    u = roundoff(precision)
    runs = (("neo_hookean", 1), ("neo_hookean", 100), ("both_as_printed", 1), ("one after the other", 1))
    for h, alone, digit in ((1 / 60, 0.045, 5e-4), (1 / 600, 1.0044, 5e-5)):
        for rows, steps in runs:
            sim = tetrahedron(precision, rows, h)
            sim.step(steps)
            drifts = rows == "one after the other"
            yield equal(
                f"J after {steps} steps of {h:.2e} s, {rows.replace('_', ' ')}",
                alone if drifts else 1.0,
                float(volume_ratio(sim.state.positions, CORNER, np.arange(4)[None])[0]),
                absolute=(digit if drifts else 0.0) + 64.0 * u * math.sqrt(steps),
                theory="half a printed digit; positions rounded in each step" if drifts else "positions rounded",
            )


@check(
    "cost of two rows together",
    "Macklin and Mueller 2021, section 4: two by two against one after the other",
    precisions=("float64",),
)
def cost_of_coupling(precision: str) -> Iterator[Measurement]:
    """Iterations until |C + alpha~ lambda| is below 1e-6 in one step of a tetrahedron that is squashed and sheared."""
    squashed = CORNER @ np.array([[0.8, 0.0, 0.0], [0.1, 1.1, 0.0], [0.0, 0.0, 1.0]])
    for h, most in ((1 / 60, 5), (1 / 600, 3), (1 / 6000, 2)):
        together, apart = (_iterations(precision, rows, h, squashed) for rows in ("neo_hookean", "one after the other"))
        yield at_most(f"iterations together, h {h:.2e} s", most, together, theory="quadratic convergence, from 0.1")
        yield at_least(
            f"iterations one after the other, h {h:.2e} s",
            together,
            apart,
            theory="each row disturbs the other: linear convergence",
        )


def _iterations(precision: str, rows: str, h: float, start: np.ndarray) -> int:
    """Iterations that bring the residual of a step below 1e-6."""
    for iterations in range(1, 100):
        sim = tetrahedron(precision, rows, h, iterations)
        sim.state.positions = start
        sim.step()
        if float(sim.residual()) < 1e-6:
            return iterations
    return 100


@check("volume under gravity", "a nearly incompressible solid keeps its volume within 1 %")
def volume_under_gravity(precision: str) -> Iterator[Measurement]:
    """Largest change of volume of a beam that swings down from a wall, with the default of one iteration, in 1 s."""
    cases = (
        (0.49, 1e5, (6, 2, 2), 20),
        (0.49, 1e6, (8, 3, 3), 10),
        (0.499, 3e5, (6, 2, 2), 20),
        (0.3, 1e6, (8, 5, 5), 10),
    )
    for nu, young, cells, substeps in cases:
        sim, x, t = _beam(
            precision, _material("neo_hookean", nu, youngs_modulus=young), cells, dt=1 / 60, substeps=substeps
        )
        weights = np.abs(np.linalg.det(x[t][:, 1:] - x[t][:, :1]))
        most = 0.0
        for _ in range(60):
            sim.step()
            ratio = volume_ratio(sim.state.positions, x, t)
            most = max(most, abs(float(weights @ ratio / weights.sum()) - 1.0))
        yield at_most(
            f"change of volume, nu {nu:g}, E {young:g} Pa, {cells} cells, {substeps} substeps", 0.01, most,
            theory="the promise of 1 %")  # fmt: skip


def _beam(
    precision: str, material: SoftMaterial, cells: tuple[int, int, int], *, held: bool = True, **settings: float
) -> tuple[Simulation, np.ndarray, np.ndarray]:
    """A beam of cubes of 0.1 m along x, held at one end or free; with its rest positions and tetrahedra."""
    vertices, tetrahedra = lattice(cells, EDGE)
    scene = Scene(gravity=(0, -9.81, 0) if held else (0, 0, 0))
    beam = scene.add_soft_body((vertices, tetrahedra), material=material)
    if held:
        beam.pin(beam.where(lambda x: x[:, 0] == 0.0))
    return small(scene, precision, **settings), vertices, tetrahedra


@check("momentum of a free solid", "Macklin and Mueller 2021: gradients sum to zero and exert no torque")
def momentum(precision: str) -> Iterator[Measurement]:
    """A free beam that starts crumpled and thrown: change of momentum, and sum of m x~ cross dv, which pushes turn.

    The torque is exact where all rows push along directions taken at the predicted x~: in one Jacobi iteration.
    """
    often = ((1 / 600, 1, "gauss-seidel"), (1 / 2400, 4, "gauss-seidel"), (1 / 600, 1, "jacobi"))
    theory = "four deviations of a random walk, m u x / h for each position written"
    for model in MODELS:
        for h, iterations, sweep in often if model == "neo_hookean" else often[:1]:
            settings = {"dt": h, "substeps": 1, "iterations": iterations, "sweep": sweep}
            sim, x, _ = _beam(precision, _material(model, 0.4), (3, 2, 2), held=False, **settings)
            rng = np.random.default_rng(4)
            sim.state.positions = x + rng.uniform(-0.03, 0.03, x.shape)
            sim.state.velocities = rng.normal(0.0, 1.0, x.shape) + np.array([0.5, 0.0, 0.2])
            before, writes = sim.momentum(), 100 * iterations * sum(b.indices.size for b in sim.model.blocks.values())
            pushes, turning, turned = _pushes(sim, h, 100)
            walk = 4.0 * math.sqrt(writes) * roundoff(precision) * float(sim.model.masses.max()) * 0.5 / h
            case = f"{model}, h {h:.2e}, {iterations} iterations, {sweep}"
            lost = float(np.linalg.norm(sim.momentum() - before)) / pushes
            yield equal(f"momentum lost over all pushes, {case}", 0.0, lost, absolute=walk / pushes, theory=theory)
            if sweep == "jacobi":
                off = float(np.linalg.norm(turned)) / turning
                yield equal(f"torque over that of all pushes, {case}", 0.0, off, absolute=walk / turning, theory=theory)


def _pushes(sim: Simulation, h: float, steps: int) -> tuple[float, float, np.ndarray]:
    """Sum of the sizes of all m dv, of all m x~ cross dv, and the sum of the latter as vectors."""
    m = sim.model.masses[:, None]
    pushes, turning, turned = 0.0, 0.0, np.zeros(3)
    for _ in range(steps):
        x, v = sim.state.positions.astype(np.float64), sim.state.velocities.astype(np.float64)
        sim.step()
        push = m * (sim.state.velocities - v)
        torque = np.cross(x + h * v, push)
        pushes, turning = pushes + float(np.abs(push).sum()), turning + float(np.abs(torque).sum())
        turned += torque.sum(axis=0)
    return pushes, turning, turned


@check(
    "static extension of every row",
    "Macklin et al. 2016, XPBD: it depends on the compliance alone, not on iterations",
    precisions=("float64",),
)
def static_rows(precision: str) -> Iterator[Measurement]:
    """One row of each type that has rest values, its last point free and loaded so that it should rest where it starts.

    The point starts 2 % of its way further along the load, and what is measured is |C|.
    """
    for kind in constraint_types():
        if kind.rest is None:
            continue
        for iterations in (1, 5, 20):
            expected, got = _static_row(precision, kind, iterations)
            yield equal(
                f"|C| at rest, {kind.name}, {iterations} iterations",
                expected,
                got,
                absolute=expected * _WAVE**2 + 8.0 * roundoff(precision) / _WAVE**2 * 0.1,
                theory="(omega h)^2 by gradients from before the correction; rounding u x / (omega h)^2",
            )


_WAVE = 0.05


def _static_row(precision: str, kind: ConstraintType, iterations: int) -> tuple[float, float]:
    """|C| of a row under the load that belongs to it, expected and measured."""
    rest = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [0.3, 0.2, 1.1]])[: kind.points]
    moved = np.array([0.06, -0.03, 0.1]) if kind.points > 1 else np.array([0.1, 0.0, 0.0])
    loaded = rest.copy()
    loaded[-1] += moved
    assert kind.rest is not None
    parameters = [np.asarray(v, float).reshape(-1) for v in _tuple(kind.rest(rest[None]))]
    values, gradients = kind.evaluate(_points(loaded), tuple(np.concatenate(parameters).tolist()))
    values, gradients = np.array(values).reshape(kind.rows), np.array(gradients).reshape(kind.rows, -1, 3)[:, -1]
    # unit mass and unit compliance: the row pushes with C grad C, and swings with omega = |grad C|
    force = values @ gradients
    stiffest = np.linalg.norm(gradients, axis=1).max()
    scene = Scene(gravity=tuple(force), damping=2.0 * stiffest)
    points = scene.add_particles(rest, mass=[0.0] * (kind.points - 1) + [1.0])
    # a seam does not close meanwhile
    slow = {name: 1e9 for name, _ in kind.parameters if name == "closing_time"}
    scene.add_constraint(kind.name, [list(range(kind.points))], compliance=1.0, **slow)
    sim = small(scene, precision, dt=100 * _WAVE / stiffest, substeps=100, iterations=iterations)
    loaded[-1] += 0.02 * np.linalg.norm(moved) * force / np.linalg.norm(force)
    sim.state.positions = loaded
    sim.step(math.ceil(60.0 / _WAVE / 100))
    at = sim.positions(points).astype(np.float64)
    settled, _ = kind.evaluate(_points(at), tuple(np.concatenate(parameters).tolist()))
    return float(np.linalg.norm(values)), float(np.linalg.norm(settled))


def _points(x: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(v) for v in point) for point in x)


def _tuple(values: object) -> tuple:
    return values if isinstance(values, tuple) else (values,)
