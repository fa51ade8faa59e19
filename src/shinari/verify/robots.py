"""Robots: moments that hold an arm, rotors in its joints, and an arm that nothing holds but these moments."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.motors import ForceMotor, Servo
from shinari.shapes.box import Box
from shinari.verify.ledger import Measurement, at_most, check, equal
from shinari.verify.rigid_scenes import ONE, single

_G = 9.81
LINKS = ((3.0, 0.5), (2.0, 0.4), (1.0, 0.2))
"""Masses [kg] and lengths [m] of the links of an arm."""


def arm(angles: tuple[float, ...] = (0.0, 0.0, 0.0)) -> tuple[Scene, list[BodyHandle], list[JointHandle]]:
    """An arm of three links in a row, that lies along x, and hinges about z whose angles begin at the given ones."""
    scene, at, bodies, joints = Scene(), 0.0, [], []
    for (mass, length), angle in zip(LINKS, angles, strict=True):
        place = (at + 0.5 * length, 0.0, 0.0)
        bodies.append(scene.add_rigid_body(Box((length, 0.06, 0.06)), mass=mass, position=place))
        below = bodies[-2] if len(bodies) > 1 else None
        joints.append(
            scene.add_joint("hinge", bodies[-1], below, anchor=(at, 0, 0), axis=(0, 0, 1), start=angle)
        )  # fmt: skip
        at += length
    return scene, bodies, joints


def weights(angles: np.ndarray) -> np.ndarray:
    """Moments [N m] by which the weight of the arm has to be carried at each hinge, of angles against the level."""
    ends, directions = [np.zeros(2)], np.cumsum(angles)
    middles = []
    for (_, length), direction in zip(LINKS, directions, strict=True):
        along = length * np.array([math.cos(direction), math.sin(direction)])
        middles.append(ends[-1] + 0.5 * along)
        ends.append(ends[-1] + along)
    return np.array(
        [
            sum(
                _G * mass * (middle[0] - ends[k][0]) for (mass, _), middle in list(zip(LINKS, middles, strict=True))[k:]
            )
            for k in range(len(LINKS))
        ]
    )


def rested(scene: Scene, joints: list[JointHandle], stiffness: float, targets: tuple[float, ...]) -> Simulation:
    """The arm at rest under PD control, damped as the links that hang on each hinge need."""
    sim = single(scene)
    for k, (joint, target) in enumerate(zip(joints, targets, strict=True)):
        inertia = sum(mass for mass, _ in LINKS[k:]) * sum(length for _, length in LINKS[k:]) ** 2
        sim.drive(joint, Servo(target, stiffness, damping=2.0 * math.sqrt(stiffness * inertia)))
    sim.step(900)
    return sim


@check("torque of a PD joint at rest", "k (target - angle) = load = moment of the weight beyond", precisions=ONE)
def loads(_: str) -> Iterator[Measurement]:
    """Each hinge of an arm carries what is beyond it."""
    for stiffness, targets in ((500.0, (0.3, -0.5, 0.4)), (5000.0, (-0.7, 0.9, 0.2))):
        scene, _bodies, joints = arm()
        sim = rested(scene, joints, stiffness, targets)
        angles = sim.bodies.coordinates(joints)[0]
        found = sim.bodies.axial_loads(joints)
        for k, expected in enumerate(weights(angles)):
            yield equal(f"load of hinge {k + 1}, stiffness {stiffness:g} [N m]", float(expected), float(found[k]),
                        absolute=1e-4 * _G, theory="statics, once at rest")  # fmt: skip
            yield equal(f"stiffness times the rest of hinge {k + 1}, stiffness {stiffness:g} [N m]", float(expected),
                        stiffness * (targets[k] - float(angles[k])), absolute=1e-4 * _G,
                        theory="statics, at rest")  # fmt: skip


@check("gravity compensation", "moments of the weight hold an arm still", precisions=ONE)
def compensation(_: str) -> Iterator[Measurement]:
    """The loads that PD control needed, given as moments: the arm stays where it is for a second."""
    for targets in ((0.3, -0.5, 0.4), (1.0, 0.4, -1.2)):
        scene, _bodies, joints = arm()
        sim = rested(scene, joints, 2000.0, targets)
        before, found = sim.bodies.coordinates(joints)[0], sim.bodies.axial_loads(joints)
        for joint, load in zip(joints, found, strict=True):
            sim.drive(joint, ForceMotor(float(load)))
        sim.step(round(1.0 / sim.settings.dt))
        moved = float(np.abs(sim.bodies.coordinates(joints)[0] - before).max())
        yield at_most(f"largest turn in a second, targets {targets} [rad]", 1e-3, moved, theory="rounding of the loads")


@check("a rotor in a joint", "T = 2 pi sqrt((I + J) / (m g r)); the moment of a motor turns both", precisions=ONE)
def rotor(_: str) -> Iterator[Measurement]:
    """A pendulum whose hinge has a rotor."""
    mass, length, start = 2.0, 0.5, 0.02
    inertia = mass * (length**2 / 3.0 + 0.06**2 / 12.0)
    for extra in (0.0, 0.05, 1.0):
        scene = Scene(gravity=(_G, 0.0, 0.0))
        turn = (math.cos(0.5 * start), 0.0, 0.0, math.sin(0.5 * start))
        place = (0.5 * length * math.cos(start), 0.5 * length * math.sin(start), 0.0)
        body = scene.add_rigid_body(Box((length, 0.06, 0.06)), mass=mass, position=place, rotation=turn)
        joint = scene.add_joint(
            "hinge", body, anchor=(0, 0, 0), axis=(0, 0, 1), start=start, rotor_inertia=extra
        )  # fmt: skip
        sim = single(scene)
        expected = 2.0 * math.pi * math.sqrt((inertia + extra) / (mass * _G * 0.5 * length))
        angles, dt = [start], sim.settings.dt
        for _i in range(round(1.4 * expected / dt)):
            sim.step()
            angles.append(sim.joint(joint).angle)
        a = np.array(angles)
        k = np.flatnonzero(a[:-1] * a[1:] < 0.0)[:2]
        times = dt * (k + a[k] / (a[k] - a[k + 1]))
        yield equal(f"period, rotor of {extra:g} kg m^2 [s]", expected, 2.0 * float(times[1] - times[0]),
                    relative=1e-3, theory="(w h)^2 of the integrator, start^2 / 16 of the swing")  # fmt: skip
