"""Tendons and couplings of joints: torque over a gear ratio, ropes around shapes, blocks of pulleys, energy."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.scene.actuator import Muscle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.motors import ForceMotor
from shinari.scene.tendon import Pulley, TendonHandle, Via, Wrap
from shinari.shapes.box import Box
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_most, check, equal
from shinari.verify.rigid_scenes import ONE, single, turn

_G = 9.81


@check("joints that follow each other", "I q'' = M over a ratio: (I1 + c^2 I2) q1'' = M1 + c M2", precisions=ONE)
def couplings(_: str) -> Iterator[Measurement]:
    """Two wheels whose angles are coupled; each in turn is driven, so that the force passes in both directions."""
    first, second = 0.5 * 2.0 * 0.2**2, 0.5 * 3.0 * 0.1**2
    for ratio in (-0.5, 3.0):
        for moments in ((1.0, 0.0), (0.0, 1.0)):
            scene = Scene(gravity=(0.0, 0.0, 0.0))
            wheels = [
                scene.add_rigid_body(Cylinder(radius, 0.1), mass=mass, position=(x, 0.0, 0.0))
                for radius, mass, x in ((0.2, 2.0, 0.0), (0.1, 3.0, 1.0))
            ]
            joints = [
                scene.add_joint("hinge", wheel, anchor=(x, 0, 0), axis=(0, 1, 0), motor=ForceMotor(moment))
                for wheel, x, moment in zip(wheels, (0.0, 1.0), moments, strict=True)
            ]
            law = scene.couple_joints(joints[1], joints[0], (0.0, ratio))
            sim = single(scene)
            sim.step(60)
            spin = (moments[0] + ratio * moments[1]) / (first + ratio**2 * second) * sim.time
            case = f"ratio {ratio:g}, moments {moments}"
            yield equal(f"speed of the first, {case} [rad/s]", spin, joints[0].velocity, relative=1e-6,
                        theory="constant acceleration; rows of 1e6 effective masses over h^2")  # fmt: skip
            yield equal(f"speed of the second, {case} [rad/s]", ratio * spin, joints[1].velocity, relative=1e-6,
                        theory="the derivative of the law")  # fmt: skip
            yield at_most(f"how far the law is off, {case} [rad]", 1e-6, abs(law.length), theory="as above")
            passed = second * ratio * spin / sim.time - moments[1]
            yield equal(f"moment that passes, {case} [N m]", passed, -law.tension, absolute=1e-5,
                        theory="moment balance of the second wheel")  # fmt: skip


@check(
    "a polynomial between joints", "energy of m q2'^2 / 2 + I q1'^2 / 2 with q2 = c0 + c1 q1 + c2 q1^2", precisions=ONE
)
def cam(_: str) -> Iterator[Measurement]:
    """A cam: a slider follows the square of an angle, and hands its energy to the wheel and back."""
    inertia, mass, law = 0.5 * 2.0 * 0.2**2, 1.5, (0.05, 0.1, 0.2)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    wheel = scene.add_rigid_body(Cylinder(0.2, 0.1), mass=2.0, angular_velocity=(0.0, 2.0, 0.0))
    block = scene.add_rigid_body(Box((0.1, 0.1, 0.1)), mass=mass, position=(1, 0, 0), velocity=(0.2, 0.0, 0.0))
    wheels = scene.add_joint("hinge", wheel, anchor=(0, 0, 0), axis=(0, 1, 0))
    slide = scene.add_joint("slider", block, anchor=(1, 0, 0), axis=(1, 0, 0), start=0.05)
    scene.couple_joints(slide, wheels, law)
    sim = single(scene)
    energy = 0.5 * inertia * 4.0 + 0.5 * mass * 0.2**2
    for _i in range(3):
        sim.step(10)
        q = wheels.angle
        yield equal(f"travel at {q:.2f} rad [m]", law[0] + law[1] * q + law[2] * q * q, slide.angle, absolute=1e-6,
                    theory="the law")  # fmt: skip
        slope = law[1] + 2.0 * law[2] * q
        speed = math.sqrt(2.0 * energy / (inertia + mass * slope**2))
        yield equal(f"speed at {q:.2f} rad [rad/s]", speed, wheels.velocity, relative=5e-3,
                    theory="energy; the integrator's order in h: curvature of the law times h")  # fmt: skip


def over(shape: str, radius: float, angle: float) -> tuple[float, float, Scene, TendonHandle, JointHandle]:
    """A tendon from the world over a shape to the end of an arm that hangs from its centre.

    Returns its length and moment arm by geometry, the scene, the tendon and the joint of the arm.
    """
    scene, reach, far = Scene(gravity=(0.0, 0.0, 0.0)), 0.3, 0.4
    direction = np.array([math.cos(angle), math.sin(angle), 0.0])
    arm = scene.add_rigid_body(
        Sphere(0.01), mass=1.0, position=reach * direction, rotation=turn((0, 0, 1), angle)
    )  # fmt: skip
    joint = scene.add_joint("hinge", arm, anchor=(0, 0, 0), axis=(0, 0, 1), start=angle)
    wrap = Wrap(None, radius, (0, 0, 0), axis=(0, 0, 1) if shape == "cylinder" else None)
    tendon = scene.add_tendon([Via(None, (-far, 0, 0)), wrap, Via(arm, reach * direction)], stiffness=0.0)
    # the shorter path leaves over the side of the arm: two tangents and the arc between them
    arc = math.pi - angle - math.acos(radius / far) - math.acos(radius / reach)
    straight = math.sqrt(far**2 - radius**2) + math.sqrt(reach**2 - radius**2)
    return straight + radius * arc, -radius, scene, tendon, joint


@check("a rope around a shape", "L = sqrt(a^2 - r^2) + sqrt(b^2 - r^2) + r arc; arm dL/dq = -r", precisions=ONE)
def wrapped(_: str) -> Iterator[Measurement]:
    """Length and moment arm of a tendon over a cylinder and over a sphere."""
    for shape in ("cylinder", "sphere"):
        for radius, angle in ((0.1, 0.1), (0.2, 0.3), (0.05, 0.2)):
            length, lever, scene, tendon, joint = over(shape, radius, angle)
            sim = single(scene)
            case = f"{shape} of {radius:g} m at {angle:g} rad"
            yield equal(f"length, {case} [m]", length, tendon.length, absolute=1e-12, theory="geometry")
            sim.state.body_angular_velocities[0] = (0.0, 0.0, 1.0)
            sim.state.body_velocities[0] = np.cross((0.0, 0.0, 1.0), sim.state.body_positions[0])
            yield equal(f"moment arm, {case} [m]", lever, tendon.velocity, absolute=1e-12,
                        theory="tangent at the shape")  # fmt: skip
            _length, _lever, scene, tendon, joint = over(shape, radius, angle)
            sim = single(scene)
            tendon.drive(ForceMotor(-5.0))
            sim.step()
            spin = 5.0 * radius / (0.3**2 + 0.4 * 0.01**2) * sim.settings.dt
            yield equal(f"change of speed by 5 N, {case} [rad/s]", spin, joint.velocity, relative=1e-6,
                        theory="moment 5 r on m l^2, within the arc")  # fmt: skip


@check("a block and tackle", "m1 g / n on the rope; a = g (m1 - n m2) / (m1 + n^2 m2) n", precisions=ONE)
def tackle(_: str) -> Iterator[Measurement]:
    """A weight on two or three ropes and one at their free end: a tendon whose length counts the block n times."""
    for ropes, heavy, light in ((2, 3.0, 1.0), (3, 2.0, 1.0)):
        scene = Scene()
        block = scene.add_rigid_body(Sphere(0.05), mass=heavy, position=(0, -1, 0))
        weight = scene.add_rigid_body(Sphere(0.05), mass=light, position=(1, -1, 0))
        path = [Via(None, (1, 0, 0)), Via(weight, (1, -1, 0)), Pulley(1.0 / ropes), Via(None, (0, 0, 0)),
                Via(block, (0, -1, 0))]  # fmt: skip
        rope = scene.add_tendon(path, limits=(0.0, 1.0 + ropes))
        sim = single(scene)
        sim.step(20)
        # the light one rises n times as fast as the heavy one sinks
        down = _G * (heavy - ropes * light) / (heavy + ropes**2 * light)
        tension = light * (_G + ropes * down)
        yield equal(
            f"tension, {ropes} ropes [N]", tension, rope.tension, relative=1e-5, theory="rows of 1e6 masses / h^2"
        )
        yield equal(f"speed of the block, {ropes} ropes [m/s]", -down * sim.time,
                    float(sim.state.body_velocities[0, 1]), relative=1e-5, theory="constant acceleration")  # fmt: skip
        yield equal(f"speed of the weight, {ropes} ropes [m/s]", ropes * down * sim.time,
                    float(sim.state.body_velocities[1, 1]), relative=1e-5, theory="the rope's length")  # fmt: skip


@check(
    "a spring in a tendon", "T = 2 pi sqrt(m / k); slack between both rest lengths; F = k (L - rest)", precisions=ONE
)
def springs(_: str) -> Iterator[Measurement]:
    """A mass on a tendon with a spring: the period, and its energy."""
    for stiffness, mass in ((200.0, 1.0), (50.0, 2.0)):
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        ball = scene.add_rigid_body(Sphere(0.05), mass=mass, position=(1.1, 0, 0))
        tendon = scene.add_tendon([Via(None, (0, 0, 0)), Via(ball, (1.1, 0, 0))], stiffness=stiffness, rest_length=1.0)
        sim = single(scene)
        period = 2.0 * math.pi * math.sqrt(mass / stiffness)
        yield equal(f"energy, k = {stiffness:g} N/m [J]", 0.5 * stiffness * 0.01, sim.energy().elastic, relative=1e-12,
                    theory="k (L - rest)^2 / 2")  # fmt: skip
        lengths, dt = [tendon.length], sim.settings.dt
        for _i in range(round(1.2 * period / dt)):
            sim.step()
            lengths.append(tendon.length)
        a = np.array(lengths) - 1.0
        k = np.flatnonzero(a[:-1] * a[1:] < 0.0)[:2]
        times = dt * (k + a[k] / (a[k] - a[k + 1]))
        yield equal(f"period, k = {stiffness:g} N/m [s]", period, 2.0 * float(times[1] - times[0]), relative=2e-3,
                    theory="(w h)^2 of the integrator, straight lines between frames")  # fmt: skip


@check("a held muscle", "F = F0 (FL(L) a + FP(L)); t / T = -(1/2 + 3/2 u) log(1 - a / u) - 3/2 a", precisions=ONE)
def held_muscle(_: str) -> Iterator[Measurement]:
    """A muscle that a rope keeps at its length: how its activation grows, and its tension."""
    for scaled in (0.7, 1.0, 1.2, 1.5):
        x, scene = 0.2 * scaled, Scene(gravity=(0.0, 0.0, 0.0))
        ball = scene.add_rigid_body(Sphere(0.05), mass=1.0, position=(x, 0, 0))
        scene.add_tendon([Via(None, (1, 0, 0)), Via(ball, (x, 0, 0))], limits=(0.0, 1.0 - x))
        law = Muscle(50.0, (0.1, 0.3), (0.5, 1.5))
        muscle = scene.add_tendon([Via(None, (0, 0, 0)), Via(ball, (x, 0, 0))], actuator=law)
        sim = single(scene)
        muscle.command(0.6)
        sim.step(1)
        a, h = muscle.activation, sim.settings.substep
        time = 0.01 * (-(0.5 + 1.5 * 0.6) * math.log(1.0 - a / 0.6) - 1.5 * a)
        yield equal(f"time of growth at {scaled:g} best lengths [s]", sim.time, time, absolute=2.0 * h,
                    theory="explicit steps, first order")  # fmt: skip
        sim.step(30)
        away, over = abs(scaled - 1.0) / (0.25 if scaled < 1.0 else 0.3), max(scaled - 1.0, 0.0) / 0.3
        active = 1.0 - 0.5 * away**2 if away <= 1.0 else 0.5 * (2.0 - away) ** 2
        passive = 1.3 * (0.5 * over**2 if over <= 1.0 else over - 0.5)
        yield equal(f"tension at {scaled:g} best lengths [N]", 50.0 * (active * 0.6 + passive), muscle.tension,
                    relative=1e-5, theory="the rope is a row of 1e6 masses / h^2")  # fmt: skip
