"""Rigid bodies that nothing touches: free fall, free tops, momentum of what is joined."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.shapes.box import Box
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, check, equal
from shinari.verify.pendulum import elliptic_k
from shinari.verify.rigid_scenes import ONE, axes, matrix, place, single, spin, turn, weightless

_EULER = "Euler's equations, I w' + w x I w = 0"
_ULP = 2.0**-53


@check("free fall of a body", "y_n = y0 + v0 n h - g h^2 n (n + 1) / 2", precisions=ONE)
def free_fall(_: str) -> Iterator[Measurement]:
    """Bodies that spin while they fall, also one whose origin is not its centre of mass."""
    for g, dt, substeps, steps in ((9.81, 1 / 60, 20, 120), (1.62, 1 / 100, 7, 200)):
        scene = Scene(gravity=(0, -g, 0))
        v0 = np.array([0.5, 3.0, -1.0])
        centre = np.array([0.3, -0.2, 0.1])
        box = scene.add_rigid_body(Box((0.2, 0.5, 1.0)), velocity=v0, angular_velocity=(3.0, -2.0, 1.0))
        off = scene.add_rigid_body(
            None, mass=2.0, inertia=(1.0, 2.0, 2.5), centre=centre, position=(5, 0, 0), rotation=turn((1, 1, 0), 0.7),
            velocity=v0, angular_velocity=(0.0, 4.0, 1.0)
        )  # fmt: skip
        start = np.array([5.0, 0, 0]) + matrix(turn((1, 1, 0), 0.7)) @ centre
        sim = single(scene, dt=dt, substeps=substeps)
        sim.step(steps)
        n, h = steps * substeps, dt / substeps
        displacement = v0 * n * h - np.array([0, g, 0]) * h * h * n * (n + 1) / 2
        for name, at, expected in (
            ("box", place(sim, box), displacement),
            ("off its centre", place(sim, off) + axes(sim, off) @ centre, start + displacement),
        ):
            yield equal(
                f"distance from the parabola, {name}, g {g:g}, {n} substeps [m]",
                0.0,
                float(np.linalg.norm(at - expected)),
                absolute=math.sqrt(n**3 / 3.0) * _ULP * 20.0,
                theory="velocities from positions of 20 m: roundings u x / h in each substep, summed up twice",
            )


def _top(inertia: tuple[float, float, float], omega: tuple[float, float, float], **settings: float) -> Simulation:
    scene = weightless()
    scene.add_rigid_body(None, mass=1.0, inertia=inertia, angular_velocity=omega, rotation=(1, 0, 0, 0))
    return single(scene, **settings)


def _state(sim: Simulation, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Angular velocity in body axes, angular momentum in world axes, twice the energy."""
    r = matrix(sim.state.body_rotations[0])
    w = r.T @ sim.state.body_angular_velocities[0]
    return w, r @ (inertia * w), float(w @ (inertia * w))


@check("a free top keeps momentum and energy", f"|L| exactly, energy to 3e-6 at 20 substeps; {_EULER}", precisions=ONE)
def free_top(_: str) -> Iterator[Measurement]:
    """Ten seconds of tumbling: a wing nut, a plate, a needle."""
    for inertia, omega, drift in (
        ((1.0, 2.0, 3.0), (0.1, 10.0, 0.1), 3e-6),
        ((0.5, 1.2, 1.6), (4.0, 3.0, -2.0), 3e-6),
        ((0.01, 1.0, 1.0), (6.0, 1.0, 0.5), 3e-6),
    ):
        sim, moments = _top(inertia, omega, dt=1 / 60, substeps=20), np.array(inertia)
        first, energy = _state(sim, moments)[1:]
        momentum, gain = 0.0, 0.0
        for _step in range(600):
            sim.step()
            now, later = _state(sim, moments)[1:]
            momentum = max(momentum, float(np.linalg.norm(now - first) / np.linalg.norm(first)))
            gain = max(gain, abs(later / energy - 1.0))
        case = f"I {inertia}, w {omega}"
        yield equal(
            f"largest change of L over |L|, {case}", 0.0, momentum, absolute=12000 * 32.0 * _ULP,
            theory="roundings of 12000 substeps"
        )  # fmt: skip
        yield equal(f"largest change of energy over E, {case}", 0.0, gain, absolute=drift, theory="midpoint rule")


def half_period(inertia: tuple[float, float, float], omega: tuple[float, float, float]) -> float:
    """Time between zeros of the middle component of w [s], I1 < I2 < I3; Landau and Lifshitz, Mechanics, section 37."""
    i, w = np.array(inertia), np.array(omega)
    twice, square = float(w @ (i * w)), float((i * w) @ (i * w))
    if square < twice * i[1]:
        i = i[::-1]
    rate = math.sqrt((i[2] - i[1]) * (square - twice * i[0]) / i.prod())
    k = math.sqrt((i[1] - i[0]) * (twice * i[2] - square) / ((i[2] - i[1]) * (square - twice * i[0])))
    return 2.0 * elliptic_k(k) / rate


