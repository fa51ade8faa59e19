"""Bodies in containers that they nearly fill: all six walls are near, and each of them holds."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.handle import BodyHandle
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.cone import Cone
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_most, check, equal
from shinari.verify.rigid_scenes import axes, place

_G = 9.81
_CORNERS = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))


def _room(part: float, size: float, shape: str, precision: str, **options) -> tuple[Simulation, BodyHandle, float]:
    """A body that is a part of a cubic container in each direction, its simulation and its mass [kg]."""
    scene = Scene()
    scene.add_collider(Box((size, size, size), inside=True), friction=0.0)
    d = part * size
    shapes = {"box": Box((d, d, d)), "cylinder": Cylinder(0.5 * d, d), "sphere": Sphere(0.5 * d),
              "capsule": Capsule(0.3 * d, 0.4 * d)}  # fmt: skip
    body = scene.add_rigid_body(shapes[shape], friction=0.0, **options)
    sim = Simulation(scene, precision=precision, threads=1)
    return sim, body, scene.bodies[0].mass


@check("a body that fills its container rests", "statics: the walls carry m g and nothing else")
def rests(precision: str) -> Iterator[Measurement]:
    """Bodies that leave a gap of 0.3 to 1 % of the container fall on its floor: forces and depth after 0.5 s."""
    for size, part, shape in ((0.3, 0.298 / 0.3, "box"), (0.02, 0.99, "box"), (5.0, 0.997, "box"),
                              (0.3, 0.99, "cylinder"), (1.0, 0.99, "sphere"), (1.0, 0.99, "capsule")):  # fmt: skip
        sim, body, mass = _room(part, size, shape, precision)
        sim.step(30)
        force = np.asarray(sim.forces(body), float)
        case = f"{shape}, {part:.4g} of {size:g} m"
        yield equal(f"force of the walls over the weight, {case}", 1.0, float(force[1]) / (mass * _G), relative=1e-6,
                    theory="it is at rest")  # fmt: skip
        aside = float(np.hypot(force[0], force[2])) / (mass * _G)
        yield at_most(f"force to the sides over the weight, {case}", 1e-6, aside, theory="it has no friction")
        yield at_most(f"depth in the floor over the size, {case}", 1e-6,
                      -0.5 * (1.0 - part) - float(place(sim, body)[1]) / size, theory="hard contacts")  # fmt: skip


@check("a body shaken in its container stays inside", "six half spaces; impacts without restitution take energy")
def shaken(precision: str) -> Iterator[Measurement]:
    """Boxes with 0.5 to 5 % of play, thrown into a corner at 1 to 30 m/s, and small ones that hit wall after wall."""
    for size, part, speed in ((0.3, 0.298 / 0.3, 1.0), (0.3, 0.298 / 0.3, 30.0), (1.0, 0.95, 5.0), (1.0, 0.995, 10.0),
                              (0.3, 0.02, 30.0), (0.05, 0.3, 10.0)):  # fmt: skip
        direction = np.array([0.6, 0.3, -0.5])
        start = speed * direction / np.linalg.norm(direction)
        sim, body, _ = _room(part, size, "box", precision, velocity=start)
        first = sim.energy()
        gain = deepest = -math.inf
        for _step in range(30):
            sim.step()
            energy = sim.energy()
            gain = max(gain, energy.kinetic + energy.gravitational - first.kinetic - first.gravitational)
            corners = place(sim, body) + part * size * _CORNERS @ axes(sim, body).T
            deepest = max(deepest, float(np.abs(corners).max()) - 0.5 * size)
        case = f"{part:.4g} of {size:g} m at {speed:g} m/s"
        h = sim.settings.substep
        yield at_most(f"depth in a wall over the size, {case}", 0.0, deepest / size, absolute=1e-6,
                      theory="hard contacts")  # fmt: skip
        yield at_most(f"energy gained over its own, {case}", 0.0, gain / first.kinetic, absolute=_G * h / speed,
                      theory="symplectic Euler, m g v h / 2, doubled")  # fmt: skip


def _shape(name: str, size: tuple[float, float, float]) -> Shape:
    """A shape of this size [m]; a round one has the first as its diameter and the second along its axis."""
    r, length = 0.5 * size[0], size[1]
    if name == "box":
        return Box(size)
    if name == "capsule":
        return Capsule(r, length - 2.0 * r)
    return Cone(r, length) if name == "cone" else Cylinder(r, length)


@check("impacts in a full container never gain energy", "T' <= T for a restitution of at most 1, at walls at rest")
def full(precision: str) -> Iterator[Measurement]:
    """Bodies that bounce between walls on all sides at once: fast, spinning, thin, and with friction."""
    for shape, size, room, speed, spin, e, mu, substeps in (
        ("box", (0.298, 0.298, 0.298), 0.3, 10.0, 0.0, 1.0, 0.0, 20),
        ("box", (0.96, 0.96, 0.96), 1.0, 5.0, 40.0, 1.0, 0.3, 10),
        ("box", (0.02, 0.19, 0.06), 0.2, 3.0, 80.0, 0.5, 1.0, 40),
        ("box", (0.258, 0.006, 0.0003), 0.3, 100.0, 0.0, 1.0, 0.3, 20),
        ("cone", (0.99, 0.99, 0.99), 1.0, 1.0, 79.0, 1.0, 0.3, 20),
        ("cylinder", (0.01, 0.29, 0.01), 0.3, 20.0, 60.0, 1.0, 1.0, 5),
        ("capsule", (0.1, 0.28, 0.1), 0.3, 20.0, 60.0, 0.8, 0.3, 20),
    ):
        scene = Scene()
        scene.add_collider(Box((room, room, room), inside=True), friction=mu, restitution=e)
        direction = np.array([0.6, 0.3, -0.5]) / math.sqrt(0.7)
        about = np.array([0.4, -0.5, 0.7]) / math.sqrt(0.9)
        scene.add_rigid_body(
            _shape(shape, size), velocity=speed * direction, angular_velocity=spin * about, friction=mu, restitution=e
        )
        sim = Simulation(scene, precision=precision, threads=1, substeps=substeps)
        first, gain, out = sim.energy(), -math.inf, -math.inf
        least = first.kinetic + first.gravitational
        for _step in range(60):
            sim.step()
            energy = sim.energy().kinetic + sim.energy().gravitational
            gain, least = max(gain, energy - least), min(least, energy)
            out = max(out, float(np.abs(sim.state.body_positions).max()) / room - 0.5)
        extent = " x ".join(f"{d:g}" for d in size)
        case = f"{shape} of {extent} m in {room:g} m, {speed:g} m/s, {spin:g} rad/s, e {e:g}, {substeps} substeps"
        yield at_most(f"energy gained over its own, {case}", 0.0, gain / first.kinetic,
                      absolute=_G * sim.settings.substep / speed,
                      theory="symplectic Euler, m g v h / 2, doubled")  # fmt: skip
        yield at_most(f"centre outside over the size, {case}", 0.0, out, theory="the walls hold")
