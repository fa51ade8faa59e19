r"""Linkages: loops of bars whose angles follow from each other, and the moment that holds them.

    B-----b-----D
   /             \              the crank a turns about O, the rocker c about C, the coupler b joins their ends
  a               c
 /                 \            D lies where the circles of b about B and of c about C meet
O - - - - d - - - - C           (Freudenstein 1955, Approximate synthesis of four-bar linkages)
"""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.motion import rotation_matrix
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.motors import Servo, VelocityMotor
from shinari.shapes.box import Box
from shinari.verify.ledger import Measurement, check, equal
from shinari.verify.rigid_scenes import ONE, single

_G = 9.81
THICK, DENSITY = 0.02, 1000.0
LINKAGES = {"crank and rocker": (0.1, 0.3, 0.25, 0.3), "drag link": (0.25, 0.3, 0.25, 0.1)}
"""Lengths a, b, c and d [m]: one whose rocker swings, and one whose rocker goes round."""


def corners(lengths: tuple[float, ...], angle: float) -> np.ndarray:
    """O, B, D and C [m], (4, 2), for an angle of the crank, with D on the left of the line from B to C."""
    a, b, c, d = lengths
    end, pivot = a * np.array([math.cos(angle), math.sin(angle)]), np.array([d, 0.0])
    across = pivot - end
    apart = float(np.hypot(*across))
    along = (b * b - c * c + apart * apart) / (2.0 * apart)
    beside = np.array([-across[1], across[0]]) * math.sqrt(b * b - along * along) / apart
    return np.array([np.zeros(2), end, end + along * across / apart + beside, pivot])


def linkage(lengths: tuple[float, ...], angle: float, g: float) -> tuple[Scene, list[BodyHandle], JointHandle]:
    """Crank, coupler and rocker from an angle of the crank on, and the hinge of the crank.

    The rocker hangs in a universal joint and a ball, so that no direction is held twice.
    """
    scene, places = Scene(gravity=(0.0, -g, 0.0)), np.pad(corners(lengths, angle), ((0, 0), (0, 1)))
    bars: list[BodyHandle] = []
    for start, end in pairwise(places):
        turn = 0.5 * math.atan2(end[1] - start[1], end[0] - start[0])
        shape = Box((float(np.linalg.norm(end - start)), THICK, THICK))
        bars.append(scene.add_rigid_body(shape, density=DENSITY, position=0.5 * (start + end),
                                         rotation=(math.cos(turn), 0.0, 0.0, math.sin(turn))))  # fmt: skip
    for one, other in ((0, 1), (1, 2), (0, 2)):
        scene.ignore_contact(bars[one], bars[other])
    crank = scene.add_joint("hinge", bars[0], anchor=places[0], axis=(0, 0, 1))
    scene.add_joint("hinge", bars[1], bars[0], anchor=places[1], axis=(0, 0, 1))
    across = np.cross((0.0, 0.0, 1.0), places[3] - places[2])
    scene.add_joint("universal", bars[2], bars[1], anchor=places[2], axis=across, second_axis=(0, 0, 1))
    scene.add_joint("ball", bars[2], anchor=places[3])
    return scene, bars, crank


def direction(sim: Simulation, bar: BodyHandle) -> np.ndarray:
    """Unit vector along a bar, (2,)."""
    return rotation_matrix(sim.pose(bar).rotation)[:2, 0]


@check("a four-bar linkage", "angles of its bars; Freudenstein 1955", precisions=ONE)
def turns(precision: str) -> Iterator[Measurement]:
    """A motor turns the crank once; the rocker is where both circles meet. Joints hold by 1e-8 of a bar."""
    for name, lengths in LINKAGES.items():
        for substeps in (4, 20):
            scene, bars, crank = linkage(lengths, 1.0, _G)
            sim = single(scene, substeps=substeps)
            sim.drive(crank, VelocityMotor(2.0 * math.pi))
            worst = 0.0
            for _ in range(60):
                sim.step()
                along = direction(sim, bars[0])
                _, _, end, pivot = corners(lengths, math.atan2(along[1], along[0]))
                x, y = direction(sim, bars[2])
                rocker = (pivot - end) / lengths[2]
                worst = max(worst, abs(x * rocker[1] - y * rocker[0]), 1.0 - float(rocker @ (x, y)))
            yield equal(
                f"{name}, {substeps} substeps: angle of the rocker [rad]",
                0.0,
                worst,
                absolute=1e-6,
                theory="joints hold",
            )


@check("a linkage at rest", "virtual work: the moment is the slope of the energy over the angle", precisions=ONE)
def rests(precision: str) -> Iterator[Measurement]:
    """A servo holds the crank against the weights of all bars."""
    for name, lengths in LINKAGES.items():
        for angle in (0.4, 2.2):
            scene, bars, crank = linkage(lengths, angle, _G)
            sim = single(scene)
            sim.drive(crank, Servo(0.0, 500.0, damping=5.0))
            sim.step(600)
            along = direction(sim, bars[0])
            held = math.atan2(along[1], along[0])

            def height(at: float, lengths: tuple[float, ...] = lengths) -> float:
                places = corners(lengths, at)[:, 1]
                masses = DENSITY * THICK * THICK * np.array(lengths[:3])
                return float(masses @ (0.5 * (places[:3] + places[1:])))

            step = 1e-5
            moment = _G * (height(held + step) - height(held - step)) / (2.0 * step)
            load = 500.0 * -float(sim.joint(crank).angle)
            yield equal(f"{name} at {angle:g} rad: moment [N m]", moment, load, relative=1e-6, theory="at rest")