def _zeros(inertia: tuple, omega: tuple, h: float, count: int) -> list[float]:
    """Times at which the middle component of w crosses zero [s], from the line through five steps around."""
    substeps = 4
    sim, moments = _top(inertia, omega, dt=h * substeps, substeps=substeps), np.array(inertia)
    times, values, found = [0.0], [omega[1]], []
    while len(found) < count and sim.time < 30.0:
        sim.step()
        times.append(sim.time)
        values.append(float(_state(sim, moments)[0][1]))
        at = len(values) - 3
        if at >= 2 and values[at] * values[at - 1] <= 0.0:
            near = slice(at - 3 if at >= 3 else 0, at + 3)
            # time as a polynomial of the value: exact to the fifth order where w crosses
            x, y = np.array(values[near]), np.array(times[near]) - times[at]
            found.append(times[at] + float(_neville(x, y)))
    return found


def _neville(x: np.ndarray, y: np.ndarray) -> float:
    """The polynomial through (x, y) at zero."""
    p = y.copy()
    for m in range(1, len(x)):
        p = (x[m:] * p[:-1] - x[:-m] * p[1:]) / (x[m:] - x[:-m])
    return float(p[0])


@check("a free top turns over", f"zeros of w2: half periods 2 K(k) / rate; {_EULER}", precisions=ONE)
def crossings(_: str) -> Iterator[Measurement]:
    """Times at which w2 crosses zero, at two substeps, extrapolated to none; the first case is printed."""
    for inertia, omega, printed in (
        ((1.0, 2.0, 3.0), (0.1, 10.0, 0.1), (1.091691, 1.955287)),
        ((1.0, 2.0, 3.0), (1.0, 6.0, 0.5), None),
        ((0.3, 0.5, 0.7), (2.0, 3.0, 3.0), None),
    ):
        times = [np.array(_zeros(inertia, omega, h, 3)) for h in (1 / 1200, 1 / 2400)]
        exact = (4.0 * times[1] - times[0]) / 3.0
        error = float(np.abs(times[1] - times[0]).max()) / 3.0
        case = f"I {inertia}, w {omega}"
        half = half_period(inertia, omega)
        if printed is not None:
            yield equal(f"first zero, {case} [s]", printed[0], exact[0], absolute=5e-7 + 0.05 * error,
                        theory="half a printed digit, and a twentieth of the error before extrapolation")  # fmt: skip
            yield equal(f"half period in closed form, {case} [s]", printed[1], half, absolute=5e-7,
                        theory="half a printed digit")  # fmt: skip
        for n in (1, 2):
            yield equal(
                f"from zero {n} to {n + 1}, {case} [s]",
                half,
                float(exact[n] - exact[n - 1]),
                absolute=1e-9 + 0.05 * error,
                theory="a second-order rule: a twentieth of the error before extrapolation",
            )
        yield equal(
            f"error of the third zero without extrapolation, {case} [s]", 0.0, float(times[1][2] - exact[2]),
            absolute=0.01, theory="half a percent: energy is off by (w h)^2 / 12, which the logarithm in K multiplies"
        )  # fmt: skip


@check("a symmetric top precesses about L", "|L| / I1, free regular precession", precisions=ONE)
def symmetric(_: str) -> Iterator[Measurement]:
    """Angle that the axis of figure turned about L in two seconds, over that of theory."""
    for i1, i3, w1, w3 in ((1.0, 2.0, 3.0, 5.0), (1.0, 0.2, 2.0, 20.0), (0.02, 0.025, 8.0, -3.0)):
        inertia, dt = np.array((i1, i1, i3)), 1 / 240
        sim = _top((i1, i1, i3), (w1, 0.0, w3), dt=dt, substeps=10)
        momentum = _state(sim, inertia)[1]
        n = momentum / np.linalg.norm(momentum)
        u = np.cross(n, np.array([0.0, 0.0, 1.0]))
        u /= np.linalg.norm(u)
        v = np.cross(n, u)
        total, before = 0.0, None
        for _step in range(481):
            axis = matrix(sim.state.body_rotations[0])[:, 2]
            now = math.atan2(float(axis @ v), float(axis @ u))
            if before is not None:
                total += (now - before + math.pi) % (2.0 * math.pi) - math.pi
            before = now
            sim.step()
        rate = float(np.linalg.norm(momentum)) / i1
        yield equal(
            f"rate over |L| / I1, I1 {i1:g}, I3 {i3:g}, w ({w1:g}, {w3:g})",
            1.0,
            total / 2.0 / rate,
            absolute=0.25 * ((rate + abs(w3)) * dt / 10) ** 2 + 1e-9,
            theory="midpoint rule: (w h)^2 / 12 in each rate, with a factor of three",
        )


@check("bodies do not know the precision of particles", "bodies are in double precision: equal bits", precisions=ONE)
def precision_of_bodies(_: str) -> Iterator[Measurement]:
    """A bouncing, tumbling box, in both precisions and on two threads."""
    states = []
    for settings in ({"precision": "float64", "threads": 1}, {"precision": "float32", "threads": 1},
                     {"precision": "float32", "threads": 2}):  # fmt: skip
        scene = Scene()
        scene.add_collider(Sphere(1.0), friction=0.4)
        box = scene.add_rigid_body(
            Box((0.2, 0.3, 0.5)), position=(0.1, 1.4, 0), angular_velocity=(1, 2, 3), friction=0.4
        )
        sim = Simulation(scene, **settings)  # type: ignore[arg-type]
        sim.step(60)
        states.append(np.concatenate([place(sim, box), sim.state.body_rotations[0], spin(sim, box)]))
    for name, state in (("float32", states[1]), ("two threads", states[2])):
        yield equal(f"difference of pose and spin, {name}", 0.0, float(np.abs(state - states[0]).max()), absolute=0.0,
                    theory="equal bits")  # fmt: skip
