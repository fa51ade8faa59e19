"""Impacts of bodies: bounces, oblique impacts, free bodies that collide, Newton's cradle."""

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
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.rigid_scenes import ONE, floor, place, single, spin, turn, velocity, weightless

_NEWTON = "Newton's law of impact, v' = -e v; Mueller et al. 2020, Detailed Rigid Body Simulation, eq. 34"
_HEIGHT = 2.0


def _apexes(sim: Simulation, body: BodyHandle, count: int, rest: float) -> list[float]:
    """Greatest heights [m] above where it rests after each of some bounces."""
    heights: list[float] = []
    best, rising = 0.0, False
    for _ in range(30000):
        sim.step()
        speed, y = float(velocity(sim, body)[1]), float(place(sim, body)[1]) - rest
        if speed > 0.0:
            best, rising = y if not rising else max(best, y), True
        elif rising:
            heights.append(max(best, y))
            rising = False
            if len(heights) == count:
                return heights
    return [*heights, math.nan]


def _shapes() -> list[tuple[str, Shape, float]]:
    """Shapes and how high their centres are when they rest."""
    return [("ball", Sphere(0.1), 0.1), ("box", Box((0.3, 0.2, 0.3)), 0.1)]


@check("bounces of a body", f"bounce n reaches e^(2 n) h0, 1 % at steps of 1 ms; {_NEWTON}", precisions=ONE)
def bounces(_: str) -> Iterator[Measurement]:
    """A ball and a box that falls flat are dropped on the ground, on a collider and on a body that is kinematic."""
    for name, shape, rest in _shapes():
        for e, count in ((0.5, 2), (0.8, 4), (1.0, 10)):
            scene = Scene()
            if name == "ball":
                floor(scene, 0.0, restitution=e)
            else:
                scene.add_rigid_body(Box((2, 1, 2)), position=(0, -0.5, 0), restitution=e, friction=0.0, kinematic=True)
            body = scene.add_rigid_body(shape, position=(0, rest + _HEIGHT, 0), restitution=e, friction=0.0)
            heights = _apexes(single(scene, dt=1e-3, substeps=1), body, count, rest)
            if e < 1.0:
                for n, height in enumerate(heights, 1):
                    yield equal(f"height of bounce {n} over that of the drop, {name}, e {e:g}", e ** (2 * n),
                                height / _HEIGHT, relative=0.01, theory="the requirement: 1 % at 1 ms")  # fmt: skip
                continue
            last = heights[-1] / _HEIGHT
            yield at_least(f"height of bounce 10 over that of the drop, {name}, e 1", 0.985, last,
                           theory="the requirement: 1.5 %")  # fmt: skip
            yield at_most(f"the same, nothing is gained, {name}, e 1", 1.0, last, absolute=0.015,
                          theory="the requirement: 1.5 %")  # fmt: skip


@check(
    "oblique impact of a ball", "it leaves at 5/7 of its tangential speed or slips by mu (1 + e) v_n", precisions=ONE
)
def oblique(_: str) -> Iterator[Measurement]:
    """A ball is thrown at the ground, gently enough to stick and hard enough to slip."""
    throws = (1.0, 3.0, 0.6, 0.5), (4.0, 2.0, 0.5, 0.2), (2.0, 1.0, 0.0, 0.1), (1.0, 1.0, 0.0, 0.9)
    for (vt, vn, e, mu), solver in itertools.product(throws, ("auto", "sweeps")):
        scene = weightless()
        floor(scene, mu, restitution=e)
        ball = scene.add_rigid_body(
            Sphere(0.1), position=(0, 0.2, 0), velocity=(vt, -vn, 0), friction=mu, restitution=e
        )  # fmt: skip
        sim = single(scene, dt=1 / 120, substeps=10, rigid_solver=solver)
        sim.step(24)
        slips = mu * (1.0 + e) * vn < 2.0 / 7.0 * vt
        left = vt - mu * (1.0 + e) * vn if slips else 5.0 / 7.0 * vt
        case = (
            f"v ({vt:g}, {-vn:g}) m/s, e {e:g}, mu {mu:g}{', slips' if slips else ''}{', swept' * (solver == 'sweeps')}"
        )
        theory = "impulses are exact; the ball turns by w h during the substep of the impact"
        yield equal(f"normal speed, {case} [m/s]", e * vn, float(velocity(sim, ball)[1]), absolute=0.01 * vn,
                    theory=theory)  # fmt: skip
        yield equal(f"tangential speed, {case} [m/s]", left, float(velocity(sim, ball)[0]), relative=0.01,
                    theory=theory)  # fmt: skip
        yield equal(f"spin, {case} [rad/s]", -2.5 * (vt - left) / 0.1, float(spin(sim, ball)[2]), relative=0.01,
                    theory=theory)  # fmt: skip


