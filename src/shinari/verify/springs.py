"""Springs: XPBD against implicit Euler in closed form, statics, damping, and the stiffness of plain PBD."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.verify.ledger import Measurement, check, equal, roundoff
from shinari.verify.scenes import hanging_chain, small

_STILL = (0.0, 0.0, 0.0)
_ITERATIONS = (1, 2, 5, 20)


def _oscillation(
    precision: str, mass: float, compliance: float, h: float, stretch: float, steps: int, iterations: int,
    damping: float = 0.0
) -> np.ndarray:  # fmt: skip
    """Stretch of a spring of rest length 1 that is let go, after 0 .. steps substeps [m]."""
    scene = Scene(gravity=_STILL)
    ball = scene.add_particles([[0, 0, 0], [1 + stretch, 0, 0]], mass=[0, mass])
    scene.add_constraint("distance", [[0, 1]], compliance=compliance, damping=damping, rest_length=1.0)
    sim = small(scene, precision, dt=h, substeps=1, iterations=iterations)
    stretches = [stretch]
    for _ in range(steps):
        sim.step()
        stretches.append(float(sim.positions(ball)[1, 0]) - 1.0)
    return np.array(stretches)


def _recursion(s: float, b: float, stretch: float, steps: int) -> np.ndarray:
    """u_{n+1} = ((2 + b) u_n - u_{n-1}) / (1 + s + b) from rest: s = h^2 / (m a), b = beta h / m."""
    series = [stretch, stretch]
    for _ in range(steps):
        series.append(((2.0 + b) * series[-1] - series[-2]) / (1.0 + s + b))
    return np.array(series[1:])


def _growth(precision: str, h: float, steps: int, w: float) -> float:
    """Error of a position after so many steps that each round position and velocity [m].

    A step puts u x / h into the velocity; an oscillator turns that into at most u x / (h w) and adds up.
    """
    return 2.0 * roundoff(precision) * 1.5 * steps * min(steps, 1.0 / (w * h) + 1.0)


@check("mass on a spring", "Macklin et al. 2016, XPBD, eq. 18: u_{n+1} = (2 u_n - u_{n-1}) / (1 + w^2 h^2)")
def mass_on_a_spring(precision: str) -> Iterator[Measurement]:
    """The whole series against the closed recursion, for any iteration count, and its amplitude and phase."""
    # mass [kg], compliance [m/N], h [s]
    for mass, compliance, h in ((1.0, 1e-3, 1 / 60), (0.2, 1e-2, 1 / 240), (50.0, 1e-5, 1 / 100), (3.0, 1e-4, 1 / 600)):
        w = 1.0 / math.sqrt(mass * compliance)
        expected = _recursion((w * h) ** 2, 0.0, 0.5, 40)
        tolerance = _growth(precision, h, 40, w)
        for iterations in _ITERATIONS:
            series = _oscillation(precision, mass, compliance, h, 0.5, 40, iterations)
            worst = int(np.argmax(np.abs(series - expected)))
            yield equal(
                f"worst stretch in 40 steps, m {mass:g}, a {compliance:g}, h {h:.2e}, {iterations} iterations [m]",
                expected[worst],
                series[worst],
                absolute=tolerance,
                theory="rounding of position and velocity in each step, carried along",
            )
        amplitude, phase = _amplitude_and_phase(series[:12])
        loose = 20.0 * tolerance / (w * h)
        case = f"m {mass:g}, a {compliance:g}, h {h:.2e}"
        theory = "the same rounding in a fit of twelve points"
        yield equal(f"amplitude per step, {case}", (1 + (w * h) ** 2) ** -0.5, amplitude, absolute=loose, theory=theory)
        yield equal(f"phase per step [rad], {case}", math.atan(w * h), phase, absolute=loose, theory=theory)


@check("mass on a spring, printed series", "that recurrence in numbers: rest 1, x0 = 1.5, a = 1e-3, m = 1, h = 1/60")
def printed_series(precision: str) -> Iterator[Measurement]:
    """The first four steps in the digits that were printed."""
    series = _oscillation(precision, 1.0, 1e-3, 1 / 60, 0.5, 4, 1)
    for n, expected in enumerate((0.391304, 0.221172, 0.039944, -0.110570), start=1):
        yield equal(
            f"x - 1 after step {n} [m]",
            expected,
            series[n],
            absolute=0.5e-6 + _growth(precision, 1 / 60, 4, math.sqrt(1000.0)),
            theory="half a printed digit, and rounding",
        )


@check("damped spring", "Macklin et al. 2016, XPBD, eq. 26: gamma = alpha~ beta~ / h, beta~ = h^2 beta")
def damped_spring(precision: str) -> Iterator[Measurement]:
    """Rows with damping against u_{n+1} = ((2 + b) u_n - u_{n-1}) / (1 + w^2 h^2 + b), b = beta h / m."""
    # mass [kg], compliance [m/N], h [s], damping [N s/m]
    cases = (
        (1.0, 1e-3, 1 / 60, 5.0),
        (0.2, 1e-2, 1 / 240, 0.3),
        (50.0, 1e-5, 1 / 100, 4000.0),
        (1.0, 1e-2, 1e-3, 20.0),
    )
    for mass, compliance, h, damping in cases:
        w = 1.0 / math.sqrt(mass * compliance)
        expected = _recursion((w * h) ** 2, damping * h / mass, 0.5, 40)
        for iterations in (1, 4, 20):
            series = _oscillation(precision, mass, compliance, h, 0.5, 40, iterations, damping)
            worst = int(np.argmax(np.abs(series - expected)))
            yield equal(
                f"worst stretch in 40 steps, m {mass:g}, a {compliance:g}, h {h:.2e}, beta {damping:g}, "
                f"{iterations} iterations [m]",
                expected[worst],
                series[worst],
                absolute=_growth(precision, h, 40, w),
                theory="rounding of position and velocity in each step, carried along",
            )


@check("one step of a spring under gravity", "Macklin et al. 2016, XPBD: implicit Euler, g h^2 / (1 + h^2 k / m)")
def one_step_of_a_spring(precision: str) -> Iterator[Measurement]:
    """The implicit Euler value after any number of iterations; 2.70 mm for 1 kg, 100 N/m, g = 10 and 1/60 s."""
    for mass, stiffness, g, h in ((1.0, 100.0, 10.0, 1 / 60), (0.1, 2e3, 9.81, 1 / 100), (20.0, 1e5, 9.81, 1 / 30)):
        expected = g * h * h / (1.0 + h * h * stiffness / mass)
        for iterations in (1, 5, 20, 100):
            scene = Scene(gravity=(0, -g, 0))
            chain = hanging_chain(scene, [mass], length=1.0, compliance=1.0 / stiffness)
            sim = small(scene, precision, dt=h, substeps=1, iterations=iterations)
            sim.step()
            yield equal(
                f"extension, m {mass:g}, k {stiffness:g}, g {g:g}, h {h:.2e}, {iterations} iterations [mm]",
                1e3 * expected,
                -1e3 * (float(sim.positions(chain)[1, 1]) + 1.0),
                absolute=1e3 * 8.0 * roundoff(precision),
                theory="a few roundings of positions of 1 m; each iteration is a fixed point",
            )


@check("static extension of a spring", "Macklin et al. 2016, XPBD: m g a, whatever dt, substeps and iterations")
def static_spring(precision: str) -> Iterator[Measurement]:
    """A mass falls from the rest length and settles under damping."""
    for mass, compliance, dt, substeps, iterations in (
        (1.0, 1e-2, 1 / 60, 1, 1),
        (1.0, 1e-2, 1 / 60, 20, 1),
        (1.0, 1e-2, 1 / 60, 1, 20),
        (1.0, 1e-2, 1 / 240, 3, 7),
        (0.05, 2e-2, 1 / 30, 10, 2),
        (40.0, 1e-4, 1 / 100, 5, 5),
    ):
        w = 1.0 / math.sqrt(mass * compliance)
        h = dt / substeps
        scene = Scene(damping=2.0 * w)
        chain = hanging_chain(scene, [mass], length=0.5, compliance=compliance)
        sim = small(scene, precision, dt=dt, substeps=substeps, iterations=iterations)
        sim.step(math.ceil(40.0 / w / dt))
        case = f"m {mass:g}, a {compliance:g}, dt {dt:.2e}, {substeps} substeps, {iterations} iterations"
        stuck = 2.0 * roundoff(precision) * (0.5 + mass * 9.81 * compliance) * (1.0 + (w * h) ** -2)
        yield equal(
            f"extension, {case} [m]",
            mass * 9.81 * compliance,
            -float(sim.positions(chain)[1, 1]) - 0.5,
            absolute=stuck,
            theory="it stops where h^2 w^2 times the error is lost in two roundings of the position",
        )
        yield equal(
            f"force, {case} [N]",
            mass * 9.81,
            float(sim.forces("distance")[0]),
            absolute=stuck / compliance,
            theory="that of the extension over the compliance",
        )


@check("static extension of a chain", "Macklin et al. 2016, XPBD: m g a N (N + 1) / 2, whatever dt and iterations")
def static_chain(precision: str) -> Iterator[Measurement]:
    """A chain settles under damping; the forces add up to the weight below each row."""
    for count, mass, compliance, dt, substeps, iterations in (
        (10, 1.0, 1e-3, 1 / 60, 20, 1),
        (10, 1.0, 1e-3, 1 / 60, 4, 10),
        (10, 1.0, 1e-3, 1 / 60, 1, 40),
        (10, 1.0, 1e-3, 1 / 240, 10, 3),
        (5, 0.1, 2e-2, 1 / 60, 10, 1),
        (30, 0.5, 5e-4, 1 / 60, 10, 20),
    ):
        h, n = dt / substeps, count
        slowest = 2.0 * math.sin(0.5 * math.pi / (2 * n + 1)) / math.sqrt(mass * compliance)
        scene = Scene(damping=2.0 * slowest)
        chain = hanging_chain(scene, np.full(n, mass), length=0.1, compliance=compliance)
        sim = small(scene, precision, dt=dt, substeps=substeps, iterations=iterations)
        sim.step(math.ceil(40.0 / slowest / dt))
        expected = mass * 9.81 * compliance * n * (n + 1) / 2
        case = f"N {n}, m {mass:g}, a {compliance:g}, dt {dt:.2e}, {substeps} substeps, {iterations} iterations"
        # Gauss-Seidel leaves of C + alpha~ lambda at most what the neighbours moved last, w (lambda + lambda)
        stiff = compliance / h**2 * mass
        left = 2.0 / stiff * (2.0 / (2.0 + stiff)) ** (2 * (iterations - 1))
        noise = 2.0 * roundoff(precision) * (0.1 * n + expected)
        yield equal(
            f"extension, {case} [m]",
            expected,
            -float(sim.positions(chain)[n, 1]) - 0.1 * n,
            absolute=expected * left + noise * (1.0 + (slowest * h) ** -2),
            theory="2 h^2 / (m a) left by one sweep, times (2 / (2 + m a / h^2))^2 for each more; two roundings",
        )
        below = mass * 9.81 * np.arange(n, 0, -1)
        forces = sim.forces("distance")
        worst = int(np.argmax(np.abs(forces - below)))
        yield equal(
            f"force of the worst row ({worst}), {case} [N]",
            below[worst],
            forces[worst],
            absolute=n * noise / h**2 * mass + 1e-12 * below[0],
            theory="at rest the rows balance the weight; two roundings u x m / h^2 at each particle below",
        )


@check("stiffness of plain PBD", "Mueller et al. 2006, Position Based Dynamics, section 3.3: k' = 1 - (1 - k)^(1/n)")
def pbd_stiffness(precision: str) -> Iterator[Measurement]:
    """What a step leaves of a stretch: 1 - k per step for any iteration count, or (1 - k)^n in raw mode."""
    for k in (0.1, 0.5, 0.9):
        for iterations in (1, 5, 20):
            for mode, expected in (("per-step", 1.0 - k), ("raw", (1.0 - k) ** iterations)):
                scene = Scene(gravity=_STILL)
                ball = scene.add_particles([[0, 0, 0], [1.5, 0, 0]], mass=[0, 2.0])
                scene.add_constraint("distance", [[0, 1]], stiffness=k, rest_length=1.0)
                sim = small(scene, precision, dt=1 / 60, substeps=1, iterations=iterations, method="pbd",
                            stiffness_mode=mode)  # fmt: skip
                sim.step()
                yield equal(
                    f"stretch left of 1, k {k:g}, {mode}, {iterations} iterations",
                    expected,
                    2.0 * (float(sim.positions(ball)[1, 0]) - 1.0),
                    absolute=2.0 * 2.0 * roundoff(precision) * 1.5 * (1 + iterations),
                    theory="two roundings of a position of 1.5 m per iteration",
                )


def _amplitude_and_phase(series: np.ndarray) -> tuple[float, float]:
    """Modulus and angle of the roots of z^2 = p z + q fitted to u_{n+1} = p u_n + q u_{n-1}."""
    (p, q), *_ = np.linalg.lstsq(np.stack([series[1:-1], series[:-2]], axis=1), series[2:], rcond=None)
    return math.sqrt(-q), math.acos(p / (2.0 * math.sqrt(-q)))
