"""Actuators and sensors: responses of servos, a controller under load, a motor with brushes, what sensors read."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.io.robots.sensors import Sensor
from shinari.scene.controllers import DCMotor, PIDControl
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.motors import ForceMotor, Servo, VelocityMotor
from shinari.shapes.box import Box
from shinari.verify.ledger import Measurement, check, equal
from shinari.verify.rigid_scenes import ONE, matrix, single, turn

_G = 9.81


def wheel(inertia: float) -> tuple[Scene, JointHandle]:
    """A wheel without weight on a hinge about z."""
    scene = Scene(gravity=(0.0, 0.0, 0.0), air_density=0.0)
    body = scene.add_rigid_body(None, mass=1.0, inertia=(inertia,) * 3)
    return scene, scene.add_joint("hinge", body, anchor=(0, 0, 0), axis=(0, 0, 1))


def beam(mass: float, length: float) -> tuple[Scene, BodyHandle, JointHandle]:
    """A beam along x that a hinge about z carries at its end."""
    scene = Scene(air_density=0.0)
    body = scene.add_rigid_body(Box((length, 0.05, 0.05)), mass=mass, position=(0.5 * length, 0.0, 0.0))
    return scene, body, scene.add_joint("hinge", body, anchor=(0, 0, 0), axis=(0, 0, 1))


def response(zeta: float, phase: float) -> float:
    """Step response of q'' + 2 zeta q' + q = 1 from rest, zeta up to 1."""
    if zeta == 1.0:
        return 1.0 - (1.0 + phase) * math.exp(-phase)
    s = math.sqrt(1.0 - zeta * zeta)
    return 1.0 - math.exp(-zeta * phase) * (math.cos(s * phase) + zeta / s * math.sin(s * phase))


@check("a servo answers a step", "I q'' + d q' + k (q - target) = 0, from rest", precisions=ONE)
def steps(_: str) -> Iterator[Measurement]:
    """PD control of a wheel: less and less damped, at a quarter, a half and one of its period."""
    for stiffness, inertia, zeta, target in ((20.0, 0.5, 0.2, 0.8), (300.0, 0.02, 0.7, -1.5), (5.0, 0.1, 1.0, 2.0)):
        w = math.sqrt(stiffness / inertia)
        scene, joint = wheel(inertia)
        sim = single(scene, dt=0.5 * math.pi / w / 100, substeps=10)
        sim.drive(joint, Servo(target, stiffness, damping=2.0 * zeta * w * inertia))
        for quarters in (1, 2, 4):
            sim.step(round(100 * quarters - sim.time / sim.settings.dt))
            yield equal(f"angle after {quarters} quarters, damping ratio {zeta:g}, target {target:g} [rad]",
                        target * response(zeta, w * sim.time), sim.joint(joint).angle,
                        absolute=abs(target) * w * sim.settings.substep,
                        theory="first order of the integrator: w h of the target")  # fmt: skip


@check("a controller of the speed under load", "I V' = d (v - V) + M: V = (v + M / d) (1 - exp(-d t / I))",
       precisions=ONE)  # fmt: skip
def speeds(_: str) -> Iterator[Measurement]:
    """A controller that knows the speed alone, against a moment: how it starts, and where it ends."""
    for damping, inertia, speed, moment in ((2.0, 0.4, 5.0, -3.0), (0.3, 0.1, -8.0, 1.2), (10.0, 0.5, 2.0, 30.0)):
        scene, joint = wheel(inertia)
        law = scene.add_tendon(joints={joint: 1.0}, actuator=PIDControl(0.0, damping, inputs=("velocity",)))
        time = inertia / damping
        sim = single(scene, dt=time / 100, substeps=10)
        law.command(speed)
        sim.drive(joint, ForceMotor(moment))
        end, h = speed + moment / damping, sim.settings.substep
        sim.step(100)
        case = f"{damping:g} N m s/rad, {moment:g} N m"
        yield equal(f"speed after I / d, {case} [rad/s]", end * (1.0 - math.exp(-sim.time / time)),
                    sim.joint(joint).speed, relative=h / time, theory="first order of the integrator")  # fmt: skip
        sim.step(1900)
        yield equal(f"speed at last, {case} [rad/s]", end, sim.joint(joint).speed, relative=1e-6, theory="at rest")