@check("a ball hits a bar off its middle", f"j = (1 + e) v / (1/m1 + 1/m2 + r^2/I); {_NEWTON}", precisions=ONE)
def off_centre(_: str) -> Iterator[Measurement]:
    """A ball strikes a free bar, without friction."""
    for r, e, v in ((0.0, 1.0, 2.0), (0.3, 1.0, 2.0), (0.4, 0.5, 3.0), (0.2, 0.0, 1.0)):
        scene = weightless()
        bar = scene.add_rigid_body(Box((1.0, 0.1, 0.1)), density=500.0, friction=0.0, restitution=e)
        ball = scene.add_rigid_body(
            Sphere(0.05), mass=2.0, position=(r, 0.15, 0), velocity=(0, -v, 0), friction=0.0, restitution=e
        )  # fmt: skip
        sim = single(scene, dt=1 / 100, substeps=10)
        sim.step(20)
        mass = 500.0 * 0.01
        inertia = mass * (1.0 + 0.01) / 12.0
        j = (1.0 + e) * v / (1.0 / 2.0 + 1.0 / mass + r * r / inertia)
        case = f"r {r:g} m, e {e:g}, v {v:g} m/s"
        for what, expected, measured in (
            ("speed of the ball", j / 2.0 - v, velocity(sim, ball)[1]),
            ("speed of the bar", -j / mass, velocity(sim, bar)[1]),
            ("spin of the bar", -j * r / inertia, spin(sim, bar)[2]),
        ):
            yield equal(f"{what}, {case}", expected, float(measured),
                        absolute=0.01 * v * (5.0 if "spin" in what else 1.0),
                        theory="1 %: the arm changes by less than v h")  # fmt: skip


@check("momentum of bodies that collide", "Newton's third law: forces are opposite and on one line", precisions=ONE)
def momentum(_: str) -> Iterator[Measurement]:
    """Tumbling bodies fly into each other: sums of momentum and angular momentum over a second."""
    shapes = (Box((0.3, 0.2, 0.5)), Sphere(0.15), Capsule(0.1, 0.3), Box((0.2, 0.2, 0.2)))
    for seed, (e, mu) in enumerate(((0.0, 0.5), (0.5, 0.0), (1.0, 0.3))):
        rng = np.random.default_rng(seed)
        scene = weightless()
        for i, shape in enumerate(shapes):
            at = 0.5 * np.array([math.cos(0.5 * math.pi * i), 0.1 * i, math.sin(0.5 * math.pi * i)])
            scene.add_rigid_body(
                shape, density=500.0 * (1 + i), position=at, rotation=turn(rng.normal(size=3), rng.uniform(0, 3)),
                velocity=-3.0 * at + 0.1 * rng.normal(size=3), angular_velocity=2.0 * rng.normal(size=3), friction=mu,
                restitution=e
            )  # fmt: skip
        sim = single(scene, substeps=10)
        before, turning, energy, met = sim.momentum(), sim.angular_momentum(), sim.energy().kinetic, 0
        for _step in range(60):
            sim.step()
            met += len(sim.contacts())
        size = math.sqrt(2.0 * energy * 60.0)
        yield at_least(f"contacts, e {e:g}, mu {mu:g}", 1, met, theory="they meet")
        yield equal(
            f"change of momentum, e {e:g}, mu {mu:g}", 0.0, float(np.linalg.norm(sim.momentum() - before)),
            absolute=1e-9 * size, theory="roundings of x / h in 600 substeps"
        )  # fmt: skip
        yield equal(
            f"change of angular momentum, e {e:g}, mu {mu:g}", 0.0,
            float(np.linalg.norm(sim.angular_momentum() - turning)),
            absolute=1e-9 * size, theory="both arms of a contact point end at one point of the world"
        )  # fmt: skip
        yield at_most(f"energy after over before, e {e:g}, mu {mu:g}", 1.0, sim.energy().kinetic / energy,
                      absolute=0.005, theory="an impact gains nothing; 0.5 % for turning arms")  # fmt: skip


