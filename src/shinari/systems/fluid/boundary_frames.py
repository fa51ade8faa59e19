"""Rigid bodies that carry points in a fluid: where the points are, how far they give way, and what pushes back."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Program, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.quaternion import rotate
from shinari.maths.vec3 import add, cross, sub
from shinari.model.particles import Origins, Particles
from shinari.shapes.base import Shape
from shinari.systems.fluid.boundary_carriers import Carrier, has_points, layer_volumes, points_of
from shinari.systems.fluid.boundary_lists import BoundaryPoints, Pairs, PointLists, PointState
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
from shinari.systems.fluid.smoothing import Smoothing
from shinari.systems.rigid.body_shapes import BodyShapes
from shinari.systems.rigid.frames import Frames

if TYPE_CHECKING:
    from shinari.systems.fluid.system import Fluid


class Carried(Record):
    """Points of bodies, M rows."""

    local = Field(np.float64, 3, unit="m", doc="position in the axes of the frame")


@kernel(fastmath=STEADY, mixed=True)
def place_on_frame(
    b, points: BoundaryPoints, carried: Carried, frames: Frames, origins: Origins, origin_index: np.int64
):
    """Take a point along with its body."""
    f = points.owner[b]
    points.at[b] = sub(add(frames.x[f], rotate(frames.q[f], carried.local[b])), origins.position[origin_index])


@kernel(fastmath=STEADY, mixed=True)
def respond(
    m, pairs: Pairs, frames: Frames, particles: Particles, origins: Origins, origin_index: np.int64, h: np.float64
):
    """How far a body gives way to a pair: sqrt(grad w grad)."""
    b, push = pairs.owner[m], wide(pairs.gradient[m])
    moment = cross(arm_at_start(particles, pairs.particle[m], origins, origin_index, frames, b, h), push)
    pairs.response[m] = np.sqrt(max(square_of(frames, b, push, moment), 0.0))


@kernel(fastmath=STEADY, mixed=True)
def load_frames(
    _, pairs: Pairs, state: PointState, loads: FrameLoads, frames: Frames, particles: Particles, origins: Origins,
    origin_index: np.int64, h: np.float64
):  # fmt: skip
    """Add the pushes on the particles of pairs, and their moments."""
    for m in range(state.pairs[0]):
        b, push = pairs.owner[m], wide(pairs.push[m])
        moment = cross(arm_at_start(particles, pairs.particle[m], origins, origin_index, frames, b, h), push)
        add_load(loads, b, push, moment)


class BodyCarriers(Carrier):
    """Points of rigid bodies."""

    moves = gives_way = True

    def __init__(
        self,
        names: Sequence[str],
        body_shapes: BodyShapes,
        shapes: Sequence[Shape],
        frames: Frames,
        first: int,
        smoothing: Smoothing,
    ) -> None:
        """Cover all bodies.

        Args:
            names: Names of the bodies.
            body_shapes: Their pieces.
            shapes: Shape of each piece.
            frames: The frames; the first ones are the bodies.
            first: Number of colliders.
            smoothing: Sampling of the fluid.
        """
        self._frames = frames
        local, bodies = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
        for k, shape in enumerate(shapes):
            if has_points(shape):
                body = int(body_shapes.frames[k])
                points = points_of(f"body {names[body]!r}", shape, smoothing.spacing)
                pose = body_shapes.local_poses[k]
                local.append(points @ pose[:9].reshape(3, 3).T + pose[9:])
                bodies.append(np.full(len(points), body))
        places, owners = np.concatenate(local), np.concatenate(bodies)
        self._carried = Carried(local=places)
        self.owners = self.kinds = owners.astype(np.uint32)
        self.others = first + np.arange(len(names))
        self.volumes = np.zeros(len(places))
        for body in np.unique(owners):
            mine = owners == body
            self.volumes[mine] = layer_volumes(places[mine], smoothing)
        self._loads: FrameLoads = FrameLoads.zeros(len(frames))

    def record_place(self, p: Program, fluid: "Fluid", points: BoundaryPoints) -> None:
        """Points go along with the poses as they are now."""
        p.launch(place_on_frame, points, self._carried, *self._where(fluid), fluid.origin_index, count=len(points))

    def record_responses(self, p: Program, fluid: "Fluid", lists: PointLists) -> None:
        """Bodies move and turn."""
        records = self._frames, fluid.particles, fluid.origins
        p.launch(respond, lists.pairs, *records, fluid.origin_index, fluid.h, count=(lists.state.pairs, 0))

    def record_total(self, p: Program, fluid: "Fluid", lists: PointLists) -> None:
        """Pushes and their moments about the bodies."""
        p.launch(clear_load, self._loads, count=len(self._loads))
        records = self._loads, self._frames, fluid.particles, fluid.origins
        p.serial(load_frames, lists.pairs, lists.state, *records, fluid.origin_index, fluid.h)

    def record_response(self, p: Program, fluid: "Fluid") -> None:
        """Bodies move and turn."""
        p.serial(add_response, self._loads, self._frames, fluid.solve)

    def record_follow(self, p: Program, fluid: "Fluid", searched: bool) -> None:
        """Push the bodies at once."""
        p.launch(apply_load, self._loads, self._frames, fluid.solve, fluid.h, searched, count=len(self._loads))

    def _where(self, fluid: "Fluid") -> tuple[Frames, Origins]:
        return self._frames, fluid.origins
