"""Particles on solids: Coulomb friction, and that nothing passes through."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.geometry.motion import Keyframes
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.plane import Plane
from shinari.shapes.sphere import Sphere
from shinari.systems.colliders.collide import SAME_SIDE
from shinari.verify.ledger import Measurement, at_least, check, equal, roundoff
from shinari.verify.scenes import small

_COULOMB = "Coulomb: |f_t| <= mu |f_n|; Macklin et al. 2014, Unified Particle Physics, eq. 24"


def _slide(
    precision: str, degrees: float, mu: float, g: float, speed: float, steps: int, substeps: int
) -> tuple[float, float]:
    """Speed and way down an incline of a particle with that speed at the start [m/s, m]."""
    t = math.radians(degrees)
    down = np.array([math.cos(t), -math.sin(t), 0.0])
    scene = Scene(gravity=(0, -g, 0))
    scene.add_collider(Plane(normal=(math.sin(t), math.cos(t), 0.0)), friction=mu)
    block = scene.add_particles([[0, 0, 0]], mass=0.7, velocity=speed * down)
    sim = small(scene, precision, dt=1 / 60, substeps=substeps)
    sim.step(steps)
    x, v = sim.positions(block)[0].astype(np.float64), sim.velocities(block)[0].astype(np.float64)
    return float(v @ down), float(x @ down)


def _push_error(precision: str, h: float, time: float, reach: float) -> float:
    """Error of a speed after a time of contact [m/s]: four deviations of a random walk of u x / h per substep."""
    return 4.0 * math.sqrt(time / h) * roundoff(precision) * reach / h


@check("sliding down an incline", f"a = g (sin t - mu cos t); {_COULOMB}")
def incline(precision: str) -> Iterator[Measurement]:
    """Speed after half a second from rest over that time, for a grid of angles and coefficients."""
    for degrees in (10, 30, 45, 70):
        for mu in (0.0, 0.1, 0.5, 0.9):
            for g, substeps in ((9.81, 20), (1.62, 5)):
                t = math.radians(degrees)
                a = g * (math.sin(t) - mu * math.cos(t))
                if a <= 0.0:
                    continue
                speed, displacement = _slide(precision, degrees, mu, g, 0.0, 30, substeps)
                yield equal(
                    f"a at {degrees} deg, mu {mu:g}, g {g:g}, {substeps} substeps [m/s^2]",
                    a,
                    speed / 0.5,
                    absolute=(1.0 + mu) * _push_error(precision, 1 / 60 / substeps, 0.5, max(displacement, 0.01)) / 0.5,
                    theory="each substep takes mu g cos(t) h exactly; four deviations of u x / h per substep",
                )


@check("stopping distance", f"v0^2 / (2 mu g), 1 %; {_COULOMB}")
def stopping(precision: str) -> Iterator[Measurement]:
    """A particle slides on level ground until it stops."""
    for mu, v0, g in ((0.3, 3.0, 9.81), (0.8, 5.0, 9.81), (0.1, 0.5, 1.62), (0.5, 10.0, 3.7)):
        time = v0 / (mu * g)
        speed, displacement = _slide(precision, 0.0, mu, g, v0, math.ceil(1.2 * time * 60), 20)
        expected = v0**2 / (2 * mu * g)
        yield equal(f"way, mu {mu:g}, v0 {v0:g}, g {g:g} [m]", expected, displacement, relative=0.01,
                    theory="one substep less at the mean speed: mu g h / v0 < 1 %")  # fmt: skip
        yield equal(f"speed after it stopped, mu {mu:g}, v0 {v0:g}, g {g:g} [m/s]", 0.0, speed,
                    absolute=2 * roundoff(precision) * (expected + 0.5) * 1200,
                    theory="u x / h: friction takes all the slip of a substep")  # fmt: skip


@check("a particle rests on an incline", f"it stays where mu > tan t; {_COULOMB}")
def creep(precision: str) -> Iterator[Measurement]:
    """Creep in two seconds, up to two degrees short of the angle of friction."""
    for mu in (0.2, 0.5, 1.0):
        for below in (2.0, 10.0):
            degrees = math.degrees(math.atan(mu)) - below
            _, displacement = _slide(precision, degrees, mu, 9.81, 0.0, 120, 20)
            yield equal(
                f"creep in 2 s at {degrees:.1f} deg, mu {mu:g} [m]",
                0.0,
                displacement,
                absolute=2400 * 2.0 * roundoff(precision) * 0.02,
                theory="two roundings of a position below 2 cm in each of 2400 substeps",
            )


@check("conveyor", f"v = min(mu g t, belt); {_COULOMB}")
def conveyor(precision: str) -> Iterator[Measurement]:
    """A particle is put on a belt, a long box that moves along X."""
    for mu, belt in ((0.4, 2.0), (0.2, 1.0), (0.9, -5.0)):
        reached = abs(belt) / (mu * 9.81)
        for time in (0.5 * reached, 2.0 * reached):
            scene = Scene()
            far = (np.array([0.0, 10.0]), np.array([[0.0, -0.1, 0.0], [10.0 * belt, -0.1, 0.0]]))
            scene.add_collider(Box(size=(60.0, 0.2, 1.0)), friction=mu, motion=Keyframes(*far))
            block = scene.add_particles([[0, 0, 0]])
            sim = small(scene, precision, dt=1 / 60)
            steps = round(time * 60)
            sim.step(steps)
            expected = math.copysign(min(mu * 9.81 * steps / 60, abs(belt)), belt)
            yield equal(
                f"speed after {steps / 60:.2f} s, mu {mu:g}, belt {belt:g} m/s [m/s]",
                expected,
                float(sim.velocities(block)[0, 0]),
                absolute=(1.0 + mu) * _push_error(precision, 1 / 1200, steps / 60, 2.0 + abs(belt) * steps / 60),
                theory="each substep takes mu g h exactly; four deviations of u x / h per substep",
            )


def _depth_box(x: np.ndarray, size: tuple[float, float, float]) -> np.ndarray:
    q = np.abs(x) - 0.5 * np.array(size)
    return np.linalg.norm(np.maximum(q, 0.0), axis=-1) + np.minimum(q.max(axis=-1), 0.0)


def _depth_capsule(x: np.ndarray, radius: float, length: float) -> np.ndarray:
    y = x[..., 1] - np.clip(x[..., 1], -0.5 * length, 0.5 * length)
    return np.sqrt(x[..., 0] ** 2 + y**2 + x[..., 2] ** 2) - radius


def _targets() -> list[tuple[str, Shape, float, Callable[[np.ndarray], np.ndarray]]]:
    """Thin solids, their radii and their distance functions in their own frames."""
    thin, pebble, wire = (0.4, 0.005, 0.4), 0.004, (0.003, 0.3)
    return [
        ("5 mm box", Box(size=thin), 0.0, lambda x: _depth_box(x, thin)),
        ("8 mm sphere", Sphere(pebble), pebble, lambda x: np.linalg.norm(x, axis=-1) - pebble),
        ("6 mm capsule", Capsule(*wire), wire[0], lambda x: _depth_capsule(x, *wire)),
    ]


@check("nothing tunnels at 20 m/s", "the way of a substep is traced against convex solids; default settings")
def tunnelling(precision: str) -> Iterator[Measurement]:
    """Deepest point of all ways of particles shot at thin solids, at rest and coming towards them.

    Ways are straight in the frame of the solid within a substep, so they are sampled there: a substep is 17 mm at
    20 m/s, several times as long as these solids are thick.
    """
    h = 1 / 1200
    # between two points of a round surface whose normals make an angle with that cosine the chord sags so much
    sag = 1.0 - math.sqrt(0.5 * (1.0 + float(SAME_SIDE)))
    for label, shape, radius, depth in _targets():
        for solid_speed, particle_speed in ((0.0, 20.0), (-20.0, 0.0), (-20.0, 20.0), (15.0, 35.0)):
            start, velocity = _shots(0.25, particle_speed)
            aims = len(start)
            scene = Scene(gravity=(0, 0, 0))
            mirror = Keyframes(np.array([0.0, 1.0]), np.array([[0.0, 0, 0], [0.0, -solid_speed, 0]]))
            scene.add_collider(shape, motion=mirror)
            scene.add_particles(start, velocity=velocity)
            # default substep, one to a step, so that every way is seen
            sim = small(scene, precision, dt=h, substeps=1)
            deepest = math.inf
            before = sim.state.positions.astype(np.float64)
            reach = float(np.abs(before).max()) + 1.0
            for _ in range(40):
                at = sim.collider_poses()[0][0]
                sim.step()
                after = sim.state.positions.astype(np.float64)
                along = np.linspace(0.0, 1.0, 33)[:, None, None]
                displacements = (1 - along) * (before - at) + along * (after - sim.collider_poses()[0][0])
                deepest = min(deepest, float(depth(displacements).min()))
                before = after
            case = f"{label} at {solid_speed:g} m/s, {aims} particles at {particle_speed:g} m/s"
            longest = (abs(solid_speed) + abs(particle_speed)) * h
            yield at_least(
                f"least distance of any way, {case} [m]",
                0.0,
                deepest,
                absolute=1e-3 * longest + sag * radius + 4.0 * roundoff(precision) * reach,
                theory="the trace ends at a thousandth of the way; a way along a round surface is a chord; rounding",
            )


def _shots(distance: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Particles above the origin that fly down at it, from several directions and past it by up to 1 mm."""
    rng = np.random.default_rng(7)
    angles = np.radians([0.0, 20.0, 45.0, 60.0])
    around = rng.uniform(0, 2 * np.pi, 4)
    offsets = 0.001 * rng.uniform(-1, 1, (6, 3))
    starts, velocities = [], []
    for tilt in angles:
        for turn in around:
            displacement = np.array([math.sin(tilt) * math.cos(turn), -math.cos(tilt), math.sin(tilt) * math.sin(turn)])
            for offset in offsets:
                starts.append(offset - distance * displacement)
                velocities.append(speed * displacement)
    return np.array(starts), np.array(velocities)