@check("two bodies meet head on", f"the textbook's velocities; {_NEWTON}", precisions=ONE)
def head_on(_: str) -> Iterator[Measurement]:
    """Balls and boxes of different masses."""
    for shape, m, v, e in (
        (Sphere(0.1), (1.0, 1.0), (2.0, 0.0), 1.0), (Sphere(0.1), (0.1, 3.0), (4.0, -1.0), 0.6),
        (Box((0.2, 0.2, 0.2)), (2.0, 0.5), (1.0, -2.0), 0.0), (Box((0.2, 0.3, 0.2)), (1.0, 1000.0), (0.0, -2.0), 1.0),
    ):  # fmt: skip
        scene = weightless()
        pair = [
            scene.add_rigid_body(
                shape, mass=m[k], position=(0.3 * k - 0.15, 0, 0), velocity=(v[k], 0, 0), restitution=e
            )
            for k in (0, 1)
        ]
        sim = single(scene, dt=1e-2, substeps=10)
        sim.step(20)
        mean = (m[0] * v[0] + m[1] * v[1]) / (m[0] + m[1])
        for k in (0, 1):
            yield equal(
                f"speed of {type(shape).__name__.lower()} {k} of {m[k]:g} kg, from {v[k]:g} m/s, e {e:g} [m/s]",
                mean + e * m[1 - k] / (m[0] + m[1]) * (v[1 - k] - v[k]),
                float(velocity(sim, pair[k])[0]),
                absolute=1e-4 * abs(v[0] - v[1]),
                theory="exact but for what a hard contact yields",
            )


@check("Newton's cradle", f"as many balls leave as came, the others hang still; {_NEWTON}", precisions=ONE)
def cradle(_: str) -> Iterator[Measurement]:
    """Five balls on strings, of which one or two are let go; speeds at the lowest point.

    They hang farther apart than they move in a substep. Of rigid balls that touch, momentum and energy do not say who
    leaves, and Newton's law, which holds for all pairs at once, lets the first one bounce back.
    """
    for pulled, gap in ((1, 1e-3), (1, 3e-3), (2, 1e-3)):
        scene = Scene()
        balls, length, lifted = [], 0.6, math.radians(20.0)
        for i in range(5):
            hook = np.array([i * (0.1 + gap), 0.0, 0.0])
            angle = -lifted if i < pulled else 0.0
            at = hook + length * np.array([math.sin(angle), -math.cos(angle), 0.0])
            ball = scene.add_rigid_body(Sphere(0.05), position=at, friction=0.0, restitution=1.0)
            scene.add_joint("hinge", ball, anchor=hook, axis=(0, 0, 1))
            balls.append(ball)
        sim = single(scene, dt=1 / 240, substeps=10)
        inertia = 0.4 * 0.05**2 + length**2
        sim.step(round(240 * 0.5 * math.pi * math.sqrt(inertia / (9.81 * length))) + 24)
        speed = length * 2.0 * math.sin(0.5 * lifted) * math.sqrt(9.81 * length / inertia)
        # in the tenth of a second since, those who left went on as pendulums
        w = math.sqrt(9.81 * length / inertia)
        for i, ball in enumerate(balls):
            now, away = float(velocity(sim, ball)[0]), float(place(sim, ball)[0]) - i * (0.1 + gap)
            part = math.copysign(math.hypot(now, w * away), now) / speed
            expected = 1.0 if i >= 5 - pulled else 0.0
            yield equal(
                f"speed of ball {i + 1} at the lowest point over that of the {pulled} that came, gap {gap:g} m",
                expected, part, absolute=0.02, theory="2 %: the losses of an implicit step in a quarter of a swing"
            )  # fmt: skip


@check("fast bodies do not pass through others", "momentum is kept, the order on a line stays, inelastic v' = v m / M")
def through(precision: str) -> Iterator[Measurement]:
    """A ball flies into a row of balls, and two rows fly into each other, far more than their length in a substep."""
    gap, radius, count = 0.15, 0.1, 5
    for speed in (10.0, 100.0, 1000.0):
        for substeps in (1, 4, 20):
            for facing in (False, True):
                scene = weightless()
                bodies = []
                for k in range(count):
                    v = speed if k == 0 else (-speed if facing and k == count - 1 else 0.0)
                    at = (k * (2.0 * radius + gap), 0.0, 0.0)
                    bodies.append(scene.add_rigid_body(Sphere(radius), mass=1.0 + k, position=at, velocity=(v, 0, 0)))
                sim = Simulation(scene, substeps=substeps, precision=precision, threads=1)
                momentum, mass = float(sim.momentum()[0]), count * (count + 1) / 2.0
                sim.step(40)
                x = [float(place(sim, body)[0]) for body in bodies]
                case = f"{speed:g} m/s, {substeps} substeps, {'from both ends' if facing else 'from one end'}"
                yield equal(f"momentum, {case} [kg m/s]", momentum, float(sim.momentum()[0]),
                            absolute=1e-9 * mass * speed, theory="Newton's third law, rounding")  # fmt: skip
                yield at_least(f"least distance of neighbours, {case} [m]", 2.0 * radius, float(np.diff(x).min()),
                               absolute=1e-3 * radius, theory="balls stay in order and apart")  # fmt: skip
                fastest = max(abs(float(velocity(sim, body)[0]) - momentum / mass) for body in bodies)
                yield at_most(f"speeds against m v / M, {case}, over v", 0.0, fastest / speed, absolute=1e-2,
                              theory="inelastic impacts one after the other")  # fmt: skip
