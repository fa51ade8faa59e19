"""Tops and gyroscopes on a ball joint, against the steady precessions of the textbooks."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.rigid_scenes import ONE, single, turn

_GOLDSTEIN = "Goldstein, Classical Mechanics, section 5.7: I1 W^2 cos t - I3 w3 W + m g r = 0, I1 about the point"
_UP = np.array([0.0, 1.0, 0.0])


def _top(
    tilt: float, w3: float, precession: float, *, mass: float, r: float, i1: float, i3: float, g: float, substeps: int
) -> Simulation:
    """A top that stands on the origin, its axis of figure (its z) tilted from Y towards X [rad]."""
    scene = Scene(gravity=(0, -g, 0))
    axis = np.array([math.sin(tilt), math.cos(tilt), 0.0])
    side = np.cross([0.0, 0.0, 1.0], axis)
    top = scene.add_rigid_body(
        None,
        mass=mass,
        inertia=(i1, i1, i3),
        position=r * axis,
        rotation=turn(side, 0.5 * math.pi),
        velocity=np.cross(precession * _UP, r * axis),
        angular_velocity=(w3 - precession * math.cos(tilt)) * axis + precession * _UP,
    )
    scene.add_joint("ball", top, anchor=(0, 0, 0))
    return single(scene, substeps=substeps)


def _axis(sim: Simulation) -> np.ndarray:
    x = np.array(sim.state.body_positions[0])
    return x / np.linalg.norm(x)


def _swept(sim: Simulation, seconds: float) -> tuple[float, float]:
    """Angle about Y that the axis sweeps, and the farthest that its tilt departs from that at the start [rad]."""
    first = math.acos(float(_axis(sim) @ _UP))
    total, worst, before = 0.0, 0.0, 0.0
    for _ in range(round(seconds * 60)):
        sim.step()
        axis = _axis(sim)
        now = math.atan2(-float(axis[2]), float(axis[0]))
        total += (now - before + math.pi) % (2.0 * math.pi) - math.pi
        worst = max(worst, abs(math.acos(float(np.clip(axis @ _UP, -1, 1))) - first))
        before = now
    return total, worst


@check("precession of a gyroscope", f"m g r / (I3 w3); {_GOLDSTEIN}", precisions=ONE)
def gyroscope(_: str) -> Iterator[Measurement]:
    """A flywheel whose axle lies level precesses at the same rate at any speed of it."""
    for w3, g in ((100.0, 9.81), (200.0, 9.81), (-60.0, 3.7)):
        numbers = {"mass": 1.5, "r": 0.2, "i1": 0.006, "i3": 0.01, "g": g}
        rate = 1.5 * g * 0.2 / (0.01 * w3)
        sim = _top(0.5 * math.pi, w3, rate, substeps=20, **numbers)
        angle, nutation = _swept(sim, 1.0)
        h = 1 / 1200
        yield equal(
            f"rate over m g r / (I3 w3), w3 {w3:g}, g {g:g}", 1.0, angle / rate, absolute=5.0 * abs(rate) * h,
            theory="first order in the substep: W h with a factor of five"
        )  # fmt: skip
        yield at_most(f"change of the tilt in 1 s, w3 {w3:g}, g {g:g} [rad]", 0.0, nutation,
                      absolute=5.0 * abs(rate) * h, theory="W h with a factor of five")  # fmt: skip


@check("a spinning top precesses", f"the slow root; {_GOLDSTEIN}", precisions=ONE)
def spinning(_: str) -> Iterator[Measurement]:
    """A top at several tilts, started in steady precession."""
    for degrees, w3 in ((20.0, 80.0), (60.0, 50.0), (120.0, 60.0)):
        tilt, i1, i3, mass, r = math.radians(degrees), 0.002, 0.001, 0.5, 0.05
        about = i1 + mass * r * r
        b, c = i3 * w3, mass * 9.81 * r
        root = math.sqrt(b * b - 4.0 * about * math.cos(tilt) * c)
        rate = 2.0 * c / (b + root)
        sim = _top(tilt, w3, rate, mass=mass, r=r, i1=i1, i3=i3, g=9.81, substeps=40)
        angle, nutation = _swept(sim, 1.0)
        case = f"{degrees:g} deg, w3 {w3:g}"
        yield equal(f"rate of precession, {case} [rad/s]", rate, angle, relative=10.0 * rate / 2400,
                    theory="first order in the substep: W h with a factor of ten")  # fmt: skip
        yield at_most(f"change of the tilt in 1 s, {case} [rad]", 0.0, nutation, absolute=10.0 * rate / 2400,
                      theory="W h with a factor of ten")  # fmt: skip


@check("a sleeping top stands", "stable where w3^2 > 4 m g r I1 / I3^2; Goldstein, section 5.7", precisions=ONE)
def sleeping(_: str) -> Iterator[Measurement]:
    """A top that spins nearly upright, above and below the critical speed."""
    i1, i3, mass, r = 0.002, 0.001, 0.5, 0.05
    critical = math.sqrt(4.0 * mass * 9.81 * r * (i1 + mass * r * r)) / i3
    for part in (1.5, 1.15, 0.85, 0.5):
        sim = _top(0.01, part * critical, 0.0, mass=mass, r=r, i1=i1, i3=i3, g=9.81, substeps=40)
        worst = _swept(sim, 3.0)[1]
        case = f"largest change of a tilt of 0.01 rad in 3 s, at {part:g} of the critical speed [rad]"
        if part > 1.0:
            # nutation takes the tilt from t to t / sqrt(1 - 1 / part^2) and back
            yield at_most(case, 0.01 * (1.0 / math.sqrt(1.0 - part**-2) - 1.0), worst, absolute=0.01,
                          theory="amplitude of the linear nutation, and once the tilt at the start")  # fmt: skip
        else:
            yield at_least(case, 0.3, worst, theory="it falls")
