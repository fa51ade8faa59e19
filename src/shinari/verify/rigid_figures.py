"""Figures that fall on each other, swept: their joints hold, they come to rest, and tell their forces."""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.handle import ColliderHandle
from shinari.shapes.plane import Plane
from shinari.verify.ledger import Measurement, at_least, at_most, check
from shinari.verify.rigid_scenes import ONE, Anchor, Figure, figure, single

_G = 9.81


def _rain(count: int, seed: int, **settings: float) -> tuple[Simulation, list[Figure], ColliderHandle, np.ndarray]:
    """So many figures that fall on each other, the floor, and the masses of all bodies."""
    random, scene = np.random.default_rng(seed), Scene(gravity=(0, -_G, 0))
    floor = scene.add_collider(Plane(), friction=0.6)
    figures = []
    for k in range(count):
        at = np.array([0.7 * (k % 2), 1.0 + 1.6 * (k // 2), 0.0]) + random.uniform(-0.1, 0.1, 3)
        figures.append(figure(scene, at, random.uniform(-3.0, 3.0, 3)))
    masses = np.array([body.mass for body in scene.bodies])
    return single(scene, rigid_solver="sweeps", sleep=False, **settings), figures, floor, masses


def _gap(sim: Simulation, anchors: list[Anchor]) -> float:
    """The largest gap of a joint [m]."""
    return max(float(np.linalg.norm(anchor.gap(sim))) for anchor in anchors)


def _beyond(figures: list[Figure]) -> float:
    """The largest angle of a hinge beyond its limits [rad]."""
    angles = [joint.angle for each in figures for joint in each.joints[1::2]]
    return max(max(angle, -1.5 - angle) for angle in angles)


@check("figures that fall come to rest", "energy is lost only; joints hold unless a path is stopped",
       precisions=ONE)  # fmt: skip
def rest(_: str) -> Iterator[Measurement]:
    """A rain of figures on the floor and on each other, swept from the first contact on."""
    for count, substeps, seed in ((4, 4, 0), (10, 4, 1), (16, 4, 2), (8, 10, 3)):
        sim, figures, floor, masses = _rain(count, seed, dt=1 / 60, substeps=substeps)
        anchors = [anchor for each in figures for anchor in each.anchors(sim)]
        energy = sim.energy()
        whole = last = energy.kinetic + energy.gravitational
        gained = gap = path = 0.0
        for _step in range(300):
            sim.step()
            energy = sim.energy()
            now = energy.kinetic + energy.gravitational
            gained, last = max(gained, now - last), now
            fastest = float(np.linalg.norm(sim.state.body_velocities, axis=1).max())
            path = max(path, fastest / (60.0 * substeps))
            gap = max(gap, _gap(sim, anchors))
        case = f"{count} figures, {substeps} substeps"
        yield at_least(f"energy lost over all of it, {case}", 0.5, (whole - now) / whole, theory="they did fall")
        yield at_most(f"largest gain of energy in a step over all of it, {case}", 2e-3, gained / whole,
                      theory="soft contacts give back what they hold at most")  # fmt: skip
        yield at_most(f"largest gap in motion [m], {case}", path, gap,
                      theory="a limb may be stopped for a substep lest it pass through another")  # fmt: skip
        yield at_most(f"largest gap at rest [m], {case}", 1e-4, _gap(sim, anchors), theory="goal")
        yield at_most(f"largest excess over a limit at rest [rad], {case}", 1e-3, _beyond(figures), theory="goal")
        yield at_most(f"energy of motion at the end over all of it, {case}", 1e-3, energy.kinetic / whole,
                      theory="it comes to rest")  # fmt: skip
        force = -sim.forces(floor)[1]
        yield at_most(f"error of the force of the floor over the weight, {case}", 0.05,
                      abs(force / (masses.sum() * _G) - 1.0), theory="statics")  # fmt: skip


def _pushes(sim: Simulation, figures: list[Figure], step: int) -> np.ndarray:
    """Contact forces on all bodies [N], (B, 3): sums over the contacts, and of one body in turn what is told of it."""
    contacts, names = sim.contacts(), np.array([body.name for body in sim.scene.bodies])
    on, back = (names[:, None] == side for side in (contacts.first, contacts.second))
    pushes = on.astype(np.float64) @ contacts.forces - back.astype(np.float64) @ contacts.forces
    bodies = [body for each in figures for body in each.bodies]
    asked = bodies[step % len(bodies)]
    pushes[asked.index] = sim.forces(asked)
    return pushes


@check("forces of swept figures", "momentum: joints and contacts of a body sum to m (dv/dt - g) in every substep",
       precisions=ONE)  # fmt: skip
def forces(_: str) -> Iterator[Measurement]:
    """Every body of a rain of figures, in every substep of a second.

    A row rounds its force by 1e-16 of its stiffness, 1e6 m / h^2, times a displacement: 1e-10 of the largest forces,
    which move a body by some millimetres in a substep; ten times that for the sums. In some substeps the path of a limb
    is stopped at another one: what both exchange as they go on as one is told as a contact, too.
    """
    for count, rate, seed in ((4, 240, 0), (8, 240, 1), (6, 600, 2)):
        sim, figures, _floor, masses = _rain(count, seed, dt=1 / rate, substeps=1)
        error, largest = 0.0, 0.0
        for step in range(rate):
            before = sim.state.body_velocities.copy()
            sim.step()
            change = rate * masses[:, None] * (sim.state.body_velocities - before) + masses[:, None] * (0.0, _G, 0.0)
            change -= _pushes(sim, figures, step)
            for each in figures:
                for joint, (first, second, _place) in zip(each.joints, each.places, strict=True):
                    load = sim.forces(joint).force
                    change[first.index] += load
                    change[second.index] -= load
                    largest = max(largest, float(np.abs(load).max()))
            error = max(error, float(np.abs(change).max()))
        case = f"{count} figures, {rate} substeps a second"
        yield at_most(f"error of the sum over the largest force, {case}", 0.0, error / largest, absolute=1e-8,
                      theory="rounding of stiff rows")  # fmt: skip
        yield at_least(f"largest force of a joint over the weight of a figure, {case}", 1.0,
                       largest / (masses.sum() / count * _G), theory="they did fall")  # fmt: skip
