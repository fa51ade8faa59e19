"""Bodies that slide, stick, topple and roll on level ground and on inclines, against Coulomb's law."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.handle import BodyHandle
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.rigid_scenes import ONE, angle_between, axes, floor, incline, place, single, spin, turn, velocity

_COULOMB = "Coulomb: |f_t| <= mu |f_n|"
_G = 9.81


def _on_incline(
    degrees: float, mu: float, size: tuple[float, float, float] = (0.3, 0.2, 0.3), **settings: float
) -> tuple[Simulation, BodyHandle, np.ndarray]:
    """A block at rest on an incline, and the way down."""
    scene = Scene()
    up, down, rotation = incline(scene, degrees, mu)
    block = scene.add_rigid_body(Box(size), position=0.5 * size[1] * up, rotation=rotation, friction=mu)
    return single(scene, **settings), block, down


@check("a block slides down an incline", f"a = g (sin t - mu cos t); {_COULOMB}", precisions=ONE)
def sliding(_: str) -> Iterator[Measurement]:
    """Speed after half a second from rest over that time, for a grid of angles and coefficients."""
    for degrees in (20.0, 45.0, 70.0):
        for mu in (0.0, 0.3, 0.9):
            for substeps in (5, 20):
                t = math.radians(degrees)
                a = _G * (math.sin(t) - mu * math.cos(t))
                if a > 0.0 and mu < 1.5:
                    sim, block, down = _on_incline(degrees, mu, substeps=substeps)
                    sim.step(30)
                    yield equal(
                        f"a at {degrees:g} deg, mu {mu:g}, {substeps} substeps [m/s^2]", a,
                        float(velocity(sim, block) @ down) / 0.5, relative=1e-3,
                        theory="forces are constant: exact but for where the block settles"
                    )  # fmt: skip


@check("a block stops", f"v0^2 / (2 mu g), 1 %; {_COULOMB}", precisions=ONE)
def stopping(_: str) -> Iterator[Measurement]:
    """A block slides on level ground until it stops, and then stays."""
    for mu, v0, substeps in ((0.3, 3.0, 20), (0.8, 2.0, 20), (0.1, 1.0, 10)):
        scene = Scene()
        floor(scene, mu)
        block = scene.add_rigid_body(Box((0.4, 0.1, 0.3)), position=(0, 0.05, 0), velocity=(v0, 0, 0), friction=mu)
        sim = single(scene, substeps=substeps)
        sim.step(math.ceil(1.2 * v0 / (mu * _G) * 60))
        displacement = float(place(sim, block)[0])
        expected = v0**2 / (2 * mu * _G)
        yield equal(f"way, mu {mu:g}, v0 {v0:g} [m]", expected, displacement, relative=0.01, theory="1 %")
        sim.step(60)
        yield equal(
            f"way in the second after, mu {mu:g}, v0 {v0:g} [m]",
            0.0,
            float(place(sim, block)[0]) - displacement,
            absolute=1e-6,
            theory="static friction holds",
        )


@check("a block at rest stays", f"mu > tan t with a dead band of 2 degrees, creep under 2 cm in 2 s; {_COULOMB}",
       precisions=ONE)  # fmt: skip
def resting(_: str) -> Iterator[Measurement]:
    """Blocks on inclines 2 degrees below and above the angle of friction."""
    for mu in (0.2, 0.5, 0.8):
        critical = math.degrees(math.atan(mu))
        for off in (-2.0, 2.0):
            sim, block, down = _on_incline(critical + off, mu, substeps=10)
            start = place(sim, block)
            sim.step(120)
            displacement = float((place(sim, block) - start) @ down)
            t = math.radians(critical + off)
            if off < 0.0:
                yield at_most(f"creep in 2 s, mu {mu:g}, {critical + off:.1f} deg [m]", 1e-3, abs(displacement),
                              theory="a twentieth of the 2 cm allowed")  # fmt: skip
            else:
                a = _G * (math.sin(t) - mu * math.cos(t))
                yield equal(
                    f"way in 2 s, mu {mu:g}, {critical + off:.1f} deg [m]",
                    2.0 * a,
                    displacement,
                    relative=0.02,
                    theory="a t^2 / 2; a is a difference of terms twenty times as large",
                )


@check("a block topples", "tan t > b / h, 2 degrees to each side", precisions=ONE)
def toppling(_: str) -> Iterator[Measurement]:
    """Slender blocks on rough inclines."""
    for b, h in ((0.2, 0.4), (0.1, 0.5), (0.3, 0.45)):
        critical = math.degrees(math.atan(b / h))
        for off in (-2.0, 2.0):
            sim, block, _down = _on_incline(critical + off, 1.5, (b, h, 0.3), substeps=10)
            first = axes(sim, block)
            sim.step(120)
            turned = math.degrees(angle_between(first, axes(sim, block)))
            case = f"turned in 2 s, {b:g} x {h:g} m, {critical + off:.1f} deg [deg]"
            if off < 0.0:
                yield at_most(case, 0.1, turned, theory="it stands")
            else:
                yield at_least(
                    case, 30.0, turned, theory="it falls: an angle of 2 degrees grows as cosh(t sqrt(3 g / 4 d))"
                )


def _round(name: str) -> tuple[Shape, tuple, float]:
    """Shape with its axis along Z, its rotation, and I / (m R^2)."""
    if name == "sphere":
        return Sphere(0.1), (1, 0, 0, 0), 0.4
    return Cylinder(0.1, 0.3), turn((1, 0, 0), 0.5 * math.pi), 0.5


@check("sliding turns to rolling", "a sphere at 5/7 v0 after 2 v0 / (7 mu g), a cylinder at 2/3 v0 after v0 / (3 mu g)",
       precisions=ONE)  # fmt: skip
def sliding_to_rolling(_: str) -> Iterator[Measurement]:
    """A ball and a roller thrown along the ground without spin."""
    for name in ("sphere", "cylinder"):
        for mu, v0 in ((0.2, 2.0), (0.5, 5.0)):
            shape, rotation, k = _round(name)
            scene = Scene()
            floor(scene, mu)
            body = scene.add_rigid_body(
                shape, position=(0, 0.1, 0), rotation=rotation, velocity=(v0, 0, 0), friction=mu
            )  # fmt: skip
            sim, dt = single(scene, dt=1 / 600, substeps=4), 1 / 600
            ends, rolls = v0 * k / (1.0 + k) / (mu * _G), math.nan
            while sim.time < 2.0 * ends:
                sim.step()
                slip = velocity(sim, body)[0] + 0.1 * spin(sim, body)[2]
                if math.isnan(rolls) and slip <= 1e-3 * v0:
                    rolls = sim.time
            case = f"{name}, mu {mu:g}, v0 {v0:g}"
            yield equal(f"speed over v0, {case}", 1.0 / (1.0 + k), float(velocity(sim, body)[0]) / v0, relative=1e-3,
                        theory="angular momentum about the ground is kept; one substep")  # fmt: skip
            yield equal(f"time until it rolls, {case} [s]", ends, rolls, absolute=2.0 * dt, theory="two steps")
            expected = v0 * ends * (1.0 - 0.5 * k / (1.0 + k)) + (sim.time - ends) * v0 / (1.0 + k)
            yield equal(f"way, {case} [m]", expected, float(place(sim, body)[0]), relative=0.01, theory="1 %")


@check("rolling down an incline", f"g sin t / (1 + k): 5/7 and 2/3, where mu >= tan t k / (1 + k); {_COULOMB}",
       precisions=ONE)  # fmt: skip
def rolling_down(_: str) -> Iterator[Measurement]:
    """A ball and a roller let go on inclines, where they roll and where they slip."""
    for name in ("sphere", "cylinder"):
        for degrees, mu in ((10.0, 0.5), (30.0, 0.5), (45.0, 0.2)):
            shape, rotation, k = _round(name)
            scene = Scene()
            up, down, _lies = incline(scene, degrees, mu)
            body = scene.add_rigid_body(shape, position=0.1 * up, rotation=rotation, friction=mu)
            sim = single(scene, substeps=10)
            sim.step(60)
            t = math.radians(degrees)
            rolls = mu >= k / (1.0 + k) * math.tan(t)
            a = _G * math.sin(t) / (1.0 + k) if rolls else _G * (math.sin(t) - mu * math.cos(t))
            alpha = a / 0.1 if rolls else mu * _G * math.cos(t) / (k * 0.1)
            case = f"{name}, {degrees:g} deg, mu {mu:g}{'' if rolls else ', slips'}"
            yield equal(f"a, {case} [m/s^2]", a, float(velocity(sim, body) @ down), relative=5e-3,
                        theory="constant forces; the point of contact moves by v h in a substep")  # fmt: skip
            yield equal(f"angular acceleration, {case} [rad/s^2]", alpha, -float(spin(sim, body)[2]), relative=5e-3,
                        theory="as above")  # fmt: skip


@check("rolling and torsional friction", "a = rho g / (R (1 + k)); w' = -tau m g / I", precisions=ONE)
def resisting(_: str) -> Iterator[Measurement]:
    """Balls that roll and that spin on the spot until they stop."""
    radius, k = 0.1, 0.4
    for rho, v0 in ((0.002, 0.5), (0.01, 1.0)):
        scene = Scene()
        floor(scene, 0.8)
        body = scene.add_rigid_body(
            Sphere(radius), position=(0, radius, 0), velocity=(v0, 0, 0), angular_velocity=(0, 0, -v0 / radius),
            friction=0.8, rolling_friction=rho
        )  # fmt: skip
        sim = single(scene, substeps=10)
        a = rho * _G / (radius * (1.0 + k))
        sim.step(math.ceil(1.2 * v0 / a * 60))
        yield equal(f"way until it stops, rho {rho:g} m, v0 {v0:g} [m]", v0**2 / (2 * a), float(place(sim, body)[0]),
                    relative=0.01, theory="1 %, as in sliding")  # fmt: skip
    for tau, w0 in ((0.001, 5.0), (0.01, 20.0)):
        scene = Scene()
        floor(scene, 0.8)
        body = scene.add_rigid_body(
            Sphere(radius), position=(0, radius, 0), angular_velocity=(0, w0, 0), friction=0.8, torsional_friction=tau
        )  # fmt: skip
        sim = single(scene, substeps=10)
        rate = tau * _G / (k * radius**2)
        sim.step(round(0.5 * w0 / rate * 60))
        yield equal(f"spin half way to its end, tau {tau:g} m, w0 {w0:g} [rad/s]", w0 - rate * sim.time,
                    float(spin(sim, body)[1]), relative=0.01, theory="1 %, as in sliding")  # fmt: skip


@check("a conveyor takes a block along", f"it slides for u / (mu g) and u^2 / (2 mu g); {_COULOMB}", precisions=ONE)
def conveyor(_: str) -> Iterator[Measurement]:
    """A block is put on a kinematic plate that moves evenly."""
    for mu, u in ((0.4, 1.0), (0.2, -1.5)):
        scene = Scene()
        scene.add_rigid_body(
            Box((20.0, 0.2, 1.0)), position=(0, -0.1, 0), velocity=(u, 0, 0), friction=mu, kinematic=True
        )
        block = scene.add_rigid_body(Box((0.2, 0.1, 0.2)), position=(0, 0.05, 0), friction=mu)
        sim = single(scene, substeps=20)
        ends = abs(u) / (mu * _G)
        sim.step(round(2.0 * ends * 60))
        case = f"mu {mu:g}, {u:g} m/s"
        yield equal(f"speed at twice the time, {case} [m/s]", u, float(velocity(sim, block)[0]), relative=1e-3,
                    theory="it sticks")  # fmt: skip
        yield equal(
            f"way, {case} [m]", u * (sim.time - 0.5 * ends), float(place(sim, block)[0]), relative=0.01,
            theory="1 %, as in stopping"
        )  # fmt: skip
