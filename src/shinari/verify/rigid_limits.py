"""Limits, springs, dampers, gears and breaking of joints, against statics and linear vibrations."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.rigid_scenes import ONE, angle_between, axes, figure, place, single, spin, velocity, weightless

_G = 9.81


@check("springs hold bodies", "m g a and their forces; Mueller et al. 2020, Detailed Rigid Body Simulation, section 4",
       precisions=ONE)  # fmt: skip
def springs(_: str) -> Iterator[Measurement]:
    """Two masses, each on a spring, and a light one between two springs; compliance 0.01 m/N, g = 10."""
    scene = Scene(gravity=(0, -10, 0))
    bodies, joints = [], []
    # x, mass, spring hangs from the body before
    for x, mass, chained in ((0.0, 1.0, False), (1.0, 0.125, False), (2.0, 0.001, False), (2.0, 1.0, True)):
        at = np.array([x, -0.4 if chained else -0.2, 0.0])
        body = scene.add_rigid_body(Sphere(0.02), mass=mass, position=at)
        joints.append(
            scene.add_joint(
                "distance",
                body,
                bodies[-1] if chained else None,
                anchor=at,
                second_anchor=at + np.array([0, 0.2, 0]),
                compliance=0.01,
            )
        )
        bodies.append(body)
    # an implicit step of 1/60 s damps the slowest mode, w^2 = 50, by exp(-w^2 h t / 2)
    sim = single(scene, dt=1 / 60, substeps=1)
    starts = [place(sim, body) for body in bodies]
    sim.step(3000)
    for i, (name, extension, force) in enumerate((
        ("1 kg", 0.1, 10.0), ("1/8 kg", 0.0125, 1.25), ("1 g with 1 kg below", 0.1001, 10.01), ("1 kg", 0.1, 10.0)
    )):  # fmt: skip
        down = float(starts[i][1] - place(sim, bodies[i])[1])
        if i == 3:
            down -= float(starts[2][1] - place(sim, bodies[2])[1])
        yield equal(f"extension, {name} [m]", extension, down, relative=1e-6, theory="statics, m g a")
        yield equal(f"force, {name} [N]", force, float(np.linalg.norm(sim.forces(joints[i]).force)), relative=1e-6,
                    theory="statics, m g")  # fmt: skip


@check("limits stop joints", "statics: a limit gives way by its compliance times its load", precisions=ONE)
def limits(_: str) -> Iterator[Measurement]:
    """Arms fall on limits of a hinge, a cone, a twist; weights slide down to limits of travel."""
    for soft in (0.0, 1e-3):
        scene = Scene()
        hinge = scene.add_rigid_body(Box((0.6, 0.1, 0.1)), mass=2.0, position=(0.3, 0, 0))
        scene.add_joint("hinge", hinge, anchor=(0, 0, 0), axis=(0, 0, 1), limits=(-0.4, 0.2), limit_compliance=soft,
                        damping=1.0)  # fmt: skip
        cone = scene.add_rigid_body(Box((0.6, 0.1, 0.1)), mass=2.0, position=(2.3, 0, 0))
        scene.add_joint("ball", cone, anchor=(2, 0, 0), axis=(1, 0, 0), swing_limit=0.5, limit_compliance=soft,
                        damping=1.0)  # fmt: skip
        twist = scene.add_rigid_body(Box((0.6, 0.1, 0.1)), mass=2.0, position=(4, 0, 0.3))
        scene.add_joint("cylindrical", twist, anchor=(4, 0, 0), axis=(1, 0, 0), twist_limits=(-0.1, 0.3),
                        limit_compliance=soft, damping=1.0)  # fmt: skip
        slide = scene.add_rigid_body(Box((0.1, 0.1, 0.1)), mass=2.0, position=(6, 0, 0))
        scene.add_joint("slider", slide, anchor=(6, 0, 0), axis=(0, 1, 0), limits=(-0.25, 1.0), limit_compliance=soft,
                        damping=20.0)  # fmt: skip
        rope = scene.add_rigid_body(Sphere(0.05), mass=2.0, position=(8, -0.3, 0))
        scene.add_joint("distance", rope, anchor=(8, -0.3, 0), second_anchor=(8, 0, 0), limits=(0.0, 0.5),
                        limit_compliance=soft if soft == 0.0 else 1e-3, damping=20.0)  # fmt: skip
        sim = single(scene)
        sim.step(600)
        weight = 2.0 * _G
        for name, at, lever, body, sense in (
            ("angle of a hinge", 0.4, 0.3, hinge, (1, 0)), ("swing of a ball joint", 0.5, 0.3, cone, (1, 0)),
            ("twist of a cylinder", 0.3, 0.3, twist, (1, 2)),
        ):  # fmt: skip
            arm = axes(sim, body)[:, 0 if sense[1] == 0 else 2]
            expected = _settled(at, weight * lever * soft)
            yield equal(
                f"{name}, compliance {soft:g} rad/(N m) [rad]", expected, -math.asin(float(arm[1])), absolute=1e-5,
                theory="moment of the weight times the compliance"
            )  # fmt: skip
        for name, expected, measured in (
            ("travel of a slider", 0.25 + weight * soft, -float(place(sim, slide)[1])),
            ("length of a rope", 0.5 + weight * soft, -float(place(sim, rope)[1])),
        ):
            yield equal(f"{name}, compliance {soft:g} m/N [m]", expected, measured, absolute=1e-5,
                        theory="weight times the compliance")  # fmt: skip


def _settled(limit: float, give: float) -> float:
    """Angle below the horizon a where a = limit + give cos a."""
    a = limit
    for _ in range(60):
        a = limit + give * math.cos(a)
    return a


@check("limits are not passed", "a hard limit stops what runs into it", precisions=ONE)
def bumps(_: str) -> Iterator[Measurement]:
    """Flywheels and sledges run into hard limits at several speeds: the farthest that they came."""
    for speed in (0.5, 5.0, 30.0):
        scene = weightless()
        wheel = scene.add_rigid_body(None, mass=1.0, inertia=(0.1, 0.1, 0.1), angular_velocity=(0, speed, 0))
        scene.add_joint("hinge", wheel, anchor=(0, 0, 0), axis=(0, 1, 0), limits=(-1.0, 1.0))
        sledge = scene.add_rigid_body(
            None, mass=1.0, inertia=(0.1, 0.1, 0.1), position=(3, 0, 0), velocity=(speed, 0, 0)
        )
        scene.add_joint("slider", sledge, anchor=(3, 0, 0), axis=(1, 0, 0), limits=(-1.0, 1.0))
        sim = single(scene, substeps=10)
        first, angle, displacement = axes(sim, wheel), 0.0, 0.0
        for _step in range(math.ceil(90.0 / speed) + 30):
            sim.step()
            angle = max(angle, angle_between(first, axes(sim, wheel)))
            displacement = max(displacement, float(place(sim, sledge)[0]) - 3.0)
        yield equal(f"farthest angle, {speed:g} rad/s [rad]", 1.0, angle, absolute=1e-3, theory="it stops at 1")
        yield equal(f"farthest travel, {speed:g} m/s [m]", 1.0, displacement, absolute=1e-3, theory="it stops at 1")


@check("damping of joints", "v = v0 exp(-c t / m), w = w0 exp(-c t / I)", precisions=ONE)
def damping(_: str) -> Iterator[Measurement]:
    """A wheel and a sledge slow down; also a spring with damping, critically."""
    for c in (0.2, 1.0):
        scene = weightless()
        wheel = scene.add_rigid_body(None, mass=1.0, inertia=(0.5, 0.5, 0.5), angular_velocity=(0, 3.0, 0))
        scene.add_joint("hinge", wheel, anchor=(0, 0, 0), axis=(0, 1, 0), damping=c)
        sledge = scene.add_rigid_body(None, mass=2.0, inertia=(0.1, 0.1, 0.1), position=(3, 0, 0), velocity=(2.0, 0, 0))
        scene.add_joint("slider", sledge, anchor=(3, 0, 0), axis=(1, 0, 0), damping=c)
        sim = single(scene)
        sim.step(60)
        for name, start, rate, measured in (("wheel", 3.0, c / 0.5, spin(sim, wheel)[1]),
                                            ("sledge", 2.0, c / 2.0, velocity(sim, sledge)[0])):  # fmt: skip
            yield equal(f"speed after 1 s over v0, {name}, c {c:g}", math.exp(-rate), float(measured) / start,
                        relative=rate**2 / 1200, theory="implicit Euler: c^2 t h / 2, doubled")  # fmt: skip


@check("gears", "turns in the ratio, momenta as moments of one force: I1 w1' = -n I2 w2' ...", precisions=ONE)
def gears(_: str) -> Iterator[Measurement]:
    """A wheel that turns is coupled with one at rest; both on hinges."""
    for ratio, i1, i2 in ((2.0, 0.1, 0.4), (-0.5, 0.2, 0.1), (-3.0, 0.1, 0.1)):
        scene = weightless()
        first = scene.add_rigid_body(None, mass=1.0, inertia=(i1,) * 3, angular_velocity=(0, 0, 6.0))
        second = scene.add_rigid_body(None, mass=1.0, inertia=(i2,) * 3, position=(1, 0, 0))
        scene.add_joint("hinge", first, anchor=(0, 0, 0), axis=(0, 0, 1))
        scene.add_joint("hinge", second, anchor=(1, 0, 0), axis=(0, 0, 1))
        scene.add_joint("gear", first, second, axis=(0, 0, 1), ratio=ratio)
        sim = single(scene, substeps=10)
        # the impulse J of the gear gives I1 (w1 - 6) = J, I2 w2 = -ratio J, with w1 = ratio w2
        w2 = 6.0 * i1 * ratio / (i2 + i1 * ratio * ratio)
        sim.step(120)
        case = f"ratio {ratio:g}, I {i1:g} and {i2:g}"
        yield equal(f"w1, {case} [rad/s]", ratio * w2, float(spin(sim, first)[2]), relative=1e-4, theory="closed form")
        yield equal(f"w2, {case} [rad/s]", w2, float(spin(sim, second)[2]), relative=1e-4, theory="closed form")


@check("joints break", "it holds up to its strength and breaks above", precisions=ONE)
def breaking(_: str) -> Iterator[Measurement]:
    """Weights hang from joints that are 5 % stronger and weaker than the load; brackets by their moment."""
    for kind in ("ball", "fixed", "hinge", "distance"):
        for part in (1.05, 0.95):
            scene = Scene()
            body = scene.add_rigid_body(Box((0.1, 0.1, 0.1)), mass=2.0, position=(0, -0.2, 0))
            options: dict[str, Any] = {"axis": (0, 0, 1)} if kind == "hinge" else {}
            if kind == "distance":
                options = {"second_anchor": (0, 0.3, 0)}
            scene.add_joint(kind, body, anchor=(0, 0, 0), break_force=part * 2.0 * _G, **options)
            sim = single(scene)
            sim.step(60)
            fall = -0.2 - float(place(sim, body)[1])
            if part > 1.0:
                yield at_most(f"fall in 1 s, {kind}, force at {part:g} of the load [m]", 1e-4, fall, theory="it holds")
            else:
                yield at_least(f"fall in 1 s, {kind}, force at {part:g} of the load [m]", 4.0, fall,
                               theory="it fell for a second, less some substeps: g / 2 is 4.9 m")  # fmt: skip
    for part in (1.05, 0.95):
        scene = Scene()
        body = scene.add_rigid_body(Box((0.1, 0.1, 0.1)), mass=2.0, position=(0.5, 0, 0))
        scene.add_joint("fixed", body, anchor=(0, 0, 0), break_torque=part * 2.0 * _G * 0.5)
        sim = single(scene)
        sim.step(60)
        fall = -float(place(sim, body)[1])
        if part > 1.0:
            yield at_most(f"fall in 1 s, moment at {part:g} of the load [m]", 1e-4, fall, theory="it holds")
        else:
            yield at_least(f"fall in 1 s, moment at {part:g} of the load [m]", 4.0, fall, theory="as above")


@check("forces of figures that jam", "momentum: the floor's force is m (dv/dt - g) in every step", precisions=ONE)
def jammed_figures(_: str) -> Iterator[Measurement]:
    """Two figures tumble onto the floor and each other: stops against contacts, which Newton steps do not settle.

    What the joints round is internal. The force of the floor is measured to the rounding of its own impulses, of which
    each is k h^2 / m = 1e5 times that of a gap: 1e-16 1e5 of what it takes to stop a figure in a step.
    """
    for substeps, seed in ((2, 0), (4, 1), (16, 2)):
        random, scene = np.random.default_rng(seed), Scene(gravity=(0, -_G, 0))
        floor = scene.add_collider(Plane(), friction=0.6)
        for k in range(2):
            figure(scene, np.array([0.2 * k, 0.9 + 0.9 * k, 0.1 * k]), random.uniform(-6.0, 6.0, 3))
        sim = single(scene, dt=1 / 60, substeps=substeps)
        mass = np.array([body.mass for body in scene.bodies])
        weight, error, largest = mass.sum() * _G, 0.0, 0.0
        for _step in range(90):
            before = sim.state.body_velocities.copy()
            sim.step()
            force = 60.0 * mass @ (sim.state.body_velocities - before) + (0.0, weight, 0.0)
            error = max(error, float(np.abs(sim.forces(floor) + force).max()))
            largest = max(largest, float(np.abs(force).max()))
        yield at_most(f"error of the force over its largest, {substeps} substeps", 0.0, error / largest, absolute=1e-8,
                      theory="rounding of stiff rows, for impacts of some hundred substeps' weights")  # fmt: skip
        yield at_least(f"largest force over the weight, {substeps} substeps", 2.0, largest / weight,
                       theory="the figures did fall")  # fmt: skip
