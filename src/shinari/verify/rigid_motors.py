"""Motors: what servos hold and what it costs them, speeds that motors reach, limits of force."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.scene.motors import Servo, VelocityMotor
from shinari.shapes.box import Box
from shinari.systems.rigid.joints.table import JOINT_STIFFNESS
from shinari.verify.ledger import Measurement, at_least, check, equal
from shinari.verify.rigid_scenes import ONE, axes, place, single, spin, turn, velocity, weightless

_G = 9.81


@check("a servo holds an arm", "its moment is m g r cos(angle)", precisions=ONE)
def servo(_: str) -> Iterator[Measurement]:
    """An arm is lifted to an angle and held; moment about the axis of the hinge on the world."""
    mass, r = 3.0, 0.4
    for target in (0.0, 0.7, -1.2, 2.5):
        scene = Scene()
        arm = scene.add_rigid_body(Box((0.8, 0.1, 0.1)), mass=mass, position=(r, 0, 0))
        joint = scene.add_joint("hinge", arm, anchor=(0, 0, 0), axis=(0, 0, 1),
                                motor=Servo(0.0, damping=5.0, max_force=100.0))  # fmt: skip
        sim = single(scene)
        sim.step(10)
        for k in range(1, 41):
            sim.drive(joint, target * k / 40)
            sim.step(2)
        sim.step(120)
        angle = math.atan2(*place(sim, arm)[1::-1])
        yield equal(f"angle of the arm, target {target:g} [rad]", target, angle, absolute=1e-4, theory="it holds it")
        yield equal(f"angle that it reports, target {target:g} [rad]", target, sim.joint(joint).angle, absolute=1e-4,
                    theory="the same")  # fmt: skip
        moment = mass * _G * r * math.cos(target)
        yield equal(f"moment on the world, target {target:g} [N m]", -moment, float(sim.forces(joint).torque[2]),
                    absolute=1e-3 * mass * _G * r, theory="statics")  # fmt: skip


@check("a soft servo", "k (target - angle) = m g r cos(angle); T = 2 pi sqrt(I / k)", precisions=ONE)
def soft_servo(_: str) -> Iterator[Measurement]:
    """Where a spring-like servo settles under a load, and how it swings without one."""
    mass, r = 3.0, 0.4
    for stiffness, target in ((50.0, 0.0), (200.0, 0.5)):
        scene = Scene()
        arm = scene.add_rigid_body(Box((0.8, 0.1, 0.1)), mass=mass, position=(r, 0, 0))
        scene.add_joint("hinge", arm, anchor=(0, 0, 0), axis=(0, 0, 1),
                        motor=Servo(target, stiffness=stiffness, damping=8.0))  # fmt: skip
        sim = single(scene)
        sim.step(600)
        angle = target
        for _i in range(200):
            angle = 0.5 * (angle + target - mass * _G * r * math.cos(angle) / stiffness)
        yield equal(f"angle, stiffness {stiffness:g} N m/rad, target {target:g} [rad]", angle,
                    math.atan2(*place(sim, arm)[1::-1]), absolute=1e-5, theory="statics")  # fmt: skip
    for stiffness, inertia in ((10.0, 0.4), (300.0, 0.02)):
        w = math.sqrt(stiffness / inertia)
        times = []
        for h in (0.5 * math.pi / w / 400, 0.5 * math.pi / w / 800):
            scene = weightless()
            wheel = scene.add_rigid_body(None, mass=1.0, inertia=(inertia,) * 3, rotation=turn((0, 0, 1), 0.3))
            scene.add_joint("hinge", wheel, anchor=(0, 0, 0), axis=(0, 0, 1), motor=Servo(-0.3, stiffness=stiffness))
            sim = single(scene, dt=4 * h, substeps=4)
            before = 0.3
            while sim.time < 100.0:
                sim.step()
                m = axes(sim, wheel)
                after = math.atan2(m[1, 0], m[0, 0])
                if after <= 0.0:
                    times.append(sim.time - 4 * h * after / (after - before))
                    break
                before = after
        yield equal(f"frequency, stiffness {stiffness:g} N m/rad, I {inertia:g} [rad/s]", w,
                    0.5 * math.pi / (2.0 * times[1] - times[0]), relative=10.0 * (0.5 * math.pi / 400) ** 2,
                    theory="(w h)^2 with a factor of ten after extrapolation")  # fmt: skip


@check("a motor turns at its speed", "w = min(M t / I, target); beyond its force it yields", precisions=ONE)
def motor(_: str) -> Iterator[Measurement]:
    """Flywheels and lifts under motors with limits of force."""
    for speed, most, inertia in ((10.0, 2.0, 0.5), (-4.0, 0.5, 0.2)):
        scene = weightless()
        wheel = scene.add_rigid_body(None, mass=1.0, inertia=(inertia,) * 3)
        joint = scene.add_joint("hinge", wheel, anchor=(0, 0, 0), axis=(0, 0, 1), motor=VelocityMotor(speed, most))
        sim = single(scene)
        ends = abs(speed) * inertia / most
        case = f"target {speed:g} rad/s, {most:g} N m"
        sim.step(round(0.5 * ends * 60))
        yield equal(f"w half way, {case} [rad/s]", math.copysign(most / inertia * sim.time, speed),
                    float(spin(sim, wheel)[2]), relative=1e-4, theory="a constant moment")  # fmt: skip
        sim.step(round(ends * 60))
        yield equal(f"w at last, {case} [rad/s]", speed, float(spin(sim, wheel)[2]), relative=1e-4, theory="its target")
        yield equal(f"speed that it reports, {case} [rad/s]", speed, sim.joint(joint).speed, relative=1e-4,
                    theory="its target")  # fmt: skip
    weight = 5.0 * _G
    for part in (1.2, 0.8):
        scene = Scene()
        lift = scene.add_rigid_body(Box((0.2, 0.2, 0.2)), mass=5.0)
        joint = scene.add_joint("slider", lift, anchor=(0, 0, 0), axis=(0, 1, 0),
                                motor=VelocityMotor(0.5, part * weight))  # fmt: skip
        sim = single(scene)
        sim.step(60)
        case = f"lift with {part:g} of the weight"
        if part > 1.0:
            yield equal(f"speed, {case} [m/s]", 0.5, float(velocity(sim, lift)[1]), relative=1e-3, theory="its target")
            yield equal(f"force on the world, {case} [N]", -weight, float(sim.forces(joint).force[1]), relative=1e-3,
                        theory="statics")  # fmt: skip
            yield equal(f"travel that it reports, {case} [m]", float(place(sim, lift)[1]), sim.joint(joint).travel,
                        absolute=1e-6, theory="the same")  # fmt: skip
        else:
            yield equal(f"speed after 1 s, {case} [m/s]", (part - 1.0) * _G, float(velocity(sim, lift)[1]),
                        relative=1e-3, theory="(F - m g) t / m")  # fmt: skip


@check("a motor and its base", "the moment on the base is opposite: angular momentum stays zero", precisions=ONE)
def reaction(_: str) -> Iterator[Measurement]:
    """A motor between two free bodies, off their centres."""
    scene = weightless()
    base = scene.add_rigid_body(Box((0.5, 0.2, 0.4)), density=500.0)
    rotor = scene.add_rigid_body(Box((0.1, 0.4, 0.1)), density=2000.0, position=(0.2, 0.3, 0.1))
    scene.add_joint("hinge", rotor, base, anchor=(0.2, 0.15, 0.1), axis=(1, 2, 0), motor=VelocityMotor(20.0, 3.0))
    sim = single(scene, substeps=10)
    sim.step(120)
    speeds = spin(sim, rotor) - spin(sim, base)
    n = axes(sim, base) @ np.array([1.0, 2.0, 0.0]) / math.sqrt(5.0)
    yield equal("speed about the axis [rad/s]", 20.0, float(speeds @ n), relative=1e-3, theory="its target")
    size = 2.0 * math.sqrt(2.0 * sim.energy().kinetic * 20.0)
    yield equal("angular momentum over a bound of its terms", 0.0, float(np.linalg.norm(sim.angular_momentum())) / size,
                absolute=float(np.linalg.norm(spin(sim, base))) * sim.settings.substep,
                theory="an axis that turns by w h in a substep")  # fmt: skip
    size = math.sqrt(2.0 * sim.energy().kinetic * 28.0)
    yield equal("momentum over sqrt(2 E m)", 0.0, float(np.linalg.norm(sim.momentum())) / size,
                absolute=JOINT_STIFFNESS * 2.0**-53,
                theory="rounding of a solve with rows so much stiffer than inertia")  # fmt: skip
    yield at_least("energy [J]", 1.0, sim.energy().kinetic, theory="it turns")