@check("a controller with an integral", "kp error = moment without it; with it no error and ki z = moment",
       precisions=ONE)  # fmt: skip
def integrals(_: str) -> Iterator[Measurement]:
    """A beam that a controller holds level."""
    for mass, length, gains in ((1.0, 0.4, (60.0, 8.0, 200.0)), (4.0, 0.6, (800.0, 60.0, 2500.0))):
        load = 0.5 * mass * _G * length
        for integral in (0.0, gains[2]):
            scene, _body, joint = beam(mass, length)
            law = scene.add_tendon(joints={joint: 1.0}, actuator=PIDControl(*gains[:2], integral))
            sim = single(scene, substeps=10)
            law.command((0.0, 0.0))
            sim.step(360)
            case, angle = f"{mass:g} kg, kp {gains[0]:g}, ki {integral:g}", sim.joint(joint).angle
            hangs = 0.0
            for _i in range(100):
                hangs = -load * math.cos(hangs) / gains[0]
            yield equal(f"angle, {case} [rad]", 0.0 if integral else hangs, angle, absolute=1e-5, theory="statics")
            if integral:
                yield equal(f"what the integral bears, {case} [N m]", load, integral * law.activation, relative=1e-4,
                            theory="statics")  # fmt: skip


@check("a motor with brushes", "w = U / K (1 - exp(-K^2 t / (R I))); held, K U / R", precisions=ONE)
def brushes(_: str) -> Iterator[Measurement]:
    """Its speed without load, and its moment when it is held, with and without an inductance."""
    motors = (2.0, 0.5, 6.0, 0.02), (0.8, 0.2, -12.0, 0.05), (5.0, 1.5, 24.0, 1.0)
    for resistance, constant, voltage, inertia in motors:
        case = f"{resistance:g} ohm, {constant:g} V s, {voltage:g} V"
        time = resistance * inertia / constant**2
        scene, joint = wheel(inertia)
        law = scene.add_tendon(joints={joint: 1.0}, actuator=DCMotor(resistance, constant))
        sim = single(scene, dt=time / 100, substeps=10)
        law.command(voltage)
        sim.step(100)
        yield equal(f"speed after R I / K^2, {case} [rad/s]", voltage / constant * (1.0 - math.exp(-sim.time / time)),
                    sim.joint(joint).speed, relative=sim.settings.substep / time,
                    theory="first order of the integrator")  # fmt: skip
        sim.step(1900)
        yield equal(f"speed without load, {case} [rad/s]", voltage / constant, sim.joint(joint).speed, relative=1e-6,
                    theory="no current")  # fmt: skip
        for lag in (0.0, 0.03):
            scene, joint = wheel(inertia)
            law = scene.add_tendon(joints={joint: 1.0}, actuator=DCMotor(resistance, constant, lag))
            sim = single(scene, substeps=10)
            sim.drive(joint, Servo(0.0))
            law.command(voltage)
            sim.step(2)
            part = 1.0 - math.exp(-sim.time / lag) if lag else 1.0
            yield equal(f"moment when held for {sim.time:.3f} s, L / R = {lag:g} s, {case} [N m]",
                        part * constant * voltage / resistance, -law.tension, relative=1e-5,
                        theory="rows of 1e6 effective masses over h^2 hold it")  # fmt: skip


