"""Pendulums on a hard distance row: period against the elliptic integral, energy against substeps."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.verify.ledger import Measurement, at_most, check, equal, roundoff
from shinari.verify.scenes import small


def elliptic_k(k: float) -> float:
    """Complete elliptic integral of the first kind of modulus k, by the arithmetic-geometric mean."""
    a, b = 1.0, math.sqrt(1.0 - k * k)
    while abs(a - b) > 1e-15 * a:
        a, b = 0.5 * (a + b), math.sqrt(a * b)
    return math.pi / (2.0 * a)


def _pendulum(
    precision: str, length: float, g: float, angle: float, *, dt: float, substeps: int
) -> tuple[Simulation, slice]:
    """A mass of 1 kg on a hard row, let go at an angle from straight down [rad]."""
    scene = Scene(gravity=(0, -g, 0))
    bob = scene.add_particles([[0, 0, 0], [length * math.sin(angle), -length * math.cos(angle), 0]], mass=[0, 1])
    scene.add_constraint("distance", [[0, 1]], rest_length=length)
    return small(scene, precision, dt=dt, substeps=substeps), slice(bob.particles.start, bob.particles.stop)


def _quarter(precision: str, length: float, g: float, angle: float, h: float) -> float:
    """Time from release to the lowest point [s], linear between steps."""
    sim, _ = _pendulum(precision, length, g, angle, dt=4 * h, substeps=4)
    before = float(sim.state.positions[1, 0])
    while True:
        sim.step()
        after = float(sim.state.positions[1, 0])
        if after <= 0.0:
            return sim.time - 4 * h * after / (after - before)
        before = after


@check("pendulum period", "T / T0 = (2 / pi) K(sin(theta0 / 2)), complete elliptic integral")
def period(precision: str) -> Iterator[Measurement]:
    """Four times the time from release to the lowest point, at two substeps, extrapolated to none."""
    for length, g in ((1.0, 9.81), (0.25, 1.62)):
        small_period = 2.0 * math.pi * math.sqrt(length / g)
        for degrees in (5, 60, 90, 120) if precision == "float64" else (60, 90, 120):
            angle = math.radians(degrees)
            steps = 2000 if precision == "float64" else 250
            h = small_period / 4 / steps
            coarse, fine = (_quarter(precision, length, g, angle, size) for size in (h, 0.5 * h))
            ratio = elliptic_k(math.sin(0.5 * angle)) * 2.0 / math.pi
            wh = 2.0 * math.pi * h / small_period
            noise = roundoff(precision) * math.sqrt(2 * steps) * (steps / math.sin(angle))
            yield equal(
                f"T / T0 from {degrees} deg, L {length:g}, g {g:g}, h {h:.2e}",
                ratio,
                4.0 * (2.0 * fine - coarse) / small_period,
                absolute=10.0 * wh**2 + 4.0 * 3.0 * noise,
                theory="(w h)^2 with a factor of ten after extrapolation; four deviations of u L / h per substep",
            )


def _energy(sim: Simulation, g: float, length: float) -> float:
    """Energy per mass above that at rest [J/kg]."""
    x, v = sim.state.positions[1].astype(np.float64), sim.state.velocities[1].astype(np.float64)
    return 0.5 * float(v @ v) + g * (float(x[1]) + length)


# substeps: E(10 s) / E0, printed, and half its last digit
_PRINTED = {
    1: (0.099, 5e-4),
    10: (0.728, 5e-4),
    20: (0.848, 5e-4),
    40: (0.920, 5e-4),
    100: (0.967, 5e-4),
    1000: (0.9967, 5e-5),
}


@check("pendulum energy", "implicit Euler, computed apart: L = 1, g = 10, 90 deg, 60 Hz, E(10 s) / E0 against substeps")
def energy_table(precision: str) -> Iterator[Measurement]:
    """The energy that a hard pendulum keeps for ten seconds."""
    u = roundoff(precision)
    for substeps, (expected, half_digit) in _PRINTED.items():
        if substeps == 1000 and precision == "float32":
            continue
        sim, _ = _pendulum(precision, 1.0, 10.0, math.radians(90), dt=1 / 60, substeps=substeps)
        sim.step(600)
        n, h = 600 * substeps, 1 / 60 / substeps
        # each rounding changes the velocity by u L / h, which is at most sqrt(2 g L)
        noise = 4.0 * math.sqrt(n) * u / h * math.sqrt(20.0) / 10.0
        yield equal(
            f"E / E0 after 10 s, {substeps} substeps",
            expected,
            _energy(sim, 10.0, 1.0) / 10.0,
            absolute=half_digit + noise,
            theory="half a printed digit; four deviations of u L / h in the velocity per substep",
        )


@check("pendulum energy never grows", "Macklin et al. 2019, Small Steps: the loss scales with h")
def energy_never_grows(precision: str) -> Iterator[Measurement]:
    """The largest gain of energy in any step, and the loss against the length of the substep."""
    for length, g, degrees in ((1.0, 10.0, 90), (0.3, 9.81, 150), (5.0, 1.62, 30)):
        scale = g * length * (1.0 - math.cos(math.radians(degrees)))
        losses = []
        for substeps in (4, 8, 16, 32) if precision == "float64" else (4, 8):
            h = 1 / 60 / substeps
            sim, _ = _pendulum(precision, length, g, math.radians(degrees), dt=1 / 60, substeps=substeps)
            gain, before = -math.inf, _energy(sim, g, length)
            first = before
            for _ in range(300):
                sim.step()
                after = _energy(sim, g, length)
                gain, before = max(gain, after - before), after
            losses.append(1.0 - before / first)
            speed = math.sqrt(2.0 * scale)
            yield at_most(
                f"largest gain in a step over E0, L {length:g}, g {g:g}, {degrees} deg, {substeps} substeps",
                0.0,
                gain / scale,
                absolute=4.0 * math.sqrt(substeps) * roundoff(precision) * length / h * speed / scale
                + 8.0 * roundoff(precision) * g * length / scale,
                theory="four deviations of u L / h in the velocity per substep, and the rounding of the readout",
            )
        if precision == "float64":
            yield equal(
                f"loss at 32 substeps over that at 16, L {length:g}, g {g:g}, {degrees} deg",
                0.5,
                losses[-1] / losses[-2],
                absolute=losses[-2],
                theory="1 - exp(-c h) for a loss that is proportional to h: second order in the loss",
            )
