"""Hanging chains: forces, iterations against substeps at a large mass ratio, XPBD against Newton's method."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.verify.ledger import Measurement, check, equal, roundoff
from shinari.verify.newton import NewtonChain
from shinari.verify.scenes import hanging_chain, small


@check("top force of a hard chain", "Macklin et al. 2019, Small Steps: 20 x 1 kg, l = 0.01 m, g = 10: 190 N")
def top_force(precision: str) -> Iterator[Measurement]:
    """Force of the first row of a chain whose first particle is fixed, at rest."""
    # particles with the fixed one, mass [kg], length [m], g [m/s^2], substeps, iterations
    for count, mass, length, g, substeps, iterations in (
        (20, 1.0, 0.01, 10.0, 20, 1),
        (20, 1.0, 0.01, 10.0, 4, 10),
        (20, 1.0, 0.01, 10.0, 100, 1),
        (8, 0.25, 0.1, 9.81, 20, 1),
        (40, 3.0, 0.02, 1.62, 10, 5),
    ):
        n, h = count - 1, 1 / 60 / substeps
        scene = Scene(gravity=(0, -g, 0), damping=20.0)
        chain = hanging_chain(scene, np.full(n, mass), length=length)
        sim = small(scene, precision, dt=1 / 60, substeps=substeps, iterations=iterations)
        sim.step(600)
        rounding = 2.0 * roundoff(precision) * -float(sim.positions(chain)[-1, 1])
        yield equal(
            f"force, {n} x {mass:g} kg below, l {length:g}, g {g:g}, {substeps} substeps, {iterations} iterations [N]",
            n * mass * g,
            float(sim.forces("distance")[0]),
            absolute=n * mass * rounding / h**2 + 1e-12 * n * mass * g,
            theory="two roundings u x m / h^2 at each particle below; e^-50 left to settle",
        )


def _hanging_stretch(
    precision: str, rows: int, ratio: float, length: float, *, substeps: int, iterations: int
) -> tuple[float, float]:
    """Stretch of a hard chain of 1 kg particles with `ratio` kg at its end, at rest, and its rounding [m]."""
    g, dt = 10.0, 1 / 60
    h = dt / substeps
    guess = _expected_stretch(rows, ratio, h, iterations)
    w = math.sqrt(g / guess)
    scene = Scene(gravity=(0, -g, 0), damping=2.0 * w)
    chain = hanging_chain(scene, [1.0] * (rows - 1) + [ratio], length=length)
    sim = small(scene, precision, dt=dt, substeps=substeps, iterations=iterations)
    sim.step(math.ceil(30.0 / w / dt))
    end = -float(sim.positions(chain)[-1, 1])
    return end - rows * length, 2.0 * roundoff(precision) * end * (1.0 + (w * h) ** -2)


def _expected_stretch(rows: int, ratio: float, h: float, iterations: int) -> float:
    """Stretch where every row hands on the weight of the end [m].

    Between light particles of mass m a sweep by two colours moves the whole gap of two rows, S, through each of them:
    lambda = S m / 2. At rest n sweeps add up to h^2 F, so S = 2 h^2 F / (n m) for two rows; the rows at both ends, with
    one light particle each, count half.
    """
    return (rows - 1) * ratio * 10.0 * h * h / iterations


@check(
    "iterations against substeps, large mass ratio",
    "Macklin et al. 2019, Small Steps: 1:1e5, n iterations to n substeps, 322.1 m to 3.2 m at 100",
)
def mass_ratio(precision: str) -> Iterator[Measurement]:
    """Spending n sweeps as substeps cuts the hanging stretch n times more than spending them as iterations."""
    cases = ((20, 1e5, 1.0, 10), (20, 1e5, 1.0, 100), (10, 1e5, 1.0, 100), (12, 1e3, 0.1, 5))
    for rows, ratio, length, n in cases if precision == "float64" else cases[-1:]:
        iterated, noise = _hanging_stretch(precision, rows, ratio, length, substeps=1, iterations=n)
        stepped, noise_stepped = _hanging_stretch(precision, rows, ratio, length, substeps=n, iterations=1)
        case = f"{rows} rows, 1:{ratio:g}, n = {n}"
        light = rows / ratio
        yield equal(
            f"stretch at n substeps, {case} [m]",
            _expected_stretch(rows, ratio, 1 / 60 / n, 1),
            stepped,
            absolute=noise_stepped + light * stepped,
            theory="(N - 1) M g h^2 / m to first order in N m / M; two roundings over (w h)^2",
        )
        yield equal(
            f"ratio of the stretches, {case}",
            n,
            iterated / stepped,
            absolute=n * (light * n + noise / iterated + noise_stepped / stepped),
            theory="n to first order in n N m / M, and the roundings of both",
        )


@check(
    "chain against Newton's method",
    "Macklin et al. 2016, XPBD: force error 6 / 2 / 0.5 % at 50 / 100 / 1000 iterations",
)
def against_newton(precision: str) -> Iterator[Measurement]:
    """The force that holds a stiff chain of 20 x 1 kg, 2 m long, for 1.5 s after it was let go level.

    The error is the root mean square of the difference over that of the force. The reference solves implicit Euler to
    the end in each step of its own trajectory.
    """
    n, length = 20, 0.1
    printed = {50: 0.06, 100: 0.02, 1000: 0.005}
    for compliance, h in ((1e-8, 1 / 60), (1e-6, 1 / 60), (1e-8, 1 / 120)):
        steps = round(1.5 / h)
        reference: list[float] = []
        for iterations, error in printed.items():
            scene = Scene()
            chain = hanging_chain(scene, np.ones(n), length=length, direction=(1, 0, 0), compliance=compliance)
            if not reference:
                newton = NewtonChain(chain.positions[:, :2], np.ones(n), compliance, 9.81, h)
                for _ in range(steps):
                    newton.step()
                    reference.append(newton.tensions[0])
            sim = small(scene, precision, dt=h, substeps=1, iterations=iterations)
            forces = []
            for _ in range(steps):
                sim.step()
                forces.append(sim.forces("distance")[0])
            off = np.array(forces) - reference
            yield equal(
                f"force error, a {compliance:g}, h {h:.2e}, {iterations} iterations",
                error,
                math.sqrt(float(np.mean(off**2) / np.mean(np.square(reference)))),
                absolute=error,
                theory="at most twice what was printed: convergence depends on the scene",
            )