@check("sensors of an arm that turns", "a = -w^2 r and the weight, in the axes of the sensor", precisions=ONE)
def turning(_: str) -> Iterator[Measurement]:
    """Accelerometer, gyro and velocimeter, askew at the end of an arm that turns about the vertical."""
    for speed, radius, tilt in ((2.0, 0.3, 0.4), (-5.0, 0.8, -1.1), (9.0, 0.15, 2.0)):
        scene = Scene(air_density=0.0)
        arm = scene.add_rigid_body(Box((radius, 0.05, 0.05)), mass=1.0, position=(0.5 * radius, 0.0, 0.0))
        scene.add_joint("hinge", arm, anchor=(0, 0, 0), axis=(0, 1, 0), motor=VelocityMotor(speed))
        askew = np.array(turn((1.0, 2.0, 0.5), tilt))
        read = {
            kind: Sensor(kind, kind, arm, np.array([0.5 * radius, 0.0, 0.0]), askew)
            for kind in ("accelerometer", "gyro", "velocimeter")
        }
        sim = single(scene, substeps=20)
        sim.step(30)
        own, h = matrix(askew).T, sim.settings.substep
        size = speed * speed * radius
        expected = {
            "accelerometer": own @ (-size, _G, 0.0),
            "gyro": own @ (0.0, speed, 0.0),
            "velocimeter": own @ (0.0, 0.0, -speed * radius),
        }
        allowed = {"accelerometer": size * abs(speed) * h, "gyro": 2e-6 * abs(speed),
                   "velocimeter": 0.5 * size * h}  # fmt: skip
        theory = {"accelerometer": "a mean of the substep: w h of it", "gyro": "its motor and its axes yield by 1e-6",
                  "velocimeter": "of the centre that of a chord: w h / 2"}  # fmt: skip
        for kind, sensor in read.items():
            for axis, (wanted, found) in enumerate(zip(expected[kind], sensor.read(), strict=True)):
                yield equal(f"{kind} along {'xyz'[axis]}, {speed:g} rad/s at {radius:g} m", float(wanted),
                            float(found), absolute=allowed[kind] + 1e-6, theory=theory[kind])  # fmt: skip


@check("sensors of an arm at rest", "force and torque of what hangs beyond, 9.81 m/s^2 upwards", precisions=ONE)
def resting(_: str) -> Iterator[Measurement]:
    """Two beams in a row that servos hold: what the inner one feels at the joint of the outer."""
    for first, second, target in (((3.0, 0.5), (2.0, 0.4), 0.6), ((1.0, 0.3), (5.0, 0.8), -1.2)):
        scene = Scene(air_density=0.0)
        inner = scene.add_rigid_body(Box((first[1], 0.05, 0.05)), mass=first[0], position=(0.5 * first[1], 0, 0))
        outer = scene.add_rigid_body(
            Box((second[1], 0.05, 0.05)), mass=second[0], position=(first[1] + 0.5 * second[1], 0, 0)
        )
        scene.add_joint("hinge", inner, anchor=(0, 0, 0), axis=(0, 0, 1), motor=Servo(0.0))
        elbow = scene.add_joint("hinge", outer, inner, anchor=(first[1], 0, 0), axis=(0, 0, 1),
                                motor=Servo(0.0, max_speed=2.0))  # fmt: skip
        place = np.array([-0.5 * second[1], 0.0, 0.0])
        own = {kind: Sensor(kind, kind, outer, place, joint=elbow) for kind in ("force", "torque")}
        level = Sensor("a", "accelerometer", outer, place)
        angle = Sensor("q", "jointpos", elbow)
        sim = single(scene, substeps=10)
        sim.drive(elbow, target)
        sim.step(240)
        case = f"{second[0]:g} kg, {second[1]:g} m, {target:g} rad"
        c, s = math.cos(target), math.sin(target)
        yield equal(f"joint position, {case} [rad]", target, float(angle.read()[0]), absolute=1e-4,
                    theory="it holds it")  # fmt: skip
        weight = second[0] * _G
        # what the joint exerts on the outer beam, in its axes
        expected = {"force": (weight * s, weight * c, 0.0), "torque": (0.0, 0.0, 0.5 * weight * second[1] * c)}
        for kind, wanted in expected.items():
            found = own[kind].read()
            for axis in range(3):
                yield equal(f"{kind} along {'xyz'[axis]}, {case}", wanted[axis], float(found[axis]),
                            absolute=2e-4 * weight, theory="statics, angle to 1e-4")  # fmt: skip
        for axis, wanted in enumerate((_G * s, _G * c, 0.0)):
            yield equal(f"accelerometer along {'xyz'[axis]}, {case} [m/s^2]", wanted, float(level.read()[axis]),
                        absolute=2e-3, theory="at rest, angle to 1e-4")  # fmt: skip
