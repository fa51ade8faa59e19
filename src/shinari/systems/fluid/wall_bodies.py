"""What the walls of a fluid do to rigid bodies: the opposite push, at once.

Sums are taken in the order of the particles by one thread: few particles lie at bodies beside all of them.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Program, function, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.quaternion import rotate
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.fluid.frame_loads import (
    FrameLoads,
    add_load,
    add_response,
    apply_load,
    arm_at_start,
    clear_load,
    square_of,
    wide,
)
from shinari.systems.fluid.records import FluidParticles
from shinari.systems.fluid.wall_kernels import Items, Planes, WallLists, WallSolids, planes_of
from shinari.systems.rigid.frames import Frames

if TYPE_CHECKING:
    from shinari.systems.fluid.system import Fluid


@kernel(fastmath=STEADY, mixed=True)
def place_body_shape(k, walls: WallSolids, frames: Frames, origins: Origins, origin_index: np.int64):
    """Pose of a solid that is a piece of a body, relative to the origin of the fluids."""
    b = walls.frame[k]
    if b < 0:
        return
    q, m = frames.q[b], walls.place[k]
    x, y, z = rotate(q, (m[0], m[3], m[6])), rotate(q, (m[1], m[4], m[7])), rotate(q, (m[2], m[5], m[8]))
    at = sub(add(rotate(q, (m[9], m[10], m[11])), frames.x[b]), origins.position[origin_index])
    walls.pose[k] = x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2], at[0], at[1], at[2]


@function(fastmath=STEADY)
def arm_of(fluid, i, origins, origin_index, frames, b):
    """From the origin of a frame to a particle, both now [m]."""
    return sub(add(origins.position[origin_index], wide(fluid.x[i])), frames.x[b])


@kernel(fastmath=STEADY, mixed=True)
def stiffen(
    _, items: Items, planes: Planes, lists: WallLists, fluid: FluidParticles, walls: WallSolids, loads: FrameLoads,
    frames: Frames, origins: Origins, origin_index: np.int64
):  # fmt: skip
    """Add to the stiffness of particles how far the bodies at them give way.

    A body is pushed by all of its particles at once. Each of them counts the mass of the body divided by their number
    (mass splitting: Tonge, Benevolenski, Voroshilov 2012), so that together they do not push it too far.
    """
    for p in range(lists.items[0]):
        first, last = planes_of(items, p)
        for e in range(first, last):
            b, pull = walls.frame[planes.solid[e]], planes.part[e]
            if b >= 0 and dot(pull, pull) > 0.0:
                loads.touched[b] += 1.0
    for p in range(lists.items[0]):
        i = np.int64(items.place[p])
        first, last = planes_of(items, p)
        for e in range(first, last):
            b = walls.frame[planes.solid[e]]
            if b >= 0:
                pull = wide(planes.part[e])
                moment = cross(arm_of(fluid, i, origins, origin_index, frames, b), pull)
                fluid.stiffness[i] += loads.touched[b] * square_of(frames, b, pull, moment)


@kernel(fastmath=STEADY, mixed=True)
def load_frames(
    _, items: Items, planes: Planes, lists: WallLists, fluid: FluidParticles, walls: WallSolids, loads: FrameLoads,
    frames: Frames, origins: Origins, origin_index: np.int64
):  # fmt: skip
    """Add the loads by the multipliers in the last column of x."""
    for p in range(lists.items[0]):
        i = np.int64(items.place[p])
        first, last = planes_of(items, p)
        for e in range(first, last):
            b = walls.frame[planes.solid[e]]
            if b >= 0:
                push = scale(wide(planes.part[e]), -np.float64(fluid.x[i, 3]))
                add_load(loads, b, push, cross(arm_of(fluid, i, origins, origin_index, frames, b), push))


@kernel(fastmath=STEADY, mixed=True)
def load_frames_at_start(
    _, items: Items, planes: Planes, lists: WallLists, fluid: FluidParticles, walls: WallSolids, loads: FrameLoads,
    frames: Frames, origins: Origins, particles: Particles, origin_index: np.int64, h: np.float64
):  # fmt: skip
    """Add the loads by the multipliers in the last column of x, with the arms at the start of the substep."""
    for p in range(lists.items[0]):
        i = np.int64(items.place[p])
        first, last = planes_of(items, p)
        for e in range(first, last):
            b = walls.frame[planes.solid[e]]
            if b >= 0:
                push = scale(wide(planes.part[e]), -np.float64(fluid.x[i, 3]))
                arm = arm_at_start(particles, items.particle[p], origins, origin_index, frames, b, h)
                add_load(loads, b, push, cross(arm, push))


class WallBodies:
    """The bodies among the walls of a fluid."""

    def __init__(self, fluid: "Fluid", walls: WallSolids, frames: Frames) -> None:
        self._fluid, self._walls, self._frames = fluid, walls, frames
        self._loads: FrameLoads = FrameLoads.zeros(len(frames))

    def record_poses(self, p: Program) -> None:
        """Poses of the pieces now."""
        fluid = self._fluid
        p.launch(place_body_shape, self._walls, self._frames, fluid.origins, fluid.origin_index, count=len(self._walls))

    def record_stiffness(self, p: Program, *records: Items | Planes | WallLists | FluidParticles | WallSolids) -> None:
        """Add how far the bodies give way to the stiffness."""
        p.launch(clear_load, self._loads, count=len(self._loads))
        p.serial(stiffen, *records, self._loads, self._frames, self._fluid.origins, self._fluid.origin_index)

    def record_response(self, p: Program, *records: Items | Planes | WallLists | FluidParticles | WallSolids) -> None:
        """Add how far the bodies give way to the direction of the multipliers."""
        p.launch(clear_load, self._loads, count=len(self._loads))
        p.serial(load_frames, *records, self._loads, self._frames, self._fluid.origins, self._fluid.origin_index)
        p.serial(add_response, self._loads, self._frames, self._fluid.solve)

    def record_impulses(self, p: Program, *records: Items | Planes | WallLists | FluidParticles | WallSolids) -> None:
        """Push the bodies by the last change of the multipliers."""
        fluid = self._fluid
        p.launch(clear_load, self._loads, count=len(self._loads))
        bodies = self._loads, self._frames, fluid.origins, fluid.particles
        p.serial(load_frames_at_start, *records, *bodies, fluid.origin_index, fluid.h)
        p.launch(apply_load, self._loads, self._frames, fluid.solve, fluid.h, 0, count=len(self._loads))
